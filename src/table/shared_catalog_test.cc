// The catalog among processes: who creates, changes or drops a table, and who hears of it when.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "table/catalog_entry.h"
#include "table/catalog_snapshot.h"
#include "table/definition_account.h"
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
  const auto engine = std::make_unique<kv_tx::TransactionEngine>(cluster.memory.Attach());
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

TEST(SharedCatalog, EveryProcessCountsTheDefinitionsOfAll) {
  Cluster cluster(2);
  TableDescriptor table = indexes::Describe();
  DefinitionAccount::SetMost(DefinitionAccount::BytesOf(table) + 5000);
  EXPECT_TRUE(cluster[0].Create(table).ok());
  table.name = "more";
  EXPECT_EQ(cluster[1].Create(table).error().code(), ErrorCode::kLimitExceeded);
  DefinitionAccount::SetMost(kMostDefinitionBytes);
  EXPECT_TRUE(cluster[1].Create(table).ok());
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
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(cluster[i].store->Find("tab")->descriptor.tags.size(), 60u) << i;
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
  cluster[0].SettleTransactions();
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
  cluster[0].SettleTransactions();
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
  batch.puts.push_back(
      CatalogPut(std::string(kDroppedPrefix) + "x", EncodeDropped({table.tablet()})));
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
  cluster.clock.AdvanceMicros(61'000'000);
  ASSERT_TRUE(cluster[1].store->CatchUp().ok());
  EXPECT_EQ(keys().error().code(), ErrorCode::kFenced);
  EXPECT_TRUE(ReadCatalog(*cluster.memory.Attach()).value().dropped.empty());
}

struct DefinitionChange {
  std::string name;
  std::function<Result<TablePtr>(test::Process&)> run;
};

std::vector<DefinitionChange> DefinitionChanges() {
  const auto alter = [](auto change) {
    return [change](test::Process& process) { return process.Alter(change); };
  };
  return {
      {"create", [](test::Process& process) { return process.Create(Describe("another")); }},
      {"add an index", alter(AddLate)},
      {"remove an index", alter([](TableDescriptor* d) {
         d->indexes.back().state = IndexDescriptor::State::kDeleting;
         return OkStatus();
       })},
      {"time to live", alter([](TableDescriptor* d) {
         d->expiry = ExpiryIndex{.attribute = "x"};
         return OkStatus();
       })},
      {"disable the stream", alter([](TableDescriptor* d) {
         d->stream_view_type.reset();
         return OkStatus();
       })},
      {"split", alter([](TableDescriptor* d) {
         d->partitions.Split(uint64_t{1} << 63);
         return OkStatus();
       })},
      {"drop", [](test::Process& process) { return process.Drop(); }},
  };
}

class SharedDefinition : public testing::TestWithParam<DefinitionChange> {
 protected:
  // With a table that has some items.
  void Begin(Cluster& cluster) {
    TableDescriptor d = indexes::Describe();
    d.stream_view_type = stream::ViewType::kNewAndOldImages;
    ASSERT_TRUE(cluster[0].Create(std::move(d)).ok());
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(cluster[0].Write(indexes::RandomItem(random_, "p", i)).ok());
  }

  // While process 0 is in the middle of the change, or has died there, 1 writes and 2 changes the
  // same.
  void OthersGoOn(Cluster& cluster, const std::string& where) {
    cluster.Patiently([&] {
      for (int i = 0; i < 5; ++i) {
        const Status written = cluster[1].Write(indexes::RandomItem(random_, "p", i));
        EXPECT_TRUE(written.ok() || written.error().code() == ErrorCode::kResourceNotFound)
            << where << ": " << written.error().message();
      }
      ExpectAnswer(GetParam().run(cluster[2]), where);
    });
  }

  static void ExpectAnswer(const Result<TablePtr>& changed, const std::string& where) {
    const bool answered = changed.ok() || changed.error().code() == ErrorCode::kResourceInUse ||
                          changed.error().code() == ErrorCode::kResourceNotFound;
    EXPECT_TRUE(answered) << where << ": " << changed.error().message();
  }

  void Check(Cluster& cluster, const std::string& where) {
    cluster.clock.AdvanceMicros(61'000'000);
    for (size_t k : {1, 2, 1}) {
      ASSERT_TRUE(cluster[k].store->CatchUp().ok()) << where;
      cluster[k].WaitForBuilds();
    }
    EXPECT_TRUE(ReadCatalog(*cluster.memory.Attach()).value().dropped.empty()) << where;
    if (GetParam().name == "drop") {
      EXPECT_EQ(cluster[1].store->Find("tab"), nullptr) << where;
      return;
    }
    for (int i = 0; i < 5; ++i)
      EXPECT_TRUE(cluster[2].Write(indexes::RandomItem(random_, "q", i)).ok()) << where;
    EXPECT_FALSE(cluster[1].store->Find("tab")->descriptor.HasIndexWork()) << where;
    cluster[1].SettleTransactions();
    indexes::ExpectIndexesMatch(*cluster[1].store, where);
  }

  SeededRandom random_{7};
};

