// The division of capacity among processes: chosen cases, and worlds made of a seed in which
// processes freeze, die, come and take over, and writes fail, get lost or arrive late.
#include "throughput/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/random.h"
#include "throughput/share_allocator.h"
#include "throughput/share_holder.h"

namespace stator::throughput {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr uint32_t kTable = 7;
constexpr uint32_t kOther = 8;
constexpr int kPartitions = 4;
constexpr double kWhole = 2000;      // write units per second of a table
constexpr double kPartition = 1000;  // of a partition
constexpr size_t kWrite = 1;

KeyRange PartitionRange(int number) {
  const uint64_t width = UINT64_MAX / kPartitions;
  return {{width * static_cast<uint64_t>(number), {}},
          number + 1 < kPartitions ? KeyBound{width * static_cast<uint64_t>(number + 1), {}}
                                   : KeyBound{},
          number + 1 == kPartitions};
}

std::optional<SharedLimits> Limits(uint32_t tablet) {
  if (tablet != kTable && tablet != kOther) return std::nullopt;
  return SharedLimits{{kWhole, kWhole}, 300, {3 * kPartition, kPartition}};
}

// Write units per second that a process is asked for, by partition.
struct Load {
  std::array<double, kPartitions> table{};
  std::array<double, kPartitions> other{};
};

// What the processes share. Writes take effect when they are told to, some never.
struct World {
  explicit World(uint64_t seed) : random(seed) {}
  SeededRandom random;
  int64_t now = 0;
  uint64_t versions = 0;
  std::map<std::string, std::string> reports;
  std::map<std::string, std::string> grants;
  std::optional<std::string> plan;
  uint64_t plan_version = 0;
  double failing = 0;  // part of the writes that fail; half of those are applied nevertheless
};

class Process {
 public:
  Process(World* world, std::string name)
      : world_(*world),
        name_(std::move(name)),
        offset_(static_cast<int64_t>(world_.random.Below(1'000'000'000'000))),
        election_(ShareSettings()),
        allocator_(ShareSettings(), name_),
        next_(world_.now + Pause()) {}

  const std::string& name() const { return name_; }
  int64_t next() const { return next_; }
  int64_t Ticks() const { return offset_ + world_.now; }
  // By its own clock.
  bool Valid() const { return Ticks() < valid_until_; }
  const Grant& grant() const { return grant_; }
  void Freeze(int64_t micros) { next_ = std::max(next_, world_.now + micros); }
  bool leads() const { return leads_; }
  size_t live() const { return live_; }

  Load load;

  // What is served of the load, in write units per second.
  double Serve(uint32_t tablet, const std::array<double, kPartitions>& asked, ResourceUse* use,
               double seconds) const {
    double passed = 0, all = 0;
    std::array<double, kPartitions> passes{};
    for (size_t p = 0; p < kPartitions; ++p) {
      const KeyRange range = PartitionRange(static_cast<int>(p));
      const double most = Valid() ? grant_.Least(tablet, range)[kWrite] * kPartition : 0;
      passes[p] = std::min(asked[p], most);
      passed += passes[p];
      all += asked[p];
    }
    const double served = std::min(passed, Valid() ? grant_.Whole(tablet)[kWrite] * kWhole : 0);
    if (use == nullptr) return served;
    const auto halves = [seconds](double units) {
      return static_cast<int64_t>(2 * units * seconds);
    };
    use->whole.used[kWrite] = halves(served);
    use->whole.refused[kWrite] = halves(all - served);
    for (size_t p = 0; p < kPartitions; ++p) {
      if (asked[p] <= 0) continue;
      const double used = passed > 0 ? passes[p] * served / passed : 0;
      RangeUse of{PartitionRange(static_cast<int>(p)), {}, {}};
      of.use.used[kWrite] = halves(used);
      of.use.refused[kWrite] = halves(asked[p] - used);
      use->ranges.push_back(std::move(of));
    }
    return served;
  }

