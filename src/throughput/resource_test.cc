// The worked examples of Amazon's guidance, with their own numbers, and the rules around them.
#include "throughput/resource.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/random.h"
#include "throughput/prices.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kGigabyte = int64_t{1} << 30;

// Of all partitions: share -> how many have it.
std::map<std::pair<double, double>, int> Shares(const Resource& table) {
  std::map<std::pair<double, double>, int> shares;
  for (const PartitionView& p : table.Partitions()) ++shares[{p.share.read, p.share.write}];
  return shares;
}
using ShareMap = std::map<std::pair<double, double>, int>;

ResourceDefinition Provisioned(double read, double write) {
  return {.name = "table", .provisioned = {read, write}};
}
ResourceDefinition OnDemand() { return {.name = "table", .billing = Billing::kOnDemand}; }

Draw Write(uint64_t hash, int64_t units = 1, std::string_view sort = {}) {
  return {.access = Access::kWrite, .halves = 2 * units, .point = {hash, sort, "key"}};
}
Draw Read(uint64_t hash, int64_t units = 1) {
  return {.access = Access::kRead, .halves = 2 * units, .point = {hash, {}, "key"}};
}

// Fills the partition that owns `hash` to one byte beyond 10 GB with items all over its range.
void Fill(Resource* table, uint64_t hash) {
  const uint64_t id = table->PartitionOf({hash, {}, {}});
  for (const PartitionView& p : table->Partitions()) {
    if (p.id != id) continue;
    const uint64_t end = p.range.to_end ? UINT64_MAX : p.range.to.hash;
    const uint64_t step = (end - p.range.from.hash) / 1024;
    for (uint64_t i = 0; i < 1024; ++i)
      table->AddBytes({p.range.from.hash + i * step, {}, {}}, 10 * kGigabyte / 1024, 1);
    table->AddBytes({p.range.from.hash, {}, {}}, 1, 0);
  }
}

TEST(GuidanceTest, SmallTablesHaveOnePartition) {
  EXPECT_EQ(Shares(Resource({}, Provisioned(1000, 500), 0)), (ShareMap{{{1000, 500}, 1}}));
}

TEST(GuidanceTest, OneThousandOfEachNeedTwo) {
  EXPECT_EQ(Shares(Resource({}, Provisioned(1000, 1000), 0)), (ShareMap{{{500, 500}, 2}}));
}

TEST(GuidanceTest, RaisesDoubleAndAFullPartitionSplits) {
  Resource table({}, Provisioned(5000, 2000), 0);
  EXPECT_EQ(Shares(table), (ShareMap{{{1250, 500}, 4}}));
  EXPECT_EQ(table.SetProvisioned(kSecond, {8000, 2000}).size(), 4u);
  EXPECT_EQ(Shares(table), (ShareMap{{{1000, 250}, 8}}));
  Fill(&table, 12345);
  const std::vector<SplitEvent> events = table.Advance(2 * kSecond);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].reason, SplitReason::kSize);
  EXPECT_EQ(table.partition_count(), 9u);
  EXPECT_EQ(Shares(table), (ShareMap{{{1000, 250}, 7}, {{500, 125}, 2}}));
  EXPECT_EQ(
      static_cast<double>(table.partition_count()) * table.settings().partition_bytes / kGigabyte,
      90);
}

TEST(GuidanceTest, AFullPartitionHalvesItsOwnShareOnly) {
  Resource table({}, Provisioned(5000, 2000), 0);
  Fill(&table, 0);
  ASSERT_EQ(table.Advance(kSecond).size(), 1u);
  EXPECT_EQ(Shares(table), (ShareMap{{{1250, 500}, 3}, {{625, 250}, 2}}));
  int64_t bytes = 0;
  for (const PartitionView& p : table.Partitions()) bytes += p.bytes;
  EXPECT_NEAR(static_cast<double>(bytes), 10.0 * kGigabyte, 16);
}

