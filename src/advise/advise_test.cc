#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "advise/command.h"
#include "advise/report.h"
#include "request_log/write_line.h"
#include "simdjson.h"

namespace stator::advise {
namespace {

using request_log::Request;
using request_log::TableDefinition;
using throughput::Access;

constexpr int64_t kStart = 1'767'225'600'000'000;
constexpr int64_t kSecond = 1'000'000;

std::filesystem::path ExamplesDir() {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "examples/advise")) return at / "examples/advise";
    if (at == at.parent_path())
      return std::filesystem::path(__FILE__).parent_path() / "../../examples/advise";
  }
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Recording Read(const std::string& text, const std::string& name = "test.log") {
  Analysis analysis;
  std::istringstream in(text);
  const Status read = ReadRecording(in, name, &analysis);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message());
  return analysis.Finish();
}

std::vector<std::string> Ids(const Recording& recording,
                             const throughput::UnitPrices& prices = {}) {
  std::vector<std::string> ids;
  for (const TableReport& table : recording.tables) {
    for (const Finding& finding : Judge(recording, table, prices)) {
      ids.push_back(finding.id);
      EXPECT_FALSE(finding.evidence.empty()) << finding.id;
    }
  }
  return ids;
}

std::string Header() {
  return request_log::WriteLine(request_log::Header{kStart, request_log::KeyForm::kPlain, ""});
}

TableDefinition TableOf(const std::string& name) {
  TableDefinition table;
  table.at_micros = kStart;
  table.name = name;
  table.partition = {"p:S"};
  table.on_demand = true;
  return table;
}

Request Write(int64_t second, const std::string& key, double units = 1) {
  Request request;
  request.at_micros = kStart + second * kSecond;
  request.operation = "PutItem";
  request.table = "Table";
  request.keys = {{key, "", 100}};
  request.write_units = units;
  return request;
}

// --- The examples ---

// Each recording of examples/advise gives the advice beside it, word for word.
TEST(AdviceExamplesTest, SayWhatTheyShould) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"hot-vote-counter", {"hot-key"}},
      {"date-key", {"moving-key"}},
      {"scan-for-few", {"sparse-index"}},
      {"vertical-partitioning", {"capacity", "split-items-written", "split-items"}},
      {"unused-index", {"wide-projection", "index-amplification", "unused-index"}},
      {"nothing-to-advise", {}},
  };
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(ExamplesDir())) {
    if (entry.path().extension() != ".log") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    seen.insert(name);
    ASSERT_TRUE(expected.contains(name)) << "has no expectation";
    const Recording recording = Read(ReadText(entry.path()), name + ".log");
    EXPECT_EQ(recording.damaged, 0);
    EXPECT_FALSE(recording.cut_off);
    EXPECT_EQ(Ids(recording), expected.at(name));
    const std::string report = TextReport(recording, {});
    const std::filesystem::path golden = ExamplesDir() / (name + ".advice.txt");
    EXPECT_EQ(report, ReadText(golden));
    EXPECT_LE(std::count(report.begin(), report.end(), '\n'), 80) << "two screens at most";
  }
  EXPECT_EQ(seen.size(), expected.size());
}

TEST(AdviceExamplesTest, TheJsonIsWellFormedAndSaysTheSame) {
  for (const auto& entry : std::filesystem::directory_iterator(ExamplesDir())) {
    if (entry.path().extension() != ".log") continue;
    const Recording recording = Read(ReadText(entry.path()));
    const std::string text = JsonReport(recording, {});
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    ASSERT_EQ(parser.parse(text).get(json), simdjson::SUCCESS) << text;
    std::vector<std::string> ids;
    for (simdjson::dom::element table : json["tables"]) {
      for (simdjson::dom::element finding : table["findings"]) {
        ids.emplace_back(std::string_view(finding["id"]));
        EXPECT_GT(simdjson::dom::object(finding["evidence"]).size(), 0u);
      }
    }
    EXPECT_EQ(ids, Ids(recording));
    EXPECT_EQ(int64_t(json["recording"]["requests"]), recording.requests);
  }
}

// --- Keys ---