  // The next of its steps: a freeze may come before each of them.
  void Step() {
    switch (step_) {
      case 0: {  // reads its own record
        record_.reset();
        if (const auto found = world_.grants.find(name_); found != world_.grants.end()) {
          auto record = GrantRecord::Decode(found->second);
          ASSERT_TRUE(record.ok());
          record_ = *record;
        }
        break;
      }
      case 1: {  // puts it in force and makes a report
        const ShareHolder::News news = holder_.Receive(record_ ? &*record_ : nullptr, Ticks());
        ASSERT_FALSE(news.granted && news.ended);
        if (news.ended) grant_ = {};
        if (news.granted) {
          grant_ = record_->grant;
          holder_.PutInForce(*record_, {});
        }
        valid_until_ = holder_.valid_until();
        const double seconds = static_cast<double>(Ticks() - asked_) / 1e6;
        asked_ = Ticks();
        Use use;
        if (seconds < 100) {
          Serve(kTable, load.table, &use[kTable], seconds);
          Serve(kOther, load.other, &use[kOther], seconds);
        }
        report_ = holder_.Ask(Ticks(), std::move(use)).Encode();
        break;
      }
      case 2:  // writes it
        Write([this] { world_.reports[name_] = report_; });
        break;
      case 3: {  // reads all, if it allocates
        std::optional<SharePlan> plan;
        if (world_.plan) plan = *SharePlan::Decode(*world_.plan);
        leads_ = election_.Leads(name_, plan ? &*plan : nullptr, world_.plan_version, Ticks());
        if (!leads_) {
          step_ = 4;  // of which there is nothing
          break;
        }
        plan_version_ = world_.plan_version;
        ShareAllocator::State state;
        if (plan) state.plan = *plan;
        for (const auto& [name, bytes] : world_.grants)
          state.grants[name] = *GrantRecord::Decode(bytes);
        std::map<std::string, Report> reports;
        for (const auto& [name, bytes] : world_.reports) reports[name] = *Report::Decode(bytes);
        outcome_ = allocator_.Step(Ticks(), reports, std::move(state), Limits);
        live_ = outcome_.live;
        break;
      }
      case 4:  // writes what is new, if nobody else has
        Write([this] {
          if (world_.plan_version != plan_version_) return;
          world_.plan = outcome_.next.plan.Encode();
          world_.plan_version = ++world_.versions;
          for (const std::string& name : outcome_.gone) {
            world_.grants.erase(name);
            world_.reports.erase(name);
          }
          for (const auto& [name, record] : outcome_.next.grants)
            world_.grants[name] = record.Encode();
        });
        break;
    }
    step_ = (step_ + 1) % 5;
    next_ =
        world_.now + (step_ == 0 ? Pause() : static_cast<int64_t>(world_.random.Below(100'000)));
  }

 private:
  int64_t Pause() { return 700'000 + static_cast<int64_t>(world_.random.Below(400'000)); }
  template <typename Apply>
  void Write(const Apply& apply) {
    const bool fails = world_.random.Unit() < world_.failing;
    if (!fails || world_.random.Below(2) == 0) apply();
  }

  World& world_;
  const std::string name_;
  const int64_t offset_;
  ShareHolder holder_;
  ShareElection election_;
  ShareAllocator allocator_;
  int64_t next_;
  int step_ = 0;
  Grant grant_;
  int64_t valid_until_ = INT64_MIN;
  int64_t asked_ = INT64_MIN / 2;
  std::optional<GrantRecord> record_;
  std::string report_;
  bool leads_ = false;
  uint64_t plan_version_ = 0;
  ShareAllocator::Outcome outcome_;
  size_t live_ = 0;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : world(seed) {}

  Process& Join() {
    processes.push_back(std::make_unique<Process>(&world, "p" + std::to_string(++names_)));
    return *processes.back();
  }

  // Runs so long, checking after every step.
  void Run(int64_t micros) {
    const int64_t end = world.now + micros;
    for (;;) {
      const auto next =
          std::min_element(processes.begin(), processes.end(),
                           [](const auto& a, const auto& b) { return a->next() < b->next(); });
      if (next == processes.end() || (*next)->next() > end) break;
      world.now = std::max(world.now, (*next)->next());
      (*next)->Step();
      Check();
      if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
    }
    world.now = end;
  }

  // No limit is granted more than once over.
  void Check() {
    for (const uint32_t tablet : {kTable, kOther, 99u}) {
      double whole = 0;
      std::array<double, kPartitions> ranges{};
      for (const auto& process : processes) {
        if (!process->Valid()) continue;
        whole += process->grant().Whole(tablet)[kWrite];
        for (int p = 0; p < kPartitions; ++p)
          ranges[static_cast<size_t>(p)] +=
              process->grant().Most(tablet, PartitionRange(p))[kWrite];
      }
      ASSERT_LE(whole, 1 + 1e-9) << "tablet " << tablet << " at " << world.now;
      for (const double range : ranges)
        ASSERT_LE(range, 1 + 1e-9) << "tablet " << tablet << " at " << world.now;
    }
  }

  // What is served of what could be.
  double Utilisation(uint32_t tablet) const {
    std::array<double, kPartitions> asked{};
    double served = 0, possible = 0;
    for (const auto& process : processes) {
      const auto& load = tablet == kTable ? process->load.table : process->load.other;
      for (size_t p = 0; p < kPartitions; ++p) asked[p] += load[p];
      served += process->Serve(tablet, load, nullptr, 1);
    }
    for (const double units : asked) possible += std::min(units, kPartition);
    return possible > 0 ? served / std::min(possible, kWhole) : 1;
  }

  World world;
  std::vector<std::unique_ptr<Process>> processes;

 private:
  int names_ = 0;
};

TEST(Shares, OneProcessHasAll) {
  Simulation sim(1);
  Process& one = sim.Join();
  one.load.table = {900, 700, 300, 0};
  sim.Run(5 * kSecond);
  EXPECT_TRUE(one.Valid());
  EXPECT_EQ(one.grant().base, 1);
  EXPECT_EQ(one.grant().Whole(kTable)[kWrite], 1);
  EXPECT_EQ(one.grant().Least(kTable, PartitionRange(0))[kWrite], 1);
  EXPECT_NEAR(sim.Utilisation(kTable), 1, 1e-9);
}

TEST(Shares, WhatNobodyUsesIsDividedEvenly) {
  Simulation sim(2);
  for (int i = 0; i < 4; ++i) sim.Join();
  sim.Run(15 * kSecond);
  for (const auto& process : sim.processes) {
    EXPECT_TRUE(process->Valid());
    EXPECT_NEAR(process->grant().base, 0.25, 0.01);
    EXPECT_TRUE(process->grant().resources.empty());
  }
}

TEST(Shares, LoadOnOneProcessGetsItsCapacity) {
  Simulation sim(3);
  for (int i = 0; i < 5; ++i) sim.Join();
  sim.Run(15 * kSecond);
  sim.processes[3]->load.table = {900, 900, 900, 900};
  sim.Run(10 * kSecond);
  EXPECT_GT(sim.Utilisation(kTable), 0.9);
  // It moves to another one.
  std::swap(sim.processes[3]->load, sim.processes[0]->load);
  sim.Run(10 * kSecond);
  EXPECT_GT(sim.Utilisation(kTable), 0.9);
  sim.processes[0]->load = {};
  sim.Run(60 * kSecond);
  for (const auto& process : sim.processes) {
    EXPECT_NEAR(process->grant().Whole(kTable)[kWrite], 0.2, 0.02);
    // Nothing is said of what nobody uses.
    EXPECT_LE(process->grant().resources.size(), 1u);
  }
}

TEST(Shares, AHotPartitionIsDividedByItsOwnDemand) {
  Simulation sim(4);
  for (int i = 0; i < 3; ++i) sim.Join();
  // Refusals of the hot partition are no demand on the table.
  sim.processes[0]->load.table = {3500, 0, 0, 0};
  sim.processes[1]->load.table = {0, 400, 400, 200};
  sim.Run(15 * kSecond);
  EXPECT_GT(sim.Utilisation(kTable), 0.9);
  EXPECT_GT(sim.processes[0]->grant().Least(kTable, PartitionRange(0))[kWrite], 0.9);
}

TEST(Shares, TheDeadAreMissedForSomeSecondsOnly) {
  Simulation sim(5);
  for (int i = 0; i < 3; ++i) sim.Join();
  for (const auto& process : sim.processes) process->load.table = {500, 500, 500, 0};
  sim.Run(15 * kSecond);
  // The allocator itself.
  const auto dead = std::find_if(sim.processes.begin(), sim.processes.end(),
                                 [](const auto& p) { return p->leads(); });
  ASSERT_NE(dead, sim.processes.end());
  (*dead)->Freeze(3600 * kSecond);
  (*dead)->load = {};
  // Nobody's grant ends meanwhile.
  for (int second = 0; second < 20; ++second) {
    sim.Run(kSecond);
    for (const auto& process : sim.processes)
      EXPECT_TRUE(process->Valid() || process == *dead) << second;
  }
  EXPECT_GT(sim.Utilisation(kTable), 0.9);
  EXPECT_FALSE((*dead)->Valid());
}

// A load that both limits refuse in turn: what is asked for is the same all the time, and so are
// the parts.
TEST(Shares, PartsDoNotSwing) {
  Simulation sim(7);
  for (int i = 0; i < 2; ++i) sim.Join();
  sim.processes[0]->load.table = {900, 900, 900, 900};
  sim.processes[1]->load.table = {1200, 1200, 1200, 1200};
  sim.Run(30 * kSecond);
  const double part = sim.processes[0]->grant().Whole(kTable)[kWrite];
  EXPECT_NEAR(part, 0.05 / 2 + 0.95 * 3 / 7, 0.02);
  for (int second = 0; second < 60; ++second) {
    sim.Run(kSecond);
    ASSERT_NEAR(sim.processes[0]->grant().Whole(kTable)[kWrite], part, 0.02) << second;
    ASSERT_GT(sim.Utilisation(kTable), 0.97) << second;
  }
}

// Grants that a member of a session that has ended was given are not taken up again.
TEST(Shares, WhoWakesUpHasNothingUntilItIsGivenSomething) {
  Simulation sim(6);
  for (int i = 0; i < 3; ++i) sim.Join();
  sim.Run(15 * kSecond);
  Process& frozen = *sim.processes[1];
  frozen.Freeze(60 * kSecond);
  sim.Run(59 * kSecond);
  EXPECT_FALSE(frozen.Valid());
  EXPECT_NEAR(sim.processes[0]->grant().base, 0.5, 0.02);
  sim.Run(15 * kSecond);
  EXPECT_TRUE(frozen.Valid());
  EXPECT_NEAR(frozen.grant().base, 1.0 / 3, 0.02);
}

class SharesSimulation : public testing::TestWithParam<uint64_t> {};

// Anything happens for minutes; then it is quiet, and within seconds capacity is used again.
TEST_P(SharesSimulation, NeverTooMuchAndSoonEnough) {
  const uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Simulation sim(seed);
  SeededRandom& random = sim.world.random;
  const auto new_load = [&random](Process* process) {
    for (auto* load : {&process->load.table, &process->load.other}) {
      for (double& units : *load) {
        const double scale = random.Below(4) == 0 ? 3000 : random.Below(2) == 0 ? 300 : 0;
        units = random.Unit() * scale;
      }
    }
  };
  const size_t first = 1 + random.Below(5);
  for (size_t i = 0; i < first; ++i) new_load(&sim.Join());
  for (int round = 0; round < 3; ++round) {
    sim.world.failing = random.Below(2) == 0 ? 0 : 0.3 * random.Unit();
    for (int event = 0; event < 40; ++event) {
      sim.Run(static_cast<int64_t>(random.Below(6 * kSecond)));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
      const size_t n = sim.processes.size();
      Process* any = n > 0 ? sim.processes[random.Below(n)].get() : nullptr;
      switch (random.Below(8)) {
        case 0:
          if (n < 6) new_load(&sim.Join());
          break;
        case 1:  // dies
          if (n > 1)
            sim.processes.erase(sim.processes.begin() +
                                static_cast<std::ptrdiff_t>(random.Below(n)));
          break;
        case 2:
          if (any != nullptr) any->Freeze(static_cast<int64_t>(random.Below(40 * kSecond)));
          break;
        case 3:
          for (const auto& process : sim.processes) {
            if (process->leads()) process->Freeze(static_cast<int64_t>(random.Below(20 * kSecond)));
          }
          break;
        default:
          if (any != nullptr) new_load(any);
      }
    }
    sim.world.failing = 0;
    sim.Run(70 * kSecond);  // all have woken up, and what is left of the dead has ended
    if (HasFatalFailure() || HasNonfatalFailure()) return;
    double least = 1;
    for (int second = 0; second < 10; ++second) {
      sim.Run(kSecond);
      least = std::min({least, sim.Utilisation(kTable), sim.Utilisation(kOther)});
    }
    EXPECT_GE(least, 0.9);
    // And when the load changes, it takes seconds.
    for (const auto& process : sim.processes) new_load(process.get());
    sim.Run(15 * kSecond);
    EXPECT_GE(sim.Utilisation(kTable), 0.9);
    EXPECT_GE(sim.Utilisation(kOther), 0.9);
    for (const auto& process : sim.processes) {
      EXPECT_TRUE(process->Valid());
      if (process->leads()) {
        EXPECT_EQ(process->live(), sim.processes.size());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SharesSimulation, testing::Range<uint64_t>(1, 81));

// --- Formats

TEST(SharesFormat, RoundTrip) {
  Report report{3, 17, 4, {{7, {1.5, 2}}}, {}};
  const RangeUse of{PartitionRange(3), {{5, 6}, {7, 8}}, {{12, "ab"}, {13, ""}}};
  report.ticks.push_back({1'000'123, {{7, {{{10, 20}, {0, 3}}, {1, 2}, {of}}}}});
  report.ticks.push_back({999, {}});
  const auto read = Report::Decode(report.Encode());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, report);

  GrantRecord record{3, 17, 10 * kSecond, 5, 4, {}, {}, {}};
  record.grant.base = 0.25;
  record.grant.resources[7] = {Parts{0.5, 0.125},
                               {{PartitionRange(1), {0.1, 0.2}}, {PartitionRange(3), {1, 0}}}};
  record.grant.resources[8] = {};
  record.before = Grant{1, {}};
  record.moved[7] = {0, 12.5};
  const auto again = GrantRecord::Decode(record.Encode());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, record);

  SharePlan plan{"p1", 99, {{7, {0, 1e6}}}, {{9, {{40000, 10000}, {{1, "x"}, {2, "y"}}}}}};
  const auto planned = SharePlan::Decode(plan.Encode());
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(*planned, plan);
}

TEST(SharesFormat, DamageIsCorruption) {
  const std::string bytes = GrantRecord{1, 2, 3, 4, 4, {0.5, {}}, {}, {}}.Encode();
  EXPECT_EQ(Report::Decode(bytes).error().code(), ErrorCode::kCorruption);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(GrantRecord::Decode(damaged).error().code(), ErrorCode::kCorruption) << i;
    EXPECT_EQ(GrantRecord::Decode(bytes.substr(0, i)).error().code(), ErrorCode::kCorruption) << i;
  }
  GrantRecord absurd{1, 2, 3, 4, 4, {1.5, {}}, {}, {}};
  EXPECT_EQ(GrantRecord::Decode(absurd.Encode()).error().code(), ErrorCode::kCorruption);
  absurd.grant.base = std::nan("");
  EXPECT_EQ(GrantRecord::Decode(absurd.Encode()).error().code(), ErrorCode::kCorruption);
}

TEST(SharesGrant, LeastAndMostOfARange) {
  Grant grant{0.25, {}};
  grant.resources[kTable].ranges = {{PartitionRange(0), {0.1, 0.5}},
                                    {PartitionRange(1), {0.3, 0.2}}};
  const KeyRange both{PartitionRange(0).from, PartitionRange(1).to, false};
  EXPECT_EQ(grant.Least(kTable, both), (Parts{0.1, 0.2}));
  EXPECT_EQ(grant.Most(kTable, both), (Parts{0.3, 0.5}));
  const KeyRange more{PartitionRange(1).from, {}, true};
  EXPECT_EQ(grant.Least(kTable, more), (Parts{0.25, 0.2}));
  EXPECT_EQ(grant.Least(kTable, PartitionRange(3)), (Parts{0.25, 0.25}));
  EXPECT_EQ(grant.Least(kOther, more), (Parts{0.25, 0.25}));
}

}  // namespace
}  // namespace stator::throughput
