#include "throughput/heat_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond - 1'700'000'000 % 3600 * kSecond;
constexpr uint64_t kQuarter = uint64_t{1} << 62;

KeyRange Quarters(uint64_t from, uint64_t to) {
  return {{from * kQuarter, {}}, {to == 4 ? 0 : to * kQuarter, {}}, to == 4};
}

// Half units.
HeatUnits Reads(int64_t halves) { return {halves, 0, 0, 0}; }

HeatUnits Sum(const HeatMap& map) {
  HeatUnits sum;
  for (const auto& row : map.cells) {
    for (const HeatMap::Cell& cell : row) sum += cell.units;
  }
  return sum;
}
HeatUnits RowSum(const HeatMap& map, size_t row) {
  HeatUnits sum;
  for (const HeatMap::Cell& cell : map.cells[row]) sum += cell.units;
  return sum;
}

HeatHistory::Window Since(int64_t from, int64_t to, int64_t step) {
  return {.from_micros = from, .to_micros = to, .step_seconds = step};
}

TEST(HeatHistoryTest, WhatWasCountedBetweenTwoCallsIsSpreadOverTheTimeBetween) {
  HeatHistory history;
  history.RecordIdle(kStart + kSecond / 2);
  const std::vector<PartitionCount> counts = {{1, Quarters(0, 4), false, {8, 4, 2, 0}}};
  history.Record(kStart + 5 * kSecond / 2, counts);  // a quarter, half and a quarter of it
  const HeatMap map = history.Map(Since(kStart, kStart + 3 * kSecond, 1));
  ASSERT_EQ(map.rows.size(), 1u);
  ASSERT_EQ(map.columns(), 3u);
  EXPECT_EQ(map.from_seconds, kStart / kSecond);
  EXPECT_EQ(map.cells[0][0].units.read, 2);
  EXPECT_EQ(map.cells[0][1].units.read, 4);
  EXPECT_EQ(map.cells[0][2].units.read, 2);
  EXPECT_EQ(map.cells[0][1].units.write, 2);
  EXPECT_EQ(Sum(map), (HeatUnits{8, 4, 2, 0}));
  EXPECT_DOUBLE_EQ(map.cells[0][1].read_load, 2);  // units per second
  EXPECT_DOUBLE_EQ(map.cells[0][1].write_load, 1);
}

TEST(HeatHistoryTest, OfAJumpOfTheClockAllBelongsToTheMomentBefore) {
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + 6 * 3600 * kSecond, {{{1, Quarters(0, 4), false, Reads(100)}}});
  const HeatMap map = history.Map(Since(kStart, kStart + 6 * 3600 * kSecond, 3600));
  EXPECT_EQ(map.cells[0][0].units, Reads(100));
  EXPECT_EQ(Sum(map), Reads(100));
  // Nothing was stored for the hours between.
  EXPECT_LT(history.Bytes(), 2000u);

  HeatHistory::Settings manual;
  manual.spread_micros = 0;
  HeatHistory stepped(manual);
  stepped.RecordIdle(kStart);
  stepped.Record(kStart + 3 * kSecond, {{{1, Quarters(0, 4), false, Reads(9)}}});
  EXPECT_EQ(stepped.Map(Since(kStart, kStart + 3 * kSecond, 1)).cells[0][0].units, Reads(9));
}