TEST(KeyLoadTest, EffectiveNumberOfKeys) {
  KeyLoad even(Access::kWrite), uneven(Access::kWrite), many(Access::kWrite);
  for (int i = 0; i < 4000; ++i) {
    even.Add(kStart, "S:" + std::to_string(i % 40), "", 1);
    uneven.Add(kStart, i % 2 == 0 ? "S:half" : "S:" + std::to_string(i % 8), "", 1);
  }
  for (int i = 0; i < 200000; ++i)
    many.Add(kStart + i * kSecond / 100, "S:" + std::to_string(i % 20000), "", 1);
  EXPECT_NEAR(even.Finish().effective, 40, 1e-6);
  const KeyLoadSummary halves = uneven.Finish();
  EXPECT_EQ(halves.distinct, 5);
  EXPECT_NEAR(halves.hottest.at(0).share, 0.5, 1e-9);
  EXPECT_NEAR(halves.effective, 1 / (0.25 + 4 * 0.125 * 0.125), 1e-6);
  const KeyLoadSummary spread = many.Finish();
  EXPECT_NEAR(spread.distinct, 20000, 1000);
  EXPECT_NEAR(spread.effective, 20000, 2000);
  EXPECT_EQ(GradeOf(spread), Grade::kGood);
  EXPECT_EQ(GradeOf(halves), Grade::kPoor);
  EXPECT_EQ(GradeOf(KeyLoadSummary()), Grade::kUnknown);
}

TEST(KeyLoadTest, CountsDistinctKeys) {
  for (const int keys : {1, 100, 5000, 300000}) {
    DistinctCounter counter;
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int i = 0; i < keys; ++i) counter.Add(HashOfKey("S:key-" + std::to_string(i)));
    }
    EXPECT_NEAR(counter.Estimate(), keys, 0.06 * keys + 0.5) << keys;
  }
}

TEST(KeyLoadTest, FindsTheBusiestSecondOfAKey) {
  KeyLoad load(Access::kWrite);
  for (int second = 0; second < 100; ++second) {
    for (int i = 0; i < (second == 70 ? 2000 : 10); ++i)
      load.Add(kStart + second * kSecond, "S:hot", "", 1);
    load.Add(kStart + second * kSecond, "S:other", "", 500);
  }
  const KeyLoadSummary summary = load.Finish();
  EXPECT_EQ(summary.peak_key, "S:hot");
  EXPECT_EQ(summary.peak_key_per_second, 2000);
  EXPECT_EQ(summary.peak_key_micros, kStart + 70 * kSecond);
  EXPECT_EQ(summary.hottest.at(0).key, "S:other");
  EXPECT_EQ(summary.hottest.at(0).peak_per_second, 500);
}

TEST(KeyLoadTest, TellsKeysThatRiseFromKeysThatComeAndGo) {
  const auto play = [](auto key_at, auto sort_at) {
    KeyLoad load(Access::kWrite);
    for (int i = 0; i < 400; ++i) load.Add(kStart + i * kSecond, key_at(i), sort_at(i), 1);
    return load.Finish();
  };
  const auto none = [](int) { return std::string(); };
  const KeyLoadSummary rising = play([](int i) { return "N:" + std::to_string(i / 50 + 7); }, none);
  EXPECT_TRUE(rising.rises) << "by value, from 7 to 14";
  EXPECT_TRUE(rising.MovesOn());
  EXPECT_EQ(rising.leaders, 8);
  const KeyLoadSummary hashed =
      play([](int i) { return "#" + std::to_string((i / 50) * 7919 % 10); }, none);
  EXPECT_FALSE(hashed.rises) << "hashed keys have no order";
  EXPECT_TRUE(hashed.MovesOn()) << "but follow each other";
  const KeyLoadSummary back = play([](int i) { return "S:" + std::to_string(i / 50 % 2); }, none);
  EXPECT_FALSE(back.MovesOn());
  EXPECT_GT(back.leaders_again, 0);
  const auto one = [](int) { return std::string("S:one"); };
  EXPECT_TRUE(play(one, [](int i) { return "N:" + std::to_string(i); }).hottest.at(0).sort_rises);
  EXPECT_FALSE(play(one, [](int i) { return "N:" + std::to_string(i * 7919 % 400); })
                   .hottest.at(0)
                   .sort_rises);
}

