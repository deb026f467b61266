// Statements about `stator advise`.
#include <algorithm>
#include <sstream>
#include <string>

#include "advise/command.h"
#include "advise/report.h"
#include "request_log/write_line.h"
#include "statements.h"

namespace stator::guidance {
namespace {

using advise::Finding;
using advise::Recording;
using request_log::Request;
using request_log::TableDefinition;

constexpr int64_t kStart = 1'767'225'600'000'000;

TableDefinition TableOf(double write_units) {
  TableDefinition table;
  table.at_micros = kStart;
  table.name = "Table";
  table.partition = {"p:S"};
  table.on_demand = write_units == 0;
  table.read_units = 5;
  table.write_units = write_units;
  return table;
}

Request Put(double second, const std::string& key, int64_t bytes = 100) {
  Request request;
  request.at_micros = kStart + static_cast<int64_t>(second * 1e6);
  request.operation = "PutItem";
  request.table = "Table";
  request.keys = {{key, "", bytes}};
  request.stored_bytes = bytes;
  request.write_units = static_cast<double>((bytes + 1023) / 1024);
  return request;
}

class Log {
 public:
  explicit Log(const TableDefinition& table) {
    text_ = request_log::WriteLine(request_log::Header{kStart, request_log::KeyForm::kPlain, ""}) +
            request_log::WriteLine(table);
  }
  void Define(const TableDefinition& table) { text_ += request_log::WriteLine(table); }
  void Add(const Request& request) { text_ += request_log::WriteLine(request); }
  Recording Read() const {
    advise::Analysis analysis;
    std::istringstream in(text_);
    EXPECT_TRUE(advise::ReadRecording(in, "test.log", &analysis).ok());
    return analysis.Finish();
  }

