// Statements about what capacity does: how tables grow, unused capacity, adaptive capacity, splits
// for heat, auto scaling.
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "statements.h"
#include "throughput/auto_scaling.h"
#include "throughput/partitions.h"

namespace stator::guidance {
namespace {

using throughput::Access;
using throughput::Adaptive;
using throughput::AutoScalingPolicy;
using throughput::AutoScalingSettings;
using throughput::Draw;
using throughput::Limit;
using throughput::ModelSettings;
using throughput::PartitionMap;
using throughput::Rates;
using throughput::Resource;
using throughput::ResourceDefinition;
using throughput::SplitObstacle;
using throughput::Verdict;

// `seconds` of `rate` writes a second at the points of `next`; how many passed.
template <typename Next>
int64_t Drive(Resource* table, int64_t from, int seconds, int64_t rate, const Next& next) {
  int64_t passed = 0;
  for (int64_t second = from; second < from + seconds; ++second) {
    for (int64_t i = 0; i < rate; i += 10)
      passed += table->AdmitMany(second * kSecond, next(), 10, nullptr);
    table->Advance((second + 1) * kSecond);
  }
  return passed;
}

// A hash in each of four partitions.
uint64_t InPartition(int n) {
  return (uint64_t{1} << 61) + static_cast<uint64_t>(n) * (uint64_t{1} << 62);
}

std::string Sort(uint64_t n) {
  const std::string digits = std::to_string(n);
  return std::string(12 - digits.size(), '0') + digits;
}

TEST(Guidance, S12_ATableBeginsWithThePartitionsThatItsUnitsAndItsDataNeed) {
  SeededRandom random(12);
  for (int i = 0; i < 200; ++i) {
    const auto read = static_cast<double>(1 + random.Below(40'000));
    const auto write = static_cast<double>(1 + random.Below(40'000));
    ResourceDefinition definition = Provisioned(read, write);
    definition.bytes = static_cast<int64_t>(random.Below(300)) * kGigabyte;
    const double units = std::ceil(read / 3000 + write / 1000);
    const double data = std::ceil(static_cast<double>(definition.bytes) / (10.0 * kGigabyte));
    EXPECT_EQ(static_cast<double>(Resource({}, definition, 0).partition_count()),
              std::max(units, data))
        << read << " RCU, " << write << " WCU, " << definition.bytes / kGigabyte << " GB";
  }
}

TEST(Guidance, S13_PartitionsAreNeverMerged) {
  Resource table({}, Provisioned(5000, 8000), 0);
  const size_t partitions = table.partition_count();
  table.SetProvisioned(kSecond, {1, 1});
  EXPECT_EQ(table.partition_count(), partitions);
  table.SwitchToOnDemand(2 * kSecond);
  EXPECT_EQ(table.partition_count(), partitions);
  table.SwitchToProvisioned(3 * kSecond, {1, 1});
  for (int second = 3; second < 7200; second += 10) table.Advance(second * kSecond);
  EXPECT_EQ(table.partition_count(), partitions);
}

TEST(Guidance, S14_WarmThroughputIsRaisedAndNeverLowered) {
  Resource table({}, OnDemand(), 0);
  EXPECT_EQ(table.warm(), (Rates{12'000, 4000}));
  ASSERT_TRUE(table.SetWarm(kSecond, {12'000, 16'000}).ok());
  EXPECT_EQ(table.partition_count(), 16u);
  EXPECT_FALSE(table.SetWarm(2 * kSecond, {12'000, 15'999}).ok());
  EXPECT_EQ(table.warm().write, 16'000);
}

TEST(Guidance, S15_ATableThatBecomesOnDemandKeepsTheHighestUnitsItEverHad) {
  Resource table({}, Provisioned(1, 9000), 0);
  table.SetProvisioned(kSecond, {1, 10});
  table.SwitchToOnDemand(2 * kSecond);
  EXPECT_EQ(table.warm(), (Rates{12'000, 9000}));
  Resource small({}, Provisioned(5, 5), 0);
  small.SwitchToOnDemand(kSecond);
  EXPECT_EQ(small.warm(), (Rates{12'000, 4000})) << "as a new one";
  EXPECT_EQ(small.partition_count(), 4u);
}

TEST(Guidance, S16_ANewOnDemandTableServesFourThousandWritesAndTwelveThousandReadsAtOnce) {
  Resource table({}, OnDemand(), 0);
  int64_t writes = 0, reads = 0;
  for (int n = 0; n < 4; ++n) {
    writes += table.AdmitMany(0, Write(InPartition(n)), 5000, nullptr);
    reads += table.AdmitMany(0, Read(InPartition(n)), 5000, nullptr);
  }
  EXPECT_EQ(writes, 4000);
  EXPECT_EQ(reads, 12'000);
}

TEST(Guidance, S17_AnOnDemandTableIsReadyForTwiceItsPeakHalfAnHourLater) {
  ModelSettings settings;
  settings.split_for_heat = false;
  Resource table(settings, OnDemand(), 0);
  SeededRandom random(17);
  const auto anywhere = [&] { return Write(random.Next()); };
  Drive(&table, 0, 1700, 3600, anywhere);
  EXPECT_LT(Drive(&table, 1700, 30, 7000, anywhere), 30 * 4500) << "double, too early";
  Drive(&table, 1730, 200, 3600, anywhere);
  EXPECT_NEAR(table.warm().write, 7200, 100);
  EXPECT_EQ(table.partition_count(), 8u);
  EXPECT_GT(Drive(&table, 1930, 30, 7000, anywhere), 30 * 6600);
}

TEST(Guidance, S18_OneKeyIsServedByOnePartitionWhateverTheTableHas) {
  Resource table({}, Provisioned(30'000, 10'000), 0);
  EXPECT_EQ(table.partition_count(), 20u);
  EXPECT_EQ(table.AdmitMany(0, Write(7), 5000, nullptr), 1000);
  EXPECT_EQ(table.AdmitMany(0, Read(7), 5000, nullptr), 3000);
  Verdict refusal;
  table.AdmitMany(0, Write(7), 1, &refusal);
  EXPECT_EQ(refusal.limit, Limit::kKeyRange);
}

TEST(Guidance, S19_ARaiseThatEachPartitionCanHoldMakesNoNewOnes) {
  Resource table({}, Provisioned(1000, 2100), 0);
  EXPECT_EQ(table.partition_count(), 3u);
  EXPECT_TRUE(table.SetProvisioned(kSecond, {1500, 2400}).empty());
  EXPECT_EQ(table.partition_count(), 3u);
  EXPECT_EQ(table.SetProvisioned(2 * kSecond, {1500, 3000}).size(), 3u) << "all double";
  EXPECT_EQ(table.partition_count(), 6u);
}

TEST(Guidance, S211_UnusedCapacityRaisesNoPartitionAboveItsMaximum) {
  Resource table({}, Provisioned(1, 500), 0);
  ASSERT_EQ(table.partition_count(), 1u);
  table.Advance(300 * kSecond);
  EXPECT_EQ(table.Tokens(300 * kSecond, Access::kWrite), 150'000);
  EXPECT_EQ(table.AdmitMany(300 * kSecond, Write(1), 5000, nullptr), 1000);
  EXPECT_EQ(table.AdmitMany(301 * kSecond, Write(1), 5000, nullptr), 1000);
}

TEST(Guidance, S212_ABurstLastsAsLongAsWhatWasSavedAndThenCapacityIsLeft) {
  Resource table({}, Provisioned(1, 100), 0);
  table.Advance(300 * kSecond);
  // 30,000 saved units are 50 seconds of 700 a second, of which 100 are its own.
  const int64_t served = Drive(&table, 300, 60, 700, [] { return Write(1); });
  EXPECT_NEAR(static_cast<double>(served), 30'000 + 60 * 100, 800);
  EXPECT_NEAR(static_cast<double>(Drive(&table, 360, 10, 700, [] { return Write(1); })), 10 * 100,
              20);
}

// Amazon's example: 400 units on four partitions, three of which are asked for 50 and one for 150.
struct FourPartitions {
  explicit FourPartitions(Adaptive adaptive) : table(SettingsOf(adaptive), Definition(), 0) {}
  static ModelSettings SettingsOf(Adaptive adaptive) {
    ModelSettings settings;
    settings.adaptive = adaptive;
    return settings;
  }
  static ResourceDefinition Definition() {
    ResourceDefinition definition = Provisioned(1, 400);
    definition.partitions = PartitionMap::Even(4);
    return definition;
  }
  // Served in the last of many seconds, when nothing saved is left.
  int64_t Play(int64_t even, int64_t hot) {
    int64_t served = 0;
    for (int64_t second = 0; second < 1200; ++second) {
      served = 0;
      for (int n = 0; n < 4; ++n)
        served +=
            table.AdmitMany(second * kSecond, Write(InPartition(n)), n < 3 ? even : hot, &refusal);
      table.Advance((second + 1) * kSecond);
    }
    return served;
  }
  Resource table;
  Verdict refusal;
};

TEST(Guidance, S221_AdaptiveCapacityLendsAHotPartitionWhatOthersLeave) {
  EXPECT_EQ(FourPartitions(Adaptive::kInstant).Play(50, 150), 300);
}

TEST(Guidance, S222_AdaptiveCapacityLendsNoMoreThanTheTableHas) {
  FourPartitions four(Adaptive::kInstant);
  EXPECT_NEAR(static_cast<double>(four.Play(100, 300)), 400, 2);
  EXPECT_EQ(four.refusal.limit, Limit::kProvisioned);
}

TEST(Guidance, S223_WithoutItAHotPartitionIsRefusedAtItsShare) {
  FourPartitions four(Adaptive::kOff);
  EXPECT_NEAR(static_cast<double>(four.Play(50, 150)), 3 * 50 + 100, 2);
  EXPECT_EQ(four.refusal.limit, Limit::kKeyRange);
}

TEST(Guidance, S224_AdaptiveCapacityLendsNoMoreThanAPartitionCanDo) {
  Resource table({}, Provisioned(1, 4000), 0);
  EXPECT_EQ(Drive(&table, 0, 10, 1500, [] { return Write(7); }), 10 * 1000);
}

TEST(Guidance, S225_TwoHotKeysOfOnePartitionArePartedAfterSomeMinutes) {
  Resource table({}, OnDemand(), 0);
  int turn = 0;
  const auto either = [&] { return Write(++turn % 2 == 0 ? 5 : 6); };
  EXPECT_NEAR(static_cast<double>(Drive(&table, 0, 60, 1500, either)), 60 * 1000, 1100);
  Drive(&table, 60, 340, 1500, either);
  EXPECT_NE(table.PartitionOf({5, {}, {}}), table.PartitionOf({6, {}, {}}));
  EXPECT_NEAR(static_cast<double>(Drive(&table, 400, 60, 1500, either)), 60 * 1500, 1600);
}

TEST(Guidance, S226_AnItemIsNeverDivided) {
  Resource table({}, OnDemand(), 0);
  Drive(&table, 0, 900, 2000, [] { return Write(5); });
  EXPECT_EQ(table.partition_count(), 4u);
  EXPECT_EQ(table.Partitions()[0].obstacle, SplitObstacle::kSingleKey);
}

TEST(Guidance, S227_ACollectionIsDividedAlongItsSortKeyUnlessThatOnlyRises) {
  SeededRandom random(1);
  std::string sort;
  Resource table({}, OnDemand(), 0), rising({}, OnDemand(), 0);
  const auto draw = [&](uint64_t n) {
    sort = Sort(n);
    Draw one = Write(5);
    one.point.sort = sort;
    return one;
  };
  Drive(&table, 0, 900, 2000, [&] { return draw(random.Below(1'000'000)); });
  EXPECT_GT(table.partition_count(), 4u);
  EXPECT_GT(Drive(&table, 900, 30, 1900, [&] { return draw(random.Below(1'000'000)); }), 30 * 1500);
  uint64_t n = 0;
  Drive(&rising, 0, 900, 2000, [&] { return draw(++n); });
  EXPECT_EQ(rising.partition_count(), 4u);
  EXPECT_EQ(rising.Partitions()[0].obstacle, SplitObstacle::kMovingKey);
}

TEST(Guidance, S228_ATableWithLocalIndexesKeepsItsCollectionsTogether) {
  SeededRandom random(1);
  std::string sort;
  ResourceDefinition definition = OnDemand();
  definition.has_local_indexes = true;
  Resource table({}, definition, 0);
  Drive(&table, 0, 900, 2000, [&] {
    sort = Sort(random.Below(1'000'000));
    Draw one = Write(5);
    one.point.sort = sort;
    return one;
  });
  EXPECT_EQ(table.partition_count(), 4u);
  EXPECT_EQ(table.Partitions()[0].obstacle, SplitObstacle::kLocalIndexes);
}

TEST(Guidance, S231_AutoScalingRaisesAfterTwoMinutesAboveItsTarget) {
  AutoScalingPolicy policy(AutoScalingSettings{.max_units = 1000});
  EXPECT_FALSE(policy.OnMinute(60 * kSecond, 90, 100, {}));
  const auto raised = policy.OnMinute(120 * kSecond, 90, 100, {});
  ASSERT_TRUE(raised);
  EXPECT_NEAR(*raised, std::ceil(90 / 0.7), 1) << "so that 90 are 70% of it";
}

TEST(Guidance, S232_AutoScalingLowersAfterFifteenMinutesBelowIt) {
  AutoScalingPolicy policy(AutoScalingSettings{.max_units = 1000});
  for (int minute = 1; minute < 15; ++minute)
    EXPECT_FALSE(policy.OnMinute(minute * 60 * kSecond, 7, 100, {})) << minute;
  const auto lowered = policy.OnMinute(15 * 60 * kSecond, 7, 100, {});
  ASSERT_TRUE(lowered);
  EXPECT_NEAR(*lowered, 10, 1);
}

TEST(Guidance, S233_AutoScalingStaysBetweenItsLeastAndItsMost) {
  AutoScalingPolicy policy(AutoScalingSettings{.min_units = 50, .max_units = 120});
  policy.OnMinute(60 * kSecond, 1000, 100, {});
  EXPECT_EQ(policy.OnMinute(120 * kSecond, 1000, 100, {}), 120);
  std::optional<double> lowered;
  for (int minute = 3; minute < 40 && !lowered; ++minute)
    lowered = policy.OnMinute(minute * 60 * kSecond, 1, 100, {});
  EXPECT_EQ(lowered, 50);
  EXPECT_FALSE(AutoScalingPolicy::Check({.target = 0.95}).ok()) << "a target is 20 to 90%";
  EXPECT_FALSE(AutoScalingPolicy::Check({.target = 0.15}).ok());
}

TEST(Guidance, S234_AnOnDemandTableHasAQuotaAndItsMaximumIsKept) {
  ResourceDefinition definition = OnDemand();
  definition.warm = Rates{12'000, 80'000};
  SeededRandom random(234);
  Resource table({}, definition, 0);
  Verdict refusal;
  int64_t served = 0;
  for (int i = 0; i < 6000; ++i) served += table.AdmitMany(0, Write(random.Next()), 10, &refusal);
  EXPECT_EQ(served, 40'000);
  EXPECT_EQ(refusal.limit, Limit::kAccount);
  definition.max_write = 100;
  Resource limited({}, definition, 0);
  EXPECT_EQ(limited.AdmitMany(0, Write(1), 500, &refusal), 100);
  EXPECT_EQ(refusal.limit, Limit::kMaxOnDemand);
}

}  // namespace
}  // namespace stator::guidance
