#include "server/heat_histories.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/pump.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "server/table_reports.h"
#include "simdjson.h"
#include "table/item_value.h"
#include "table/store.h"

namespace stator::server {
namespace {

using throughput::Access;
using throughput::HeatMap;

constexpr int64_t kSecond = 1'000'000;
constexpr uint64_t kQuarter = uint64_t{1} << 62;

// A process: opened on a directory, or in memory.
class Process {
 public:
  Process(const std::string& directory, ManualClock& clock,
          size_t most_slot_bytes = HeatHistories::kMostSlotBytes)
      : clock_(clock) {
    if (directory.empty()) {
      engine_ = std::make_unique<kv::MemoryEngine>();
    } else {
      kv_rocks::RocksOptions options;
      options.path = directory;
      engine_ = kv_rocks::OpenRocks(options).value();
    }
    store_ = table::Store::Open(*engine_, clock_, workers_).value();
    environment_.reset(new ops::Environment{*store_, clock_, random_, workers_, {}});
    environment_->admission.Start({});
    heat_ = std::make_unique<HeatHistories>(*environment_, true, most_slot_bytes);
    reports_ = std::make_unique<TableReports>(*environment_, *heat_);
  }
  ~Process() {
    workers_.Stop();
    store_->Stop();
    engine_.reset();
  }

  ops::Environment& environment() { return *environment_; }
  HeatHistories& heat() { return *heat_; }
  kv::Engine& engine() { return *engine_; }
  table::Store& store() { return *store_; }