TEST(HeatHistoryTest, CountsAreSinceThePartitionExists) {
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, {{{1, Quarters(0, 4), false, Reads(10)}}});
  history.Record(kStart + 2 * kSecond, {{{1, Quarters(0, 4), false, Reads(10)}}});
  history.Record(kStart + 3 * kSecond, {{{1, Quarters(0, 4), false, Reads(14)}}});
  // A new resource has counted less.
  history.Record(kStart + 4 * kSecond, {{{1, Quarters(0, 4), false, Reads(3)}}});
  history.Record(kStart + 5 * kSecond, {{{1, Quarters(0, 4), false, Reads(8)}}});
  const HeatMap map = history.Map(Since(kStart, kStart + 5 * kSecond, 1));
  const std::vector<int64_t> expected = {10, 0, 4, 3, 5};
  ASSERT_EQ(map.columns(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(map.cells[0][i].units.read, expected[i]) << i;
}

TEST(HeatHistoryTest, ASplitIsFollowedAndTheParentSharedOut) {
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, {{{1, Quarters(0, 4), false, Reads(100)}}});
  // Split at three quarters: 20 more were counted before, 12 and 8 after.
  history.Record(kStart + 2 * kSecond, {{{2, Quarters(0, 3), false, Reads(12)},
                                         {3, Quarters(3, 4), false, Reads(8)},
                                         {1, Quarters(0, 4), true, Reads(120)}}});
  const HeatMap map = history.Map(Since(kStart, kStart + 2 * kSecond, 1));
  ASSERT_EQ(map.rows.size(), 2u);
  EXPECT_EQ(map.rows[0], Quarters(0, 3));
  EXPECT_EQ(map.rows[1], Quarters(3, 4));
  // Units by the parts of the hash space; the load was that of the one partition.
  EXPECT_EQ(map.cells[0][0].units, Reads(75));
  EXPECT_EQ(map.cells[1][0].units, Reads(25));
  EXPECT_DOUBLE_EQ(map.cells[0][0].read_load, 50);
  EXPECT_DOUBLE_EQ(map.cells[1][0].read_load, 50);
  EXPECT_EQ(map.cells[0][1].units, Reads(12 + 15));
  EXPECT_EQ(map.cells[1][1].units, Reads(8 + 5));
  // The minute began with one range, and its column has all of it.
  EXPECT_EQ(Sum(history.Map(Since(kStart - 3600 * kSecond, kStart + 60 * kSecond, 60))),
            Reads(140));
}

TEST(HeatHistoryTest, AMapGoesOnUntilNow) {
  HeatHistory history;
  EXPECT_EQ(Sum(history.Map(Since(kStart, kStart + kSecond, 1))), HeatUnits());
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, {{{1, Quarters(0, 4), false, Reads(6)}}});
  HeatHistory::Window window = Since(kStart, kStart + 3600 * kSecond, 60);
  EXPECT_EQ(history.Map(window).columns(), 1u);
  window.now_micros = kStart + 600 * kSecond;
  const HeatMap map = history.Map(window);
  EXPECT_EQ(map.columns(), 11u);
  EXPECT_EQ(map.cells[0][0].units, Reads(6));
  EXPECT_DOUBLE_EQ(map.cells[0][0].read_load, 0.05);
}

TEST(HeatHistoryTest, AColumnCountsFromTheBirthOfWhatItCounts) {
  HeatHistory history;
  history.RecordIdle(kStart + 10 * kSecond);
  history.Record(kStart + 30 * kSecond, {{{1, Quarters(0, 4), false, Reads(40)}}});
  HeatHistory::Window window = Since(kStart - 3600 * kSecond, kStart + 30 * kSecond, 60);
  window.now_micros = kStart + 30 * kSecond;
  const auto last = [&] { return history.Map(window); };
  EXPECT_DOUBLE_EQ(last().covered_seconds.back(), 30);
  window.born_micros = kStart + 10 * kSecond;
  EXPECT_DOUBLE_EQ(last().covered_seconds.back(), 20);
  EXPECT_DOUBLE_EQ(last().cells[0].back().read_load, 1);
  EXPECT_DOUBLE_EQ(last().covered_seconds.front(), 1) << "it was not there: never 0";
}

TEST(HeatHistoryTest, ASeriesIsARowOfOnesOwn) {
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond,
                 {{{1, Quarters(0, 2), false, Reads(40)}, {2, Quarters(2, 4), false, Reads(10)}}});
  HeatHistory::Window window = Since(kStart, kStart + kSecond, 1);
  window.rows = {Quarters(1, 3)};
  const HeatMap map = history.Map(window);
  ASSERT_EQ(map.cells.size(), 1u);
  EXPECT_EQ(map.cells[0][0].units, Reads(20 + 5));
  EXPECT_DOUBLE_EQ(map.cells[0][0].read_load, 20);  // the busier of the two
}

