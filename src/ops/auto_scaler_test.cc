#include "ops/auto_scaler.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "ops/table_status.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using throughput::Access;
using throughput::AutoScalingSettings;

constexpr int64_t kMinute = AutoScaler::kMinuteMicros;
constexpr int64_t kHour = 60 * kMinute;

class AutoScalerTest : public testing::Test {
 protected:
  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    // To the start of a day, so that minutes and decreases are easy to count.
    world_.clock.AdvanceMicros(24 * kHour - world_.clock.NowMicros() % (24 * kHour));
    start_ = world_.clock.NowMicros();
    Step();
  }
  void TearDown() override { SetLogLevel(LogLevel::kInfo); }

  // With key `pk`, S, and a global index of it, both of 10 and 10 units.
  void Create(const std::string& name) {
    const auto created =
        world_.Call(CreateTable, IndexedTable(name, {10, 10}, "index", "pk", {10, 10}));
    ASSERT_TRUE(created.ok()) << created.error().message();
  }
  void SetRules(const std::string& name, table::AutoScalingRules of_table,
                table::AutoScalingRules of_index = {}) {
    std::optional<bool> done;
    world_.store->Alter(
        name,
        [&](table::TableDescriptor* d) {
          d->auto_scaling = of_table;
          d->indexes[0].auto_scaling = of_index;
          return OkStatus();
        },
        [&](Result<table::TablePtr> altered) { done = altered.ok(); });
    while (!done) std::this_thread::yield();
    ASSERT_TRUE(*done);
  }
  void SetUnits(const std::string& name, int64_t reads, int64_t writes) {
    UpdateTableRequest request;
    request.table_name = name;
    request.provisioned_throughput = ProvisionedThroughput{reads, writes};
    const auto answer = world_.Call(UpdateTable, std::move(request));
    ASSERT_TRUE(answer.ok()) << answer.error().message();
  }
  // Consumes units of the table, or of its index.
  void Use(const std::string& name, Access access, int64_t units, bool of_index = false) {
    const table::TablePtr table = world_.store->Find(name);
    throughput::Meter& meter = *(of_index ? table->meters.indexes[0] : table->meters.table);
    meter.resource().Charge(world_.clock.NowMicros(),
                            {.access = access, .halves = units * 2, .point = {}});
  }
  void Step() {
    while (world_.env.auto_scaler.Step(world_.env)) {
    }
  }
  void Pass(int64_t micros = kMinute) {
    world_.clock.AdvanceMicros(micros);
    Step();
  }
  const table::TableDescriptor& Descriptor(const std::string& name) {
    keep_ = world_.store->Find(name);
    return keep_->descriptor;
  }
  std::vector<ScalingActivity> Activities(const std::string& name) {
    return world_.env.auto_scaler.ActivitiesOf(name);
  }

  TestWorld world_;
  int64_t start_ = 0;
  table::TablePtr keep_;
};

TEST_F(AutoScalerTest, GrowsUnderLoadAndShrinksAfter) {
  Create("t");
  SetRules("t", {.read = AutoScalingSettings{.min_units = 5, .max_units = 100, .target = 0.5}});
  for (int minute = 1; minute <= 2; ++minute) {
    EXPECT_EQ(Descriptor("t").read_units, 10) << minute;
    Use("t", Access::kRead, 60 * 9);
    Pass();
  }
  EXPECT_EQ(Descriptor("t").read_units, 18) << "9 at 50%";
  EXPECT_EQ(Descriptor("t").write_units, 10);
  EXPECT_EQ(Descriptor("t").last_increase_micros, start_ + 2 * kMinute);
  for (int minute = 3; minute < 17; ++minute) {
    Use("t", Access::kRead, 60);
    Pass();
    ASSERT_EQ(Descriptor("t").read_units, 18) << minute;
  }
  Use("t", Access::kRead, 60);
  Pass();
  EXPECT_EQ(Descriptor("t").read_units, 5);
  EXPECT_EQ(Descriptor("t").last_decrease_micros, start_ + 17 * kMinute);
  EXPECT_EQ(Descriptor("t").decreases_today, 1);

  const std::vector<ScalingActivity> activities = Activities("t");
  ASSERT_EQ(activities.size(), 2u);
  EXPECT_EQ(activities[0].at_micros, start_ + 2 * kMinute);
  EXPECT_EQ(activities[0].from_units, 10);
  EXPECT_EQ(activities[0].to_units, 18);
  EXPECT_EQ(activities[1].to_units, 5);
  EXPECT_EQ(activities[1].refusal, "");
  EXPECT_TRUE(Activities("another").empty());
}

