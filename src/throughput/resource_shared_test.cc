// A table of which several processes have parts: each with a Resource of its own, driven by one
// virtual clock.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/random.h"
#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr uint32_t kTablet = 5;

std::shared_ptr<const Grant> GrantOf(double whole, double base = 1) {
  auto grant = std::make_shared<Grant>();
  grant->base = base;
  grant->resources[kTablet].whole = Parts{whole, whole};
  return grant;
}

ResourceDefinition Definition(double write, std::shared_ptr<const Grant> grant) {
  ResourceDefinition d;
  d.name = "t";
  d.provisioned = {write / 10, write};
  d.grant = std::move(grant);
  d.tablet = kTablet;
  d.partitions = PartitionMap::Even(2);
  return d;
}

Draw Write(uint64_t hash, int64_t units = 1) {
  return {nullptr, Access::kWrite, false, 2 * units, {hash, {}, {}}};
}

constexpr uint64_t kUpper = uint64_t{1} << 63;

TEST(SharedResource, HasTheGrantedPartOfEachLimit) {
  auto grant = std::make_shared<Grant>(*GrantOf(0.25, 0.5));
  grant->resources[kTablet].ranges = {{{{kUpper, {}}, {}, true}, {0.1, 0.01}}};
  Resource r({}, Definition(1000, grant), 0);
  // The lower half can do half of 1,000, the upper one 10; the table 250 a second.
  int64_t lower = 0, upper = 0;
  for (int64_t now = 0; now < 100 * kSecond; now += kSecond / 10) {
    upper += r.AdmitMany(now, Write(kUpper), 100, nullptr);
    lower += r.AdmitMany(now, Write(0), 100, nullptr);
  }
  EXPECT_NEAR(static_cast<double>(upper), 100 * 10, 25);
  EXPECT_NEAR(static_cast<double>(lower + upper), 100 * 250, 300);
  Verdict refused;
  (void)r.AdmitMany(100 * kSecond, Write(kUpper), 10'000, &refused);
  ASSERT_FALSE(refused.admitted);
  const Explanation key_range = r.Explain(100 * kSecond, refused);
  EXPECT_EQ(key_range.reason, "TableWriteKeyRangeThroughputExceeded");
  EXPECT_EQ(key_range.limit, 1000);
  EXPECT_EQ(key_range.granted, 10);
  (void)r.AdmitMany(100 * kSecond, Write(0), 10'000, &refused);
  const Explanation table = r.Explain(100 * kSecond, refused);
  EXPECT_EQ(table.reason, "TableWriteProvisionedThroughputExceeded");
  EXPECT_EQ(table.limit, 1000);
  EXPECT_EQ(table.granted, 250);
}

TEST(SharedResource, WithoutAGrantNothingIsLeft) {
  Resource r({}, Definition(1000, GrantOf(1)), 0);
  EXPECT_EQ(r.AdmitMany(100 * kSecond, Write(0), 500, nullptr), 500);
  r.EndGrant(100 * kSecond);
  EXPECT_LE(r.AdmitMany(3700 * kSecond, Write(0), 500, nullptr), 4);  // a unit in 1,000 seconds
  const Verdict v = r.RefuseUngranted(0, Write(0));
  EXPECT_FALSE(v.admitted);
  EXPECT_EQ(v.limit, Limit::kProvisioned);
  EXPECT_GE(r.refused(Limit::kProvisioned).write, 1);
  // Nothing was saved for the next grant.
  r.SetGrant(3700 * kSecond, GrantOf(1));
  EXPECT_LE(r.AdmitMany(3700 * kSecond, Write(0), 5000, nullptr), 4);
  EXPECT_NEAR(static_cast<double>(r.AdmitMany(3701 * kSecond, Write(0), 5000, nullptr)), 1000, 10);
}

TEST(SharedResource, UnusedCapacityMovesWithTheGrant) {
  std::vector<std::unique_ptr<Resource>> processes;
  for (int i = 0; i < 3; ++i)
    processes.push_back(
        std::make_unique<Resource>(ModelSettings(), Definition(600, GrantOf(1.0 / 3)), 0));
  // Five minutes of nothing.
  const int64_t now = 300 * kSecond;
  Units moved{};
  for (int i = 1; i < 3; ++i) {
    const Units surrendered = processes[static_cast<size_t>(i)]->SetGrant(now, GrantOf(0.02));
    EXPECT_NEAR(surrendered[1], 300 * 600 * (1.0 / 3 - 0.02), 1);
    for (size_t a = 0; a < kAccesses; ++a) moved[a] += surrendered[a];
  }
  processes[0]->SetGrant(now, GrantOf(0.96), moved);
  EXPECT_NEAR(processes[0]->Tokens(now, Access::kWrite), 0.96 * 300 * 600, 2);
  // There is no more room than that.
  EXPECT_EQ(processes[0]->SetGrant(now, GrantOf(0.96), {1e9, 1e9}), Units{});
  EXPECT_NEAR(processes[0]->Tokens(now, Access::kWrite), 0.96 * 300 * 600, 2);
}

// Whatever parts three processes have, as long as those that shrink do so first: together they
// never use more than one process could.
TEST(SharedResource, TogetherTheyUseNoMoreThanOne) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    constexpr double kRate = 400;
    std::vector<std::unique_ptr<Resource>> processes;
    std::vector<double> parts = {0.2, 0.3, 0.5};
    for (const double part : parts)
      processes.push_back(
          std::make_unique<Resource>(ModelSettings(), Definition(kRate, GrantOf(part, part)), 0));
    double pool = 0, free = 0;
    std::vector<std::pair<int64_t, double>> used;  // by time
    std::array<double, 3> asked{};
    for (int64_t now = 0; now < 1500 * kSecond; now += kSecond / 2) {
      if (random.Below(40) == 0) {
        for (double& units : asked) units = random.Below(2) == 0 ? 0 : random.Unit() * 3 * kRate;
      }
      if (random.Below(6) == 0) {
        const size_t i = random.Below(3);
        const double before = parts[i];
        const double after =
            random.Below(2) == 0 ? before * random.Unit() : before + free * random.Unit();
        const double moves = after > before ? pool * (after - before) / free : 0;
        pool += processes[i]->SetGrant(now, GrantOf(after, after), {0, moves})[1] - moves;
        free += before - after;
        parts[i] = after;
        pool = std::min(pool, free * kRate * 300);
      }
      double units = 0;
      for (size_t i = 0; i < 3; ++i) {
        const auto count = static_cast<int64_t>(asked[i] / 2);
        for (const uint64_t hash : {uint64_t{0}, kUpper})
          units +=
              static_cast<double>(processes[i]->AdmitMany(now, Write(hash), count / 2, nullptr));
      }
      used.emplace_back(now, units);
    }
    // Over every stretch of time.
    for (size_t from = 0; from < used.size(); from += 37) {
      double sum = 0;
      for (size_t to = from; to < used.size(); ++to) {
        sum += used[to].second;
        const double seconds = static_cast<double>(used[to].first - used[from].first) / 1e6;
        ASSERT_LE(sum, kRate * (seconds + 301) + 6) << used[from].first << " to " << used[to].first;
      }
    }
  }
}

