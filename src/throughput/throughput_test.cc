#include <gtest/gtest.h>

#include "throughput/partitions.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

TEST(UnitsTest, RoundsUpPerKilobyte) {
  EXPECT_EQ(WriteUnits(0), 1);
  EXPECT_EQ(WriteUnits(1024), 1);
  EXPECT_EQ(WriteUnits(1025), 2);
  EXPECT_EQ(ReadHalves(0, false), 1);
  EXPECT_EQ(ReadHalves(4096, true), 2);
  EXPECT_EQ(ReadHalves(4097, true), 4);
  EXPECT_EQ(HalvesToUnits(ReadHalves(6 * 1024, true)), 2.0);
  EXPECT_EQ(HalvesToUnits(ReadHalves(6 * 1024, false)), 1.0);
}

TEST(PartitionsTest, InitialCountsOfTheGuidance) {
  EXPECT_EQ(InitialPartitionsProvisioned({}, 1000, 500), 1);
  EXPECT_EQ(InitialPartitionsProvisioned({}, 1000, 1000), 2);
  EXPECT_EQ(InitialPartitionsProvisioned({}, 5000, 2000), 4);
  EXPECT_EQ(InitialPartitionsProvisioned({}, 1, 1), 1);
  EXPECT_EQ(InitialPartitionsProvisioned({}, 3000, 1000), 2);
  EXPECT_EQ(InitialPartitionsOnDemand({}, 12000, 4000), 4);
  EXPECT_EQ(InitialPartitionsOnDemand({}, 100, 1), 1);
}

TEST(PartitionsTest, InitialCountsOfOtherConstants) {
  ModelSettings small;
  small.partition_read_units = 30;
  small.partition_write_units = 10;
  EXPECT_EQ(InitialPartitionsProvisioned(small, 30, 10), 2);
  EXPECT_EQ(InitialPartitionsProvisioned(small, 10, 15), 2);
  EXPECT_EQ(InitialPartitionsProvisioned(small, 1, 1), 1);
  EXPECT_EQ(InitialPartitionsOnDemand(small, 12000, 4000), 400);
  EXPECT_EQ(InitialPartitionsOnDemand(small, 31, 1), 2);
}

TEST(PartitionsTest, EvenRangesCoverTheHashSpace) {
  for (int64_t count : {1, 2, 3, 4, 7, 100}) {
    const PartitionMap map = PartitionMap::Even(count);
    ASSERT_EQ(map.size(), static_cast<size_t>(count));
    EXPECT_EQ(map.Find(0), 0u);
    EXPECT_EQ(map.Find(UINT64_MAX), map.size() - 1);
    for (size_t i = 0; i < map.size(); ++i) {
      EXPECT_EQ(map.Find(map.starts()[i]), i);
      if (i > 0) {
        EXPECT_EQ(map.Find(map.starts()[i] - 1), i - 1);
      }
    }
    EXPECT_EQ(PartitionMap::FromStarts(map.starts()), map);
  }
  EXPECT_EQ(PartitionMap::FromStarts({5, 6}).size(), 1u);
}

TEST(PartitionsTest, SplitsWhereItIsTold) {
  PartitionMap map = PartitionMap::Even(2);
  const uint64_t half = uint64_t{1} << 63;
  EXPECT_EQ(map.last(0), half - 1);
  EXPECT_EQ(map.last(1), UINT64_MAX);
  map.Split(half + 5);
  EXPECT_EQ(map.starts(), (std::vector<uint64_t>{0, half, half + 5}));
  map.Split(half);  // a partition begins there already
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(map.Find(half + 4), 1u);
  EXPECT_EQ(map.Find(half + 5), 2u);
}

}  // namespace
}  // namespace stator::throughput
