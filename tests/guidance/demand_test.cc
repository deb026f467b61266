// Statements about what is told of refusals: one demand, that of the busiest second.
#include <set>
#include <string>

#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"
#include "statements.h"
#include "throughput/key_hash.h"

namespace stator::guidance {
namespace {

using throughput::Access;
using throughput::Explanation;
using throughput::HashOfStringKey;
using throughput::Limit;
using throughput::Resource;
using throughput::Verdict;

// 120 writes of one moment on a table with `write` units; the refusal of the last.
Verdict Burst(Resource* table, int64_t now) {
  Verdict last;
  for (int i = 0; i < 120; ++i) {
    const Verdict verdict = table->Admit(now, Write(7, "2014-07-09"));
    if (!verdict.admitted) last = verdict;
  }
  return last;
}

TEST(Guidance, S21_ABurstOfOneSecondIsToldAsThatSecondsDemand) {
  Resource table({}, Provisioned(1, 31), 0);
  table.Advance(0);
  const Verdict refusal = Burst(&table, 0);
  ASSERT_FALSE(refusal.admitted);
  EXPECT_EQ(table.Explain(0, refusal).demand, 120);
  EXPECT_EQ(table.Explain(0, refusal).cause,
            "Table table: 120 (so far) of 31 provisioned write units/s");
  EXPECT_TRUE(table.Worst(0, Access::kWrite, Limit::kProvisioned)->so_far);
  table.Advance(kSecond);
  EXPECT_EQ(table.Explain(kSecond, refusal).cause,
            "Table table: 120 of 31 provisioned write units/s");
  EXPECT_EQ(table.Worst(kSecond, Access::kWrite, Limit::kProvisioned)->cause,
            "Table table: 120 of 31 provisioned write units/s");
  EXPECT_EQ(table.Worst(0, Access::kWrite, Limit::kProvisioned)->demand, 120);
}

// Served requests of the time behind the last refusal are not told as of the time before it.
TEST(Guidance, S21_ASecondThatRefusesOnlyAtItsBeginIsNotCountedTwice) {
  Resource table({}, Provisioned(1, 31), 0);
  table.Advance(0);
  Burst(&table, 0);
  for (int tenth = 1; tenth <= 19; ++tenth) {
    for (int i = 0; i < 3; ++i) table.Admit(tenth * kSecond / 10, Write(7, "2014-07-09"));
    if (tenth == 9) table.Advance(9 * kSecond / 10);
  }
  table.Advance(19 * kSecond / 10);
  EXPECT_LE(table.Worst(2 * kSecond, Access::kWrite, Limit::kProvisioned)->demand, 150);
}

TEST(Guidance, S21_UnitsAloneAreNotTheCureOfOneHotKey) {
  Resource table({}, Provisioned(1, 1000), 0);
  table.Advance(0);
  for (int i = 0; i < 1594; ++i) table.Admit(0, Write(7, "acme"));
  const Verdict refusal{
      false, Access::kWrite, Limit::kProvisioned, table.Partitions().at(0).id, &table, 0};
  const std::string first = table.Explain(0, refusal).advice.at(0);
  EXPECT_NE(first.find("That alone is not enough: \"acme\" takes 1,594 of them, and one partition "
                       "serves 1,000. Spread it over"),
            std::string::npos)
      << first;
}

TEST(Guidance, S22_WhoLooksAMinuteLaterSeesWhy) {
  Resource table({}, Provisioned(1, 31), 0);
  table.Advance(0);
  Burst(&table, 0);
  for (int second = 1; second <= 60; ++second) table.Advance(second * kSecond);
  const auto worst = table.Worst(60 * kSecond, Access::kWrite, Limit::kProvisioned);
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->demand, 120);
  EXPECT_EQ(worst->at_micros, 0);
  EXPECT_EQ(worst->hottest.at(0).partition, "2014-07-09");
  EXPECT_FALSE(worst->advice.empty());
  table.Advance(25 * 3600 * kSecond);
  EXPECT_FALSE(table.Worst(25 * 3600 * kSecond, Access::kWrite, Limit::kProvisioned))
      << "a day later it is forgotten";
}

TEST(Guidance, S23_ALesserSecondLeavesTheWorstAndAWorseOneReplacesIt) {
  Resource table({}, Provisioned(1, 31), 0);
  table.Advance(0);
  Burst(&table, 0);
  table.Advance(kSecond);
  for (int i = 0; i < 60; ++i) table.Admit(kSecond, Write(7));
  table.Advance(2 * kSecond);
  EXPECT_EQ(table.Worst(2 * kSecond, Access::kWrite, Limit::kProvisioned)->demand, 120);
  Burst(&table, 2 * kSecond);
  Burst(&table, 2 * kSecond);
  table.Advance(3 * kSecond);
  EXPECT_EQ(table.Worst(3 * kSecond, Access::kWrite, Limit::kProvisioned)->demand, 240);
  // With other capacity a new account begins.
  table.SetProvisioned(4 * kSecond, {1, 100});
  EXPECT_EQ(table.Worst(4 * kSecond, Access::kWrite, Limit::kProvisioned)->demand, 240)
      << "until that refuses, too";
  table.Advance(4 * kSecond);
  for (int i = 0; i < 4; ++i) Burst(&table, 4 * kSecond);
  const auto worst = table.Worst(4 * kSecond, Access::kWrite, Limit::kProvisioned);
  EXPECT_EQ(worst->demand, 480);
  EXPECT_EQ(worst->limit, 100);
}

TEST(Guidance, S24_TheDemandIsNeverLessThanTheLimitThatRefused) {
  Resource table({}, Provisioned(1, 1000), 0);
  table.Advance(0);
  EXPECT_TRUE(table.Admit(0, Write(7, "big", 4000)).admitted) << "overdraws";
  for (int second = 1; second <= 3; ++second) {
    table.Advance(second * kSecond);
    const Verdict verdict = table.Admit(second * kSecond, Write(7));
    ASSERT_FALSE(verdict.admitted);
    EXPECT_EQ(table.Explain(second * kSecond, verdict).demand, 1000);
  }
}

TEST(Guidance, S27_ARefusalTellsOneNumberOrThatTheNumberFollows) {
  Resource table({}, Provisioned(100, 4000), 0);
  table.Advance(0);
  // 3,000 a second, in tenths of it: the storm is explained while it goes on.
  std::set<std::string> first, later;
  for (int tenth = 0; tenth < 50; ++tenth) {
    const int64_t now = tenth * kSecond / 10;
    if (tenth % 10 == 0) table.Advance(now);
    Verdict refusal;
    table.AdmitMany(now, Write(HashOfStringKey("day"), "day"), 300, &refusal);
    if (refusal.admitted) continue;  // a partition's maximum comes back all the time
    const Explanation e = table.Explain(now, refusal);
    (tenth < 10 ? first : later).insert(e.cause + ". " + e.advice.at(0));
  }
  ASSERT_FALSE(first.empty());
  for (const std::string& text : first) {
    EXPECT_NE(text.find("how many, the log tells once this second has ended"), std::string::npos)
        << text;
    EXPECT_NE(text.find(" (so far) of 1,000 write units/s"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"day.1\""), std::string::npos) << text;
  }
  std::set<std::string> numbers;
  for (const std::string& text : later) {
    EXPECT_NE(text.find(": 3,000 of 1,000 write units/s"), std::string::npos) << text;
    const std::string name = "\"day.1\" to \"day.";
    const size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos) << text;
    numbers.insert(
        text.substr(at + name.size(), text.find('"', at + name.size()) - at - name.size()));
  }
  EXPECT_EQ(numbers.size(), 1u) << testing::PrintToString(numbers);
}