 private:
  std::string text_;
};

const Finding* Find(const std::vector<Finding>& findings, std::string_view id) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

std::vector<Finding> FindingsOf(const Recording& recording) {
  return advise::Judge(recording, recording.tables.at(0), {});
}

TEST(Guidance, S41_APriceIsNeverBelowTheUnitsThatWereUsed) {
  Log log(TableOf(5));
  double units = 0;
  // A minute of 300 a second in every hour: auto scaling comes too late for it.
  for (int minute = 0; minute < 240; ++minute) {
    Request put = Put(minute * 60, "S:a", 1024);
    put.write_units = minute % 60 == 0 ? 18'000 : 60;
    units += put.write_units;
    log.Add(put);
  }
  const Recording recording = log.Read();
  const advise::CostSummary& cost = recording.tables.at(0).resources.at(0).cost;
  EXPECT_GE(cost.scaled.write, units / recording.seconds() * 0.99);
}

TEST(Guidance, S42_AnHourAtLeastIsNeededForAMonth) {
  const auto report = [](double seconds) {
    Log log(TableOf(100));
    for (int i = 0; i <= 100; ++i) log.Add(Put(seconds * i / 100, "S:" + std::to_string(i)));
    const Recording recording = log.Read();
    return advise::TextReport(recording, {}) + advise::JsonReport(recording, {});
  };
  EXPECT_EQ(report(3000).find("a month costs"), std::string::npos);
  EXPECT_NE(report(3000).find("\"month\":null"), std::string::npos);
  EXPECT_EQ(report(3000).find("saves_month"), std::string::npos);
  EXPECT_NE(report(7200).find("a month costs"), std::string::npos);
}

TEST(Guidance, S43_SuggestedCapacityHoldsTheBusiestSecondWithoutABurst) {
  Log log(TableOf(500));
  for (int i = 0; i < 4000; ++i) log.Add(Put(i, "S:" + std::to_string(i)));
  for (int i = 0; i < 90; ++i) log.Add(Put(4000 + i / 100.0, "S:" + std::to_string(i)));
  const Recording recording = log.Read();
  const advise::CostSummary& cost = recording.tables.at(0).resources.at(0).cost;
  EXPECT_EQ(cost.busiest_second.write, 90);
  EXPECT_EQ(cost.fixed.write, 90);
}

TEST(Guidance, S44_TheDemandOfRefusedRequestsIsKnownByTheirItems) {
  Log log(TableOf(50));
  for (int i = 0; i < 3000; ++i) {
    Request put = Put(i / 300.0, "S:hot", 2000);
    if (i % 300 >= 25) {
      put.outcome = request_log::Outcome::kThrottled;
      put.write_units = 0;
    }
    log.Add(put);
  }
  const Recording recording = log.Read();
  const std::vector<Finding> findings = FindingsOf(recording);
  const Finding* throttled = Find(findings, "throttled");
  ASSERT_NE(throttled, nullptr);
  EXPECT_NE(throttled->text.find("5,500 write units"), std::string::npos) << throttled->text;
  EXPECT_EQ(recording.tables[0].resources[0].keys[1].peak_key_per_second, 600);
  const Finding* model = Find(findings, "model-throttles");
  ASSERT_NE(model, nullptr);
  EXPECT_NE(model->text.find("600 of 50 provisioned write units/s"), std::string::npos)
      << model->text;
}

TEST(Guidance, S45_KeysAreNamedInOneForm) {
  Log log(TableOf(0));
  for (int i = 0; i < 3000; ++i) log.Add(Put(i / 1500.0, "S:Candidate A"));
  const Recording recording = log.Read();
  const std::string text = advise::TextReport(recording, {});
  EXPECT_EQ(text.find("S:Candidate"), std::string::npos) << text;
  EXPECT_NE(text.find("\"Candidate A\""), std::string::npos) << text;
  EXPECT_EQ(advise::JsonReport(recording, {}).find("S:Candidate"), std::string::npos);
}

TEST(Guidance, S46_ATimeToLiveThatNeverComesIsTold) {
  Log log(TableOf(5));
  for (int i = 0; i < 30; ++i) {
    Request put = Put(i, "S:" + std::to_string(i));
    if (i % 3 == 0) put.ttl_form = request_log::TtlForm::kMillis;
    if (i % 3 == 1) put.ttl_form = request_log::TtlForm::kText;
    log.Add(put);
  }
  const std::vector<Finding> findings = FindingsOf(log.Read());
  const Finding* finding = Find(findings, "ttl-form");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence.at(0).second, 10);
  EXPECT_EQ(finding->evidence.at(1).second, 10);
}

TEST(Guidance, S47_ItemsAndCollectionsNearTheirLimitAreTold) {
  TableDefinition table = TableOf(5);
  request_log::IndexDefinition local;
  local.name = "by-time";
  local.global = false;
  local.partition = {"p:S"};
  table.indexes = {local};
  table.bytes = 12 * kGigabyte;
  Log log(table);
  for (int i = 0; i < 30; ++i) log.Add(Put(i, i < 24 ? "S:whale" : "S:other", 350 * 1024));
  const std::vector<Finding> findings = FindingsOf(log.Read());
  ASSERT_NE(Find(findings, "large-item"), nullptr);
  const Finding* collection = Find(findings, "large-collection");
  ASSERT_NE(collection, nullptr);
  EXPECT_NE(collection->text.find("\"whale\" has about 9.6 GB"), std::string::npos)
      << collection->text;
  Log small(TableOf(5));
  for (int i = 0; i < 30; ++i) small.Add(Put(i, "S:a", 300 * 1024));
  EXPECT_EQ(Find(FindingsOf(small.Read()), "large-item"), nullptr);
}

TEST(Guidance, S48_WhatIndexesAddToAWriteIsTold) {
  TableDefinition table = TableOf(100);
  for (const char* name : {"by-a", "by-b", "by-c"}) {
    request_log::IndexDefinition index;
    index.name = name;
    index.partition = {"x:S"};
    index.read_units = index.write_units = 100;
    table.indexes.push_back(index);
  }
  Log log(table);
  for (int i = 0; i < 30; ++i) {
    Request put = Put(i, "S:" + std::to_string(i));
    for (const auto& index : table.indexes) put.index_writes.push_back({index.name, 1, "S:x"});
    log.Add(put);
  }
  const std::vector<Finding> findings = FindingsOf(log.Read());
  const Finding* finding = Find(findings, "index-amplification");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->text.find("costs 3 more"), std::string::npos) << finding->text;
}

TEST(Guidance, S49_AnIndexThatWasNotReadIsToldLast) {
  TableDefinition table = TableOf(100);
  request_log::IndexDefinition index;
  index.name = "by-x";
  index.partition = {"x:S"};
  index.read_units = index.write_units = 100;
  table.indexes = {index};
  Log log(table);
  for (int i = 0; i < 4000; ++i) {
    Request put = Put(i, "S:" + std::to_string(i));
    put.index_writes = {{"by-x", 5, "S:x"}};
    log.Add(put);
  }
  const std::vector<Finding> findings = FindingsOf(log.Read());
  ASSERT_GE(findings.size(), 2u);
  EXPECT_EQ(findings.back().id, "unused-index");
}