// A table as four processes with equal parts of it see it. The first one decides.
std::vector<std::unique_ptr<Resource>> Quarters() {
  std::vector<std::unique_ptr<Resource>> processes;
  for (int i = 0; i < 4; ++i) {
    processes.push_back(
        std::make_unique<Resource>(ModelSettings(), Definition(1900, GrantOf(0.25, 0.25)), 0));
    processes.back()->SetDecides(i == 0);
  }
  return processes;
}
std::vector<Resource*> Pointers(const std::vector<std::unique_ptr<Resource>>& owned) {
  std::vector<Resource*> pointers;
  for (const auto& each : owned) pointers.push_back(each.get());
  return pointers;
}

// Asks of each process in turn for what together is too much for one partition.
void Heat(const std::vector<Resource*>& processes, int64_t from, int64_t to, int64_t per_second,
          bool exchange) {
  uint64_t n = 0;
  for (int64_t now = from; now < to; now += kSecond) {
    for (Resource* process : processes) {
      for (int64_t i = 0; i < per_second; ++i) {
        // Sixteen keys of the lower partition.
        (void)process->Admit(now, Write((++n % 16) << 58));
      }
    }
    for (size_t i = 0; exchange && i < processes.size(); ++i) {
      const std::optional<ResourceUse> use = processes[i]->TakeUse(1);
      if (i > 0 && use) processes[0]->AddForeign(*use);
    }
    for (Resource* process : processes) process->Advance(now + kSecond);
  }
}

TEST(SharedResource, HeatOfAllProcessesTogetherSplits) {
  const std::vector<std::unique_ptr<Resource>> owned = Quarters();
  const std::vector<Resource*> processes = Pointers(owned);
  Heat(processes, 0, 400 * kSecond, 240, true);
  EXPECT_EQ(processes[0]->partition_count(), 3u);
  // The others wait for being told.
  EXPECT_EQ(processes[1]->partition_count(), 2u);
  const PartitionMap map = processes[0]->HashMap();
  for (const uint64_t start : map.starts()) (void)processes[1]->Split(400 * kSecond, {start, {}});
  EXPECT_EQ(processes[1]->HashMap(), map);
  EXPECT_EQ(processes[0]->foreign().write, 3 * 240 * 400);
  // Shares are the same, although one has halved and the other has been told.
  const auto weights = [](const Resource& r) {
    std::vector<double> all;
    for (const PartitionView& view : r.Partitions()) all.push_back(view.weight);
    return all;
  };
  EXPECT_EQ(weights(*processes[0]), weights(*processes[1]));
}

