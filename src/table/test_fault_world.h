// A store over an engine with faults, and writes of counters, for tests.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"

namespace stator::table {

// Counts what is under way.
class Waiting {
 public:
  void Begin() {
    std::lock_guard lock(mutex_);
    ++open_;
  }
  void End() {
    std::lock_guard lock(mutex_);
    if (--open_ == 0) wake_.notify_all();
  }
  void ForAll() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  int open_ = 0;
};

inline TableDescriptor Describe(const std::string& name) {
  TableDescriptor d;
  d.name = name;
  d.table_id = "id of " + name;
  d.key_schema.partition = {"pk", model::Type::kS};
  d.attribute_definitions = {d.key_schema.partition};
  return d;
}

inline std::string KeyOf(const std::string& pk) {
  std::string value;
  model::AppendString(&value, pk);
  return EncodePartitionPrefix(model::ValueView(value));
}

inline std::string Counter(const std::string& pk, int64_t n) {
  return expr::notation::Item("{pk: '" + pk + "', n: " + std::to_string(n) + "}");
}

inline int64_t NumberIn(model::ItemView item) {
  int64_t n = 0;
  if (item.exists()) item.Find("n").number().ToInt64(&n);
  return n;
}

// An engine with faults over memory, and a store on it.
struct FaultWorld {
  explicit FaultWorld(kv::FaultOptions options = {}, int threads = 2, size_t max_queued = 1000)
      : workers(threads, max_queued) {
    engine = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(), options);
    store = Store::Open(*engine, clock, workers).value();
  }
  ~FaultWorld() {
    workers.Stop();
    engine.reset();
  }

  Result<TablePtr> Create(const std::string& name) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Create(Describe(name), std::move(done)); });
  }
  Result<TablePtr> Drop(const std::string& name) {
    return Await<Result<TablePtr>>([&](auto done) {
      store->Drop(
          name, [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
  }
  Status Write(std::vector<WriteTarget> targets, WriteBody body) {
    return Await<Status>(
        [&](auto done) { store->Write(std::move(targets), std::move(body), std::move(done)); });
  }
  Status Put(const TablePtr& table, const std::string& pk, int64_t n) {
    return Write({{table, KeyOf(pk)}},
                 [pk, n](const std::vector<model::ItemView>&) -> Result<std::vector<Change>> {
                   std::vector<Change> changes(1);
                   changes[0] = {Change::kPut, Counter(pk, n)};
                   return changes;
                 });
  }
  int64_t Read(const TablePtr& table, const std::string& pk) {
    std::string item;
    const Result<bool> found = store->Get(*table, KeyOf(pk), kv::Tier::kAny, &item);
    EXPECT_TRUE(found.ok());
    return found.ok() && *found ? NumberIn(model::ItemView(item)) : -1;
  }
  // The counters are what a scan counts.
  void ExpectCountsMatch(const TablePtr& table, const std::string& where) {
    TableCounts scanned;
    ASSERT_TRUE(store
                    ->Scan(*table, FirstKeyOfHash(0), EndOfItemKeys(), false, kv::Tier::kAny,
                           [&](std::string_view, model::ItemView item) {
                             ++scanned.items;
                             scanned.bytes += static_cast<int64_t>(item.size_bytes());
                             return true;
                           })
                    .ok());
    const Result<TableCounts> counts = store->Counts(*table);
    ASSERT_TRUE(counts.ok()) << where;
    EXPECT_EQ(counts->items, scanned.items) << where;
    EXPECT_EQ(counts->bytes, scanned.bytes) << where;
  }
  int KeysOf(kv::Tablet tablet) {
    int keys = 0;
    EXPECT_TRUE(engine->inner()
                    .Scan({tablet, "", "", false}, kv::Tier::kAny,
                          [&](std::string_view, std::string_view) {
                            ++keys;
                            return true;
                          })
                    .ok());
    return keys;
  }

  ManualClock clock;
  WorkerPool workers;
  std::unique_ptr<kv::FaultEngine> engine;
  std::unique_ptr<Store> store;
};

// Body of "n = n + delta", remembering what it saw.
inline WriteBody AddTo(const std::string& pk, int64_t delta,
                       std::shared_ptr<int64_t> saw = nullptr) {
  return [pk, delta,
          saw](const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
    const int64_t n = NumberIn(old_items[0]);
    if (saw != nullptr) *saw = n;
    std::vector<Change> changes(1);
    changes[0] = {Change::kPut, Counter(pk, n + delta)};
    return changes;
  };
}

}  // namespace stator::table
