// Statements about the number of partitions and their shares.
#include <cmath>

#include "statements.h"
#include "throughput/partitions.h"

namespace stator::guidance {
namespace {

using throughput::PartitionMap;
using throughput::PartitionView;
using throughput::Resource;
using throughput::ResourceDefinition;
using throughput::SplitReason;

// Adds data all over the partition that owns `hash` until it holds `bytes` more.
void Fill(Resource* table, uint64_t hash, int64_t bytes) {
  const uint64_t id = table->PartitionOf({hash, {}, {}});
  for (const PartitionView& p : table->Partitions()) {
    if (p.id != id) continue;
    const uint64_t step =
        ((p.range.to_end ? UINT64_MAX : p.range.to.hash) - p.range.from.hash) / 1024;
    for (uint64_t i = 0; i < 1024; ++i)
      table->AddBytes({p.range.from.hash + i * step, {}, {}}, bytes / 1024, 1);
    table->AddBytes({p.range.from.hash, {}, {}}, bytes % 1024, 0);
  }
}

TEST(Guidance, S01_ASmallTableHasOnePartition) {
  EXPECT_EQ(SharesOf(Resource({}, Provisioned(1000, 500), 0)), (Shares{{{1000, 500}, 1}}));
}

TEST(Guidance, S02_OneThousandOfEachAreTwoPartitions) {
  EXPECT_EQ(SharesOf(Resource({}, Provisioned(1000, 1000), 0)), (Shares{{{500, 500}, 2}}));
}

TEST(Guidance, S03_FiveThousandAndTwoThousandAreFourPartitions) {
  EXPECT_EQ(SharesOf(Resource({}, Provisioned(5000, 2000), 0)), (Shares{{{1250, 500}, 4}}));
}

TEST(Guidance, S04_ARaiseToEightThousandDoublesThem) {
  Resource table({}, Provisioned(5000, 2000), 0);
  EXPECT_EQ(table.SetProvisioned(kSecond, {8000, 2000}).size(), 4u);
  EXPECT_EQ(SharesOf(table), (Shares{{{1000, 250}, 8}}));
}

TEST(Guidance, S05_FiftyGigabytesAreFivePartitionsAndStayFive) {
  ResourceDefinition definition = Provisioned(3000, 300);
  definition.bytes = 50 * kGigabyte;
  Resource table({}, definition, 0);
  EXPECT_EQ(SharesOf(table), (Shares{{{600, 60}, 5}}));
  for (int second = 1; second <= 600; ++second) table.Advance(second * kSecond);
  EXPECT_EQ(SharesOf(table), (Shares{{{600, 60}, 5}}));
}

TEST(Guidance, S06_EightyGigabytesOnEightPartitionsStayEight) {
  ResourceDefinition definition = Provisioned(8000, 2000);
  definition.partitions = PartitionMap::Even(8);
  definition.bytes = 80 * kGigabyte;
  Resource table({}, definition, 0);
  for (int second = 1; second <= 600; ++second) table.Advance(second * kSecond);
  EXPECT_EQ(SharesOf(table), (Shares{{{1000, 250}, 8}}));
}

TEST(Guidance, S07_OnePartitionBeyondTenGigabytesMakesNineOfEight) {
  Resource table({}, Provisioned(5000, 2000), 0);
  table.SetProvisioned(0, {8000, 2000});
  Fill(&table, 0, 10 * kGigabyte);
  EXPECT_TRUE(table.Advance(kSecond).empty()) << "exactly full";
  Fill(&table, 0, 1);
  const auto events = table.Advance(2 * kSecond);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].reason, SplitReason::kSize);
  EXPECT_EQ(SharesOf(table), (Shares{{{1000, 250}, 7}, {{500, 125}, 2}}));
}

TEST(Guidance, S08_ASplitForSizeHalvesTheShareOfThatPartitionOnly) {
  Resource table({}, Provisioned(5000, 2000), 0);
  Fill(&table, 0, 10 * kGigabyte + 1);
  ASSERT_EQ(table.Advance(kSecond).size(), 1u);
  EXPECT_EQ(SharesOf(table), (Shares{{{1250, 500}, 3}, {{625, 250}, 2}}));
}

TEST(Guidance, S09_ABulkLoadOfElevenThousandLeavesElevenPartitionsOfEighteen) {
  EXPECT_NEAR(20e6 / (30 * 60), 11'111, 1) << "20 million items of 1 KB in 30 minutes";
  Resource table({}, Provisioned(0, 11'000), 0);
  EXPECT_EQ(table.partition_count(), 11u);
  table.SetProvisioned(kSecond, {0, 200});
  EXPECT_EQ(table.partition_count(), 11u);
  for (const PartitionView& p : table.Partitions()) EXPECT_EQ(std::floor(p.share.write), 18);
}

TEST(Guidance, S10_TheSameLoadInThreeHoursLeavesTwoPartitions) {
  EXPECT_LE(20e6 / (3 * 3600), 1900) << "1,852 a second, which the guidance rounds up";
  Resource table({}, Provisioned(0, 1900), 0);
  table.SetProvisioned(kSecond, {0, 200});
  EXPECT_EQ(SharesOf(table), (Shares{{{0, 100}, 2}}));
}

TEST(Guidance, S11_ANewOnDemandTableHasFourPartitions) {
  EXPECT_EQ(Resource({}, OnDemand(), 0).partition_count(), 4u);
}

}  // namespace
}  // namespace stator::guidance