TEST(HeatHistoryTest, InsideACollectionRangesAreToldApartBySortKey) {
  const KeyBound cut{kQuarter, "m"};
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, {{{1, {{}, {kQuarter, {}}, false}, false, Reads(1)},
                                     {2, {{kQuarter, {}}, cut, false}, false, Reads(2)},
                                     {3, {cut, {}, true}, false, Reads(4)}}});
  const HeatMap map = history.Map(Since(kStart, kStart + kSecond, 1));
  ASSERT_EQ(map.rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(map.cells[i][0].units, Reads(1 << i));
}

TEST(HeatHistoryTest, AClockThatGoesBackTakesItsFutureWithIt) {
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, {{{1, Quarters(0, 4), false, Reads(1)}}});
  history.RecordIdle(kStart + 7200 * kSecond);
  history.Record(kStart + 7201 * kSecond, {{{1, Quarters(0, 4), false, Reads(11)}}});
  history.Record(kStart + 5 * kSecond, {{{1, Quarters(0, 4), false, Reads(111)}}});
  const HeatMap map = history.Map(Since(kStart, kStart + 86400 * kSecond, 1));
  // The seconds of back then had gone when the clock was two hours ahead; the minutes had not.
  EXPECT_EQ(map.column_seconds, 60);
  EXPECT_EQ(Sum(map), Reads(1 + 100));
  EXPECT_EQ(map.columns(), 1u);
  history.Record(kStart + 6 * kSecond, {{{1, Quarters(0, 4), false, Reads(112)}}});
  EXPECT_EQ(Sum(history.Map(Since(kStart, kStart + 86400 * kSecond, 1))), Reads(102));
}

