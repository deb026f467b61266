// Writes of several processes to the same items.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "expr/test_notation.h"
#include "table/test_cluster.h"
#include "table/test_indexes.h"

namespace stator::table {
namespace {

using test::Cluster;
using test::Process;

std::string Key(const std::string& pk) { return expr::notation::Item("{pk: '" + pk + "', sk: 1}"); }

int64_t CountOf(model::ItemView item) {
  int64_t count = 0;
  if (item.exists()) item.Find("n").number().ToInt64(&count);
  return count;
}

Result<Change> AddOne(const std::string& pk, model::ItemView old_item) {
  Change change;
  change.kind = Change::kPut;
  change.item = expr::notation::Item("{pk: '" + pk +
                                     "', sk: 1, n: " + std::to_string(CountOf(old_item) + 1) + "}");
  return change;
}

Status Count(Process& process, const std::string& pk) {
  return process.Update(Key(pk), [pk](model::ItemView old_item) { return AddOne(pk, old_item); });
}

TEST(SharedWrite, ACounterOfAllProcessesLosesNothing) {
  Cluster cluster(3);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    for (int k = 0; k < 2; ++k) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < 100; ++n) ASSERT_TRUE(Count(cluster[i], "hot").ok());
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(CountOf(model::ItemView(cluster[i].Read(Key("hot")).value())), 600);
  EXPECT_EQ(cluster[0].store->Counts(*cluster[0].store->Find("tab")).value().items, 1);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster[i].store->latches().size(), 0u);
}

// What one process remembers must not become a condition's answer.
TEST(SharedWrite, AFailedConditionIsLookedAtAgain) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  const auto claim = [](Process& process, bool taken) {
    return process.Update(Key("p"), [taken](model::ItemView old_item) -> Result<Change> {
      if (old_item.exists() == taken) return Error(ErrorCode::kConditionalCheckFailed, "no");
      Change change;
      change.kind = taken ? Change::kPut : Change::kDelete;
      if (taken) change.item = Key("p");
      return change;
    });
  };
  for (int i = 0; i < 10; ++i) {
    // Each finds the opposite of what it has seen last.
    ASSERT_TRUE(claim(cluster[0], true).ok()) << i;
    ASSERT_TRUE(claim(cluster[1], false).ok()) << i;
    EXPECT_EQ(claim(cluster[1], false).error().code(), ErrorCode::kConditionalCheckFailed);
    ASSERT_TRUE(claim(cluster[1], true).ok()) << i;
    EXPECT_EQ(claim(cluster[0], true).error().code(), ErrorCode::kConditionalCheckFailed);
    ASSERT_TRUE(claim(cluster[0], false).ok()) << i;
  }
}

// Begins to add one to "hot", and counts how often that was computed.
void StartAddingToHot(Process& process, std::atomic<int>* bodies, WriteDone done) {
  std::vector<WriteTarget> targets;
  const TablePtr table = process.store->Find("tab");
  targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(Key("hot")))});
  process.store->Write(
      std::move(targets),
      [bodies](const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
        ++*bodies;
        std::vector<Change> changes;
        changes.push_back(AddOne("hot", old_items[0]).value());
        return changes;
      },
      std::move(done));
}

