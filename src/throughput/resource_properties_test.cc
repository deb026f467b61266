// What holds for every sequence of requests, capacity changes and splits, from a seed; and beside
// many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "throughput/resource.h"

namespace stator::throughput {
namespace {

constexpr int64_t kSecond = 1'000'000;

std::string SortKey(uint64_t n) {
  const std::string s = std::to_string(n);
  return std::string(20 - std::min<size_t>(20, s.size()), '0') + s;
}

// Ranges ascend without a gap, cover everything, and the one that owns a point is the one that is
// asked.
void ExpectWhole(const Resource& table, Random& random) {
  const std::vector<PartitionView> partitions = table.Partitions();
  ASSERT_FALSE(partitions.empty());
  ASSERT_EQ(partitions.front().range.from, KeyBound{});
  ASSERT_TRUE(partitions.back().range.to_end);
  double weight = 0;
  for (size_t i = 0; i < partitions.size(); ++i) {
    weight += partitions[i].weight;
    if (i + 1 == partitions.size()) break;
    ASSERT_FALSE(partitions[i].range.to_end);
    ASSERT_LT(partitions[i].range.from, partitions[i].range.to);
    ASSERT_EQ(partitions[i].range.to, partitions[i + 1].range.from);
  }
  ASSERT_NEAR(weight, 1, 1e-9);
  for (int i = 0; i < 200; ++i) {
    // Anywhere, or at and around bounds.
    const KeyBound& bound = partitions[random.Below(partitions.size())].range.from;
    const std::string sort = random.Below(2) == 0 ? bound.sort : SortKey(random.Below(1000));
    const KeyPoint point{
        random.Below(2) == 0 ? random.Next() : bound.hash + random.Below(3) - 1, sort, {}};
    int owners = 0;
    for (const PartitionView& p : partitions) {
      if (!p.range.Contains(point)) continue;
      ++owners;
      ASSERT_EQ(table.PartitionOf(point), p.id);
    }
    ASSERT_EQ(owners, 1);
  }
  const PartitionMap map = table.HashMap();
  ASSERT_EQ(map.starts().front(), 0u);
  ASSERT_LE(map.size(), partitions.size());
}

int64_t ItemsOf(const Resource& table) {
  int64_t items = 0;
  for (const PartitionView& p : table.Partitions()) items += p.items;
  return items;
}

// A random life of a table; returns all it answered, as text.
std::string Live(uint64_t seed, bool check) {
  SeededRandom random(seed);
  ModelSettings settings;
  settings.adaptive = static_cast<Adaptive>(random.Below(3));
  settings.partition_bytes = 1e6;
  settings.most_partitions = 300;
  settings.observe_every_halves = random.Below(2) == 0 ? 1 : 32;
  ResourceDefinition d{.name = "t", .billing = static_cast<Billing>(random.Below(2))};
  d.provisioned = {static_cast<double>(1 + random.Below(6000)),
                   static_cast<double>(1 + random.Below(3000))};
  d.items = static_cast<int64_t>(random.Below(1000));
  d.has_local_indexes = random.Below(4) == 0;
  d.has_stream = random.Below(4) == 0;
  Resource table(settings, d, 0);
  int64_t items = d.items;
  std::ostringstream log;
  int64_t now = 0;
  const uint64_t hot = random.Next();
  for (int step = 0; step < 1500; ++step) {
    now += static_cast<int64_t>(random.Below(4)) * kSecond;
    const std::string sort =
        SortKey(random.Below(3) == 0 ? static_cast<uint64_t>(step) : random.Below(1000));
    Draw draw{.access = static_cast<Access>(random.Below(2)),
              .eventual = random.Below(2) == 0,
              .halves = static_cast<int64_t>(1 + random.Below(20)),
              .point = {hot, sort, "hot"}};
    if (random.Below(2) == 0) draw.point.hash = random.Next();
    log << table.AdmitMany(now, draw, static_cast<int64_t>(random.Below(3000)), nullptr) << ' ';
    if (random.Below(2) == 0) {
      const int64_t more = static_cast<int64_t>(random.Below(3)) - (random.Below(4) == 0 ? 2 : 0);
      items += more;
      table.AddBytes(draw.point, static_cast<int64_t>(random.Below(20'000)), more);
    }
    for (const SplitEvent& e : table.Advance(now)) {
      log << SplitReasonText(e.reason) << e.parent << '>' << e.left << ',' << e.right << '@'
          << e.bound.hash << e.bound.sort << ' ';
    }
    const Rates units{static_cast<double>(1 + random.Below(20000)),
                      static_cast<double>(1 + random.Below(9000))};
    switch (random.Below(200)) {
      case 0: table.SetProvisioned(now, units); break;
      case 1: table.SwitchToOnDemand(now); break;
      case 2: table.SwitchToProvisioned(now, units); break;
      case 3: (void)table.SetWarm(now, units).ok(); break;
      case 4: table.Split(now, {random.Next(), {}}); break;
      case 5: table.Split(now, {hot, sort}); break;
      default: break;
    }
    if (check && step % 50 == 0) {
      ExpectWhole(table, random);
      EXPECT_EQ(ItemsOf(table), items) << "step " << step;
    }
    if (::testing::Test::HasFatalFailure()) break;
  }
  if (check) ExpectWhole(table, random);
  for (const HeavyKey& key : table.Hottest(HeavyHitters::Of::kItems, 5))
    log << key.hash << key.sort << '=' << key.weight << ' ';
  log << table.partition_count() << ' ' << table.consumed().read << ' ' << table.consumed().write;
  return log.str();
}

TEST(ResourcePropertiesTest, NoKeyIsLostOrOwnedTwice) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Live(seed, true);
    if (HasFatalFailure()) return;
  }
}

TEST(ResourcePropertiesTest, EqualCallsGiveEqualAnswers) {
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(Live(seed, false), Live(seed, false)) << "seed " << seed;
}

// Over any window of a table of constant capacity, however its keys are hit and its partitions
// split.
TEST(ResourcePropertiesTest, NeverMoreThanGrantedPlusBurst) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    ModelSettings settings;
    settings.adaptive = seed % 2 == 0 ? Adaptive::kInstant : Adaptive::kOff;
    settings.partition_bytes = 1e6;
    const double rate = static_cast<double>(1 + random.Below(3000));
    Resource table(settings, {.name = "t", .provisioned = {1, rate}}, 0);
    constexpr double kMost = 10;  // units of the largest request: one may overdraw
    std::deque<std::pair<int64_t, double>> history;
    int64_t now = 0;
    for (int step = 0; step < 3000; ++step) {
      now += static_cast<int64_t>(random.Below(random.Below(100) == 0 ? 600 : 3)) * kSecond / 2;
      history.emplace_back(now, table.consumed().write);
      const Draw draw{.access = Access::kWrite,
                      .halves = static_cast<int64_t>(1 + random.Below(20)),
                      .point = {random.Below(2) == 0 ? 1 : random.Next(), {}, {}}};
      table.AdmitMany(now, draw, static_cast<int64_t>(random.Below(5000)), nullptr);
      table.AddBytes(draw.point, 3000, 1);
      table.Advance(now);
      ASSERT_LE(table.Tokens(now, Access::kWrite), rate * 300 * (1 + 1e-9));
      const double consumed = table.consumed().write;
      // Without adaptive capacity each partition may overdraw by a request.
      const double over =
          kMost *
          (settings.adaptive == Adaptive::kOff ? static_cast<double>(table.partition_count()) : 1);
      for (size_t i = 0; i < history.size(); i += 1 + history.size() / 32) {
        const double seconds = static_cast<double>(now - history[i].first) / 1e6;
        ASSERT_LE(consumed - history[i].second, rate * seconds + rate * 300 + over + 1)
            << "from " << history[i].first;
      }
    }
    EXPECT_GT(table.partition_count(), 1u);
  }
}

// Threads draw while another one splits and changes capacity; nothing is lost, and what passed is
// what was counted.
TEST(ResourcePropertiesTest, ManyThreadsBesideControl) {
  ModelSettings settings;
  settings.window_seconds = 1;
  settings.heat_windows = 1;
  settings.heat_threshold = 0.01;
  settings.most_partitions = 200;
  ResourceDefinition d{.name = "t", .billing = Billing::kOnDemand};
  Resource table(settings, d, 0);
  std::atomic<int64_t> now{0};
  std::atomic<int64_t> passed{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      SeededRandom random(static_cast<uint64_t>(i) + 1);
      int64_t mine = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const std::string sort = SortKey(random.Below(1000));
        const Draw draw{.access = Access::kWrite,
                        .halves = 2,
                        .point = {random.Below(3) == 0 ? 7 : random.Next(), sort, "k"}};
        const Verdict verdict = table.Admit(now.load(std::memory_order_relaxed), draw);
        if (verdict.admitted) {
          ++mine;
          table.AddBytes(draw.point, 100, 1);
        } else {
          (void)table.Explain(now.load(std::memory_order_relaxed), verdict);
        }
      }
      passed += mine;
    });
  }
  SeededRandom random(99);
  for (int i = 0; i < 400; ++i) {
    now += kSecond;
    table.Advance(now);
    if (i % 50 == 10) table.SwitchToProvisioned(now, {1000, 3000});
    if (i % 50 == 30) table.SwitchToOnDemand(now);
    if (i % 7 == 0) table.Split(now, {random.Next(), {}});
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(table.partition_count(), 10u);
  EXPECT_EQ(table.consumed().write, static_cast<double>(passed));
  table.Advance(now);  // what was written to partitions while they were split finds its heirs
  EXPECT_EQ(ItemsOf(table), passed);
  ExpectWhole(table, random);
}

}  // namespace
}  // namespace stator::throughput
