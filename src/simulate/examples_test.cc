// Plays every scenario of examples/simulate, and some of examples/lessons, and checks what the
// guidance says of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"

namespace stator::simulate {
namespace {

std::filesystem::path Examples() {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "examples/simulate")) return at / "examples";
    if (at == at.parent_path())
      return std::filesystem::path(__FILE__).parent_path() / "../../examples";
  }
}
std::filesystem::path ExamplesDir() { return Examples() / "simulate"; }

// "hot-date" is in examples/simulate, "hot-date/product-suffix" in examples/lessons.
std::string PathOf(const std::string& name) {
  const bool of_lesson = name.find('/') != std::string::npos;
  return (Examples() / (of_lesson ? "lessons" : "simulate") / (name + ".toml")).string();
}

// Those that have a test here.
const std::set<std::string> kTested = {"auto-scaling",
                                       "bulk-load",
                                       "bulk-load-slow",
                                       "hot-date",
                                       "hot-read-cache",
                                       "sessions-ttl",
                                       "sparse-index",
                                       "hot-date-random-suffix",
                                       "hot-date-computed-suffix",
                                       "on-demand-growth",
                                       "time-series",
                                       "vertical-partitioning",
                                       "vote-counter-shards"};

struct Play {
  explicit Play(const std::string& name) {
    Result<Scenario> read = ReadScenario(PathOf(name));
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message());
    if (!read.ok()) return;
    scenario = std::move(*read);
    outcome = simulate::Run(scenario);
    text = TextReport(scenario, outcome);
  }
  const TrafficOutcome& traffic(std::string_view name) const {
    const auto found = std::find_if(outcome.traffic.begin(), outcome.traffic.end(),
                                    [&](const TrafficOutcome& t) { return t.name == name; });
    EXPECT_NE(found, outcome.traffic.end()) << name;
    static const TrafficOutcome none;
    return found == outcome.traffic.end() ? none : *found;
  }
  const ResourceOutcome& resource(std::string_view name) const {
    const auto found = std::find_if(outcome.resources.begin(), outcome.resources.end(),
                                    [&](const ResourceOutcome& r) { return r.name == name; });
    EXPECT_NE(found, outcome.resources.end()) << name;
    static const ResourceOutcome none;
    return found == outcome.resources.end() ? none : *found;
  }
  double price(std::string_view name) const { return PriceOf(scenario, resource(name)).capacity; }

  Scenario scenario;
  Outcome outcome;
  std::string text;
};

double PartThrottled(const TrafficOutcome& t) {
  return static_cast<double>(t.throttled_total()) / static_cast<double>(t.requests);
}

TEST(ExamplesTest, HotDateAndItsCures) {
  const Play hot("hot-date");
  // One partition serves 1,000 of 3,000, whatever the table could do.
  EXPECT_EQ(hot.traffic("events of today").served, 1000 * 3600);
  EXPECT_EQ(hot.traffic("events of today").throttled.at("TableWriteKeyRangeThroughputExceeded"),
            2000 * 3600);
  EXPECT_EQ(hot.resource("events").partitions_after, 5u)
      << "a sort key that only grows is not split";
  ASSERT_FALSE(hot.resource("events").hottest.empty());
  EXPECT_EQ(hot.resource("events").hottest[0].name, "2026-01-01");
  EXPECT_GT(hot.resource("events").hottest[0].share, 0.99);
  ASSERT_FALSE(hot.resource("events").troubles.empty());
  EXPECT_EQ(hot.resource("events").troubles[0].explanation.obstacle,
            throughput::SplitObstacle::kMovingKey);
  EXPECT_NE(
      hot.text.find("Hot key \"2026-01-01\": 3,000 of 1,000 write units/s, on 1 of 5 partitions"),
      std::string::npos)
      << hot.text;
  EXPECT_NE(hot.text.find("suffixes, \"2026-01-01.1\" to "), std::string::npos) << hot.text;

  const Play random("hot-date-random-suffix");
  EXPECT_EQ(random.traffic("events of today").throttled_total(), 0);
  EXPECT_EQ(random.traffic("look for one event").requests, 200 * 10 * 3600)
      << "each suffix is asked";
  EXPECT_NEAR(random.resource("events").consumed.read / 3600, 1000, 1);

  const Play computed("hot-date-computed-suffix");
  EXPECT_EQ(computed.traffic("events of today").throttled_total(), 0);
  EXPECT_EQ(computed.traffic("look for one event").requests, 10 * 3600);
  EXPECT_EQ(computed.traffic("look for one event").throttled_total(), 0);
  EXPECT_LT(computed.price("events"), random.price("events"));
}