TEST(GuidanceTest, LoweringNeverMerges) {
  // 20 million items of 1 KB in 30 minutes are 11,111 per second, which the guidance rounds to
  // 11,000.
  EXPECT_NEAR(20e6 * static_cast<double>(WriteUnits(1024)) / (30 * 60), 11000, 120);
  Resource table({}, Provisioned(0, 11000), 0);
  EXPECT_EQ(table.partition_count(), 11u);
  EXPECT_TRUE(table.SetProvisioned(kSecond, {0, 200}).empty());
  EXPECT_EQ(table.partition_count(), 11u);
  for (const PartitionView& p : table.Partitions()) EXPECT_NEAR(p.share.write, 18, 0.2);
  EXPECT_TRUE(table.SetProvisioned(2 * kSecond, {0, 11000}).empty())
      << "up to an earlier value nothing splits";
  // The same load in three hours.
  EXPECT_NEAR(20e6 / (3 * 3600), 1900, 50);
  EXPECT_EQ(Resource({}, Provisioned(0, 1900), 0).partition_count(), 2u);
}

TEST(GuidanceTest, FiftyGigabytesNeedFivePartitions) {
  ResourceDefinition definition = Provisioned(3000, 300);
  definition.bytes = 50 * kGigabyte;
  Resource table({}, definition, 0);
  for (int second = 0; second < 10; ++second) {
    EXPECT_EQ(Shares(table), (ShareMap{{{600, 60}, 5}})) << "after " << second << " s";
    EXPECT_TRUE(table.Advance(second * kSecond).empty()) << "exactly full is not beyond it";
  }
}

TEST(GuidanceTest, OnlyAPartitionBeyondTenGigabytesSplits) {
  ResourceDefinition definition = Provisioned(8000, 2000);
  definition.partitions = PartitionMap::Even(8);
  definition.bytes = 80 * kGigabyte;
  Resource table({}, definition, 0);
  EXPECT_TRUE(table.Advance(kSecond).empty());
  EXPECT_EQ(table.partition_count(), 8u);
  table.AddBytes({12345, {}, {}}, 1, 1);
  ASSERT_EQ(table.Advance(2 * kSecond).size(), 1u);
  EXPECT_EQ(Shares(table), (ShareMap{{{1000, 250}, 7}, {{500, 125}, 2}}));
}

TEST(GuidanceTest, VotesNeedTwentyShards) { EXPECT_EQ(ShardsNeeded(20000, Access::kWrite), 20); }

TEST(GuidanceTest, Units) {
  EXPECT_EQ(WriteUnits(2048), 2);
  EXPECT_EQ(HalvesToUnits(ReadHalves(6 * 1024, Consistency::kStrong)), 2);
  EXPECT_EQ(HalvesToUnits(ReadHalves(6 * 1024, Consistency::kEventual)), 1);
  EXPECT_EQ(HalvesToUnits(ReadHalves(6 * 1024, Consistency::kTransactional)), 4);
  EXPECT_EQ(HalvesToUnits(WriteHalves(2048, true)), 4);
}

TEST(GuidanceTest, Prices) {
  const UnitPrices prices;
  EXPECT_NEAR(ProvisionedMonth(prices, 3000, 300), 411, 1e-9);
  EXPECT_NEAR(ProvisionedMonth(prices, 1500, 300), 276, 1e-9);
  EXPECT_NEAR(ProvisionedMonth(prices, 3000, 300, true), 193.17, 1e-9);
  EXPECT_NEAR(ProvisionedMonth(prices, 1500, 300, true), 129.72, 1e-9);
  EXPECT_NEAR(StorageMonth(prices, 4.0 * kGigabyte), 1, 1e-9);
  EXPECT_EQ(OnDemandMonth({.million_writes = 2}, 0, 1), 2 * kMonthSeconds / 1e6);
}

// ---- limits

TEST(ResourceTest, UnusedCapacityLastsFiveMinutes) {
  Resource table({}, Provisioned(10, 10), 0);
  int64_t passed = table.AdmitMany(3600 * kSecond, Write(1), 100000, nullptr);
  EXPECT_EQ(passed, 1000) << "the partition's own maximum";
  for (int s = 1; s <= 10; ++s)
    passed += table.AdmitMany((3600 + s) * kSecond, Write(1), 100000, nullptr);
  EXPECT_EQ(passed, 300 * 10 + 10 * 10);
  EXPECT_DOUBLE_EQ(table.consumed().write, 3100);
}

