#include "management/cost.h"

#include <gtest/gtest.h>

#include <span>

#include "management/test_server.h"

namespace stator::management {
namespace {

// A load of `read` and `write` units a second, all the time.
Sources Steady(int64_t read, int64_t write) {
  Sources sources;
  sources.heat = [=](uint32_t, throughput::HeatHistory::Window window) {
    throughput::HeatMap map;
    map.from_seconds = window.from_micros / 1'000'000 / window.step_seconds * window.step_seconds;
    map.column_seconds = window.step_seconds;
    map.rows.push_back({{}, {}, true});
    map.cells.emplace_back();
    for (int64_t at = map.from_seconds; at * 1'000'000 < window.to_micros;
         at += window.step_seconds) {
      map.covered_seconds.push_back(static_cast<double>(window.step_seconds));
      throughput::HeatMap::Cell cell;
      cell.units.read = 2 * read * window.step_seconds;
      cell.units.write = 2 * write * window.step_seconds;
      map.cells.back().push_back(cell);
    }
    return map;
  };
  return sources;
}

struct CostTest : testing::Test {
  TestServer server;
  void SetUp() override {
    server.clock().AdvanceMicros(int64_t{30} * 86'400 * 1'000'000);
    server.Create("music", 100);
  }
  Parsed Of(const Sources& sources, int64_t hours, throughput::UnitPrices prices = {}) {
    return Parsed(
        *CostOf(server.environment(), sources, "music", hours * 3600 * 1'000'000, prices));
  }
};

TEST_F(CostTest, ASteadyLoadCostsWhatItsUnitsDo) {
  for (const int64_t hours : {6, 7 * 24}) {
    const Parsed cost = Of(Steady(70, 7), hours);
    EXPECT_EQ(cost.Text("/resources/0/type"), "table");
    EXPECT_NEAR(cost.Number("/resources/0/average/read"), 70, 0.5) << hours;
    EXPECT_NEAR(cost.Number("/resources/0/autoScaled/read"), 100, 2) << hours;
    EXPECT_NEAR(cost.Number("/resources/0/autoScaled/write"), 10, 1) << hours;
    // 100 units of each kind: 9 + 47 dollars.
    EXPECT_NEAR(cost.Number("/resources/0/month/provisioned"), 56, 0.01);
    EXPECT_LT(cost.Number("/resources/0/month/reserved"), 56);
    EXPECT_TRUE(cost["/resources/0/month/onDemand"].is_null()) << "no price was given";
    EXPECT_EQ(cost.Text("/resources/1/name"), "by-g");
  }
}

TEST_F(CostTest, AMinuteOfTheLastTwelveHoursIsToldApart) {
  // Two days of 10 units a second, and 600 in one minute about two hours ago.
  throughput::HeatHistory history;
  const int64_t now = server.environment().clock.NowMicros() / 1'000'000;
  const int64_t minute = (now - 7200) / 60 * 60;
  throughput::PartitionCount count;
  count.partition = 1;
  count.range.to_end = true;
  for (int64_t at = now - 2 * 86'400; at <= now; at += 10) {
    history.Record(at * 1'000'000, std::span(&count, 1));
    const bool burst = at >= minute && at < minute + 60;
    count.units.read += 2 * 10 * (burst ? 600 : 10);
  }
  Sources sources;
  sources.heat = [&](uint32_t, throughput::HeatHistory::Window window) {
    return history.Map(window);
  };
  const Parsed cost = Of(sources, 7 * 24);
  EXPECT_NEAR(cost.Number("/resources/0/average/read"), 10.2, 0.1);
  EXPECT_NEAR(cost.Number("/resources/0/busiestMinute/read"), 600, 1) << cost.text();
}

TEST_F(CostTest, OnDemandWithAPrice) {
  throughput::UnitPrices prices;
  prices.million_reads = 0.25;
  prices.million_writes = 1.25;
  const Parsed cost = Of(Steady(10, 0), 24, prices);
  EXPECT_NEAR(cost.Number("/resources/0/month/onDemand"), 10 * 730 * 3600 * 0.25 / 1e6, 0.05);
}

TEST_F(CostTest, ATableThatWasNotUsed) {
  const Parsed cost = Of(Steady(0, 0), 24);
  EXPECT_EQ(cost.Number("/resources/0/average/read"), 0);
  EXPECT_FALSE(CostOf(server.environment(), Steady(1, 1), "none", 1'000'000, {}).ok());
}

}  // namespace
}  // namespace stator::management