// Some are remembered, as they were, and the others not: what is read anew and what is remembered
// go into one write.
TEST(SharedWrite, ItemsOfSeveralTablesOfWhichSomeAreRemembered) {
  for (const bool writes : {true, false}) {
    Cluster cluster(2);
    for (const char* name : {"tab", "other"}) {
      TableDescriptor table = indexes::Describe();
      table.name = name;
      table.indexes.clear();  // with local ones all would be read anew
      ASSERT_TRUE(cluster[0].Create(std::move(table)).ok());
    }
    ASSERT_TRUE(Count(cluster[1], "a").ok());  // remembers it
    ASSERT_TRUE(Count(cluster[0], "a").ok());
    std::vector<WriteTarget> targets;
    for (const char* name : {"tab", "other"}) {
      const TablePtr table = cluster[1].store->Find(name);
      ASSERT_NE(table, nullptr);
      targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(Key("a")))});
    }
    std::atomic<int> bodies = 0;
    const Status status = Await<Status>([&](auto done) {
      cluster[1].store->Write(
          std::move(targets),
          [&bodies,
           writes](const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
            ++bodies;
            if (!writes && CountOf(old_items[0]) < 2)
              return Error(ErrorCode::kConditionalCheckFailed, "not yet");
            std::vector<Change> changes(2);
            changes[1].kind = Change::kPut;
            changes[1].item = expr::notation::Item(
                "{pk: 'a', sk: 1, n: " + std::to_string(CountOf(old_items[0])) + "}");
            return changes;
          },
          std::move(done));
    });
    EXPECT_TRUE(status.ok());
    EXPECT_GT(bodies, 1) << "what it remembered was not old";
    std::string copied;
    const TablePtr table = cluster[0].store->Find("other");
    ASSERT_TRUE(cluster[0]
                    .store
                    ->Get(*table, EncodeItemKey(table->key_schema(), model::ItemView(Key("a"))),
                          kv::Tier::kAny, &copied)
                    .value());
    EXPECT_EQ(CountOf(model::ItemView(copied)), 2);
    EXPECT_EQ(cluster[1].store->latches().size(), 0u);
  }
}

// Many updates of one key that arrive together are few batches behind each other, not a round trip
// each.
TEST(SharedWrite, UpdatesOfOneKeyOfOneProcessDoNotWaitForEachOther) {
  Cluster cluster(1);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  ASSERT_TRUE(Count(cluster[0], "hot").ok());
  cluster[0].faults->HoldDone();
  std::atomic<int> bodies = 0, done = 0;
  for (int i = 0; i < 50; ++i) {
    StartAddingToHot(cluster[0], &bodies, [&](Status status) {
      EXPECT_TRUE(status.ok());
      ++done;
    });
  }
  while (bodies < 50) std::this_thread::yield();
  EXPECT_EQ(done, 0) << "all have been computed before the first was answered";
  cluster[0].faults->ReleaseDone();
  while (done < 50) std::this_thread::yield();
  EXPECT_EQ(bodies, 50);
  EXPECT_EQ(CountOf(model::ItemView(cluster[0].Read(Key("hot")).value())), 51);
}

// While the store does not answer, writes of one item must not wait for it one after the other.
TEST(SharedWrite, WhoHasWaitedForOthersForLongIsRefused) {
  for (const bool in_time : {true, false}) {
    Cluster cluster(1);
    ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
    std::atomic<int> bodies = 0, applied = 0, refused = 0;
    const auto start = [&] {
      StartAddingToHot(cluster[0], &bodies, [&](Status status) {
        applied += status.ok();
        refused += !status.ok() && status.error().code() == ErrorCode::kUnavailable;
      });
    };
    cluster[0].mortal->Freeze();
    std::thread first(start);  // gets no answer; the others wait for it
    while (cluster[0].store->latches().size() == 0) std::this_thread::yield();
    for (int i = 0; i < 4; ++i) start();
    cluster.clock.AdvanceMicros(in_time ? 9'000'000 : 11'000'000);
    cluster[0].mortal->Thaw();
    first.join();
    while (applied + refused < 5) std::this_thread::yield();
    EXPECT_EQ(applied, in_time ? 5 : 0);
    EXPECT_EQ(bodies > 0, in_time);
    EXPECT_EQ(cluster[0].store->latches().size(), 0u);
    EXPECT_TRUE(Count(cluster[0], "hot").ok());
    EXPECT_EQ(CountOf(model::ItemView(cluster[0].Read(Key("hot")).value())), applied + 1);
  }
}