TEST(ResourceTest, ReasonsAndExceptions) {
  Resource table({}, Provisioned(10, 10), 0);
  ASSERT_TRUE(table.Admit(0, Write(1, 10)).admitted);
  const Verdict refused = table.Admit(0, Write(1));
  ASSERT_FALSE(refused.admitted);
  EXPECT_EQ(refused.limit, Limit::kProvisioned);
  const Explanation e = table.Explain(0, refused);
  EXPECT_EQ(e.reason, "TableWriteProvisionedThroughputExceeded");
  EXPECT_EQ(e.exception, "ProvisionedThroughputExceededException");
  EXPECT_NEAR(e.limit, 10, 1e-6);
  EXPECT_FALSE(e.advice.empty());
  EXPECT_DOUBLE_EQ(table.refused(Limit::kProvisioned).write, 1);

  ResourceDefinition index = OnDemand();
  index.is_index = true;
  index.max_write = 5;
  Resource limited({}, index, 0);
  ASSERT_TRUE(limited.Admit(0, Write(1, 5)).admitted);
  const Explanation most = limited.Explain(0, limited.Admit(0, Write(1)));
  EXPECT_EQ(most.reason, "IndexWriteMaxOnDemandThroughputExceeded");
  EXPECT_EQ(most.exception, "ThrottlingException");
  limited.SetMaximum(0, std::nullopt, std::nullopt);
  EXPECT_TRUE(limited.Admit(0, Write(1)).admitted);

  Resource hot({}, OnDemand(), 0);
  EXPECT_EQ(hot.AdmitMany(0, Read(1), 5000, nullptr), 3000);
  const Explanation range = hot.Explain(0, hot.Admit(0, Read(1)));
  EXPECT_EQ(range.reason, "TableReadKeyRangeThroughputExceeded");
  EXPECT_EQ(range.exception, "ThrottlingException");
  EXPECT_EQ(range.hottest_share, 1);

  ResourceDefinition wide = OnDemand();
  wide.partitions = PartitionMap::Even(50);
  Resource quota({}, wide, 0);
  int64_t passed = 0;
  Verdict last;
  for (uint64_t i = 0; i < 50; ++i)
    passed += quota.AdmitMany(0, Write(i * (UINT64_MAX / 50) + 9), 1000, &last);
  EXPECT_EQ(passed, 40000);
  EXPECT_EQ(quota.Explain(0, last).reason, "TableWriteAccountLimitExceeded");
  EXPECT_EQ(quota.Explain(0, last).exception, "RequestLimitExceeded");
}

TEST(ResourceTest, ReasonCodesAreThoseOfTheProtocol) {
  EXPECT_EQ(ReasonCode(false, Access::kRead, Limit::kProvisioned),
            "TableReadProvisionedThroughputExceeded");
  EXPECT_EQ(ReasonCode(true, Access::kWrite, Limit::kKeyRange),
            "IndexWriteKeyRangeThroughputExceeded");
  EXPECT_EQ(ReasonCode(true, Access::kRead, Limit::kAccount), "IndexReadAccountLimitExceeded");
  EXPECT_EQ(ReasonCode(false, Access::kWrite, Limit::kMaxOnDemand),
            "TableWriteMaxOnDemandThroughputExceeded");
}

TEST(ResourceTest, EventualReadsOfOnePartition) {
  Draw draw = Read(1);
  draw.eventual = true;
  EXPECT_EQ(Resource({}, OnDemand(), 0).AdmitMany(0, draw, 9000, nullptr), 3000) << "as documented";
  ModelSettings observed;
  observed.eventual_partition_read_units = 4500;
  EXPECT_EQ(Resource(observed, OnDemand(), 0).AdmitMany(0, draw, 9000, nullptr), 4500)
      << "as measured by Amazon";
}