TEST(JudgeTest, GuidanceNeedsTwentyShards) {
  std::string log = Header() + request_log::WriteLine(TableOf("Table"));
  for (int i = 0; i < 100; ++i) log += request_log::WriteLine(Write(i / 50, "S:candidate", 400));
  const Recording recording = Read(log);
  const std::vector<Finding> findings = Judge(recording, recording.tables.at(0), {});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].level, Finding::Level::kProblem);
  for (const Finding& finding : findings) {
    if (finding.id != "hot-key") continue;
    EXPECT_NE(finding.text.find("20,000 write units"), std::string::npos) << finding.text;
    EXPECT_NE(finding.text.find("shards, \"candidate.1\" to "), std::string::npos) << finding.text;
    EXPECT_GE(finding.evidence.at(2).second, 20);
    return;
  }
  FAIL();
}

// --- Cost ---

TEST(CostTest, AutoScalingFollowsAndFixedHoldsThePeak) {
  CostMeter meter;
  // An hour at 70 a second, then three hours at 7.
  for (int second = 0; second < 4 * 3600; ++second) {
    meter.Add(kStart + second * kSecond, Access::kWrite, second < 3600 ? 70 : 7);
  }
  const CostSummary cost = meter.Finish(kStart, kStart + 4 * 3600 * kSecond);
  EXPECT_NEAR(cost.average.write, (70.0 + 3 * 7) / 4, 0.01);
  EXPECT_EQ(cost.busiest_minute.write, 70);
  EXPECT_EQ(cost.quietest_minute.write, 7);
  EXPECT_EQ(cost.fixed.write, 100) << "70 at 70%";
  EXPECT_EQ(cost.fixed.read, 1) << "the least there is";
  // 100 for an hour and 15 minutes, then 10.
  EXPECT_NEAR(cost.scaled.write, (75 * 100.0 + 165 * 10) / 240, 1);
}

TEST(CostTest, NoMinuteIsBusierThanTheBusiest) {
  for (const int64_t before : {0, 13, 26, 40}) {  // seconds of a minute when it begins
    CostMeter meter;
    const int64_t start = kStart / (60 * kSecond) * 60 * kSecond + (60 - before) * kSecond;
    for (int second = 0; second < 26; ++second)
      meter.Add(start + second * kSecond, Access::kWrite, 20);
    const CostSummary cost = meter.Finish(start, start + 25 * kSecond);
    EXPECT_EQ(cost.average.write, 20);
    EXPECT_EQ(cost.busiest_minute.write, 20) << before;
    EXPECT_EQ(cost.fixed.write, 29) << before;
  }
}

TEST(CostTest, PricesOfTheGuidance) {
  // 300 writes and 3,000 strong reads a second: 411 dollars. [prices.h]
  ResourceReport resource;
  resource.cost.fixed = {3000, 300};
  resource.cost.scaled = {3000, 300};
  EXPECT_NEAR(CostOf({}, resource, 0).fixed, 411, 1e-9);
  EXPECT_EQ(CostOf({}, resource, 0).on_demand, 0) << "no prices, no figure";
  resource.cost.average = {1, 0};
  throughput::UnitPrices prices;
  prices.million_reads = 0.25;
  EXPECT_NEAR(CostOf(prices, resource, 0).on_demand, 0.25 * 730 * 3600 / 1e6, 1e-9);
}

TEST(CostTest, SpansOfYearsEnd) {
  CostMeter meter;
  meter.Add(0, Access::kRead, 1);
  meter.Add(253'402'300'000'000'000, Access::kRead, 1);
  const CostSummary cost = meter.Finish(0, 253'402'300'000'000'000);
  EXPECT_NEAR(cost.scaled.read, 1, 1e-6);
}

// --- The model ---

TEST(ReplayTest, SaysWhatWouldHaveBeenThrottled) {
  TableDefinition table = TableOf("Table");
  table.on_demand = false;
  table.read_units = 10;
  table.write_units = 10;
  std::string log = Header() + request_log::WriteLine(table);
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 20; ++i)
      log += request_log::WriteLine(Write(second, "S:" + std::to_string(i)));
  }
  const Recording recording = Read(log);
  const ReplaySummary& replay = recording.tables.at(0).replay;
  EXPECT_EQ(replay.requests, 1200);
  EXPECT_NEAR(static_cast<double>(replay.throttled), 600, 30) << "twice the capacity";
  EXPECT_EQ(replay.reasons.size(), 1u);
  EXPECT_EQ(replay.reasons.begin()->first, "TableWriteProvisionedThroughputExceeded");
  EXPECT_EQ(Ids(recording), std::vector<std::string>{"model-throttles"});
  // The same with enough.
  table.write_units = 40;
  std::string enough = Header() + request_log::WriteLine(table) + log.substr(log.find("{\"t\":"));
  EXPECT_EQ(Read(enough).tables.at(0).replay.throttled, 0);
}