TEST(SharedWrite, WhatWasComputedFromARefusedWriteStartsOver) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  ASSERT_TRUE(Count(cluster[0], "hot").ok());
  const TablePtr table = cluster[0].store->Find("tab");
  cluster[0].faults->HoldDone();  // one batch is held, those behind it have not been looked at
  std::atomic<int> done = 0;
  const auto start = [&](const std::string& pk) {
    std::vector<WriteTarget> targets;
    targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(Key(pk)))});
    cluster[0].store->Write(
        std::move(targets),
        [pk](const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
          std::vector<Change> changes;
          changes.push_back(AddOne(pk, old_items[0]).value());
          return changes;
        },
        [&](Status status) {
          EXPECT_TRUE(status.ok());
          ++done;
        });
  };
  start("other");
  for (int i = 0; i < 20; ++i) start("hot");
  ASSERT_TRUE(Count(cluster[1], "hot").ok());
  cluster[0].faults->ReleaseDone();
  while (done < 21) std::this_thread::yield();
  EXPECT_EQ(CountOf(model::ItemView(cluster[1].Read(Key("hot")).value())), 22);
  EXPECT_EQ(cluster[0].store->latches().size(), 0u);
}

// A token stands for one write, whichever process is asked.
TEST(SharedWrite, ATokenIsUsedOnce) {
  Cluster cluster(3);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  std::vector<std::thread> threads;
  std::atomic<int> written = 0, repeated = 0;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Process& process = cluster[i];
      const TablePtr table = process.store->Find("tab");
      for (int n = 0; n < 50; ++n) {
        auto token = std::make_shared<TokenUse>();
        token->token = "token " + std::to_string(n);
        std::vector<WriteTarget> targets;
        targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(Key("hot")))});
        const Status status = Await<Status>([&](auto done) {
          process.store->Write(
              std::move(targets),
              [token](
                  const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
                std::vector<Change> changes(1);
                if (token->earlier) return changes;
                changes[0] = AddOne("hot", old_items[0]).value();
                token->record = "done";
                return changes;
              },
              std::move(done), token);
        });
        ASSERT_TRUE(status.ok()) << status.error().message();
        ++(token->earlier ? repeated : written);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written, 50);
  EXPECT_EQ(repeated, 100);
  EXPECT_EQ(CountOf(model::ItemView(cluster[1].Read(Key("hot")).value())), 50);
}

// A client that got no answer tries again under its token, through another process, while the first
// attempt comes to its end: what it has changed must not fail the condition of the second.
TEST(SharedWrite, AConditionDoesNotFailByWhatItsOwnTokenHasDone) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster[0].Create(indexes::Describe()).ok());
  ASSERT_TRUE(Count(cluster[0], "hot").ok());
  // From 2 to 3, once.
  const auto write = [&](Process& process,
                         std::function<void()> on_failure) -> std::pair<Status, bool> {
    auto token = std::make_shared<TokenUse>();
    token->token = "token";
    const TablePtr table = process.store->Find("tab");
    std::vector<WriteTarget> targets;
    targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(Key("hot")))});
    Status status = Await<Status>([&](auto done) {
      process.store->Write(
          std::move(targets),
          [token, on_failure](
              const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
            std::vector<Change> changes(1);
            if (token->earlier) return changes;
            if (CountOf(old_items[0]) != 2) {
              if (on_failure) on_failure();
              return Error(ErrorCode::kConditionalCheckFailed, "no");
            }
            changes[0] = AddOne("hot", old_items[0]).value();
            token->record = "done";
            return changes;
          },
          std::move(done), token);
    });
    return {std::move(status), token->earlier.has_value()};
  };
  bool armed = false;
  const auto [status, repeated] = write(cluster[1], [&] {
    // It looks again; when it comes to the item, the first attempt has just been through.
    if (std::exchange(armed, true)) return;
    cluster[1].mortal->BeforeNextRead(cluster[1].store->Find("tab")->descriptor.tablet(), [&] {
      EXPECT_TRUE(Count(cluster[0], "hot").ok());
      EXPECT_TRUE(write(cluster[0], nullptr).first.ok());
    });
  });
  EXPECT_TRUE(armed);
  EXPECT_TRUE(status.ok()) << status.error().message();
  EXPECT_TRUE(repeated);
  EXPECT_EQ(CountOf(model::ItemView(cluster[1].Read(Key("hot")).value())), 3);
}

}  // namespace
}  // namespace stator::table