TEST(ResourceTest, AdaptiveCapacityLendsWithinTheTable) {
  // 4 partitions of 100 each; all the traffic goes to one.
  ModelSettings settings;
  settings.initial_burst_seconds = 0;
  ResourceDefinition definition = Provisioned(400, 400);
  definition.partitions = PartitionMap::Even(4);
  const auto served = [&](Adaptive adaptive, int seconds) {
    settings.adaptive = adaptive;
    settings.adaptive_delay_seconds = 300;
    Resource table(settings, definition, 0);
    int64_t passed = 0;
    for (int s = 1; s <= seconds; ++s) {
      passed += table.AdmitMany(s * kSecond, Write(1), 500, nullptr);
      table.Advance(s * kSecond);
    }
    return passed;
  };
  EXPECT_EQ(served(Adaptive::kOff, 600), 100 * 600);
  EXPECT_EQ(served(Adaptive::kInstant, 600), 400 * 600);
  // Throttled from the start; lent after five minutes, and with it what the table had not used
  // until then.
  const int64_t delayed = served(Adaptive::kDelayed, 600);
  EXPECT_GT(delayed, 100 * 300 + 390 * 300);
  EXPECT_LE(delayed, 400 * 600);
}

TEST(ResourceTest, WithoutAdaptiveCapacityAHotKeyThrottlesWhileTheTableIdles) {
  ModelSettings settings;
  settings.adaptive = Adaptive::kOff;
  Resource table(settings, Provisioned(0, 4000), 0);
  int64_t passed = 0;
  Verdict refusal;
  for (int s = 0; s < 1000; ++s) passed += table.AdmitMany(s * kSecond, Write(1), 2000, &refusal);
  EXPECT_NEAR(static_cast<double>(passed), 1000 * 1000, 1000);
  EXPECT_EQ(refusal.limit, Limit::kKeyRange);
}

TEST(ResourceTest, AnIndexWithoutCapacityThrottlesItsTable) {
  Resource table({}, Provisioned(100, 100), 0);
  ResourceDefinition definition = Provisioned(10, 10);
  definition.is_index = true;
  Resource index({}, definition, 0);
  Draw draws[2] = {Write(1), Write(99)};
  draws[0].resource = &table;
  draws[1].resource = &index;
  Verdict refusal;
  int64_t passed = 0;
  for (int s = 0; s < 100; ++s) passed += AdmitMany(s * kSecond, draws, 50, &refusal);
  EXPECT_EQ(passed, 10 * 100);
  EXPECT_DOUBLE_EQ(table.consumed().write, 1000) << "what is refused takes nothing from the table";
  EXPECT_EQ(refusal.resource, &index);
  const Explanation e = index.Explain(100 * kSecond, refusal);
  EXPECT_EQ(e.reason, "IndexWriteProvisionedThroughputExceeded");
  EXPECT_EQ(e.cause, "Index table: 50 of 10 provisioned write units/s");
  EXPECT_NE(e.notes.back().find("Writes of the table wait"), std::string::npos);
}

// ---- splits for heat

// `seconds` of `rate` writes per second at points that `next` chooses.
template <typename Next>
int64_t Drive(Resource* table, int64_t from, int seconds, int rate, const Next& next) {
  int64_t passed = 0;
  for (int64_t s = from; s < from + seconds; ++s) {
    for (int i = 0; i < rate; i += 10) passed += table->AdmitMany(s * kSecond, next(), 10, nullptr);
    table->Advance((s + 1) * kSecond);
  }
  return passed;
}

TEST(HeatTest, SustainedHeatSplitsAndServesMore) {
  SeededRandom random(1);
  ResourceDefinition definition = Provisioned(0, 4000);
  definition.partitions = PartitionMap::Even(1);
  Resource table({}, definition, 0);
  const auto anywhere = [&] { return Write(random.Next()); };
  const int64_t first = Drive(&table, 0, 60, 2000, anywhere);
  EXPECT_NEAR(static_cast<double>(first), 60 * 1000, 1100);
  EXPECT_EQ(table.partition_count(), 1u);
  Drive(&table, 60, 240, 2000, anywhere);
  EXPECT_EQ(table.partition_count(), 2u) << "after five hot windows";
  const int64_t later = Drive(&table, 300, 60, 1800, anywhere);
  EXPECT_GT(later, 60 * 1750);
}

