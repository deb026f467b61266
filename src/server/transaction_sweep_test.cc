#include "server/transaction_sweep.h"

#include <map>

#include "kv_tx/unfinished.h"
#include "server/test_instances.h"

namespace stator::server {
namespace {

constexpr TransactionSweep::Options kWhenAsked{.interval_micros = int64_t{3600} * 1'000'000};

class TransactionSweepTest : public test::InstancesTest {
 protected:
  // Shares of transactions in the tablets that nobody has brought in order.
  uint64_t Unfinished(const std::vector<kv::Tablet>& tablets) {
    const auto raw = memory_.Attach();
    uint64_t units = 0;
    for (const kv::Tablet tablet : tablets)
      units += kv_tx::CountUnfinished(*raw, tablet).value().units;
    return units;
  }
  // Until each table is exactly one process's, and that has not changed for a moment.
  void AwaitOwners(const std::vector<kv::Tablet>& tablets) {
    std::map<uint32_t, size_t> before;
    Await([&] {
      std::map<uint32_t, size_t> owners;
      for (size_t i = 0; i < instances_.size(); ++i) {
        for (const kv::Tablet tablet : tablets) {
          if (!instances_[i]->peers()->IsMine(tablet.id)) continue;
          if (!owners.emplace(tablet.id, i).second) return false;
        }
      }
      const bool same = owners == before && owners.size() == tablets.size();
      before = std::move(owners);
      std::this_thread::sleep_for(std::chrono::milliseconds(same ? 0 : 1500));
      return same;
    });
  }
  TransactionSweep::View StepAll() {
    TransactionSweep::View sum;
    for (const auto& instance : instances_) {
      const Status stepped = instance->sweep()->Step();
      EXPECT_TRUE(stepped.ok()) << stepped.error().message();
      const TransactionSweep::View view = instance->sweep()->view();
      sum.tablets += view.tablets;
      sum.unfinished += view.unfinished;
      sum.oldest_seconds = std::max(sum.oldest_seconds, view.oldest_seconds);
    }
    return sum;
  }
};

TEST_F(TransactionSweepTest, ThreeProcessesShareWhatADeadOneLeft) {
  for (int i = 0; i < 3; ++i) Add(kWhenAsked);
  std::vector<kv::Tablet> tables;
  for (int i = 0; i < 9; ++i)
    tables.push_back(
        CreateTable(*instances_[static_cast<size_t>(i) % 3], "table-" + std::to_string(i)));
  std::vector<kv::Tablet> all = tables;
  all.push_back({kv::Space::kItems, 0});  // stands for what belongs to no table
  AwaitOwners(all);
  const size_t expected_tablets =
      TabletsOf(table::ReadCatalog(instances_[0]->engine()).value()).size();

  const int others = static_cast<int>(tables.size()) - 1;
  DieInATransaction(tables, "undecided", others);
  DieInATransaction(tables, "decided", others + 1);
  EXPECT_EQ(Unfinished(tables), 2u * static_cast<uint64_t>(others));

  const TransactionSweep::View first = StepAll();
  EXPECT_EQ(first.tablets, expected_tablets) << "each tablet is swept by one process";
  // Whoever comes to the tablet where it was decided finishes what was decided in all others.
  EXPECT_GE(first.unfinished, static_cast<uint64_t>(others));
  EXPECT_GE(first.oldest_seconds, 3600);
  EXPECT_EQ(Unfinished(tables), 0u);
  for (const kv::Tablet tablet : tables) {
    EXPECT_EQ(TextIn(tablet, "undecided"), "absent");
    EXPECT_EQ(TextIn(tablet, "decided"), "decided");
  }
  const TransactionSweep::View second = StepAll();
  EXPECT_EQ(second.unfinished, 0u);
  EXPECT_EQ(second.oldest_seconds, 0);

  // The work of one that is gone is taken over.
  instances_.erase(instances_.begin());
  AwaitOwners(all);
  DieInATransaction(tables, "later", others + 1);
  EXPECT_EQ(StepAll().tablets, expected_tablets);
  EXPECT_EQ(Unfinished(tables), 0u);
  for (const kv::Tablet tablet : tables) EXPECT_EQ(TextIn(tablet, "later"), "later");
}

TEST_F(TransactionSweepTest, ComesRoundByItself) {
  Instance& instance = Add({.interval_micros = 20'000});
  const std::vector<kv::Tablet> tables = {CreateTable(instance, "table-a"),
                                          CreateTable(instance, "table-b")};
  DieInATransaction(tables, "decided", 2);
  Await([&] { return Unfinished(tables) == 0 && instance.sweep()->view().passes > 0; });
  EXPECT_EQ(TextIn(tables[1], "decided"), "decided");
}

TEST_F(TransactionSweepTest, WhatIsYoungIsLeftToItsProcess) {
  Instance& instance =
      Add({.interval_micros = kWhenAsked.interval_micros, .older_than_seconds = 7200});
  const std::vector<kv::Tablet> tables = {CreateTable(instance, "table-a"),
                                          CreateTable(instance, "table-b")};
  AwaitOwners(tables);
  DieInATransaction(tables, "undecided", 1);
  ASSERT_TRUE(instance.sweep()->Step().ok());
  EXPECT_EQ(Unfinished(tables), 1u);
  EXPECT_EQ(instance.sweep()->view().unfinished, 1u);
}

}  // namespace
}  // namespace stator::server
