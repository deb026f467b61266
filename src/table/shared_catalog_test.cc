// The catalog among processes: who creates, changes or drops a table, and who hears of it when.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "table/catalog_entry.h"
#include "table/test_cluster.h"
#include "table/test_indexes.h"

namespace stator::table {
namespace {

using test::Cluster;

TableDescriptor Describe(const std::string& name) {
  TableDescriptor d = indexes::Describe();
  d.name = name;
  return d;
}

IndexDescriptor Late() {
  IndexDescriptor index = indexes::Describe().indexes[2];
  index.name = "late";
  index.state = IndexDescriptor::State::kCreating;
  return index;
}

Status AddLate(TableDescriptor* descriptor) {
  if (descriptor->FindIndex("late") == nullptr) descriptor->indexes.push_back(Late());
  return OkStatus();
}

// A descriptor as another process's store would have stored it.
std::vector<TablePtr> StoredTables(Cluster& cluster) {
  const auto engine = cluster.memory.Attach();
  WorkerPool workers(1, 100);
  auto store = Store::Open(*engine, cluster.clock, workers).value();
  std::vector<TablePtr> tables = store->List();
  store.reset();
  workers.Stop();
  return tables;
}

TEST(SharedCatalog, AnotherProcessKnowsATableWhenItsCreatorIsAnswered) {
  Cluster cluster(3);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  for (size_t i = 0; i < 3; ++i) {
    const TablePtr table = cluster[i].store->Find("tab");
    ASSERT_NE(table, nullptr) << i;
    EXPECT_EQ(table->descriptor.tablet_id, cluster[0].store->Find("tab")->descriptor.tablet_id);
  }
  ASSERT_TRUE(cluster[1].Drop().ok());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster[i].store->Find("tab"), nullptr) << i;
}

TEST(SharedCatalog, OneOfSeveralCreatorsWins) {
  Cluster cluster(3);
  std::atomic<int> made = 0, in_use = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 10; ++k) {
        const Result<TablePtr> table = cluster[i].Create(Describe("t" + std::to_string(k)));
        if (table.ok()) ++made;
        if (!table.ok() && table.error().code() == ErrorCode::kResourceInUse) ++in_use;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 10);
  EXPECT_EQ(in_use, 20);
  std::set<uint32_t> ids;
  for (const TablePtr& table : cluster[2].store->List()) {
    ids.insert(table->descriptor.tablet_id);
    for (const IndexDescriptor& index : table->descriptor.indexes) {
      if (index.is_global()) ids.insert(index.tablet_id);
    }
  }
  EXPECT_EQ(ids.size(), 50u) << "no id was given out twice";
}

TEST(SharedCatalog, ChangesOfOneTableByAllAreAllThere) {
  Cluster cluster(3);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) {
        ASSERT_TRUE(cluster[i]
                        .Alter([i, k](TableDescriptor* d) {
                          d->tags[std::to_string(i) + "." + std::to_string(k)] = "x";
                          return OkStatus();
                        })
                        .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster[i].store->Find("tab")->descriptor.tags.size(), 60u) << i;
}

// Somebody who hears nothing goes by what he knows until he is refused.
TEST(SharedCatalog, WhoHearsNothingIsFencedOff) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  cluster[1].engine->bulletin()->Listen(nullptr);
  ASSERT_TRUE(cluster[0].Alter(AddLate).ok());
  cluster[0].WaitForBuilds();
  ASSERT_EQ(cluster[1].store->Find("tab")->descriptor.FindIndex("late"), nullptr);
  SeededRandom random(7);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(cluster[1].Write(indexes::RandomItem(random, "p" + std::to_string(i % 3), i)).ok());
  }
  EXPECT_NE(cluster[1].store->Find("tab")->descriptor.FindIndex("late"), nullptr);
  indexes::ExpectIndexesMatch(*cluster[0].store, "by 0");
  indexes::ExpectIndexesMatch(*cluster[1].store, "by 1");
}