TEST(ExamplesTest, ComputedSuffixesAreAsEvenAsTheirFunction) {
  const Play product("hot-date/product-suffix"), hash("hot-date/computed-suffix");
  const ResourceOutcome& events = product.resource("events");
  ASSERT_FALSE(events.hottest.empty());
  EXPECT_EQ(events.hottest[0].name, "2026-01-01.1");
  EXPECT_NEAR(events.hottest[0].share, 0.59, 0.01) << "Amazon's product of code points modulo 200";
  EXPECT_GT(PartThrottled(product.traffic("writes")), 0.3);
  EXPECT_EQ(hash.traffic("writes").throttled_total(), 0);
}

TEST(ExamplesTest, ACacheAnswersWhatIsHot) {
  const Play play("hot-read-cache");
  // 80% of 5,000 strong reads on one key are 4,000 of 3,000; eventual ones are 2,000 units.
  EXPECT_GT(PartThrottled(play.traffic("strong reads")), 0.15);
  EXPECT_EQ(play.traffic("eventual reads").throttled_total(), 0);
  const TrafficOutcome& cached = play.traffic("reads past a cache");
  EXPECT_EQ(cached.throttled_total(), 0);
  EXPECT_EQ(cached.cached, 4000 * 600);
  EXPECT_EQ(cached.served, cached.requests);
  EXPECT_NEAR(play.resource("cached").consumed.read, 1000 * 600, 1);
}

TEST(ExamplesTest, TimeToLiveDeletesForFree) {
  const Play play("sessions-ttl");
  for (const TrafficOutcome& t : play.outcome.traffic) EXPECT_EQ(t.throttled_total(), 0) << t.name;
  const ResourceOutcome& deleted = play.resource("deleted");
  const ResourceOutcome& expiring = play.resource("expiring");
  // Four hours of deletes beside six of writes.
  EXPECT_NEAR(deleted.consumed.write, 400 * 3600 * (6 + 4), 1);
  EXPECT_NEAR(expiring.consumed.write, 400 * 3600 * 6, 1);
  EXPECT_NEAR(static_cast<double>(deleted.bytes), 400.0 * 3600 * 2 * 1024, 1e7);
  // Sessions older than two hours and a delay of up to an hour are gone; deletes come by the hour.
  EXPECT_GT(expiring.expired, 400 * 3600 * 2);
  EXPECT_LT(expiring.bytes, int64_t{400} * 3600 * 4 * 1024);
}

TEST(ExamplesTest, TimeSeriesTables) {
  const Play play("time-series");
  for (const TrafficOutcome& t : play.outcome.traffic) EXPECT_EQ(t.throttled_total(), 0) << t.name;
  EXPECT_EQ(play.resource("events-2026-01").lowest_capacity, (throughput::Rates{5, 1}));
  EXPECT_EQ(play.resource("events-2026-03").partitions_before, 1u);
  EXPECT_EQ(play.resource("events-2026-03").partitions_after, 2u) << "raised when its month came";
  double sum = 0;
  for (const ResourceOutcome& r : play.outcome.resources) sum += PriceOf(play.scenario, r).capacity;
  // Less than three tables that all keep what the current one has.
  EXPECT_LT(sum, 0.4 * 3 * throughput::ProvisionedMonth(play.scenario.prices, 500, 1000));
}

TEST(ExamplesTest, SparseIndex) {
  const Play play("sparse-index");
  EXPECT_EQ(play.traffic("orders").throttled_total(), 0);
  EXPECT_NEAR(play.resource("open-orders").consumed.write / 1800, 0.02 * 900, 0.1);
  EXPECT_NEAR(play.resource("orders").consumed.write / 1800, 900, 1);
}