TEST(HeatTest, ASingleHotKeyIsNeverSplit) {
  Resource table({}, OnDemand(), 0);
  Drive(&table, 0, 1500, 2000, [] { return Write(5); });
  EXPECT_EQ(table.partition_count(), 4u);
  const Explanation e =
      table.Explain(1500 * kSecond, table.Admit(1500 * kSecond - 1, Write(5, 3000)).admitted
                                        ? table.Admit(1500 * kSecond - 1, Write(5))
                                        : Verdict{});
  EXPECT_EQ(e.obstacle, SplitObstacle::kSingleKey);
  ASSERT_FALSE(e.hottest.empty());
  EXPECT_EQ(e.hottest[0].hash, 5u);
  EXPECT_NE(e.advice[0].find("Divide the item into "), std::string::npos) << e.advice[0];
}

TEST(HeatTest, TwoHotKeysPart) {
  Resource table({}, OnDemand(), 0);
  int turn = 0;
  Drive(&table, 0, 400, 1500, [&] { return Write(++turn % 2 == 0 ? 5 : 6); });
  EXPECT_NE(table.PartitionOf({5, {}, {}}), table.PartitionOf({6, {}, {}}));
  EXPECT_EQ(table.HashMap().Find(6), 1u);
}

TEST(HeatTest, CollectionsSplitAlongTheSortKeyUnlessItOnlyGrows) {
  const auto sort = [](uint64_t n) {
    std::string s = std::to_string(n);
    return std::string(12 - s.size(), '0') + s;
  };
  std::string key;
  {
    SeededRandom random(1);
    Resource table({}, OnDemand(), 0);
    Drive(&table, 0, 900, 2000, [&] { return Write(5, 1, key = sort(random.Below(1000000))); });
    EXPECT_GT(table.partition_count(), 4u);
    EXPECT_EQ(table.HashMap().size(), 4u)
        << "bounds inside a collection are none of the hash space";
    EXPECT_NE(table.PartitionOf({5, "000000000000", {}}),
              table.PartitionOf({5, "000000999999", {}}));
  }
  {
    uint64_t n = 0;
    Resource table({}, OnDemand(), 0);
    Drive(&table, 0, 900, 2000, [&] { return Write(5, 1, key = sort(++n)); });
    EXPECT_EQ(table.partition_count(), 4u);
    EXPECT_EQ(table.Partitions()[0].obstacle, SplitObstacle::kMovingKey);
  }
  {
    SeededRandom random(1);
    ResourceDefinition definition = OnDemand();
    definition.has_local_indexes = true;
    Resource table({}, definition, 0);
    Drive(&table, 0, 900, 2000, [&] { return Write(5, 1, key = sort(random.Below(1000000))); });
    EXPECT_EQ(table.partition_count(), 4u);
    EXPECT_EQ(table.Partitions()[0].obstacle, SplitObstacle::kLocalIndexes);
  }
}

// ---- on-demand and warm throughput

TEST(OnDemandTest, StartsWithFourPartitionsAndGrowsToDoubleThePeak) {
  ModelSettings settings;
  settings.split_for_heat = false;
  Resource table(settings, OnDemand(), 0);
  EXPECT_EQ(table.partition_count(), 4u);
  EXPECT_EQ(table.warm(), (Rates{12000, 4000}));
  SeededRandom random(8);
  const auto anywhere = [&] { return Write(random.Next()); };
  Drive(&table, 0, 1800, 3000, anywhere);
  EXPECT_EQ(table.partition_count(), 4u) << "not before half an hour";
  Drive(&table, 1800, 120, 3000, anywhere);
  EXPECT_EQ(table.partition_count(), 8u);
  EXPECT_NEAR(table.warm().write, 6000, 50);
}

TEST(OnDemandTest, SwitchesKeepWhatWasReady) {
  Resource table({}, Provisioned(1, 9000), 0);
  EXPECT_EQ(table.partition_count(), 10u);
  table.SetProvisioned(kSecond, {1, 100});
  table.SwitchToOnDemand(2 * kSecond);
  EXPECT_EQ(table.warm(), (Rates{12000, 9000}));
  EXPECT_EQ(table.partition_count(), 10u);
  table.SwitchToProvisioned(3 * kSecond, {10, 10});
  EXPECT_EQ(table.partition_count(), 10u);
  EXPECT_EQ(table.AdmitMany(3 * kSecond, Write(1), 1000, nullptr), 10);

  Resource small({}, Provisioned(5, 5), 0);
  small.SwitchToOnDemand(kSecond);
  EXPECT_EQ(small.partition_count(), 4u);
}

