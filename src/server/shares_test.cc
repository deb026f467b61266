// Several processes, each with a table of the same name and tablet, one store for what they tell
// one another, and clocks that start anywhere.
#include "server/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "kv/fault_engine.h"
#include "kv/shared_memory.h"
#include "ops/test_world.h"

namespace stator::server {
namespace {

using throughput::Access;
using throughput::Limit;

constexpr int64_t kSecond = 1'000'000;

struct Process : ops::TestWorld {
  Process(kv::SharedMemory& store, const std::string& name, uint64_t seed, bool enforce = true,
          kv::FaultOptions faults = {}, const throughput::ModelSettings& model = {})
      : ops::TestWorld(seed, 1, 100, false), transport(store.Attach(), faults) {
    env.settings.throughput = model;
    env.admission.Share();
    env.admission.Start(
        {enforce ? throughput::Throttling::kEnforce : throughput::Throttling::kObserve, {}}, model);
    clock.AdvanceMicros(static_cast<int64_t>(random.Below(1'000'000)) * kSecond);
    shares =
        std::make_unique<Shares>(transport, env.admission, clock, Shares::Options{.name = name});
  }

  // With `index_units` the table has an index of `g`.
  void CreateTable(int64_t write_units, int64_t index_units = 0) {
    ops::CreateTableRequest request;
    request.table_name = "t";
    request.key_schema = {{"pk", ops::KeyType::kHash}};
    request.attribute_definitions = {{"pk", ops::ScalarAttributeType::kS}};
    request.provisioned_throughput = ops::ProvisionedThroughput{10, write_units};
    if (index_units > 0) {
      request.attribute_definitions->push_back({"g", ops::ScalarAttributeType::kS});
      ops::GlobalSecondaryIndex index;
      index.index_name = "by-g";
      index.key_schema = {{"g", ops::KeyType::kHash}};
      index.projection.projection_type = ops::ProjectionType::kKeysOnly;
      index.provisioned_throughput = ops::ProvisionedThroughput{10, index_units};
      request.global_secondary_indexes = {index};
    }
    ASSERT_TRUE(Call(ops::CreateTable, std::move(request)).ok());
  }
  Result<ops::PutItemResponse> Put(const std::string& key, const std::string& more = "") {
    ops::PutItemRequest request;
    request.table_name = "t";
    request.item.bytes = expr::notation::Item("{pk:'" + key + "'" + more + "}");
    return Call(ops::PutItem, std::move(request), "PutItem");
  }
  // How many of so many writes are served.
  int Serve(int asked) {
    int served = 0;
    for (int i = 0; i < asked; ++i) {
      const bool entry = random.Unit() < entries;
      const auto answer = entry ? Put("e" + std::to_string(++entries_asked),
                                      ", g: 'g" + std::to_string(random.Below(1000)) + "'")
                                : Put(hot ? "hot" : "k" + std::to_string(random.Below(1000)));
      if (answer.ok()) {
        ++served;
        entries_served += entry;
      } else {
        EXPECT_EQ(answer.error().code(), ErrorCode::kProvisionedThroughputExceeded)
            << answer.error().message();
      }
    }
    return served;
  }
  throughput::Resource& Model() { return store->Find("t")->meters.table->resource(); }

  kv::FaultEngine transport;
  std::unique_ptr<Shares> shares;
  int asked_per_second = 0;
  bool hot = false;    // all of it is for one key
  double entries = 0;  // so much of it writes an entry of the index too, one unit there
  int64_t entries_asked = 0, entries_served = 0;
  bool frozen = false;
};

struct Cluster {
  Process& Join(bool enforce = true, kv::FaultOptions faults = {}) {
    const std::string name = "p" + std::to_string(processes.size());
    processes.push_back(
        std::make_unique<Process>(store, name, processes.size() + 1, enforce, faults, model));
    return *processes.back();
  }
  // Seconds pass; returns what was served in them.
  int Run(int seconds) {
    int served_in_all = 0;
    for (int s = 0; s < seconds; ++s) {
      int served = 0;
      // A quarter of the second's requests, then a quarter of the second.
      for (int quarter = 0; quarter < 4; ++quarter) {
        for (const auto& p : processes) {
          p->clock.AdvanceMicros(kSecond / 4);
          if (!p->frozen) served += p->Serve(p->asked_per_second / 4);
        }
      }
      for (const auto& p : processes) {
        if (p->frozen) continue;
        (void)p->shares->Step();
        p->env.admission.Advance();
      }
      served_in_all += served;
      EXPECT_LE(watched_ += served, limit_ * ++watched_seconds_ + allowance_)
          << "after " << watched_seconds_ << " s";
    }
    return served_in_all;
  }
  // From now on nobody may have had more than this, at the end of any second.
  void Watch(double per_second, double allowance) {
    watched_ = watched_seconds_ = 0;
    limit_ = per_second;
    allowance_ = allowance;
  }