TEST(ReplayTest, AnIndexThrottlesItsTable) {
  TableDefinition table = TableOf("Table");
  table.on_demand = false;
  table.read_units = table.write_units = 1000;
  request_log::IndexDefinition index;
  index.name = "by-status";
  index.partition = {"status:S"};
  index.read_units = index.write_units = 5;
  table.indexes = {index};
  std::string log = Header() + request_log::WriteLine(table);
  for (int i = 0; i < 1000; ++i) {
    Request write = Write(i / 50, "S:" + std::to_string(i));
    write.index_writes = {{"by-status", 1, "S:NEW"}};
    log += request_log::WriteLine(write);
  }
  const ReplaySummary replay = Read(log).tables.at(0).replay;
  EXPECT_GT(replay.throttled, 500);
  EXPECT_TRUE(replay.reasons.contains("IndexWriteProvisionedThroughputExceeded"));
}

// --- Findings that no example has ---

TEST(JudgeTest, EventualReadsAndThrottledRequests) {
  std::string log = Header() + request_log::WriteLine(TableOf("Table"));
  for (int i = 0; i < 100; ++i) {
    Request read = Write(i, "S:" + std::to_string(i));
    read.operation = "GetItem";
    read.write_units = 0;
    read.read_units = i % 2 == 0 ? 1 : 0.5;
    read.consistency =
        i % 2 == 0 ? request_log::Consistency::kStrong : request_log::Consistency::kEventual;
    log += request_log::WriteLine(read);
  }
  Request refused = Write(100, "S:1", 0);
  refused.outcome = request_log::Outcome::kThrottled;
  log += request_log::WriteLine(refused);
  const Recording recording = Read(log);
  EXPECT_EQ(recording.tables.at(0).throttled, 1);
  EXPECT_EQ(Ids(recording), (std::vector<std::string>{"throttled", "eventual-reads"}));
  const Finding finding = Judge(recording, recording.tables[0], {}).at(1);
  EXPECT_NE(finding.text.find("67%"), std::string::npos) << finding.text;
  EXPECT_EQ(finding.evidence.at(1).second, 25);
}

// A refused update tells of the bytes that it changes, and costs its whole item.
TEST(JudgeTest, ARefusedUpdateCostsWhatItsItemCosts) {
  std::string log = Header() + request_log::WriteLine(TableOf("Table"));
  for (int second = 0; second < 20; ++second) {
    for (int i = 0; i < 12; ++i) {
      const bool hot = i < 8;
      Request write = Write(second, hot ? "S:alice" : "S:bruno", hot ? 200 : 20);
      write.operation = "UpdateItem";
      write.keys[0].bytes.reset();
      write.asked_bytes = 40;
      write.stored_bytes = hot ? 204'000 : 20'000;
      if (hot && i >= 5) {
        write.outcome = request_log::Outcome::kThrottled;
        write.stored_bytes.reset();
        write.write_units = 0;
      }
      log += request_log::WriteLine(write);
    }
  }
  const Recording recording = Read(log);
  EXPECT_EQ(recording.tables.at(0).throttled_units.write, 20 * 3 * 200);
  std::string hot;
  for (const Finding& finding : Judge(recording, recording.tables.at(0), {})) {
    if (finding.id == "hot-key") hot = finding.text;
  }
  EXPECT_NE(hot.find("takes 1,600 write units in its busiest second"), std::string::npos) << hot;
  EXPECT_NE(hot.find(" for its 1,600 write units/s, because each"), std::string::npos) << hot;
}