// Of several processes one judges all tables, also those whose other background work is another's.
TEST_F(AutoScalerTest, JudgesTablesWhoseWorkIsAnothers) {
  Create("t");
  SetRules("t", {.read = AutoScalingSettings{.min_units = 5, .max_units = 100, .target = 0.5}});
  world_.store->SetWorkPredicate([](const table::Table&) { return false; });
  for (int minute = 1; minute <= 2; ++minute) {
    Use("t", Access::kRead, 60 * 9);
    Pass();
  }
  EXPECT_EQ(Descriptor("t").read_units, 18);
}

TEST_F(AutoScalerTest, JudgesTheMinutesOfAMoveInOrder) {
  Create("t");
  const AutoScalingSettings settings{.min_units = 5, .max_units = 100, .lower_when_idle = true};
  SetRules("t", {.read = settings});
  for (int64_t reads = 9; reads > 5; --reads) SetUnits("t", reads, 10);
  SetUnits("t", 50, 10);
  // The fifth decrease of the day has to be an hour after the fourth, to the minute; then nothing
  // is left to be done.
  Pass(7 * kHour + kMinute / 2);
  EXPECT_EQ(Descriptor("t").read_units, 5);
  EXPECT_EQ(Descriptor("t").last_decrease_micros, start_ + kHour);
  EXPECT_EQ(Descriptor("t").decreases_today, 5);
  EXPECT_EQ(Activities("t").size(), 1u);
  // What is consumed belongs to the first of the minutes that pass.
  Use("t", Access::kRead, 60 * 5);
  Pass(kHour);
  EXPECT_EQ(Descriptor("t").read_units, 5) << "one minute above the target";
}

TEST_F(AutoScalerTest, AMoveOfManyYearsIsJudgedAtOnce) {
  Create("t");
  SetRules("t", {.read = AutoScalingSettings{
                     .min_units = 5, .max_units = 100, .target = 0.5, .lower_when_idle = true}});
  Use("t", Access::kRead, 60);
  world_.clock.AdvanceMicros(5000 * int64_t{365} * 24 * kHour);
  int steps = 1;
  while (world_.env.auto_scaler.Step(world_.env)) ++steps;
  EXPECT_LE(steps, 3);
  EXPECT_EQ(Descriptor("t").read_units, 5);
  for (int minute = 1; minute <= 2; ++minute) {
    Use("t", Access::kRead, 60 * 9);
    Pass();
  }
  EXPECT_EQ(Descriptor("t").read_units, 18);
}

TEST_F(AutoScalerTest, ATableThatNobodyUsesKeepsItsCapacity) {
  Create("t");
  SetRules("t", {.read = AutoScalingSettings{.min_units = 5, .max_units = 100},
                 .write = AutoScalingSettings{.min_units = 5, .max_units = 100}});
  Pass(48 * kHour);
  EXPECT_EQ(Descriptor("t").read_units, 10);
  EXPECT_EQ(Descriptor("t").write_units, 10);
}

