// Several stores on one store in memory, as processes share a cluster, for tests of what has to hold among them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kv/fault_engine.h"
#include "kv/shared_memory.h"
#include "table/index_builder.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"

namespace stator::table::test {

// One of the processes.
struct Process {
  Process(kv::SharedMemory& memory, const Clock& clock, uint64_t seed)
      : workers(4, 1000),
        engine(std::make_unique<kv::FaultEngine>(memory.Attach(), kv::FaultOptions{.seed = seed, .delay_done = true})),
        store(Store::Open(*engine, clock, workers).value()) {}
  ~Process() {
    workers.Stop();
    store->Stop();
    engine.reset();
  }

  Status Write(const std::string& item, bool remove = false) {
    return Update(item, [item, remove](const model::ItemView&) -> Result<Change> {
      Change change;
      change.kind = remove ? Change::kDelete : Change::kPut;
      if (!remove) change.item = item;
      return change;
    });
  }
  // `key`: an item with the key.
  template <typename Decide>
  Status Update(const std::string& key, Decide decide) {
    const TablePtr table = store->Find("tab");
    if (table == nullptr) return Error(ErrorCode::kResourceNotFound, "no table");
    std::vector<WriteTarget> targets;
    targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(key))});
    return Await<Status>([&](auto done) {
      store->Write(
          std::move(targets),
          [decide](const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
            ASSIGN_OR_RETURN(Change change, decide(old_items[0]));
            std::vector<Change> changes;
            changes.push_back(std::move(change));
            return changes;
          },
          std::move(done));
    });
  }
  // The item with the key of `key`; empty: none.
  Result<std::string> Read(const std::string& key) {
    const TablePtr table = store->Find("tab");
    if (table == nullptr) return Error(ErrorCode::kResourceNotFound, "no table");
    std::string item;
    ASSIGN_OR_RETURN(const bool found, store->Get(*table, EncodeItemKey(table->key_schema(), model::ItemView(key)),
                                                  kv::Tier::kAny, &item));
    return found ? item : std::string();
  }
  Result<TablePtr> Create(TableDescriptor d) {
    return Await<Result<TablePtr>>([&](auto done) { store->Create(std::move(d), std::move(done)); });
  }
  Result<TablePtr> Alter(Store::ChangeDescriptor change) {
    return Await<Result<TablePtr>>([&](auto done) { store->Alter("tab", std::move(change), std::move(done)); });
  }
  Result<TablePtr> Drop() {
    return Await<Result<TablePtr>>([&](auto done) {
      store->Drop("tab", [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
  }
  void WaitForBuilds() {
    while (store->BuildsIndexes()) std::this_thread::yield();
  }

  WorkerPool workers;
  std::unique_ptr<kv::FaultEngine> engine;
  std::unique_ptr<Store> store;
};

struct Cluster {
  explicit Cluster(size_t count, uint64_t seed = 1) {
    for (size_t i = 0; i < count; ++i) processes.push_back(std::make_unique<Process>(memory, clock, seed + i));
  }
  Process& operator[](size_t i) { return *processes[i]; }

  kv::SharedMemory memory{nullptr, /*atomic_across_tablets=*/true};
  ManualClock clock;
  std::vector<std::unique_ptr<Process>> processes;
};

}  // namespace stator::table::test