// An index refuses the writes of its table: refused writes are demand of its hot key too.
TEST(JudgeTest, AHotKeyOfAnIndexCountsRefusedWrites) {
  request_log::TableDefinition table = TableOf("Table");
  table.on_demand = false;
  table.read_units = 100;
  table.write_units = 4000;
  request_log::IndexDefinition index;
  index.name = "by-desk";
  index.global = true;
  index.partition = {"desk:S"};
  index.read_units = 100;
  index.write_units = 4000;
  table.indexes = {index};
  std::string log = Header() + request_log::WriteLine(table);
  for (int second = 0; second < 20; ++second) {
    for (int i = 0; i < 250; ++i) {
      const bool hot = i % 10 < 7, refused = hot && i % 7 >= 4;
      Request write = Write(second, "S:ticket-" + std::to_string(250 * second + i), 10);
      write.keys[0].bytes = 10'000;
      write.index_writes = {{"by-desk", 10, hot ? "S:returns" : "S:press"}};
      if (refused) {
        write.outcome = request_log::Outcome::kThrottled;
        write.write_units = 0;
      }
      log += request_log::WriteLine(write);
    }
  }
  const Recording recording = Read(log);
  std::string hot, model;
  for (const Finding& finding : Judge(recording, recording.tables.at(0), {})) {
    if (finding.id == "hot-key" && finding.index == "by-desk") hot = finding.text;
    if (finding.id == "model-throttles" && finding.index == "by-desk") model = finding.text;
  }
  EXPECT_NE(hot.find("takes 1,750 write units"), std::string::npos) << hot;
  EXPECT_NE(
      hot.find(
          "More units alone do not help: one partition serves at most 1,000 write units/s. Project "
          "less: an entry of the index costs about 10 units, of at most 1 KB it costs 1, "
          "and this key then takes 175 (lesson slim-index). The index has only 2 keys"),
      std::string::npos)
      << hot;
  EXPECT_NE(model.find("Index by-desk: hot key \"returns\": 1,750 of 1,000 write units/s"),
            std::string::npos)
      << model;
}

// Also while they refuse: units that were served are compared with units that were served.
TEST(JudgeTest, TwoFullIndexesAmplifyWrites) {
  request_log::TableDefinition table = TableOf("Table");
  for (const char* name : {"one", "two"}) {
    request_log::IndexDefinition& index = table.indexes.emplace_back();
    index.name = name;
    index.global = true;
    index.partition = {std::string(name) + ":S"};
  }
  std::string log = Header() + request_log::WriteLine(table);
  for (int i = 0; i < 1000; ++i) {
    Request write = Write(i / 100, "S:" + std::to_string(i), 10);
    write.keys[0].bytes = 10'000;
    write.index_writes = {{"one", 10, "S:a" + std::to_string(i)},
                          {"two", 10, "S:b" + std::to_string(i)}};
    if (i % 3 == 0) {
      write.outcome = request_log::Outcome::kThrottled;
      write.write_units = 0;
    }
    log += request_log::WriteLine(write);
  }
  const Recording recording = Read(log);
  EXPECT_TRUE(std::ranges::count(Ids(recording), "index-amplification"));
  const CostSummary& cost = recording.tables.at(0).resources.at(0).cost;
  EXPECT_LE(cost.busiest_minute.write, cost.busiest_second.write);
}