  throughput::ModelSettings model;  // of those that join
  kv::SharedMemory store;
  std::vector<std::unique_ptr<Process>> processes;

 private:
  double limit_ = INFINITY;
  double allowance_ = 0;
  int watched_ = 0;
  int watched_seconds_ = 0;
};

TEST(Shares, OneProcessAloneHasEverything) {
  Cluster cluster;
  Process& one = cluster.Join();
  one.CreateTable(100);
  EXPECT_FALSE(one.shares->view().granted);
  // Nothing before it has been granted something.
  EXPECT_EQ(one.Serve(5), 0);
  cluster.Run(2);
  EXPECT_TRUE(one.shares->view().granted);
  EXPECT_EQ(one.shares->view().even, 1);
  EXPECT_TRUE(one.shares->view().allocates);
  one.asked_per_second = 400;
  const int served = cluster.Run(20);
  EXPECT_NEAR(served, 20 * 100, 250);
}

TEST(Shares, SkewedLoadUsesWhatTheTableHasAndNoMore) {
  Cluster cluster;
  for (int i = 0; i < 4; ++i) cluster.Join().CreateTable(200);
  cluster.Run(8);
  for (const auto& p : cluster.processes) EXPECT_NEAR(p->shares->view().even, 0.25, 0.01);
  cluster.processes[0]->asked_per_second = 400;
  cluster.processes[1]->asked_per_second = 40;
  // What was saved until now is used up first.
  cluster.Run(40);
  const int served = cluster.Run(30);
  EXPECT_GE(served, 0.9 * 30 * 200);
  EXPECT_LE(served, 1.1 * 30 * 200);
  // The load moves.
  std::swap(cluster.processes[0]->asked_per_second, cluster.processes[3]->asked_per_second);
  cluster.Run(8);
  const int after = cluster.Run(30);
  EXPECT_GE(after, 0.9 * 30 * 200);
  EXPECT_LE(after, 1.1 * 30 * 200);
}

TEST(Shares, AFrozenProcessUsesNothingWhenItWakesUp) {
  Cluster cluster;
  for (int i = 0; i < 3; ++i) cluster.Join().CreateTable(100);
  cluster.Run(8);
  Process& sleeper = *cluster.processes[1];
  EXPECT_EQ(sleeper.Serve(3), 3);
  sleeper.frozen = true;
  // Its last report is seen up to a second late, its grant is over 10.2 s after that, and what was
  // free then is in force at the others' next step but one.
  cluster.Run(14);
  for (const size_t other : {0, 2})
    EXPECT_NEAR(cluster.processes[other]->shares->view().even, 0.5, 0.01);
  // Awake, but its thread has not run yet.
  EXPECT_EQ(sleeper.Serve(3), 0);
  const auto refusal = sleeper.Put("k");
  ASSERT_FALSE(refusal.ok());
  EXPECT_EQ(refusal.error().code(), ErrorCode::kProvisionedThroughputExceeded);
  sleeper.frozen = false;
  cluster.Run(6);
  EXPECT_TRUE(sleeper.shares->view().granted);
  EXPECT_NEAR(sleeper.shares->view().even, 1.0 / 3, 0.01);
  EXPECT_EQ(sleeper.Serve(3), 3);
}

// 70, 20 and 10 in a hundred of what is twice as much as the table can do. Units are those of the
// load, one each.
struct Skewed : Cluster {
  static constexpr int kUnits = 300;      // of the table, per second
  static constexpr int kPartition = 100;  // of a partition

  explicit Skewed(bool hot) : per_second(hot ? kPartition : kUnits) {
    model.partition_write_units = kPartition;
    model.partition_read_units = 3 * kPartition;
    for (const int asked : {420, 120, 60}) {
      Process& p = Join();
      p.CreateTable(kUnits);
      p.asked_per_second = hot ? asked / 3 : asked;
      p.hot = hot;
    }
    // What there is at the start: of the table a second's units. Then the requests of a second,
    // which pass one after the other and may overdraw by one each.
    Watch(per_second, per_second + 3);
    Run(12);
  }
  void ExpectNearlyAll(int seconds) { EXPECT_GE(Run(seconds), 0.9 * seconds * per_second); }

