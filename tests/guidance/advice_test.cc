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
  EXPECT_NE(model->text.find("600 of 50 provisioned writes/s"), std::string::npos) << model->text;
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

}  // namespace
}  // namespace stator::guidance