// Whatever a process was about to do when it died, and however far it came: the others go on, and
// nothing is left behind.
TEST_P(SharedDefinition, ADeadProcessHoldsNobodyUp) {
  int deaths = 0;
  for (bool survived = false; !survived && !HasFailure(); ++deaths) {
    const std::string where = "death before change " + std::to_string(deaths);
    Cluster cluster(3);
    Begin(cluster);
    cluster[0].mortal->DieAfter(deaths);
    survived = GetParam().run(cluster[0]).ok();
    cluster[0].WaitForDeath();
    OthersGoOn(cluster, where);
    Check(cluster, where);
  }
  EXPECT_GT(deaths, 2);
}

// One that stands still as long is taken for dead, and may wake up at any time.
TEST_P(SharedDefinition, AProcessThatStandsStillDoesNoHarmLater) {
  bool frozen = true;
  for (int changes = 0; frozen && !HasFailure(); ++changes) {
    const std::string where = "stands still before change " + std::to_string(changes);
    Cluster cluster(3);
    Begin(cluster);
    cluster[0].mortal->FreezeAfter(changes);
    std::atomic<bool> changed = false;
    std::thread changer([&] {
      ExpectAnswer(GetParam().run(cluster[0]), where);
      changed = true;
    });
    while (!changed && !cluster[0].mortal->frozen()) std::this_thread::yield();
    frozen = cluster[0].mortal->frozen();
    OthersGoOn(cluster, where);
    cluster[0].mortal->Thaw();
    cluster.Patiently([&] { changer.join(); });
    cluster[0].WaitForBuilds();
    Check(cluster, where);
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, SharedDefinition, testing::ValuesIn(DefinitionChanges()),
                         [](const testing::TestParamInfo<DefinitionChange>& change) {
                           std::string name = change.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// What nobody knows the outcome of is what the catalog says.
TEST(SharedCatalog, AnUnknownOutcomeIsFoundOut) {
  for (const kv::Fault fault : {kv::Fault::kUnknownApplied, kv::Fault::kUnknownNotApplied}) {
    Cluster cluster(2);
    for (int i = 0; i < 5; ++i) {
      cluster[0].faults->Trigger(fault, 1 + i % 3);
      ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
      cluster[0].faults->Trigger(fault, 1 + i % 3);
      ASSERT_TRUE(cluster[0].Alter(AddLate).ok());
      cluster[0].WaitForBuilds();
      for (size_t k = 0; k < 2; ++k)
        EXPECT_NE(cluster[k].store->Find("tab")->descriptor.FindIndex("late"), nullptr);
      cluster[0].faults->Trigger(fault);
      ASSERT_TRUE(cluster[0].Drop().ok());
      for (size_t k = 0; k < 2; ++k) EXPECT_EQ(cluster[k].store->Find("tab"), nullptr);
    }
  }
}

// Closing gives up what waits for others, or for a worker: an index builder in the middle of its
// work is no reason to wait for ever.
class StopOfABuilder : public testing::Test {
 protected:
  // A table with items and an index that nobody fills yet.
  void SetUp() override {
    ASSERT_TRUE(cluster_[0].Create(indexes::Describe()).ok());
    SeededRandom random(7);
    for (int i = 0; i < kItems; ++i)
      ASSERT_TRUE(cluster_[0].Write(indexes::RandomItem(random, "p" + std::to_string(i), i)).ok());
    for (size_t i = 0; i < 2; ++i)
      cluster_[i].store->SetWorkPredicate([](const Table&) { return false; });
    ASSERT_TRUE(cluster_[0].Alter(AddLate).ok());
  }
  // This process begins to fill it, and comes to where it waits.
  void Build() {
    cluster_[0].store->SetWorkPredicate(nullptr);
    while (cluster_[0].store->latches().size() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(cluster_[0].store->BuildsIndexes());
  }
  // And then the next one does.
  void StopAndFinish() {
    cluster_.processes[0].reset();
    cluster_[1].store->SetWorkPredicate(nullptr);
    ASSERT_TRUE(cluster_[1].store->CatchUp().ok());
    cluster_.Patiently([&] { cluster_[1].WaitForBuilds(); });
    EXPECT_FALSE(cluster_[1].store->Find("tab")->descriptor.HasIndexWork());
    cluster_[1].SettleTransactions();
    indexes::ExpectIndexesMatch(*cluster_[1].store, "in the end");
  }

  static constexpr int kItems = 150;
  Cluster cluster_{2};
};

TEST_F(StopOfABuilder, ThatIsRefusedByAFence) {
  const TableDescriptor table = cluster_[0].store->Find("tab")->descriptor;
  ASSERT_TRUE(cluster_[0].engine->RaiseFence(table.tablet(), table.fence + 1).ok());
  // The clock stands still, so nobody takes who has raised it for dead.
  Build();
  StopAndFinish();
}

TEST_F(StopOfABuilder, ThatHasNoWorkersAnyMore) {
  cluster_[0].workers.Stop();
  Build();
  StopAndFinish();
}

}  // namespace
}  // namespace stator::table