TEST(Guidance, S28_AHotKeyIsToldWithItsOwnDemandBesideItsPartitions) {
  Resource table({}, Provisioned(100, 4000), 0);
  table.Advance(0);
  Verdict refusal;
  for (int second = 0; second < 3; ++second) {
    for (int i = 0; i < 20; ++i) {
      table.AdmitMany(second * kSecond, Write(7, "hot"), 70, &refusal);
      table.AdmitMany(second * kSecond, Write(8 + i, "other-" + std::to_string(i)), 30, &refusal);
    }
    table.Advance((second + 1) * kSecond);
  }
  const Explanation e = table.Explain(3 * kSecond, refusal);
  EXPECT_EQ(e.demand, 2000);
  EXPECT_TRUE(e.cause.starts_with("Hot key \"hot\", 1,4") ||
              e.cause.starts_with("Hot key \"hot\", 1,3"))
      << e.cause;
  EXPECT_TRUE(e.cause.ends_with(
      "write units/s, and others of its partition: 2,000 of 1,000 write units/s, on "
      "1 of 5 partitions"))
      << e.cause;
}

TEST(Guidance, S25_SimulatedDemandDoesNotDependOnTheStep) {
  const auto demand = [](const std::string& step, const std::string& duration) {
    const std::string text = "duration = \"" + duration + "\"\nstep = \"" + step + R"("
[[table]]
name = "t"
write = 40
[[traffic]]
table = "t"
operation = "write"
item_bytes = "1KB"
rate = 100
keys = { type = "uniform", count = 1000 }
)";
    const auto scenario = simulate::ParseScenario(text, "t.toml");
    EXPECT_TRUE(scenario.ok());
    const simulate::Outcome outcome = simulate::Run(*scenario);
    EXPECT_EQ(outcome.resources.at(0).troubles.size(), 1u) << step;
    return outcome.resources.at(0).troubles.at(0).explanation.demand;
  };
  EXPECT_NEAR(demand("100ms", "20m"), 100, 1);
  EXPECT_NEAR(demand("300ms", "20m"), 100, 1);
  EXPECT_NEAR(demand("1s", "20m"), 100, 1);
  EXPECT_NEAR(demand("10s", "1h"), 100, 1);
  EXPECT_NEAR(demand("10m", "10h"), 100, 1);
}