// 20 moments of a manual clock, across the end of a minute of it.
TEST(RecordingTest, SecondsMinutesAndKeysAreCountedOnce) {
  request_log::TableDefinition table = TableOf("Table");
  table.on_demand = false;
  table.read_units = table.write_units = 4000;
  table.items = 50;
  table.bytes = 500'000;
  std::string log = Header() + request_log::WriteLine(table);
  const int64_t first = 60 - kStart / kSecond % 60 - 12;
  for (int i = 0; i < 5000; ++i) {
    Request write = Write(first + i / 250, "S:" + std::to_string(i), 10);
    write.asked_bytes = 10'000;
    if (i % 10 < 3) {
      write.outcome = request_log::Outcome::kThrottled;
      write.write_units = 0;
    }
    log += request_log::WriteLine(write);
  }
  const Recording recording = Read(log);
  EXPECT_EQ(recording.seconds(), 20);
  const ResourceReport& report = recording.tables.at(0).resources.at(0);
  EXPECT_EQ(report.cost.average.write, 1750);
  EXPECT_EQ(report.cost.busiest_minute.write, 2500) << "refused ones included";
  EXPECT_EQ(report.cost.busiest_second.write, 2500);
  EXPECT_EQ(report.cost.scaled.write, report.cost.fixed.write);
  EXPECT_LE(report.keys[1].distinct, 5000);
  EXPECT_EQ(report.requests[1], 3500);
  EXPECT_EQ(report.refused[1], 1500);
  std::string text;
  for (const char c : TextReport(recording, {})) {
    const char next = c == '\n' ? ' ' : c;
    if (next != ' ' || !text.ends_with(' ')) text += next;
  }
  EXPECT_NE(text.find("5,000 requests in 20s, the first at "), std::string::npos) << text;
  EXPECT_NE(text.find("50 items, 0.5 MB when they were last counted, at "), std::string::npos)
      << "when it had that";
  EXPECT_NE(text.find("3,500 requests served, 35,000 units: 1,750/s on average; 1,500 refused."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("has 0.02% of the units asked for"), std::string::npos) << text;
  EXPECT_EQ(text.find(" below count"), std::string::npos) << text;
}

TEST(JudgeTest, CapacityThatRefusedIsNoSaving) {
  request_log::TableDefinition table = TableOf("Table");
  table.on_demand = false;
  table.read_units = 1000;
  table.write_units = 1000;
  std::string log = Header() + request_log::WriteLine(table);
  for (int i = 0; i < 600; ++i) log += request_log::WriteLine(Write(i, "S:" + std::to_string(i)));
  EXPECT_EQ(Ids(Read(log)), std::vector<std::string>{"capacity"});
  Request refused = Write(600, "S:1", 0);
  refused.outcome = request_log::Outcome::kThrottled;
  log += request_log::WriteLine(refused);
  EXPECT_EQ(Ids(Read(log)), std::vector<std::string>{"throttled"});
}

TEST(JudgeTest, BillingMode) {
  std::string log = Header() + request_log::WriteLine(TableOf("Table"));
  for (int i = 0; i < 4000; ++i)
    log += request_log::WriteLine(Write(i, "S:" + std::to_string(i), 7));
  throughput::UnitPrices prices;
  prices.million_writes = 1.25;
  prices.million_reads = 0.25;
  const std::vector<std::string> steady = Ids(Read(log), prices);
  EXPECT_EQ(steady, std::vector<std::string>{"billing-mode"}) << "a steady load on demand";
  EXPECT_TRUE(Ids(Read(log)).empty()) << "without prices nothing is said";
}

// --- Damage and malice ---

TEST(RecordingTest, DamagedLinesAreCountedAndShown) {
  std::string log = Header() + request_log::WriteLine(TableOf("Table"));
  for (int i = 0; i < 10; ++i) log += request_log::WriteLine(Write(i, "S:a")) + "garbage\n";
  log += "{\"lost\":5,\"at\":1}\n{\"t\":17";
  const Recording recording = Read(log);
  EXPECT_EQ(recording.requests, 10);
  EXPECT_EQ(recording.damaged, 11);
  EXPECT_EQ(recording.lost, 5);
  EXPECT_TRUE(recording.cut_off);
  ASSERT_EQ(recording.damage.size(), kMostDamagedShown);
  EXPECT_EQ(recording.damage[0].line, 4);
  const std::string report = TextReport(recording, {});
  EXPECT_NE(report.find("test.log:4: not a JSON object"), std::string::npos) << report;
  EXPECT_NE(report.find("11 lines are damaged"), std::string::npos);
  EXPECT_NE(report.find("5 requests were not recorded"), std::string::npos);
}

TEST(RecordingTest, OtherFilesAreRefused) {
  const auto refusal = [](const std::string& text) {
    Analysis analysis;
    std::istringstream in(text);
    const Status read = ReadRecording(in, "x", &analysis);
    return read.ok() ? "" : read.error().message();
  };
  EXPECT_EQ(refusal(""), "x: is empty");
  EXPECT_EQ(refusal("hello\n"), "x: is no recording of requests: not a JSON object");
  EXPECT_EQ(refusal("{\"t\":1,\"op\":\"GetItem\",\"tb\":\"a\"}\n"),
            "x: is no recording of requests");
  EXPECT_EQ(
      refusal("{\"stator_request_log\":9,\"at\":1}\n"),
      "x: is no recording of requests: version 9 of the format; this program reads version 1");
  EXPECT_EQ(refusal(std::string(10 << 20, 'x')),
            "x: is no recording of requests: longer than any line of a recording");
}

TEST(RecordingTest, MemoryIsBoundedAndTheRestCounted) {
  std::string log = Header();
  for (int i = 0; i < 3000; ++i) {
    TableDefinition table = TableOf("table-" + std::to_string(i));
    for (int j = 0; j < 3; ++j) {
      request_log::IndexDefinition index;
      index.name = "index-" + std::to_string(j);
      table.indexes.push_back(index);
    }
    log += request_log::WriteLine(table);
    Request read = Write(i, "S:a");
    read.table = table.name;
    read.write_units = 0;
    read.read_units = 1;
    read.scanned = 1;
    for (int j = 0; j < 3; ++j) {
      read.index = "index-" + std::to_string(j);
      read.filter = {"filter-" + std::to_string(i * 3 + j)};
      log += request_log::WriteLine(read);
    }
  }
  const Recording recording = Read(log);
  EXPECT_EQ(recording.tables.size(), kMostTables);
  size_t indexes = 0;
  for (const TableReport& table : recording.tables) indexes += table.resources.size() - 1;
  EXPECT_EQ(indexes, kMostIndexes);
  EXPECT_EQ(recording.not_analysed, 9000 - static_cast<int64_t>(indexes));
  EXPECT_NE(TextReport(recording, {}).find("more tables and indexes than are looked at"),
            std::string::npos);
}

TEST(RecordingTest, TimeGoesForwardOnly) {
  std::string log = Header() + request_log::WriteLine(TableOf("Table"));
  log += request_log::WriteLine(Write(100, "S:a")) + request_log::WriteLine(Write(3, "S:b")) +
         request_log::WriteLine(Write(101, "S:a"));
  const Recording recording = Read(log);
  EXPECT_EQ(recording.out_of_order, 1);
  EXPECT_EQ(recording.seconds(), 2);
}

// A recorder writes the line of a table up to a second after the table's first requests.
TEST(RecordingTest, ALateDefinitionDoesNotMergeSeconds) {
  TableDefinition table = TableOf("Table");
  table.at_micros = kStart + kSecond;
  std::string log = Header() + request_log::WriteLine(table);
  for (int i = 0; i < 600; ++i) log += request_log::WriteLine(Write(i / 300, "S:hot", 5));
  const Recording recording = Read(log);
  EXPECT_EQ(recording.tables.at(0).resources.at(0).keys[1].peak_key_per_second, 1500);
  EXPECT_GT(recording.tables.at(0).replay.requests, 0);
}

TEST(RecordingTest, EqualRecordingsGiveEqualReports) {
  const std::string log = ReadText(ExamplesDir() / "hot-vote-counter.log");
  EXPECT_EQ(JsonReport(Read(log), {}), JsonReport(Read(log), {}));
  EXPECT_EQ(TextReport(Read(log), {}), TextReport(Read(log), {}));
}

TEST(TextTest, NumbersSpansAndKeys) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(0.125), "0.125");
  EXPECT_EQ(NumberText(999), "999");
  EXPECT_EQ(NumberText(1234567.4), "1,234,567");
  EXPECT_EQ(SpanText(59), "59s");
  EXPECT_EQ(SpanText(3661), "1h 1m");
  EXPECT_EQ(SpanText(3 * 86400 + 7200), "3d 2h");
  EXPECT_EQ(KeyForPeople("S:a\x1fN:1"), "a / 1");
  EXPECT_EQ(KeyForPeople("S:\x1b[2J\xe2\x80\xae"), "\\x1b[2J\\u202e")
      << "no terminal is told what to do";
}

}  // namespace
}  // namespace stator::advise