  const int per_second;
};

class SkewedShares : public testing::TestWithParam<bool> {};

TEST_P(SkewedShares, NobodyHasMoreWhoeverDies) {
  Skewed cluster(GetParam());
  cluster.ExpectNearlyAll(60);
  // Any of them: one that allocates, one that has most.
  for (const size_t dead : {size_t{0}, size_t{2}}) {
    Skewed another(GetParam());
    another.processes[dead]->frozen = true;
    another.Run(14);
    another.processes[1]->asked_per_second = 2 * another.per_second;
    another.Run(5);
    another.ExpectNearlyAll(60);
  }
}

TEST_P(SkewedShares, NobodyHasMoreWhoeverWakesUp) {
  Skewed cluster(GetParam());
  cluster.ExpectNearlyAll(30);
  for (const auto& sleeper : cluster.processes) {
    sleeper->frozen = true;
    cluster.Run(30);
    // Its clients have waited: their requests come before it hears of anything.
    sleeper->frozen = false;
    cluster.Run(12);
    cluster.ExpectNearlyAll(30);
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, SkewedShares, testing::Values(false, true), [](const auto& info) {
  return info.param ? "OfAHotPartition" : "OfTheTable";
});

// A table of which twice as much is asked as it can do, and an index of it likewise: a write with
// an entry needs units of both.
class SharesOfTableAndIndex : public testing::TestWithParam<std::array<double, 3>> {};

TEST_P(SharesOfTableAndIndex, BothLimitsAreUsedAndKept) {
  constexpr int kTable = 300, kIndex = 100;
  Cluster cluster;
  // Writes with entries are 400 a second of 800, of whichever processes.
  for (size_t i = 0; i < 3; ++i) {
    Process& p = cluster.Join();
    p.CreateTable(kTable, kIndex);
    p.asked_per_second = std::array{400, 240, 160}[i];
    p.entries = GetParam()[i];
  }
  const auto entries = [&] {
    int64_t all = 0;
    for (const auto& p : cluster.processes) all += p->entries_served;
    return all;
  };
  cluster.Watch(kTable, kTable + 3);
  cluster.Run(30);
  EXPECT_LE(entries(), 30 * kIndex + kIndex + 3);
  for (const bool dead : {false, true}) {
    if (dead) {
      // The one with most; another one has its clients.
      cluster.processes[0]->frozen = true;
      cluster.processes[2]->asked_per_second = 560;
      cluster.processes[2]->entries = (GetParam()[0] * 400 + GetParam()[2] * 160) / 560;
      cluster.Run(20);
    }
    const int64_t before = entries();
    EXPECT_GE(cluster.Run(60), 0.9 * 60 * kTable);
    const int64_t of_index = entries() - before;
    EXPECT_GE(of_index, 0.9 * 60 * kIndex);
    EXPECT_LE(of_index, 60 * kIndex + kIndex + 3);
  }
}

constexpr std::array<double, 3> kMixes[] = {
    {0.5, 0.5, 0.5}, {1, 0, 0}, {0, 1, 1}, {0.8, 0.3, 0.05}};
INSTANTIATE_TEST_SUITE_P(Loads, SharesOfTableAndIndex, testing::ValuesIn(kMixes));

TEST(Shares, WhoOnlyObservesIsNeverRefused) {
  Cluster cluster;
  Process& one = cluster.Join(false);
  one.CreateTable(1);
  EXPECT_EQ(one.Serve(5), 5);
  EXPECT_EQ(one.store->Find("t")->meters.table->let_pass().write, 5);
  cluster.Run(3);
  EXPECT_EQ(one.Serve(50), 50);
}

TEST(Shares, WhoLeavesIsMissedAtOnce) {
  Cluster cluster;
  for (int i = 0; i < 2; ++i) cluster.Join().CreateTable(100);
  cluster.Run(6);
  const bool first = cluster.processes[0]->shares->view().allocates;
  Process& leaves = *cluster.processes[first ? 0 : 1];
  Process& stays = *cluster.processes[first ? 1 : 0];
  EXPECT_TRUE(leaves.shares->view().allocates);
  EXPECT_TRUE(leaves.env.admission.decides());
  EXPECT_FALSE(stays.env.admission.decides());
  leaves.frozen = true;
  leaves.shares->Stop();
  EXPECT_EQ(leaves.Serve(1), 0);
  cluster.Run(2);
  EXPECT_TRUE(stays.shares->view().allocates);
  EXPECT_TRUE(stays.env.admission.decides());
  EXPECT_EQ(stays.shares->view().processes, 1u);
  EXPECT_EQ(stays.shares->view().even, 1);
}

TEST(Shares, NobodyIsLeftWithoutWhenTheAllocatorDies) {
  Cluster cluster;
  for (int i = 0; i < 3; ++i) cluster.Join().CreateTable(300);
  cluster.Run(6);
  for (const auto& p : cluster.processes) {
    if (p->shares->view().allocates) p->frozen = true;
  }
  for (int second = 0; second < 30; ++second) {
    cluster.Run(1);
    for (const auto& p : cluster.processes)
      EXPECT_TRUE(p->frozen || p->shares->view().granted) << second;
  }
  for (const auto& p : cluster.processes) {
    if (p->frozen) continue;
    EXPECT_NEAR(p->shares->view().even, 0.5, 0.01);
  }
}

TEST(Shares, FaultsOfTheStoreAreOutlived) {
  Cluster cluster;
  kv::FaultOptions faults;
  faults[kv::Fault::kUnavailable] = 0.1;
  faults[kv::Fault::kUnknownApplied] = 0.1;
  faults[kv::Fault::kUnknownNotApplied] = 0.1;
  faults[kv::Fault::kCorruption] = 0.05;
  for (int i = 0; i < 3; ++i) {
    faults.seed = static_cast<uint64_t>(i + 1);
    cluster.Join(true, faults).CreateTable(200);
  }
  cluster.Run(10);
  cluster.processes[2]->asked_per_second = 400;
  cluster.Run(60);
  const int served = cluster.Run(60);
  EXPECT_LE(served, 1.1 * 60 * 200);
  EXPECT_GE(served, 0.8 * 60 * 200);
}

TEST(Shares, OneProcessDecidesByWhatAllOfThemDo) {
  Cluster cluster;
  for (int i = 0; i < 3; ++i) {
    Process& p = cluster.Join();
    // Together nearly all that one partition can do.
    p.CreateTable(990);
    p.asked_per_second = 332;
  }
  Process* decider = nullptr;
  const auto deciders = [&] {
    size_t count = 0;
    for (const auto& p : cluster.processes) {
      if (!p->env.admission.decides()) continue;
      ++count;
      decider = p.get();
    }
    return count;
  };
  for (int minute = 0; minute < 7; ++minute) cluster.Run(61);
  ASSERT_EQ(deciders(), 1u);
  for (const auto& p : cluster.processes) {
    EXPECT_EQ(p->Model().partition_count(), p.get() == decider ? 2u : 1u);
    EXPECT_EQ(p->store->Find("t")->descriptor.partitions.size(), p.get() == decider ? 2u : 1u);
    if (p.get() != decider) {
      EXPECT_EQ(p->Model().foreign().write, 0);
    }
  }
  const double others = decider->Model().foreign().write;
  EXPECT_GT(others, 0.9 * 2 * 280 * 7 * 61);
}

TEST(Shares, BoundsInsideCollectionsAreTold) {
  Cluster cluster;
  for (int i = 0; i < 2; ++i) cluster.Join().CreateTable(100);
  cluster.Run(3);
  for (const auto& p : cluster.processes) {
    if (!p->env.admission.decides()) continue;
    (void)p->Model().Split(p->clock.NowMicros(), {uint64_t{1} << 63, "m"});
  }
  cluster.Run(3);
  for (const auto& p : cluster.processes) {
    EXPECT_EQ(p->Model().InnerBounds(),
              (std::vector<throughput::KeyBound>{{uint64_t{1} << 63, "m"}}));
  }
}

TEST(Shares, ByItsOwnThread) {
  kv::SharedMemory store;
  Process one(store, "one", 1);
  one.CreateTable(100);
  ops::Admission& admission = one.env.admission;
  Shares shares(one.transport, admission, one.clock, {.name = "two", .interval_micros = 1000});
  shares.Start();
  EXPECT_TRUE(shares.WaitForGrant(30 * kSecond));
  EXPECT_TRUE(shares.view().granted);
  shares.Stop();
  EXPECT_FALSE(admission.Granted());
  // It has left nothing behind but a plan without an allocator.
  std::vector<std::string> keys;
  ASSERT_TRUE(one.transport
                  .Scan({kSharesTablet, {}, {}}, kv::Tier::kAny,
                        [&](std::string_view key, std::string_view) {
                          keys.emplace_back(key);
                          return true;
                        })
                  .ok());
  EXPECT_EQ(keys, (std::vector<std::string>{"grant/two", "plan"}));
}

}  // namespace
}  // namespace stator::server