TEST(OnDemandTest, WarmThroughputIsRaisedNeverLowered) {
  Resource table({}, OnDemand(), 0);
  const auto events = table.SetWarm(kSecond, {12000, 16000});
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(table.partition_count(), 16u);
  EXPECT_FALSE(table.SetWarm(2 * kSecond, {12000, 15999}).ok());
  ResourceDefinition definition = OnDemand();
  definition.warm = Rates{30000, 4000};
  EXPECT_EQ(Resource({}, definition, 0).partition_count(), 10u);
}

TEST(ResourceTest, ItemsFromTheStartAreSpreadAndDividedWithoutLoss) {
  ResourceDefinition definition = Provisioned(6000, 2000);
  definition.items = 10;
  definition.bytes = 1003;
  Resource table({}, definition, 0);
  ASSERT_EQ(table.partition_count(), 4u);
  const auto items = [&table] {
    std::vector<int64_t> items;
    for (const PartitionView& p : table.Partitions()) items.push_back(p.items);
    return items;
  };
  int64_t bytes = 0;
  for (const PartitionView& p : table.Partitions()) bytes += p.bytes;
  EXPECT_EQ(bytes, 1003);
  const std::vector<int64_t> spread = items();
  EXPECT_EQ(std::accumulate(spread.begin(), spread.end(), int64_t{0}), 10);
  EXPECT_EQ(std::ranges::max(spread), 3);
  EXPECT_EQ(std::ranges::min(spread), 2);
  // Four at the end of the first partition: with a cut before them they are all on the right, and
  // what was spread evenly on both sides.
  const uint64_t quarter = uint64_t{1} << 62;
  for (uint64_t i = 1; i <= 4; ++i) table.AddBytes({quarter - i, {}, {}}, 100, 1);
  table.AddBytes({quarter - 1, {}, {}}, 50, 0);
  ASSERT_TRUE(table.Split(kSecond, {quarter / 2, {}}));
  const std::vector<int64_t> after = items();
  ASSERT_EQ(after.size(), 5u);
  EXPECT_EQ(after[0] + after[1], spread[0] + 4);
  EXPECT_GE(after[1], 5);
  EXPECT_GE(after[0], 1);
  for (size_t i = 2; i < after.size(); ++i) EXPECT_EQ(after[i], spread[i - 1]);
}

TEST(ResourceTest, RefusalsAreSeenByItemAndByPartition) {
  ModelSettings settings;
  settings.observe_every_halves = 1;
  Resource table(settings, Provisioned(1, 2000), 0);
  const size_t partitions = table.partition_count();
  ASSERT_GT(partitions, 1u);
  const uint64_t last = UINT64_MAX;
  EXPECT_TRUE(table.Admit(0, Write(last, 5000, "first")).admitted);
  EXPECT_TRUE(table.MostRefused(HeavyHitters::Of::kItems, 10).empty());
  for (int i = 0; i < 9; ++i)
    EXPECT_FALSE(table.Admit(0, Write(last, 1, i < 6 ? "much" : "less")).admitted);
  const std::vector<HeavyKey> items = table.MostRefused(HeavyHitters::Of::kItems, 10);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].sort, "much");
  EXPECT_EQ(items[1].sort, "less");
  EXPECT_DOUBLE_EQ(items[0].weight, 2 * items[1].weight);
  const std::vector<HeavyKey> collections = table.MostRefused(HeavyHitters::Of::kCollections, 10);
  ASSERT_EQ(collections.size(), 1u);
  EXPECT_DOUBLE_EQ(collections[0].weight, items[0].weight + items[1].weight);
  EXPECT_EQ(table.MostRefusedPartition(Access::kWrite, Limit::kKeyRange),
            table.PartitionOf({last, {}, {}}));
  // Kept when the window closes and when the partition splits; then the busier child stands for it.
  table.Advance(60 * kSecond);
  ASSERT_TRUE(table.Split(61 * kSecond, {last - 1000, {}}));
  EXPECT_EQ(table.MostRefused(HeavyHitters::Of::kItems, 1)[0].weight, items[0].weight);
  const uint64_t child = table.MostRefusedPartition(Access::kWrite, Limit::kKeyRange);
  const std::vector<PartitionView> now = table.Partitions();
  EXPECT_TRUE(child == now[now.size() - 2].id || child == now.back().id);
}