TEST(SharedCatalog, WhoHearsNothingDoesNotWriteIntoATableThatIsGone) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  SeededRandom random(7);
  const std::string item = indexes::RandomItem(random, "p", 1);
  ASSERT_TRUE(cluster[1].Write(item).ok());
  cluster[1].engine->bulletin()->Listen(nullptr);
  ASSERT_TRUE(cluster[0].Drop().ok());
  ASSERT_NE(cluster[1].store->Find("tab"), nullptr);
  EXPECT_EQ(cluster[1].Write(item).error().code(), ErrorCode::kResourceNotFound);
  EXPECT_EQ(cluster[1].store->Find("tab"), nullptr);
  // And one of the same name is another one.
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  ASSERT_TRUE(cluster[1].store->Refresh().ok());
  EXPECT_EQ(cluster[1].Read(item).value(), "");
  EXPECT_EQ(cluster[1].store->Counts(*cluster[1].store->Find("tab")).value().items, 0);
}

TEST(SharedCatalog, AFenceWhoseProcessHasDiedIsAccepted) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  const TableDescriptor before = cluster[0].store->Find("tab")->descriptor;
  // As far as somebody came.
  ASSERT_TRUE(cluster[0].engine->RaiseFence(before.tablet(), before.fence + 1).ok());
  SeededRandom random(7);
  std::atomic<bool> written = false;
  std::thread writer([&] {
    EXPECT_TRUE(cluster[1].Write(indexes::RandomItem(random, "p", 1)).ok());
    written = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(written) << "as long as somebody may be at it";
  while (!written) {
    cluster.clock.AdvanceMicros(100'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  writer.join();
  EXPECT_EQ(StoredTables(cluster)[0]->descriptor.fence, before.fence + 1);
  // Who was thought to be dead goes on.
  ASSERT_TRUE(cluster[0].Alter(AddLate).ok());
  cluster[0].WaitForBuilds();
  indexes::ExpectIndexesMatch(*cluster[0].store, "in the end");
}

TEST(SharedCatalog, WhatADeadProcessHasDroppedIsEmptiedByOthers) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  SeededRandom random(7);
  ASSERT_TRUE(cluster[0].Write(indexes::RandomItem(random, "p", 1)).ok());
  const TableDescriptor table = cluster[0].store->Find("tab")->descriptor;
  // As far as somebody came who was to drop it.
  kv::Batch batch;
  batch.deletes.push_back({kCatalogTablet, TableKey("tab")});
  batch.puts.push_back(CatalogPut(std::string(kVersionKey), "somebody"));
  batch.puts.push_back(CatalogPut(std::string(kDroppedPrefix) + "x", EncodeDropped({table.tablet()})));
  ASSERT_TRUE(kv::ApplyAndWait(*cluster.memory.Attach(), std::move(batch)).ok());
  ASSERT_TRUE(cluster[1].store->CatchUp().ok());
  EXPECT_EQ(cluster[1].store->Find("tab"), nullptr);
  const auto keys = [&]() -> Result<int> {
    int count = 0;
    TRY(cluster[1].engine->Scan({table.tablet(), "", "", false}, kv::Tier::kAny,
                                [&](std::string_view, std::string_view) { return ++count > 0; }));
    return count;
  };
  EXPECT_GT(keys().value(), 0) << "it may be at it";
  cluster.clock.AdvanceMicros(11'000'000);
  ASSERT_TRUE(cluster[1].store->CatchUp().ok());
  EXPECT_EQ(keys().error().code(), ErrorCode::kFenced);
  EXPECT_TRUE(ReadCatalog(*cluster.memory.Attach()).value().dropped.empty());
}

// What nobody knows the outcome of is what the catalog says.
TEST(SharedCatalog, AnUnknownOutcomeIsFoundOut) {
  for (const kv::Fault fault : {kv::Fault::kUnknownApplied, kv::Fault::kUnknownNotApplied}) {
    Cluster cluster(2);
    for (int i = 0; i < 5; ++i) {
      cluster[0].engine->Trigger(fault, 1 + i % 3);
      ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
      cluster[0].engine->Trigger(fault, 1 + i % 3);
      ASSERT_TRUE(cluster[0].Alter(AddLate).ok());
      cluster[0].WaitForBuilds();
      for (size_t k = 0; k < 2; ++k) EXPECT_NE(cluster[k].store->Find("tab")->descriptor.FindIndex("late"), nullptr);
      cluster[0].engine->Trigger(fault);
      ASSERT_TRUE(cluster[0].Drop().ok());
      for (size_t k = 0; k < 2; ++k) EXPECT_EQ(cluster[k].store->Find("tab"), nullptr);
    }
  }
}

}  // namespace
}  // namespace stator::table