  // Partition key pk, sort key sk, four partitions, a global index by-g.
  void Create(const std::string& name) {
    table::TableDescriptor table;
    table.name = name;
    table.table_id = name;
    table.created_micros = clock_.NowMicros();
    table.attribute_definitions = {
        {"pk", model::Type::kS}, {"sk", model::Type::kS}, {"g", model::Type::kS}};
    table.key_schema = {{"pk", model::Type::kS}, model::KeyAttribute{"sk", model::Type::kS}};
    table.billing_mode = table::BillingMode::kPayPerRequest;
    table.partitions = throughput::PartitionMap::Even(4);
    table::IndexDescriptor index;
    index.name = "by-g";
    index.key.partition = {{"g", model::Type::kS}};
    index.partitions = throughput::PartitionMap::Even(4);
    table.indexes.push_back(std::move(index));
    Await([&](auto done) { store_->Create(table, std::move(done)); });
  }
  void Drop(const std::string& name) {
    Await([&](auto done) {
      store_->Drop(
          name, [](const table::TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
  }
  void Enable(const std::string& name, table::ContributorInsights::Mode mode) {
    Await([&](auto done) {
      store_->Alter(
          name,
          [mode](table::TableDescriptor* table) {
            table->insights = {true, mode, 1, 1'700'000'000'000};
            return OkStatus();
          },
          std::move(done));
    });
  }
  // Write units on a key, and a second passes.
  void Use(const std::string& name, uint64_t hash, double units, std::string_view partition = "k",
           std::string_view sort = "s") {
    const throughput::Draw draw{.access = Access::kWrite,
                                .halves = static_cast<int64_t>(2 * units),
                                .point = {hash, sort, partition}};
    ModelOf(name).Admit(clock_.NowMicros(), draw);
    Tick();
  }
  void Tick(int64_t seconds = 1) {
    clock_.AdvanceMicros(seconds * kSecond);
    environment_->admission.Advance();
  }
  throughput::Resource& ModelOf(const std::string& name) {
    return store_->Find(name)->meters.table->resource();
  }
  HeatMap MapOf(const std::string& name) {
    const int64_t now = clock_.NowMicros();
    return heat_->Map(store_->Find(name)->descriptor.tablet_id,
                      {.from_micros = now - 3600 * kSecond,
                       .to_micros = now,
                       .step_seconds = 60,
                       .now_micros = now});
  }
  double WrittenOf(const std::string& name) {
    double sum = 0;
    for (const auto& row : MapOf(name).cells) {
      for (const HeatMap::Cell& cell : row) sum += static_cast<double>(cell.units.write) / 2;
    }
    return sum;
  }
  size_t Kept() {
    size_t keys = 0;
    EXPECT_TRUE(engine_
                    ->Scan({kHeatTablet, {}, {}, false}, kv::Tier::kAny,
                           [&keys](std::string_view, std::string_view) {
                             ++keys;
                             return true;
                           })
                    .ok());
    return keys;
  }
  Result<TableReports::Report> Get(const std::string& target, std::string_view accept = "") {
    return reports_->Render(target, accept);
  }
  std::string Refusal(const std::string& target) {
    const Result<TableReports::Report> report = Get(target);
    return report.ok() ? "answered" : report.error().message();
  }

 private:
  template <typename Start>
  void Await(Start start) {
    Pump pump;
    std::optional<bool> ok;
    start([&pump, &ok](Result<table::TablePtr> table) {
      const bool outcome = table.ok();
      pump.Post([&ok, outcome] { ok = outcome; });
    });
    pump.RunUntil([&ok] { return ok.has_value(); });
    EXPECT_TRUE(*ok);
  }

  ManualClock& clock_;
  SeededRandom random_{1};
  WorkerPool workers_{1, 100};
  std::unique_ptr<kv::Engine> engine_;
  std::unique_ptr<table::Store> store_;
  std::unique_ptr<ops::Environment> environment_;
  std::unique_ptr<HeatHistories> heat_;
  std::unique_ptr<TableReports> reports_;
};

class HeatHistoriesTest : public testing::Test {
 protected:
  void SetUp() override { SetLogLevel(LogLevel::kOff); }
  void TearDown() override { SetLogLevel(LogLevel::kInfo); }
  std::unique_ptr<Process> Open() { return std::make_unique<Process>(directory_.store(), clock_); }
  ManualClock clock_;
  kv_rocks::TemporaryDirectory directory_;
};

TEST_F(HeatHistoriesTest, ManyTablesShareTheRoom) {
  constexpr size_t kRoom = 50'000;
  Process process("", clock_, kRoom);
  for (int i = 0; i < 20; ++i) process.Create("t" + std::to_string(i));
  process.Tick();
  for (int second = 0; second < 200; ++second) {
    for (int i = 0; i < 20; ++i) process.Use("t" + std::to_string(i), kQuarter, 1);
    process.Tick();
  }
  // Unbounded they would have 200 slots each, of some 100 bytes and more.
  EXPECT_LT(process.heat().Bytes(), 4 * kRoom);
  for (int i = 0; i < 20; ++i) EXPECT_GT(process.WrittenOf("t" + std::to_string(i)), 0) << i;
}

TEST_F(HeatHistoriesTest, WhatWasUsedIsKeptAcrossARestart) {
  auto process = Open();
  process->Create("t");
  process->Tick();
  EXPECT_EQ(process->WrittenOf("t"), 0);
  process->Use("t", 5 * (kQuarter / 4), 10);
  process->Use("t", 3 * kQuarter, 2);
  EXPECT_EQ(process->WrittenOf("t"), 12);
  const HeatMap map = process->MapOf("t");
  ASSERT_EQ(map.rows.size(), 4u);
  EXPECT_EQ(map.cells[1].back().units.write + map.cells[1][map.columns() - 2].units.write, 20);
  EXPECT_GT(process->heat().Bytes(), 0u);
  process->heat().Keep();
  EXPECT_EQ(process->Kept(), 1u) << "nothing was used of the index";
  process.reset();

  process = Open();
  EXPECT_EQ(process->WrittenOf("t"), 12);
  EXPECT_EQ(process->MapOf("t").rows.size(), 4u);
  process->Tick();
  process->Use("t", 0, 1);
  EXPECT_EQ(process->WrittenOf("t"), 13);
}

TEST_F(HeatHistoriesTest, TheFirstSecondOfATableIsNotTheSecond) {
  auto process = Open();
  process->Create("t");
  const int64_t began = clock_.NowMicros() / kSecond;
  process->Use("t", 0, 7);
  process->Use("t", 0, 5);
  const int64_t now = clock_.NowMicros();
  const HeatMap map = process->heat().Map(
      process->store().Find("t")->descriptor.tablet_id,
      {.from_micros = now - 10 * kSecond, .to_micros = now, .step_seconds = 1, .now_micros = now});
  std::vector<int64_t> written;
  for (int64_t second : {began, began + 1}) {
    const auto column = static_cast<size_t>(second - map.from_seconds);
    ASSERT_LT(column, map.columns());
    written.push_back(map.cells[0][column].units.write / 2);
  }
  EXPECT_EQ(written, (std::vector<int64_t>{7, 5}));
}

TEST_F(HeatHistoriesTest, AClockThatIsMovedByHoursLeavesTheUseWhereItWas) {
  auto process = Open();
  process->Create("t");
  process->Tick();
  process->ModelOf("t").Admit(clock_.NowMicros(),
                              {.access = Access::kWrite, .halves = 14, .point = {0, {}, "k"}});
  const int64_t used = clock_.NowMicros() / kSecond;
  process->Tick(8 * 3600);
  const int64_t now = clock_.NowMicros();
  const HeatMap map = process->heat().Map(
      process->store().Find("t")->descriptor.tablet_id,
      {.from_micros = now - 10 * 3600 * kSecond, .to_micros = now, .step_seconds = 60});
  int64_t sum = 0;
  for (size_t i = 0; i < map.columns(); ++i) {
    const int64_t units = map.cells[0][i].units.write;
    sum += units;
    if (units > 0) {
      const int64_t column = map.from_seconds + static_cast<int64_t>(i) * map.column_seconds;
      EXPECT_LE(column, used);
      EXPECT_GT(column + map.column_seconds, used);
    }
  }
  EXPECT_EQ(sum, 14);
}

TEST_F(HeatHistoriesTest, GoesWithItsTable) {
  auto process = Open();
  process->Create("t");
  process->Create("u");
  process->Tick();
  process->Use("t", 0, 1);
  process->Use("u", 0, 1);
  process->heat().Keep();
  EXPECT_EQ(process->Kept(), 2u);
  process->Drop("t");
  process->heat().Keep();
  EXPECT_EQ(process->Kept(), 1u);
  process->Create("t");
  process->Tick();
  EXPECT_EQ(process->WrittenOf("t"), 0) << "another table of that name";
  // Dropped by a process that ended before it could forget.
  process->Drop("u");
  process.reset();
  process = Open();
  EXPECT_EQ(process->Kept(), 1u);
  process->heat().Keep();
  EXPECT_EQ(process->Kept(), 0u);
}

TEST_F(HeatHistoriesTest, ADamagedHistoryIsBegunAnew) {
  auto process = Open();
  process->Create("t");
  process->Tick();
  process->Use("t", 0, 1);
  process->heat().Keep();
  std::string key;
  std::string value;
  ASSERT_TRUE(process->engine()
                  .Scan({kHeatTablet, {}, {}, false}, kv::Tier::kAny,
                        [&](std::string_view k, std::string_view v) {
                          key = k;
                          value = v;
                          return true;
                        })
                  .ok());
  value[value.size() - 1] ^= 1;
  kv::Put put;
  put.tablet = kHeatTablet;
  put.key = key;
  put.value = value;
  kv::Batch batch;
  batch.puts.push_back(std::move(put));
  ASSERT_TRUE(kv::ApplyAndWait(process->engine(), std::move(batch)).ok());
  process.reset();
  process = Open();
  EXPECT_EQ(process->WrittenOf("t"), 0);
  process->Tick();
  process->Use("t", 0, 3);
  EXPECT_EQ(process->WrittenOf("t"), 3);
  process->heat().Keep();
  process.reset();
  EXPECT_EQ(Open()->WrittenOf("t"), 3);
}

TEST_F(HeatHistoriesTest, InMemoryNothingIsWritten) {
  Process process("", clock_);
  process.Create("t");
  process.Tick();
  process.Use("t", 0, 4);
  process.heat().Keep();
  EXPECT_EQ(process.Kept(), 0u);
  EXPECT_EQ(process.WrittenOf("t"), 4);
}

TEST_F(HeatHistoriesTest, TheReportHasUnitsPerSecondByRange) {
  Process process("", clock_);
  process.Create("t");
  process.Tick(60 - clock_.NowMicros() / kSecond % 60);
  process.Use("t", kQuarter, 120);
  process.Tick(59);
  const Result<TableReports::Report> report =
      process.Get("/_stator/tables/t/heat?last=2m&step=60s");
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->content_type, "application/json");
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(report->body).get(json), simdjson::SUCCESS) << report->body;
  EXPECT_EQ(json["resources"].get_array().value().size(), 2u);
  const simdjson::dom::element table = json["resources"].at(0);
  EXPECT_EQ(table["type"].get_string().value(), "table");
  EXPECT_EQ(table["columnSeconds"].get_int64().value(), 60);
  EXPECT_EQ(table["columns"].get_int64().value(), 2);
  EXPECT_EQ(table["consumed"]["write"].at(1).get_double().value(), 2);
  EXPECT_EQ(table["ranges"].get_array().value().size(), 4u);
  const simdjson::dom::element range = table["ranges"].at(1);
  EXPECT_EQ(range["from"]["hash"].get_string().value(), "4000000000000000");
  EXPECT_EQ(range["to"]["hash"].get_string().value(), "8000000000000000");
  EXPECT_EQ(range["consumed"]["write"].at(1).get_double().value(), 2);
  EXPECT_EQ(range["consumed"]["read"].at(1).get_double().value(), 0);
  EXPECT_EQ(range["refused"]["write"].at(1).get_double().value(), 0);
  EXPECT_EQ(range["heat"].at(1).get_double().value(), 0.002);  // of 1,000
  EXPECT_TRUE(table["ranges"].at(3)["to"].is_null());
  const simdjson::dom::element index = json["resources"].at(1);
  EXPECT_EQ(index["type"].get_string().value(), "index");
  EXPECT_EQ(index["consumed"]["write"].at(1).get_double().value(), 0);
}

TEST_F(HeatHistoriesTest, ThePictureIsTheSimulators) {
  Process process("", clock_);
  process.Create("t");
  process.Tick();
  for (int i = 0; i < 3; ++i) process.Use("t", 0, 2000);  // the second one is refused
  for (const char* target : {"/_stator/tables/t/heat.svg", "/_stator/tables/t/heat?last=10s"}) {
    const auto report = process.Get(target, "text/html, image/svg+xml");
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->content_type, "image/svg+xml");
    EXPECT_TRUE(report->body.starts_with("<svg")) << report->body;
    EXPECT_NE(report->body.find("Table t: 4 partitions, on demand"), std::string::npos);
    EXPECT_NE(report->body.find("Index by-g"), std::string::npos) << report->body;
    // Seconds of 200%, 0% with what was refused, 200%; longer columns have the average.
    const std::string hot = target[std::string_view(target).size() - 1] == 's' ? "200%" : "";
    EXPECT_NE(report->body.find("<title>the first quarter: " + hot), std::string::npos)
        << report->body;
    EXPECT_NE(report->body.find("fill=\"url(#refused"), std::string::npos);
  }
  const auto of_index = process.Get("/_stator/tables/t/heat.svg?index=by-g");
  ASSERT_TRUE(of_index.ok());
  EXPECT_EQ(of_index->body.find("Table t:"), std::string::npos);
}

TEST_F(HeatHistoriesTest, BadQueriesAreToldSo) {
  Process process("", clock_);
  process.Create("t");
  const std::string heat = "/_stator/tables/t/heat";
  EXPECT_EQ(process.Refusal("/_stator/tables/none/heat"), "There is no table none");
  EXPECT_EQ(process.Refusal(heat + "?index=none"), "The table t has no global index none");
  EXPECT_EQ(process.Refusal(heat + "?from=now"),
            "from must be a time such as 2026-11-21T12:30 or 1795264205: now");
  EXPECT_EQ(process.Refusal(heat + "?step=0"), "step must be a duration such as 90s or 12h: 0");
  EXPECT_EQ(process.Refusal(heat + "?from=1&last=1h"), "from and last cannot be given together");
  EXPECT_EQ(process.Refusal(heat + "?from=2026-01-01&to=2026-01-01"),
            "from must be before to: 2026-01-01T00:00:00.000Z");
  EXPECT_EQ(process.Refusal(heat + "?limit=3"), "There is no parameter limit here");
  EXPECT_EQ(process.Refusal(heat + "?from=2023-11-14T12%3A00&to=2023-11-14T22:00"), "answered");
  const std::string insights = "/_stator/tables/t/contributor-insights";
  EXPECT_EQ(
      process.Refusal(insights),
      "Contributor Insights of the table t are disabled: UpdateContributorInsights enables them");
  EXPECT_EQ(process.Refusal(insights + "?limit=0"), "limit must be a number from 1 to 100: 0");
  EXPECT_EQ(process.Refusal(insights + "?limit=x"), "limit must be a number from 1 to 100: x");
  EXPECT_EQ(process.Refusal(insights + "?from=1"), "There is no parameter from here");
  for (const char* other :
       {"/_stator/tables//heat", "/_stator/tables/heat", "/_stator/tables/t/x/heat",
        "/_stator/tables/t/heat/", "/_stator/heat", "/metrics"}) {
    EXPECT_FALSE(TableReports::Owns(other)) << other;
  }
}

TEST_F(HeatHistoriesTest, ContributorsByRule) {
  Process process("", clock_);
  process.Create("t");
  using Mode = table::ContributorInsights::Mode;
  process.Enable("t", Mode::kAccessedAndThrottledKeys);
  process.Tick();
  process.Use("t", 0, 900, "hot", "a");
  process.Use("t", 0, 300, "hot", "b");
  process.Use("t", kQuarter, 100, "mild", "c");
  process.Use("t", 2 * kQuarter, 5000, "greedy", "d");
  process.ModelOf("t").Admit(
      clock_.NowMicros(),
      {.access = Access::kWrite, .halves = 2000, .point = {2 * kQuarter, "d", "greedy"}});
  const auto rules = [&](const std::string& query) {
    const auto report = process.Get("/_stator/tables/t/contributor-insights" + query);
    EXPECT_TRUE(report.ok());
    return report.ok() ? report->body : "";
  };
  simdjson::dom::parser parser;
  const std::string both = rules("?limit=2");
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(both).get(json), simdjson::SUCCESS) << both;
  EXPECT_EQ(json["mode"].get_string().value(), "ACCESSED_AND_THROTTLED_KEYS");
  ASSERT_EQ(json["rules"].get_array().value().size(), 4u);
  EXPECT_EQ(json["rules"].at(0)["name"].get_string().value(),
            "DynamoDBContributorInsights-PKC-t-1700000000000");
  const simdjson::dom::element keys = json["rules"].at(0)["contributors"];
  ASSERT_EQ(keys.get_array().value().size(), 2u);
  // Not every unit is looked at.
  EXPECT_NEAR(keys.at(0)["weight"].get_double().value(), 3 * 6000, 100);
  EXPECT_NEAR(keys.at(1)["weight"].get_double().value(), 3 * 1200, 100);
  EXPECT_TRUE(keys.at(0)["sortKey"].error() == simdjson::NO_SUCH_FIELD);
  EXPECT_NEAR(json["rules"].at(1)["contributors"].at(1)["weight"].get_double().value(), 3 * 900,
              100);
  EXPECT_EQ(json["rules"].at(1)["contributors"].at(1)["sortKey"].get_string().value(), "a");
  // One request of the greedy key was beyond the limit.
  ASSERT_EQ(json["rules"].at(2)["contributors"].get_array().value().size(), 1u);
  EXPECT_NEAR(json["rules"].at(2)["contributors"].at(0)["weight"].get_double().value(), 3 * 1000,
              100);
  EXPECT_NEAR(json["rules"].at(3)["contributors"].at(0)["weight"].get_double().value(), 3 * 1000,
              100);

  process.Enable("t", Mode::kThrottledKeys);
  ASSERT_EQ(parser.parse(rules("")).get(json), simdjson::SUCCESS);
  EXPECT_EQ(json["mode"].get_string().value(), "THROTTLED_KEYS");
  ASSERT_EQ(json["rules"].get_array().value().size(), 2u);
  EXPECT_EQ(json["rules"].at(0)["name"].get_string().value(),
            "DynamoDBContributorInsights-PKT-t-1700000000000");
  EXPECT_EQ(process.Refusal("/_stator/tables/t/contributor-insights?index=by-g"),
            "Contributor Insights of the index by-g are disabled: UpdateContributorInsights "
            "enables them");
}

}  // namespace
}  // namespace stator::server
