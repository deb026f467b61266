#include "management/series.h"

#include <gtest/gtest.h>

#include <optional>

#include "management/test_server.h"

namespace stator::management {
namespace {

const std::vector<double> kBounds = {0.001, 0.01, 0.1};

struct SeriesTest : testing::Test {
  ManualClock clock;
  std::optional<Series> kept;
  std::map<std::pair<std::string, std::string>, RequestTotals> totals;

  SeriesTest() {
    clock.AdvanceMicros(1'795'264'200'000'000 - clock.NowMicros());
    kept.emplace(clock);
  }

  void Serve(const std::string& operation, const std::string& table, int64_t count) {
    RequestTotals& of = totals[{operation, table}];
    of.counts.resize(4);
    of.served += count;
    of.counts[1] += count;
  }
  void Look() {
    std::vector<OperationTotals> all;
    for (const auto& [of, one] : totals) all.push_back({of.first, of.second, one});
    kept->Look(all, kBounds, [this](std::string_view name) { return name != gone; });
  }
  Parsed Render(std::string_view query) { return Parsed(kept->Render(*SeriesQuery(query))); }
  std::string gone;
};

TEST_F(SeriesTest, RatesAndLatenciesByOperationAndTable) {
  Serve("GetItem", "music", 1000);
  Look();
  clock.AdvanceMicros(10'000'000);
  Serve("GetItem", "music", 200);
  Serve("Query", "music", 100);
  totals[{"GetItem", "music"}].user_errors += 10;
  totals[{"GetItem", "music"}].throttled += 20;
  Look();
  const Parsed by_operation = Render("last=60s");
  EXPECT_EQ(by_operation.Whole("/columnSeconds"), 10);
  EXPECT_EQ(by_operation.Whole("/columns"), 6);
  ASSERT_EQ(by_operation.Size("/series"), 2u);
  EXPECT_EQ(by_operation.Text("/series/0/name"), "GetItem");
  EXPECT_EQ(by_operation.Number("/series/0/served/4"), 100);
  EXPECT_EQ(by_operation.Number("/series/0/served/5"), 20);
  EXPECT_EQ(by_operation.Number("/series/0/errors/5"), 1);
  EXPECT_EQ(by_operation.Number("/series/0/throttled/5"), 2);
  EXPECT_NEAR(by_operation.Number("/series/0/p50/5"), 5.5, 0.01);
  EXPECT_TRUE(by_operation["/series/0/p50/0"].is_null());
  const Parsed by_table = Render("by=table&last=60s");
  ASSERT_EQ(by_table.Size("/series"), 1u);
  EXPECT_EQ(by_table.Number("/series/0/served/5"), 30);
  EXPECT_EQ(Render("by=table&name=none").Size("/series"), 0u);
}

TEST_F(SeriesTest, HoursAreKeptForDaysAndTheSumsAreExact) {
  Look();
  for (int hour = 0; hour < 24 * 15; ++hour) {
    for (int look = 0; look < 4; ++look) {
      clock.AdvanceMicros(900'000'000);
      Serve("GetItem", "music", 900);
      Look();
    }
  }
  const Parsed days = Render("last=14d");
  EXPECT_EQ(days.Whole("/columnSeconds"), 7200);
  EXPECT_EQ(days.Whole("/columns"), 168);
  EXPECT_EQ(days.Number("/series/0/served/100"), 1);
  EXPECT_EQ(days.Number("/series/0/served/3"), 1);
  EXPECT_LE(kept->Bytes(), 2 * 140'000u);
}

TEST_F(SeriesTest, AWholeHistoryIsBelowFourMegabytesATable) {
  Look();
  for (int i = 0; i < 14 * 24 * 360 / 6; ++i) {
    clock.AdvanceMicros(60'000'000);
    Serve("GetItem", "music", 1);
    Look();
  }
  for (int i = 0; i < 360; ++i) {
    clock.AdvanceMicros(10'000'000);
    Serve("GetItem", "music", 1);
    Look();
  }
  EXPECT_LE(kept->Bytes() / 2, 140'000u) << "one operation, one table";
  EXPECT_GT(kept->Bytes() / 2, 100'000u);
}

TEST_F(SeriesTest, NamesAreBoundedAndTablesThatAreGoneAreForgotten) {
  Look();
  for (size_t i = 0; i < 2 * Series::kMostTables; ++i) Serve("GetItem", "t" + std::to_string(i), 5);
  clock.AdvanceMicros(10'000'000);
  Look();
  const Parsed others = Render("by=table&name=(others)&last=10s");
  EXPECT_GT(others.Number("/series/0/served/0"), 100);
  EXPECT_EQ(Render("by=table&last=10s").Size("/series"), Series::kMostNamesAnswered);
  gone = "t0";
  clock.AdvanceMicros(10'000'000);
  Look();
  EXPECT_EQ(Render("by=table&name=t0").Size("/series"), 0u);
  EXPECT_EQ(Render("by=table&name=t1").Size("/series"), 1u);
}

TEST_F(SeriesTest, CountersThatBeginAgainAndAClockThatGoesBack) {
  Look();
  Serve("GetItem", "music", 100);
  clock.AdvanceMicros(10'000'000);
  Look();
  totals.clear();
  Serve("GetItem", "music", 30);
  clock.AdvanceMicros(10'000'000);
  Look();
  EXPECT_EQ(Render("last=10s").Number("/series/0/served/0"), 3);
  clock.AdvanceMicros(-3600'000'000);
  Serve("GetItem", "music", 50);
  Look();
  EXPECT_EQ(Render("last=10s").Number("/series/0/served/0"), 5);
}

TEST(SeriesQuery, WhatIsWrongIsSaid) {
  for (const char* query : {"by=key", "last=0", "last=x", "last=15d", "step=0.5"})
    EXPECT_FALSE(SeriesQuery(query).ok()) << query;
  EXPECT_EQ(SeriesQuery("last=2h&step=1m")->step_seconds, 60);
}

}  // namespace
}  // namespace stator::management