TEST(HeatHistoryTest, ColdNeighboursShareARange) {
  HeatHistory::Settings settings;
  settings.most_ranges = 8;
  HeatHistory history(settings);
  std::vector<PartitionCount> counts;
  constexpr uint64_t kPartitions = 256;
  for (uint64_t i = 0; i < kPartitions; ++i) {
    KeyRange range{{i << 56, {}}, {(i + 1) << 56, {}}, i + 1 == kPartitions};
    if (range.to_end) range.to = {};
    counts.push_back({i + 1, range, false, Reads(i == 100 ? 100'000 : 10)});
  }
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, counts);
  const HeatMap map = history.Map(Since(kStart, kStart + kSecond, 1));
  ASSERT_LE(map.rows.size(), settings.most_ranges);
  ASSERT_GE(map.rows.size(), 3u);
  EXPECT_EQ(Sum(map), Reads(100'000 + 255 * 10));
  const auto hot = std::ranges::find(map.rows, KeyBound{uint64_t{100} << 56, {}}, &KeyRange::from);
  ASSERT_NE(hot, map.rows.end()) << "the hot partition has no row of its own";
  EXPECT_EQ(*hot, counts[100].range);
  EXPECT_EQ(RowSum(map, static_cast<size_t>(hot - map.rows.begin())), Reads(100'000));
  // The load of a shared range is that of one of its partitions.
  EXPECT_DOUBLE_EQ(map.cells[0][0].read_load, 5);
}

TEST(HeatHistoryTest, ALongWindowOrAnOldOneHasWiderColumns) {
  HeatHistory history;
  history.RecordIdle(kStart);
  history.Record(kStart + kSecond, {{{1, Quarters(0, 4), false, Reads(6)}}});
  history.RecordIdle(kStart + 3600 * kSecond);
  EXPECT_EQ(history.Map(Since(kStart + 3500 * kSecond, kStart + 3600 * kSecond, 1)).column_seconds,
            1);
  const HeatMap old = history.Map(Since(kStart, kStart + 100 * kSecond, 1));
  EXPECT_EQ(old.column_seconds, 60);
  EXPECT_EQ(Sum(old), Reads(6));
  history.RecordIdle(kStart + 13 * 86400 * kSecond);
  const HeatMap days = history.Map(Since(0, INT64_MAX, 1));
  EXPECT_EQ(days.column_seconds, 3600);
  EXPECT_LE(static_cast<int64_t>(days.columns()), HeatHistory::kMostColumns);
  EXPECT_EQ(Sum(days), Reads(6));
  EXPECT_EQ(history.Map(Since(0, INT64_MAX, 7200)).column_seconds, 7200);
  // Not over yet: of the column there have been 1800 s.
  history.RecordIdle(kStart + 13 * 86400 * kSecond + 1800 * kSecond);
  EXPECT_DOUBLE_EQ(history.Map(Since(0, INT64_MAX, 3600)).covered_seconds.back(), 1800);
}

// What a resource counts, in bounded memory, through splits and jumps of the clock.
struct Life {
  explicit Life(uint64_t seed)
      : random(seed), history(Settings()), table(Model(), Definition(), kStart) {}
  static HeatHistory::Settings Settings() {
    HeatHistory::Settings settings;
    settings.tiers = {{1, 20}, {60, 30}, {3600, 40}};
    settings.most_ranges = 16;
    return settings;
  }
  static ModelSettings Model() {
    ModelSettings settings;
    settings.partition_bytes = 1e6;
    settings.most_partitions = 200;
    return settings;
  }
  static ResourceDefinition Definition() {
    return {.name = "t", .billing = Billing::kProvisioned, .provisioned = {3000, 1000}};
  }
  void Step() {
    for (uint64_t i = random.Below(20); i > 0; --i) {
      const std::string sort = std::to_string(random.Below(100));
      const Draw draw{.access = static_cast<Access>(random.Below(2)),
                      .halves = static_cast<int64_t>(1 + random.Below(5000)),
                      .point = {random.Below(3) == 0 ? uint64_t{7} : random.Next(), sort, "k"}};
      table.AdmitMany(now, draw, static_cast<int64_t>(random.Below(5)), nullptr);
      if (random.Below(4) == 0)
        table.AddBytes(draw.point, static_cast<int64_t>(random.Below(90'000)), 1);
    }
    switch (random.Below(40)) {
      case 0:
        table.SetProvisioned(now, {static_cast<double>(1 + random.Below(60'000)), 1000});
        break;
      case 1: table.Split(now, {random.Next(), {}}); break;
      case 2: table.Split(now, {7, std::to_string(random.Below(100))}); break;
      default: break;
    }
    now += random.Below(10) == 0 ? static_cast<int64_t>(random.Below(3 * 3600)) * kSecond
                                 : static_cast<int64_t>(random.Below(3 * kSecond));
    history.Record(now, CountsOf(table));
    table.Advance(now);
  }
  HeatUnits Counted() const {
    HeatUnits sum{std::llround(2 * table.consumed().read), std::llround(2 * table.consumed().write),
                  0, 0};
    for (int l = 0; l < kLimits; ++l) {
      const Rates refused = table.refused(static_cast<Limit>(l));
      sum.refused_read += std::llround(2 * refused.read);
      sum.refused_write += std::llround(2 * refused.write);
    }
    return sum;
  }
  SeededRandom random;
  HeatHistory history;
  Resource table;
  int64_t now = kStart;
};

TEST(HeatHistoryPropertiesTest, NothingIsLostOrDoubledAndMemoryIsBounded) {
  const size_t most = HeatHistory::MostBytes(Life::Settings());
  size_t splits = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    for (int step = 0; step < 150; ++step) {
      life.Step();
      ASSERT_LE(life.history.Bytes(), most);
      // The coarsest tier still has all of it.
      if (life.now >= kStart + 38 * 3600 * kSecond) break;
      ASSERT_EQ(Sum(life.history.Map(Since(0, INT64_MAX, 3600))), life.Counted()) << step;
      // Whatever the rows.
      HeatHistory::Window window = Since(0, INT64_MAX, 7200);
      for (const PartitionView& p : life.table.Partitions()) window.rows.push_back(p.range);
      ASSERT_EQ(Sum(life.history.Map(window)), life.Counted()) << step;
      // Finer tiers agree with coarser ones where both cover a whole number of columns.
      const int64_t hour = life.now / kSecond / 3600 * 3600 * kSecond;
      if (life.now - hour < 25 * 60 * kSecond && life.now > hour) {
        ASSERT_EQ(Sum(life.history.Map(Since(hour, INT64_MAX, 1))),
                  Sum(life.history.Map(Since(hour, INT64_MAX, 3600))));
      }
    }
    splits += life.table.partition_count();
  }
  EXPECT_GT(splits, 12u * 20);  // there was something to follow
}

TEST(HeatHistoryPropertiesTest, IsTheSameAfterARoundTrip) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    for (int step = 0; step < 60; ++step) life.Step();
    const std::string bytes = life.history.Encode();
    const Result<HeatHistory> read = HeatHistory::Decode(bytes, Life::Settings());
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->Encode(), bytes);
    for (const int64_t step : {1, 60, 3600}) {
      HeatHistory::Window window = Since(0, INT64_MAX, step);
      if (step < 3600) window.from_micros = life.now - step * 10 * kSecond;
      window.rows = {{{}, {7, {}}, false}, {{7, {}}, {8, {}}, false}, {{8, {}}, {}, true}};
      const HeatMap before = life.history.Map(window);
      const HeatMap after = read->Map(window);
      ASSERT_EQ(before.columns(), after.columns());
      for (size_t row = 0; row < 3; ++row) EXPECT_EQ(RowSum(before, row), RowSum(after, row));
    }
    // It goes on as before.
    HeatHistory next = *read;
    next.Record(life.now + kSecond, {{{900, {{}, {}, true}, false, Reads(5)}}});
    EXPECT_EQ(Sum(next.Map(Since(0, INT64_MAX, 3600))).read,
              Sum(life.history.Map(Since(0, INT64_MAX, 3600))).read + 5);
  }
}

TEST(HeatHistoryTest, ThinningForgetsTheOldestOfTheLongestTier) {
  HeatHistory history;
  constexpr int64_t kSecond = 1'000'000;
  PartitionCount count{1, {{}, {}, true}, false, {}};
  for (int64_t now = kSecond; now <= 301 * kSecond; now += kSecond) {
    history.Record(now, std::span(&count, 1));
    count.units.write += 2;
  }
  const auto sum = [&](int64_t from, int64_t to) {
    const HeatMap map = history.Map({from * kSecond, to * kSecond, 1, {}, 301 * kSecond});
    int64_t units = 0;
    for (const HeatMap::Cell& cell : map.cells[0]) units += cell.units.write;
    return std::pair(map.column_seconds, units);
  };
  const size_t before = history.SlotBytes();
  EXPECT_EQ(sum(60, 120), std::pair(int64_t{1}, int64_t{120}));
  ASSERT_TRUE(history.Thin(4));
  EXPECT_LT(history.SlotBytes(), before * 6 / 10);
  // The seconds that are left are as they were; those that are gone are there by the minute.
  EXPECT_EQ(sum(240, 300), std::pair(int64_t{1}, int64_t{120}));
  EXPECT_EQ(sum(60, 120), std::pair(int64_t{60}, int64_t{120}));
  while (history.Thin(4)) {
  }
  EXPECT_LT(history.SlotBytes(), before / 10);
  EXPECT_FALSE(history.Thin(4));
}

TEST(HeatHistoryTest, DamagedBytesAreRefusedWithASentence) {
  Life life(3);
  for (int step = 0; step < 40; ++step) life.Step();
  const std::string bytes = life.history.Encode();
  const auto refusal = [](std::string_view in) {
    const Result<HeatHistory> read = HeatHistory::Decode(in, Life::Settings());
    return read.ok() ? std::string("read") : read.error().message();
  };
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 50)
    EXPECT_NE(refusal(bytes.substr(0, length)), "read") << length;
  SeededRandom random(1);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = bytes;
    damaged[random.Below(damaged.size())] ^= static_cast<char>(1 + random.Below(255));
    EXPECT_NE(refusal(damaged), "read");
  }
  EXPECT_EQ(refusal(""), "the bytes are no heat history");
  EXPECT_EQ(refusal(bytes.substr(0, bytes.size() - 1)), "a heat history is cut short or damaged");
  std::string newer = bytes;
  newer[2] = 9;
  EXPECT_EQ(refusal(newer), "a heat history is of version 9, which this program does not know");
}

}  // namespace
}  // namespace stator::throughput