TEST(ResourceTest, KeysAreForgottenAndCountsAreNot) {
  ModelSettings settings;
  Resource table(settings, OnDemand(), 0);
  EXPECT_EQ(table.KeyBytes(), 0u);
  const std::string sort(100, 's');
  int64_t now = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const std::string key = sort + std::to_string(i);
    const Draw draw = Write(i << 52, 1, key);
    table.Charge(now, draw);
    table.AddBytes(draw.point, 100, 1);
    if (i % 500 == 0) table.Advance(now += 30 * kSecond);
  }
  // The samples and the sketches of four partitions, and what is kept of earlier windows.
  EXPECT_GT(table.KeyBytes(), 50'000u);
  EXPECT_LT(table.KeyBytes(), 250'000u);
  const Rates consumed = table.consumed();
  table.ForgetKeys();
  EXPECT_EQ(table.KeyBytes(), 0u);
  EXPECT_TRUE(table.Hottest(HeavyHitters::Of::kItems, 10).empty());
  EXPECT_EQ(table.consumed(), consumed);
  EXPECT_EQ(table.partition_count(), 4u);
  table.Charge(now, Write(7, 1, sort));
  EXPECT_EQ(table.Hottest(HeavyHitters::Of::kItems, 10).size(), 1u);
  EXPECT_GT(table.KeyBytes(), 0u);
}

// However many keys are refused, the sketches stay as large as they are set.
TEST(ResourceTest, WhatIsKeptOfRefusalsIsBounded) {
  ModelSettings settings;
  settings.observe_every_halves = 1;
  Resource table(settings, Provisioned(1, 1), 0);
  table.Charge(0, Write(1, 1000));
  for (int i = 0; i < 5000; ++i)
    ASSERT_FALSE(table.Admit(0, Write(1, 1, "sort" + std::to_string(i))).admitted);
  table.Advance(60 * kSecond);
  EXPECT_LE(table.MostRefused(HeavyHitters::Of::kItems, 100'000).size(),
            settings.lifetime_hot_keys);
}

TEST(ResourceTest, AClockThatIsSetBackStopsNothing) {
  Resource table({}, Provisioned(10, 10), 0);
  table.AdmitMany(7200 * kSecond, Write(1), 100000, nullptr);
  table.Advance(7200 * kSecond);
  EXPECT_FALSE(table.Admit(3600 * kSecond, Write(1)).admitted);
  table.Advance(3600 * kSecond);
  EXPECT_DOUBLE_EQ(table.Tokens(3600 * kSecond, Access::kWrite), 2000);
  EXPECT_DOUBLE_EQ(table.Tokens(3660 * kSecond, Access::kWrite), 2600);
  EXPECT_TRUE(table.Admit(3601 * kSecond, Write(1)).admitted);
}

TEST(ResourceTest, AbsurdCapacityStaysBounded) {
  ModelSettings settings;
  settings.most_partitions = 64;
  Resource table(settings, Provisioned(1e12, 1e12), 0);
  EXPECT_EQ(table.partition_count(), 64u);
  table.SetProvisioned(kSecond, {4e12, 4e12});
  EXPECT_EQ(table.partition_count(), 64u);
}

}  // namespace
TEST(ResourceTest, KeysOfAQuietTableAreCountedExactly) {
  Resource table({}, Provisioned(100, 100), 0);
  for (uint64_t i = 0; i < 40; ++i) table.Admit(0, Write(i % 4 == 0 ? i + 1 : 1000));
  table.Advance(1'000'000);
  const std::vector<HeavyKey> keys = table.Hottest(HeavyHitters::Of::kCollections, 20);
  ASSERT_EQ(keys.size(), 11u);
  EXPECT_EQ(keys[0].weight, 90);  // a write unit counts as three read units
  EXPECT_EQ(keys[0].overestimate, 0);
  for (size_t i = 1; i < keys.size(); ++i) EXPECT_EQ(keys[i].weight, 3);
}

}  // namespace stator::throughput
