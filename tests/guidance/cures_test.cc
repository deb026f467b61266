// Statements about cures: each pattern gets its own. And about scenarios, prices and pictures.
#include <algorithm>
#include <cmath>
#include <string>

#include "simulate/compare.h"
#include "simulate/key_stream.h"
#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"
#include "statements.h"
#include "throughput/prices.h"

namespace stator::guidance {
namespace {

using simulate::Outcome;
using simulate::ResourceOutcome;
using simulate::Scenario;

struct Simulated {
  Scenario scenario;
  Outcome outcome;
  const ResourceOutcome& resource(size_t at = 0) const { return outcome.resources.at(at); }
  // All cures of the worst refusal of a resource, one after the other.
  std::string cures(size_t at = 0) const {
    std::string all;
    for (const std::string& advice : resource(at).troubles.at(0).explanation.advice)
      all += advice + "\n";
    return all;
  }
  // All notes beside those cures.
  std::string notes(size_t at = 0) const {
    std::string all;
    for (const std::string& note : resource(at).troubles.at(0).explanation.notes)
      all += note + "\n";
    return all;
  }
};

Simulated Play(const std::string& text) {
  auto scenario = simulate::ParseScenario(text, "statement.toml");
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message());
  if (!scenario.ok()) return {};
  return {*scenario, simulate::Run(*scenario)};
}

std::string Table(const std::string& more) { return "[[table]]\nname = \"t\"\n" + more + "\n"; }
std::string Writes(double rate, const std::string& keys, const std::string& more = "") {
  return "[[traffic]]\ntable = \"t\"\noperation = \"write\"\nitem_bytes = \"1KB\"\nrate = " +
         std::to_string(rate) + "\nkeys = " + keys + "\n" + more + "\n";
}
bool Says(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST(Guidance, S61_AnUploadByUserIsCuredByAnotherOrder) {
  for (const int users : {20, 1000}) {
    const Simulated played =
        Play("duration = \"20m\"\n" + Table("read = 1\nwrite = 5000") +
             Writes(5000, "{ type = \"upload\", users = " + std::to_string(users) +
                              ", items_per_user = " + std::to_string(1'000'000 / users) + " }"));
    EXPECT_TRUE(Says(played.cures(), "in another order")) << users << ": " << played.cures();
    EXPECT_FALSE(Says(played.cures(), "suffixes")) << users << ": " << played.cures();
  }
}

TEST(Guidance, S62_AHotItemIsReadFromACacheOrEventuallyFirst) {
  const Simulated played = Play(
      "duration = \"5m\"\n" + Table("read = 8000\nwrite = 1") +
      "[[traffic]]\ntable = \"t\"\nconsistency = \"strong\"\nitem_bytes = \"4KB\"\nrate = 5000\n"
      "keys = { type = \"single\", key = \"bestseller\" }\n");
  const std::string cures = played.cures();
  EXPECT_TRUE(
      cures.starts_with("Read it eventually consistent: a strongly consistent read costs "
                        "twice as much, and this key then takes 2,500. Or cache what is "
                        "hot.\nIf that is not enough, keep "))
      << cures;
}

TEST(Guidance, S63_PartitionsOfABulkLoadSayWhyTheyAreThere) {
  const Simulated played =
      Play("duration = \"50m\"\n[model]\nadaptive = \"off\"\nsplit_for_heat = false\n" +
           Table("read = 1\nwrite = 10999\ncapacity = [{ at = \"35m\", write = 200 }]") +
           Writes(10'000,
                  "{ type = \"upload\", users = 20000, items_per_user = 900, order = "
                  "\"interleaved\" }") +
           Writes(100, "{ type = \"weighted\", weights = { bestseller = 60, other = 40 } }",
                  "from = \"35m\""));
  const std::string cures = played.cures();
  EXPECT_TRUE(Says(cures, "was given 10,999 write units once and keeps the 11 partitions"))
      << cures;
  EXPECT_TRUE(Says(cures, "200 units are 18 for each")) << cures;
  EXPECT_TRUE(Says(cures, "Loaded in 3 hours it has 2.")) << cures;
}

TEST(Guidance, S64_AnIndexOfFewKeysNeedsAnotherKey) {
  const Simulated played =
      Play("duration = \"5m\"\n" +
           Table("read = 1\nwrite = 4000\n[[table.index]]\nname = \"by-status\"\nwrite = 4000\n"
                 "keys = { type = \"weighted\", weights = { SHIPPED = 80, NEW = 15, LOST = 5 } }") +
           Writes(2500, "{ type = \"uniform\", count = 1000000 }"));
  EXPECT_TRUE(Says(played.cures(1), "The index has only 3 keys")) << played.cures(1);
  EXPECT_TRUE(Says(played.cures(1), "asks once for each value")) << "what that cure costs";
  EXPECT_TRUE(Says(played.notes(1), "Writes of the table wait for its index by-status"));
  EXPECT_FALSE(Says(played.cures(1), "wait for its index")) << "that cures nothing";
  EXPECT_EQ(played.resource(1).troubles.at(0).explanation.lesson, "status-index");
  EXPECT_TRUE(Says(played.resource(1).troubles.at(0).explanation.cause,
                   "Index by-status: hot key \"SHIPPED\""))
      << played.resource(1).troubles.at(0).explanation.cause;
}

TEST(Guidance, S65_NothingSplitsInsideAKeyWithoutASortKey) {
  const auto play = [](const std::string& sort) {
    return Play(
        "duration = \"2m\"\n" + Table("read = 1\nwrite = 4000") +
        Writes(2000, "{ type = \"weighted\", weights = { hot = 90, a = 5, b = 5 }" + sort + " }"));
  };
  const Simulated without = play(""), with = play(", sort = \"uniform\"");
  EXPECT_FALSE(Says(without.notes(), "splits inside")) << without.notes();
  EXPECT_TRUE(Says(with.notes(), "splits inside")) << with.notes();
  EXPECT_FALSE(Says(with.cures(), "splits inside")) << "that is nothing to do: " << with.cures();
}

TEST(Guidance, S66_WhereMoreUnitsDoNotHelpThatIsSaid) {
  const auto told = [](const std::string& table, const std::string& keys, double rate) {
    return Play("duration = \"1m\"\n" + Table(table) + Writes(rate, keys))
        .resource()
        .troubles.at(0)
        .explanation;
  };
  const std::string hot = "{ type = \"single\", key = \"hot\", sort = \"increasing\" }";
  throughput::Explanation e = told("read = 1\nwrite = 4000", hot, 2000);
  EXPECT_EQ(e.spread.capacity, 0);
  EXPECT_EQ(e.no_help,
            "More units alone do not help: one partition serves at most 1,000 write units/s.");
  // Not of units that suffixes need.
  e = told("read = 1\nwrite = 4000", hot, 9000);
  EXPECT_GT(e.spread.capacity, 0);
  EXPECT_EQ(e.no_help,
            "More units alone do not help: one partition serves at most 1,000 write units/s.");
  e = told("billing = \"on-demand\"", hot, 2000);
  EXPECT_EQ(e.no_help,
            "More WarmThroughput alone does not help: one partition serves at most 1,000 write "
            "units/s.");
  // Not where more partitions take what is too much for one.
  e = told("billing = \"on-demand\"", "{ type = \"uniform\", count = 1000000 }", 7000);
  EXPECT_EQ(e.no_help, "");
}

// A partition that is busy beyond the units of its table: a split does not come, because the heat
// ends with the units that were kept, and more partitions do not help. The cure is one when played.
TEST(Guidance, S66_WhereUnitsAreWhatATableLacksMorePartitionsAreNoCure) {
  const auto play = [](double units, double rate) {
    return Play(
        "duration = \"9m\"\n" +
        Table("read = 1\nwrite = " + std::to_string(static_cast<int64_t>(units))) +
        Writes(rate, "{ type = \"uniform\", count = 100000 }", "from = \"5m\"\nuntil = \"8m\""));
  };
  for (const auto& [units, rate] : {std::pair{100.0, 2000.0}, {100.0, 1300.0}, {2500.0, 8000.0}}) {
    const Simulated poor = play(units, rate);
    EXPECT_FALSE(Says(poor.cures(), "WarmThroughput")) << poor.cures();
    EXPECT_FALSE(Says(poor.notes(), "splits by itself")) << poor.notes();
    std::string cure;
    for (const simulate::Trouble& trouble : poor.resource().troubles) {
      if (trouble.explanation.reason == "TableWriteKeyRangeThroughputExceeded")
        cure = trouble.explanation.advice.at(0);
    }
    constexpr std::string_view kLead = "Raise the write capacity of the table to ";
    ASSERT_TRUE(cure.starts_with(kLead)) << cure;
    std::string number = cure.substr(kLead.size(), cure.find(" units") - kLead.size());
    std::erase(number, ',');
    const double raised = std::stod(number);
    EXPECT_GE(raised, 0.95 * rate) << cure;
    EXPECT_LE(raised, 1.1 * rate) << cure;
    EXPECT_EQ(play(raised, rate).outcome.traffic.at(0).throttled_total(), 0) << cure;
  }
  // Where it has the units that is different.
  const Simulated enough = Play("duration = \"1m\"\n" + Table("billing = \"on-demand\"") +
                                Writes(7000, "{ type = \"uniform\", count = 1000000 }"));
  EXPECT_TRUE(Says(enough.cures(), "Set WarmThroughput")) << enough.cures();
  EXPECT_TRUE(Says(enough.notes(), "splits by itself")) << enough.notes();
  EXPECT_FALSE(Says(enough.cures(), "by itself")) << enough.cures();
}

TEST(Guidance, S67_OtherKeysGetSuffixesBeforeMoreUnitsArePlanned) {
  const std::string weights =
      "{ type = \"weighted\", weights = { \"device-7\" = 60, \"device-1\" "
      "= 10, \"device-2\" = 10, \"device-3\" = 10, \"device-4\" = 10 }";
  const Simulated hot = Play("duration = \"1m\"\n" + Table("read = 1\nwrite = 4000") +
                             Writes(3000, weights + ", sort = \"increasing\" }"));
  const throughput::SpreadPlan plan = hot.resource().troubles.at(0).explanation.spread;
  EXPECT_EQ(plan.capacity, 0) << hot.cures();
  ASSERT_FALSE(plan.also.empty()) << hot.cures();
  EXPECT_TRUE(Says(hot.cures(), "Give as many to \"" + plan.also[0] + "\"")) << hot.cures();
  EXPECT_TRUE(Says(hot.cures(), "too little room")) << hot.cures();
  // It is a cure: played on the same table, with suffixes for all that it names.
  std::string cured = "duration = \"1m\"\n" + Table("read = 1\nwrite = 4000");
  for (const std::string device : {"7", "1", "2", "3", "4"}) {
    const std::string name = "device-" + device;
    const bool suffixed =
        device == "7" || std::find(plan.also.begin(), plan.also.end(), name) != plan.also.end();
    cured += Writes(device == "7" ? 1800 : 300,
                    "{ type = \"single\", key = \"" + name +
                        "\", suffixes = " + std::to_string(suffixed ? plan.values : 1) + " }",
                    "name = \"" + name + "\"");
  }
  for (const simulate::TrafficOutcome& traffic : Play(cured).outcome.traffic)
    EXPECT_EQ(traffic.throttled_total(), 0) << traffic.name;
}

TEST(Guidance, S68_WhatIsKnownOfSortKeysIsSaid) {
  const auto notes = [](const std::string& sort) {
    return Play("duration = \"3m\"\n" + Table("read = 1\nwrite = 4000") +
                Writes(2000,
                       "{ type = \"weighted\", weights = { hot = 90, a = 5, b = 5 }, sort = \"" +
                           sort + "\" }"))
        .notes();
  };
  EXPECT_TRUE(Says(notes("increasing"),
                   "Splits do not help: the sort keys of this key only rise, so that all of its "
                   "new items lie in the last part."))
      << notes("increasing");
  EXPECT_FALSE(Says(notes("increasing"), "unless")) << notes("increasing");
  EXPECT_TRUE(Says(notes("uniform"), "the partition splits inside this key's items.\n"))
      << notes("uniform");
}

TEST(Guidance, S69_AHotKeyOfAnIndexIsCuredByASlimProjectionFirst) {
  std::string lesson;
  const auto cures = [&](const std::string& bytes) {
    const Simulated played = Play(
        "duration = \"1m\"\n" +
        Table("read = 1\nwrite = 9000\n[[table.index]]\nname = \"by-day\"\nwrite = 9000\n"
              "entry_bytes = \"" +
              bytes + "\"\nkeys = { type = \"date\", every = \"1d\", sort = \"increasing\" }") +
        Writes(500, "{ type = \"uniform\", count = 1000000 }"));
    lesson = played.resource(1).troubles.at(0).explanation.lesson;
    return played.cures(1);
  };
  EXPECT_TRUE(cures("5KB").starts_with(
      "Project less: an entry of the index costs about 5 units, of at most 1 KB it costs 1, and "
      "this key then takes 500 (lesson slim-index).\nThe index has only 1 key"))
      << cures("5KB");
  EXPECT_EQ(lesson, "slim-index") << "that of the first cure";
  // 1,200 slim entries are too many for a partition: that is no cure without the next one.
  const Simulated both =
      Play("duration = \"1m\"\n" +
           Table("read = 1\nwrite = 9000\n[[table.index]]\nname = \"by-day\"\nwrite = 9000\n"
                 "entry_bytes = \"3KB\"\nkeys = { type = \"single\" }") +
           Writes(1200, "{ type = \"uniform\", count = 1000000 }"));
  const std::vector<std::string>& told = both.resource(1).troubles.at(0).explanation.advice;
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(Says(told[0], "then takes 1,200, which is still too many")) << told[0];
  EXPECT_TRUE(Says(told[0], "The index has only 1 key")) << told[0];
  EXPECT_FALSE(Says(Play("duration = \"1m\"\n" +
                         Table("read = 1\nwrite = 9000\n[[table.index]]\nname = \"i\"\nwrite = "
                               "9000\nentry_bytes = \"1KB\"\nkeys = { type = \"single\" }") +
                         Writes(2500, "{ type = \"uniform\", count = 1000000 }"))
                        .cures(1),
                    "Project less"));
}

TEST(Guidance, S71_CapacityIsReservedInHundreds) {
  const throughput::UnitPrices prices;
  EXPECT_NEAR(throughput::ProvisionedMonth(prices, 3000, 300, true), 193.17, 1e-9);
  // 150 WCU: a block at 47% of the price, and 50 at all of it cost less than a second block does.
  EXPECT_NEAR(throughput::ProvisionedMonth(prices, 0, 150, true), 0.47 * (47 + 47), 1e-9);
  EXPECT_NEAR(throughput::ProvisionedMonth(prices, 0, 120, true), 0.47 * (47 + 20), 1e-9);
}

TEST(Guidance, S72_DurationsMayBeCompound) {
  const auto scenario =
      simulate::ParseScenario("duration = \"1h 30m\"\nstep = \"10s\"\n" + Table("write = 10") +
                                  "[[traffic]]\ntable = \"t\"\noperation = \"write\"\nrate = "
                                  "[[\"0s\", 1], [\"1h5m30s\", 2]]\n",
                              "t.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().message();
  EXPECT_EQ(scenario->duration_seconds, 5400);
  EXPECT_EQ(scenario->traffic.at(0).rate.at(1).first, 3930);
  for (const char* wrong : {"1h x", "h", "1h 30", "", "1h  30m"}) {
    EXPECT_FALSE(simulate::ParseScenario("duration = \"" + std::string(wrong) + "\"\n" +
                                             Table("write = 10") +
                                             Writes(1, "{ type = \"single\" }"),
                                         "t.toml")
                     .ok())
        << wrong;
  }
}

TEST(Guidance, S73_ARateIsSentExactly) {
  const Simulated played = Play("duration = \"100s\"\n" + Table("write = 1000") +
                                Writes(37, "{ type = \"zipf\", count = 300 }") +
                                Writes(100, "{ type = \"zipf\", count = 100000 }"));
  EXPECT_EQ(played.outcome.traffic.at(0).requests, 3700);
  EXPECT_EQ(played.outcome.traffic.at(1).requests, 10'000);
  for (const simulate::Column& column : played.resource().columns)
    EXPECT_EQ(column.consumed.write, 137);
}

TEST(Guidance, S81_AProductOfCodePointsIsUnevenAndAHashIsNot) {
  using Suffix = simulate::KeySpace::Suffix;
  const auto most = [](Suffix function, const std::string& ids) {
    double share = 0;
    for (const double each : simulate::SharesOfSuffixes(function, ids, 200))
      share = std::max(share, each);
    return share;
  };
  EXPECT_NEAR(most(Suffix::kProduct, "ORD-%06d"), 0.59, 0.01);
  EXPECT_NEAR(most(Suffix::kProduct, "ORD-2026-%06d"), 1, 0.01) << "50 times 50 is 2,500";
  EXPECT_LT(most(Suffix::kHash, "ORD-%06d"), 0.02);
  EXPECT_LT(most(Suffix::kHash, "ORD-2026-%06d"), 0.02);
}

TEST(Guidance, S82_AHotSuffixIsCuredByAHashAndNotByMoreSuffixes) {
  const Simulated played = Play(
      "duration = \"5m\"\n" + Table("read = 1\nwrite = 4000") +
      Writes(3000,
             "{ type = \"date\", every = \"1d\", sort = \"increasing\", suffixes = 200, suffix = "
             "{ function = \"product\", ids = \"ORD-%06d\" } }"));
  EXPECT_TRUE(Says(played.cures(), "The suffixes of \"2026-01-01\" are uneven")) << played.cures();
  EXPECT_FALSE(Says(played.cures(), "Spread it over")) << played.cures();
}

TEST(Guidance, S91_HeatIsRelativeToTheLimitInForce) {
  // After a bulk load each partition has 18 of 200 write units: one that uses them is as hot as can
  // be, although it does 2% of a partition's maximum.
  const Simulated played =
      Play("duration = \"20m\"\n[model]\nadaptive = \"off\"\nsplit_for_heat = false\n" +
           Table("read = 1\nwrite = 200\npartitions = 11") + Writes(50, "{ type = \"single\" }"));
  float hottest = 0;
  for (const simulate::Row& row : played.resource().rows) hottest = std::max(hottest, row.heat[60]);
  EXPECT_NEAR(hottest, 1, 0.01);
  const std::string svg = simulate::HeatMap(played.scenario, played.outcome);
  EXPECT_TRUE(Says(svg, "<rect class=\"h20\"")) << svg.substr(0, 2000);
}

TEST(Guidance, S91_AColumnWithOneFullSecondIsNotPale) {
  // Many minutes in one column: the burst of one is refused in it.
  const Simulated played =
      Play("duration = \"200h\"\nstep = \"1m\"\n" + Table("read = 1\nwrite = 1000") +
           Writes(1, "{ type = \"single\" }") +
           "[[traffic]]\ntable = \"t\"\noperation = \"write\"\nitem_bytes = \"1KB\"\nrate = "
           "50000\nfrom = \"1h\"\nuntil = \"61m\"\nkeys = { type = \"single\" }\n");
  float average = 1;
  for (const simulate::Row& row : played.resource().rows) {
    for (size_t i = 0; i < row.refused.size(); ++i) {
      if (row.refused[i] > 0) average = row.heat[i];
    }
  }
  EXPECT_LT(average, 0.5) << "there is a column that is cold on average, and throttled";
  const std::string svg = simulate::HeatMap(played.scenario, played.outcome);
  const size_t at = svg.find("% of requests throttled</title>");
  EXPECT_NE(at, std::string::npos);
  bool full = false;
  for (size_t from = svg.find("<rect class=\"h"); from != std::string::npos;
       from = svg.find("<rect class=\"h", from + 1)) {
    const std::string rect = svg.substr(from, svg.find('\n', from) - from);
    if (!Says(rect, "of requests throttled") || Says(rect, " 0% of requests")) continue;
    full = true;
    EXPECT_TRUE(rect.starts_with("<rect class=\"h20\"")) << rect;
  }
  EXPECT_TRUE(full);
  EXPECT_TRUE(Says(svg, "last one where it throttled")) << "and the picture says so";
}

TEST(Guidance, S94_APictureOfScenariosSaysWhatEachOneIs) {
  std::vector<simulate::Variant> variants;
  for (const std::string name : {"one", "two"}) {
    Simulated played =
        Play("description = \"This is scenario " + name + ".\"\nduration = \"1m\"\n" +
             Table("write = 10\n[[table.index]]\nname = \"i\"\nwrite = 10\nkeys = { "
                   "type = \"single\" }") +
             Writes(5, "{ type = \"single\" }"));
    variants.push_back({name, std::move(played.scenario), std::move(played.outcome)});
  }
  const std::string svg = simulate::ComparisonMap(variants);
  for (const std::string name : {"one", "two"}) {
    const size_t heading = svg.find(">" + name + ": table t (0.0% throttled)</text>");
    const std::string words = ">This is scenario " + name + ".</text>";
    ASSERT_NE(heading, std::string::npos);
    EXPECT_EQ(svg.find(words, heading), svg.find(words)) << "below its heading";
    EXPECT_EQ(svg.find(words), svg.rfind(words)) << "and once";
  }
  EXPECT_TRUE(Says(simulate::ComparisonText(variants), "a table's and its indexes' are added"));
}

TEST(Guidance, S92_APictureNamesHotKeysSplitsAndPartitionsInLightAndDark) {
  const Simulated played =
      Play("duration = \"20m\"\n" + Table("billing = \"on-demand\"") +
           Writes(2500,
                  "{ type = \"weighted\", weights = { alpha = 40, beta = 35, gamma = 25 }, "
                  "sort = \"uniform\" }"));
  const std::string svg = simulate::HeatMap(played.scenario, played.outcome);
  EXPECT_FALSE(played.resource().marks.empty());
  EXPECT_TRUE(Says(svg, ">alpha</text>")) << svg.substr(0, 500);
  EXPECT_TRUE(Says(svg, "split for heat"));
  EXPECT_TRUE(Says(svg, ">partitions</text>"));
  EXPECT_TRUE(Says(svg, "prefers-color-scheme:dark"));
}

}  // namespace
}  // namespace stator::guidance