TEST(Guidance, S29_WhatAnIndexIsAskedForDoesNotDependOnTheSeed) {
  // 250 writes a second of an even table; the index gets 175 of 10 units for one of its keys.
  const std::string text = R"(
duration = "20s"
[[table]]
name = "tickets"
read = 100
write = 4000
[[table.index]]
name = "by-desk"
read = 100
write = 4000
entry_bytes = "10000B"
keys = { type = "weighted", weights = { returns = 70, billing = 10, technical = 10, press = 10 } }
[[traffic]]
table = "tickets"
operation = "write"
item_bytes = "10000B"
rate = 250
keys = { type = "uniform", count = 1000000 }
)";
  auto scenario = simulate::ParseScenario(text, "t.toml");
  ASSERT_TRUE(scenario.ok());
  std::set<std::string> told;
  std::set<int64_t> numbers;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    scenario->seed = seed;
    const simulate::Outcome outcome = simulate::Run(*scenario);
    ASSERT_EQ(outcome.resources.at(1).troubles.size(), 1u) << seed;
    const simulate::Trouble& trouble = outcome.resources.at(1).troubles.at(0);
    EXPECT_EQ(trouble.requests, 20 * 75) << seed;
    told.insert(trouble.explanation.cause);
    numbers.insert(trouble.explanation.spread.values);
  }
  EXPECT_EQ(told, std::set<std::string>({"Index by-desk: hot key \"returns\": 1,750 of 1,000 "
                                         "write units/s, on 1 of 5 partitions"}));
  EXPECT_EQ(numbers.size(), 1u) << testing::PrintToString(numbers);
  // A model that is asked for the same tells the same number.
  throughput::ResourceDefinition definition = Provisioned(100, 4000);
  definition.is_index = true;
  Resource index({}, definition, 0);
  for (int second = 0; second < 3; ++second) {
    for (const auto& [desk, units] : {std::pair{"returns", 1750}, std::pair{"billing", 250},
                                      std::pair{"technical", 250}, std::pair{"press", 250}}) {
      Verdict refusal;
      index.AdmitMany(second * kSecond, Write(HashOfStringKey(desk), desk), units, &refusal);
    }
    index.Advance((second + 1) * kSecond);
  }
  const auto worst = index.Worst(3 * kSecond, Access::kWrite, Limit::kKeyRange);
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->spread.values, *numbers.begin());
}

TEST(Guidance, S26_AReportSaysTheDemandOfTheRefusals) {
  const auto scenario = simulate::ParseScenario(R"(
duration = "10m"
[[table]]
name = "events"
read = 100
write = 4000
[[traffic]]
table = "events"
operation = "write"
item_bytes = "1KB"
rate = 3000
keys = { type = "single", key = "2014-07-09", sort = "increasing" }
)",
                                                "t.toml");
  ASSERT_TRUE(scenario.ok());
  const simulate::Outcome outcome = simulate::Run(*scenario);
  const simulate::Trouble& trouble = outcome.resources.at(0).troubles.at(0);
  EXPECT_EQ(trouble.explanation.cause,
            "Hot key \"2014-07-09\": 3,000 of 1,000 write units/s, on 1 of 5 partitions");
  EXPECT_EQ(trouble.requests, 2000 * 600);
  EXPECT_NE(simulate::TextReport(*scenario, outcome).find(trouble.explanation.cause),
            std::string::npos);
  // The model of a server says the same of the same requests.
  Resource table({}, Provisioned(100, 4000), 0);
  Verdict refusal;
  for (int second = 0; second < 600; ++second) {
    table.AdmitMany(second * kSecond, Write(7, "2014-07-09"), 3000, &refusal);
    table.Advance((second + 1) * kSecond);
  }
  EXPECT_EQ(table.Explain(600 * kSecond, refusal).cause, trouble.explanation.cause);
}

}  // namespace
}  // namespace stator::guidance
