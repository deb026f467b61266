// A store with one table "tab" on the memory engine or RocksDB, for tests of what writes keep up.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"

namespace stator::table::test {

struct World {
  explicit World(bool rocks) : rocks(rocks), workers(2, 1000) {
    if (!rocks) engine = std::make_unique<kv::MemoryEngine>();
    Open();
  }
  ~World() {
    store.reset();
    workers.Stop();
  }
  void Open() {
    if (rocks)
      engine =
          kv_rocks::OpenRocks({.path = directory.store(), .memory_budget_bytes = 16 << 20}).value();
    store = Store::Open(*engine, clock, workers).value();
  }
  void Restart() {
    store.reset();
    if (rocks) engine.reset();
    Open();
  }
  Result<TablePtr> Create(TableDescriptor d) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Create(std::move(d), std::move(done)); });
  }
  Result<TablePtr> Alter(Store::ChangeDescriptor change) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Alter("tab", std::move(change), std::move(done)); });
  }
  // Stores `item`, or deletes what has its key.
  Status Write(const std::string& item, bool remove) {
    const TablePtr table = store->Find("tab");
    std::vector<WriteTarget> targets;
    targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(item))});
    return Await<Status>([&](auto done) {
      store->Write(
          std::move(targets),
          [item, remove](const std::vector<model::ItemView>&) -> Result<std::vector<Change>> {
            std::vector<Change> changes(1);
            changes[0].kind = remove ? Change::kDelete : Change::kPut;
            if (!remove) changes[0].item = item;
            return changes;
          },
          std::move(done));
    });
  }
  std::map<std::string, std::string> ScanAll(kv::Tablet tablet, char kind) {
    std::map<std::string, std::string> found;
    EXPECT_TRUE(store
                    ->ScanTablet({tablet, FirstKeyOfHash(0, kind), EndOfKind(kind)}, kv::Tier::kAny,
                                 [&](std::string_view key, model::ItemView item) {
                                   found.emplace(key, item.encoded());
                                   return true;
                                 })
                    .ok());
    return found;
  }
  void WaitForBuilds() {
    while (store->BuildsIndexes()) std::this_thread::yield();
  }

  const bool rocks;
  kv_rocks::TemporaryDirectory directory;
  ManualClock clock;
  WorkerPool workers;
  std::unique_ptr<kv::Engine> engine;
  std::unique_ptr<Store> store;
};

}  // namespace stator::table::test