// A desk of an index gets 1,750 write units a second for a while, and then its index is deleted.
TEST(Guidance, S50_OfAnIndexThatIsGoneTheSameIsTold) {
  TableDefinition table = TableOf(4000);
  request_log::IndexDefinition index;
  index.name = "by-desk";
  index.partition = {"desk:S"};
  index.read_units = index.write_units = 4000;
  table.indexes = {index};
  const auto report = [&](double units, bool deleted, int quiet) {
    Log log(table);
    const int writes = static_cast<int>(units);
    for (int second = 0; second < 5; ++second) {
      for (int i = 0; i < writes; ++i) {
        Request put = Put(second + i / (writes + 1.0), "S:" + std::to_string(second * 1000 + i));
        put.index_writes = {
            {"by-desk", 10, i % 10 < 7 ? "S:returns" : "S:press" + std::to_string(i % 3)}};
        log.Add(put);
      }
    }
    if (deleted) log.Define(TableOf(4000));
    for (int i = 0; i < quiet; ++i) log.Add(Put(10 + i, "S:" + std::to_string(i)));
    const std::vector<Finding> findings = FindingsOf(log.Read());
    const Finding* const hot = Find(findings, "hot-key");
    return hot == nullptr ? std::string() : hot->text;
  };
  // While it was refused, and just below that.
  for (const double units : {250, 140}) {
    const std::string told = report(units, false, 0);
    EXPECT_NE(told.find("Project less: an entry of the index costs about 10 units"),
              std::string::npos)
        << told;
    EXPECT_NE(told.find(" suffixes, \"returns.1\" to "), std::string::npos) << told;
    EXPECT_EQ(report(units, true, 0), told);
    EXPECT_EQ(report(units, true, 300), told) << "as of then, not of what came after it";
    EXPECT_EQ(report(units, false, 300), told);
  }
}

TEST(Guidance, S40_CapacityIsToldForTheTableAndForEachIndex) {
  TableDefinition table = TableOf(100);
  request_log::IndexDefinition index;
  index.name = "by-x";
  index.partition = {"x:S"};
  index.read_units = index.write_units = 100;
  table.indexes = {index};
  const auto report = [&](double seconds) {
    Log log(table);
    for (int i = 0; i < 100; ++i) {
      Request put = Put(seconds * i / 100, "S:" + std::to_string(i));
      put.write_units = 7;
      put.index_writes = {{"by-x", 3, "S:x" + std::to_string(i)}};
      log.Add(put);
    }
    return advise::TextReport(log.Read(), {});
  };
  const auto says = [](const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  };
  for (const double seconds : {100.0, 7200.0}) {
    const std::string text = report(seconds);
    EXPECT_TRUE(says(text, "capacity  table: provisioned with auto scaling 1 RCU and ")) << text;
    EXPECT_TRUE(says(text, "            index by-x: provisioned with auto scaling 1 RCU and "))
        << text;
    EXPECT_EQ(says(text, "a month costs"), seconds > 3600) << text;
  }
}

// ---- each pattern its own cure

// `count` requests of one kind, ten in a second, of 60 write or read units a second in all.
void AddMany(Log* log, int count, const Request& one) {
  for (int i = 0; i < count; ++i) {
    Request request = one;
    request.at_micros = kStart + int64_t{i} * kSecond / 10;
    log->Add(request);
  }
}

Request ReadOf(const std::string& operation, double units) {
  Request request;
  request.operation = operation;
  request.table = "Table";
  request.read_units = units;
  return request;
}

TableDefinition Sorted() {
  TableDefinition table = TableOf(100);
  table.read_units = 10'000;
  table.sort = {"s:S"};
  return table;
}