TEST(SharedResource, HeatThatNobodyTellsOfDoesNot) {
  const std::vector<std::unique_ptr<Resource>> owned = Quarters();
  const std::vector<Resource*> processes = Pointers(owned);
  Heat(processes, 0, 400 * kSecond, 240, false);
  for (const Resource* process : processes) EXPECT_EQ(process->partition_count(), 2u);
}

TEST(SharedResource, OnlyOneDecidesAboutThroughput) {
  Resource decides({}, Definition(2000, GrantOf(0.5)), 0),
      other({}, Definition(2000, GrantOf(0.5)), 0);
  other.SetDecides(false);
  (void)decides.SetProvisioned(kSecond, {1000, 4000});
  EXPECT_TRUE(other.SetProvisioned(kSecond, {1000, 4000}).empty());
  EXPECT_EQ(decides.partition_count(), 8u);
  EXPECT_EQ(other.partition_count(), 2u);
  // When the one is gone, the other makes up for it.
  other.SetDecides(true);
  EXPECT_FALSE(other.Advance(2 * kSecond).empty());
  EXPECT_EQ(other.HashMap(), decides.HashMap());
}

TEST(SharedResource, OnDemandGrowsByWhatAllUse) {
  ResourceDefinition d = Definition(0, GrantOf(0.5, 0.5));
  d.billing = Billing::kOnDemand;
  d.partitions = PartitionMap::Even(4);
  Resource decides({}, d, 0), other({}, d, 0);
  other.SetDecides(false);
  for (int64_t now = 0; now < 2000 * kSecond; now += kSecond) {
    for (uint64_t p = 0; p < 4; ++p) {
      for (Resource* r : {&decides, &other}) (void)r->AdmitMany(now, Write(p << 62), 400, nullptr);
    }
    if (const auto use = other.TakeUse(1)) decides.AddForeign(*use);
    (void)decides.Advance(now + kSecond);
    (void)other.Advance(now + kSecond);
  }
  EXPECT_NEAR(decides.warm().write, 6400, 100);
  EXPECT_EQ(decides.partition_count(), 8u);
  EXPECT_EQ(other.warm().write, 4000);
  other.RaiseReady(decides.warm());
  EXPECT_EQ(other.warm(), decides.warm());
}

TEST(SharedResource, TotalsAreDividedByWhatOthersWrote) {
  Resource r({}, Definition(1000, GrantOf(0.5)), 0);
  r.AddBytes({0, {}, {}}, 1000, 10);
  r.SetTotals(3000, 31);
  auto views = r.Partitions();
  EXPECT_EQ(views[0].bytes + views[1].bytes, 3000);
  EXPECT_EQ(views[0].items + views[1].items, 31);
  EXPECT_EQ(views[1].bytes, 1000);
  ResourceUse use;
  use.whole.used = {0, 100};
  use.ranges.push_back({views[1].range, {{0, 100}, {}}, {}});
  r.AddForeign(use);
  r.SetTotals(13000, 131);
  views = r.Partitions();
  EXPECT_EQ(views[1].bytes, 11000);
  EXPECT_EQ(views[0].bytes, 2000);
  EXPECT_EQ(views[0].items + views[1].items, 131);
}

TEST(SharedResource, LittleUseIsNotToldOf) {
  Resource r({}, Definition(1000, GrantOf(0.5, 0.5)), 0);
  EXPECT_FALSE(r.TakeUse(1).has_value());
  EXPECT_EQ(r.AdmitMany(kSecond, Write(0), 5, nullptr), 5);
  EXPECT_FALSE(r.TakeUse(1).has_value());
  EXPECT_EQ(r.AdmitMany(2 * kSecond, Write(0), 100, nullptr), 100);
  const auto use = r.TakeUse(1);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->whole.used, (Halves{0, 200}));
  ASSERT_EQ(use->ranges.size(), 1u);
  EXPECT_EQ(use->ranges[0].use.used, (Halves{0, 200}));
  EXPECT_FALSE(use->ranges[0].keys.empty());
  EXPECT_FALSE(r.TakeUse(1).has_value());
}

}  // namespace
}  // namespace stator::throughput