TEST_F(AutoScalerTest, TableAndIndexesHaveRulesOfTheirOwnAndChangeTogether) {
  world_.env.settings.delay_transient_statuses = true;
  Create("t");
  SetRules("t", {.write = AutoScalingSettings{.max_units = 100, .target = 0.5}},
           {.read = AutoScalingSettings{.max_units = 40, .target = 0.5},
            .write = AutoScalingSettings{.max_units = 100, .target = 0.5}});
  for (int minute = 0; minute < 2; ++minute) {
    Use("t", Access::kRead, 60 * 100);  // has no rule
    Use("t", Access::kWrite, 60 * 20);
    Use("t", Access::kRead, 60 * 30, true);
    Use("t", Access::kWrite, 60 * 10, true);
    Pass();
  }
  const table::TableDescriptor& d = Descriptor("t");
  EXPECT_EQ(d.read_units, 10);
  EXPECT_EQ(d.write_units, 40);
  EXPECT_EQ(d.indexes[0].throughput.read_units, 40) << "at most the maximum";
  EXPECT_EQ(d.indexes[0].throughput.write_units, 20);
  EXPECT_EQ(StatusOf(d, world_.env), TableStatus::kUpdating) << "as after UpdateTable";
  EXPECT_EQ(Activities("t").size(), 3u);
}

TEST_F(AutoScalerTest, WhatUpdateTableRefusesIsNotDone) {
  world_.env.settings.throughput.account_quota_read_units = 30;
  Create("t");
  SetRules("t", {.read = AutoScalingSettings{.max_units = 100, .target = 0.5}});
  for (int minute = 0; minute < 4; ++minute) {
    Use("t", Access::kRead, 60 * 20);
    Pass();
  }
  EXPECT_EQ(Descriptor("t").read_units, 10);
  ASSERT_EQ(Activities("t").size(), 2u) << "tried again after two more minutes";
  EXPECT_EQ(Activities("t")[0].refusal,
            "Cannot increase provisioned throughput to more than 30 units per account");
}

TEST_F(AutoScalerTest, TheSettingsHoldWhereATableSaysNothing) {
  const AutoScalingSettings own{.min_units = 20}, named{.min_units = 30}, any{.min_units = 40};
  world_.env.auto_scaler.SetDefaults({{{"named", ""}, {.read = named}},
                                      {{"*", ""}, {.read = any, .write = any}},
                                      {{"*", "index"}, {.write = any}}});
  Create("named");
  Create("own");
  SetRules("own", {.read = own});
  Pass();
  EXPECT_EQ(Descriptor("named").read_units, 30);
  EXPECT_EQ(Descriptor("named").write_units, 40);
  EXPECT_EQ(Descriptor("own").read_units, 20);
  EXPECT_EQ(Descriptor("own").write_units, 40);
  EXPECT_EQ(Descriptor("own").indexes[0].throughput.read_units, 10);
  EXPECT_EQ(Descriptor("own").indexes[0].throughput.write_units, 40);
}

TEST_F(AutoScalerTest, SleepsOnDemandAndWhereNothingIsCounted) {
  const AutoScalingSettings settings{.min_units = 5, .max_units = 100, .lower_when_idle = true};
  Create("mode");
  Create("off");
  SetRules("mode", {.read = settings});
  SetRules("off", {.read = settings});
  world_.env.admission.SetMode("off", throughput::Throttling::kOff);
  UpdateTableRequest request;
  request.table_name = "mode";
  request.billing_mode = BillingMode::kPayPerRequest;
  ASSERT_TRUE(world_.Call(UpdateTable, std::move(request)).ok());
  Pass(kHour);
  EXPECT_TRUE(Activities("mode").empty());
  EXPECT_TRUE(Activities("off").empty());
  world_.env.admission.SetMode("off", std::nullopt);
  Pass(kHour);
  EXPECT_EQ(Descriptor("off").read_units, 5);
}

TEST_F(AutoScalerTest, RulesStayWithTheirTable) {
  Create("t");
  const table::AutoScalingRules rules{.read = AutoScalingSettings{.max_units = 77}};
  SetRules("t", rules, rules);
  SetUnits("t", 11, 11);
  const std::string stored = Descriptor("t").Encode();
  const Result<table::TableDescriptor> read = table::TableDescriptor::Decode(stored);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->auto_scaling, rules);
  EXPECT_EQ(read->indexes[0].auto_scaling, rules);
}

}  // namespace
}  // namespace stator::ops