TEST(ExamplesTest, IndexByStatusThrottlesItsTable) {
  const Play play("status-index/by-status");
  const TrafficOutcome& orders = play.traffic("orders");
  EXPECT_EQ(orders.throttled.count("IndexWriteKeyRangeThroughputExceeded"), 1u);
  EXPECT_EQ(orders.throttled.size(), 1u) << "the table itself has enough";
  // SHIPPED has 80% of 2,500 and gets 1,000 per second at most; the other 500 pass.
  EXPECT_NEAR(static_cast<double>(orders.served) / 600, 1500, 5);
  EXPECT_EQ(play.resource("by-status").hottest[0].name, "SHIPPED");
  EXPECT_NE(play.text.find("Writes of the table wait for its index by-status"), std::string::npos);
}

TEST(ExamplesTest, VerticalPartitioning) {
  const Play play("vertical-partitioning");
  for (const TrafficOutcome& t : play.outcome.traffic) EXPECT_EQ(t.throttled_total(), 0) << t.name;
  EXPECT_NEAR(play.resource("whole").consumed.write / play.resource("parts").consumed.write, 20,
              0.01);
  EXPECT_NEAR(play.resource("whole").consumed.read / play.resource("parts").consumed.read, 5, 0.01);
}

TEST(ExamplesTest, VoteCounter) {
  const Play hot("vote-counter/one-item");
  EXPECT_EQ(hot.traffic("votes").served, 1000 * 600) << "of 20,000 per second";
  EXPECT_EQ(hot.resource("votes").partitions_after, 40u) << "one item is never divided";
  EXPECT_EQ(hot.resource("votes").troubles[0].explanation.obstacle,
            throughput::SplitObstacle::kSingleKey);
  EXPECT_NE(hot.text.find("Divide the item into "), std::string::npos) << hot.text;
  EXPECT_GE(hot.resource("votes").troubles[0].explanation.spread.values, 20);
  EXPECT_EQ(hot.text.find("splits by itself"), std::string::npos);

  const Play shards("vote-counter-shards");
  // 20 shards share partitions at first and part in minutes.
  const ResourceOutcome& twenty = shards.resource("votes-20");
  EXPECT_LT(twenty.columns.front().consumed.write, 15000);
  EXPECT_NEAR(twenty.columns.back().consumed.write, 19000, 1);
  EXPECT_GT(twenty.splits.at("heat"), 0);
  EXPECT_EQ(shards.traffic("votes on 400 shards").throttled_total(), 0);
}

TEST(ExamplesTest, BulkLoadLeavesPartitionsBehind) {
  const Play fast("bulk-load");
  const ResourceOutcome& products = fast.resource("products");
  EXPECT_EQ(products.partitions_before, 11u);
  EXPECT_EQ(products.partitions_after, 11u);
  EXPECT_NEAR(products.partitions[0].share.write, 18, 0.2);
  EXPECT_EQ(fast.traffic("load").served, 20'000'000);
  ASSERT_TRUE(fast.traffic("load").finished_seconds);
  EXPECT_NEAR(*fast.traffic("load").finished_seconds / 60, 30, 1);
  // Half of what comes after it is throttled although the table has twice the capacity.
  EXPECT_GT(PartThrottled(fast.traffic("life after it")), 0.4);
  EXPECT_NEAR(static_cast<double>(products.bytes), 20e6 * 1024, 1e6);

  const Play slow("bulk-load-slow");
  EXPECT_EQ(slow.resource("products").partitions_after, 2u);
  EXPECT_EQ(slow.traffic("load").served, 20'000'000);
  EXPECT_LE(*slow.traffic("load").finished_seconds, 3 * 3600);
  EXPECT_LT(PartThrottled(slow.traffic("life after it")), 0.01);
}