TEST(Guidance, S241_ChurnOfDeletesIsCuredByTimeToLiveOrATableAMonth) {
  Log log(TableOf(100));
  for (int i = 0; i < 200; ++i) {
    Request request = Put(i, "S:" + std::to_string(i));
    if (i % 2 == 1) request.operation = "DeleteItem";
    log.Add(request);
  }
  const std::vector<Finding> findings = FindingsOf(log.Read());
  const Finding* finding = Find(findings, "delete-churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->text.find("50% of all. Let time to live delete"), std::string::npos)
      << finding->text;
  EXPECT_NE(finding->text.find("a new table each month"), std::string::npos) << finding->text;
}

TEST(Guidance, S242_RareItemsAreFoundByASparseIndex) {
  Request scan = ReadOf("Scan", 100);
  scan.scanned = 800;
  scan.returned = 4;
  scan.filter = {"open"};
  Log log(Sorted());
  AddMany(&log, 30, scan);
  const std::vector<Finding> findings = FindingsOf(log.Read());
  ASSERT_NE(Find(findings, "sparse-index"), nullptr);
  EXPECT_EQ(Find(findings, "sort-key-prefix"), nullptr) << "one pattern, one cure";
}

TEST(Guidance, S243_AQueryThatFiltersNeedsAPrefixOfItsSortKey) {
  Request query = ReadOf("Query", 100);
  query.keys = {{"S:customer", "", {}}};
  query.scanned = 800;
  query.returned = 4;
  query.filter = {"state"};
  Log log(Sorted());
  AddMany(&log, 30, query);
  const std::vector<Finding> findings = FindingsOf(log.Read());
  const Finding* finding = Find(findings, "sort-key-prefix");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->text.find("Begin the sort key with state"), std::string::npos)
      << finding->text;
  EXPECT_EQ(Find(findings, "sparse-index"), nullptr);
}

TEST(Guidance, S244_WideQueriesNeedASlimIndex) {
  Request query = ReadOf("Query", 10);
  query.keys = {{"S:forum", "", {}}};
  query.scanned = query.returned = 20;
  query.stored_bytes = 80 * 1024;
  query.asked_bytes = 2 * 1024;
  query.attributes = {"subject"};
  Log log(Sorted());
  AddMany(&log, 30, query);
  const std::vector<Finding> findings = FindingsOf(log.Read());
  const Finding* finding = Find(findings, "slim-index");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->text.find("would cost 15 read units instead of 300"), std::string::npos)
      << finding->text;
}

TEST(Guidance, S245_TenReadsOfOneCollectionAreOneQuery) {
  Log log(Sorted());
  for (int i = 0; i < 40; ++i) {
    Request get = ReadOf("GetItem", 0.5);
    get.at_micros = kStart + int64_t{i} * kSecond / 20;
    get.keys = {{"S:cart", "S:" + std::to_string(i), {}}};
    get.stored_bytes = 100;
    log.Add(get);
  }
  const std::vector<Finding> findings = FindingsOf(log.Read());
  const Finding* finding = Find(findings, "query-collection");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->text.find("2 read units instead of 20"), std::string::npos) << finding->text;
}

TEST(Guidance, S246_FatItemsArePartitionedVertically) {
  Request get = ReadOf("GetItem", 2.5);
  get.keys = {{"S:product", "S:1", {}}};
  get.stored_bytes = 20 * 1024;
  get.asked_bytes = 100;
  get.attributes = {"stock"};
  Log log(Sorted());
  AddMany(&log, 30, get);
  Request update = Put(0, "S:product", 20 * 1024);
  update.operation = "UpdateItem";
  update.asked_bytes = 100;
  AddMany(&log, 30, update);
  const std::vector<Finding> findings = FindingsOf(log.Read());
  EXPECT_NE(Find(findings, "split-items"), nullptr);
  ASSERT_NE(Find(findings, "split-items-written"), nullptr);
  EXPECT_NE(Find(findings, "split-items-written")->text.find("30 write units instead of 600"),
            std::string::npos)
      << Find(findings, "split-items-written")->text;
}

// A collection whose items are read all over is split along its sort key by the model: its key sets
// no ceiling. Without a sort key it does.
TEST(Guidance, S247_NoCeilingIsToldOfACollectionThatTheModelSplits) {
  const auto text = [](const TableDefinition& table) {
    Log log(table);
    for (int i = 0; i < 4000; ++i) {
      Request put = Put(i / 200.0, i % 3 == 0 ? "S:big" : "S:" + std::to_string(i));
      if (!table.sort.empty()) put.keys[0].sort = "S:" + std::to_string((i * 7919) % 4001);
      log.Add(put);
    }
    const std::vector<Finding> findings = FindingsOf(log.Read());
    const Finding* finding = Find(findings, "poor-distribution");
    return finding == nullptr ? std::string("none") : finding->text;
  };
  EXPECT_EQ(text(Sorted()).find("serves at most"), std::string::npos) << text(Sorted());
  EXPECT_NE(text(TableOf(100)).find("serves at most"), std::string::npos) << text(TableOf(100));
}

}  // namespace
}  // namespace stator::guidance