TEST(ExamplesTest, UploadsInTheRightOrder) {
  const Play by_user("upload-by-user/by-user");
  const Play interleaved("upload-by-user/interleaved");
  // One partition at a time: 1,000 per second, and two while one user ends and the next begins.
  EXPECT_NEAR(*by_user.traffic("upload").finished_seconds, 175, 25);
  EXPECT_LT(*interleaved.traffic("upload").finished_seconds, 80);
  EXPECT_EQ(by_user.traffic("upload").served, 200'000);
  EXPECT_EQ(interleaved.traffic("upload").served, 200'000);
}

TEST(ExamplesTest, AutoScalingFollows) {
  const Play play("auto-scaling");
  const ResourceOutcome& carts = play.resource("carts");
  EXPECT_LT(PartThrottled(play.traffic("reads")), 0.002);
  EXPECT_LT(PartThrottled(play.traffic("writes")), 0.002);
  EXPECT_GT(carts.highest_capacity.read, 2500);
  EXPECT_EQ(carts.lowest_capacity.read, 100);
  EXPECT_EQ(carts.refused_decreases, 0);
  // Less than the peak all day.
  EXPECT_LT(play.price("carts"),
            0.6 * throughput::ProvisionedMonth(play.scenario.prices, 3571, 1142));
}

TEST(ExamplesTest, OnDemandGrows) {
  const Play play("on-demand-growth");
  const ResourceOutcome& clicks = play.resource("clicks");
  EXPECT_EQ(clicks.partitions_before, 4u);
  EXPECT_EQ(clicks.splits.count("on-demand growth"), 1u);
  EXPECT_EQ(clicks.splits.count("heat"), 1u);
  EXPECT_GT(PartThrottled(play.traffic("clicks")), 0.005);
  EXPECT_NEAR(clicks.columns.back().consumed.write, 12000, 1);
}

TEST(ExamplesTest, EqualSeedsGiveEqualReports) {
  const Result<Scenario> scenario = ReadScenario(PathOf("status-index/by-status"));
  ASSERT_TRUE(scenario.ok());
  const Outcome one = simulate::Run(*scenario), two = simulate::Run(*scenario);
  EXPECT_EQ(TextReport(*scenario, one), TextReport(*scenario, two));
  EXPECT_EQ(JsonReport(*scenario, one), JsonReport(*scenario, two));
  EXPECT_EQ(HeatMap(*scenario, one), HeatMap(*scenario, two));
  Scenario other = *scenario;
  other.seed = 2;
  EXPECT_NE(JsonReport(other, simulate::Run(other)), JsonReport(*scenario, one));
}

// Of the outcome of a scenario: nothing is lost between the traffic and the tables, and the reports
// are well formed.
TEST(ExamplesTest, AllAreConsistentAndTested) {
  for (const auto& entry : std::filesystem::directory_iterator(ExamplesDir())) {
    if (entry.path().extension() != ".toml") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    EXPECT_TRUE(kTested.contains(name)) << "has no test of its own";
    Result<Scenario> scenario = ReadScenario(entry.path().string());
    ASSERT_TRUE(scenario.ok()) << scenario.error().message();
    // The first part is enough here.
    scenario->duration_seconds = std::min(scenario->duration_seconds, 240 * scenario->step_seconds);
    for (Traffic& t : scenario->traffic)
      t.until_seconds = std::min(t.until_seconds, scenario->duration_seconds);
    const Outcome outcome = simulate::Run(*scenario);
    for (const TrafficOutcome& t : outcome.traffic)
      EXPECT_EQ(t.requests, t.served + t.throttled_total()) << t.name;
    for (const ResourceOutcome& r : outcome.resources) {
      throughput::Rates sum;
      for (const Column& c : r.columns) {
        sum.read += c.consumed.read;
        sum.write += c.consumed.write;
      }
      EXPECT_NEAR(sum.read * outcome.column_seconds, r.consumed.read, 1e-3 * r.consumed.read + 1);
      EXPECT_NEAR(sum.write * outcome.column_seconds, r.consumed.write,
                  1e-3 * r.consumed.write + 1);
      EXPECT_EQ(r.rows.size(), r.partitions_after);
    }
    const std::string json = JsonReport(*scenario, outcome);
    EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
    EXPECT_EQ(json.find(",,"), std::string::npos);
    EXPECT_EQ(json.find("{,"), std::string::npos);
    EXPECT_EQ(json.find("[,"), std::string::npos);
    const std::string svg = HeatMap(*scenario, outcome);
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  }
}

}  // namespace
}  // namespace stator::simulate
