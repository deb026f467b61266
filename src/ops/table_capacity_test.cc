#include "ops/table_capacity.h"

#include <gtest/gtest.h>

#include "ops/table_status.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

UpdateTableRequest Units(const std::string& table, int64_t reads, int64_t writes) {
  UpdateTableRequest request;
  request.table_name = table;
  request.provisioned_throughput = ProvisionedThroughput{reads, writes};
  return request;
}

class TableCapacity : public testing::Test {
 protected:
  // With key `pk`, S, and a global index of it.
  void CreateIndexed(const std::string& name) {
    const auto created =
        world_.Call(CreateTable, IndexedTable(name, {10, 10}, "index", "pk", {5, 5}));
    ASSERT_TRUE(created.ok()) << created.error().message();
  }
  TableDescription DescriptionOf(const std::string& name) {
    DescribeTableRequest request;
    request.table_name = name;
    return world_.Call(DescribeTable, std::move(request)).value().table;
  }
  std::string MessageOf(UpdateTableRequest request) {
    const auto answer = world_.Call(UpdateTable, std::move(request));
    return answer.ok() ? "" : answer.error().message();
  }
  TestWorld world_;
};

TEST_F(TableCapacity, ChangesTakeTimeWhereStatusesDo) {
  world_.env.settings.delay_transient_statuses = true;
  CreateIndexed("t");
  EXPECT_EQ(MessageOf(Units("t", 20, 10)),
            "Attempt to change a resource which is still in use: Table is being created: t");
  world_.clock.AdvanceMicros(kTransientStatusMicros);
  EXPECT_EQ(DescriptionOf("t").table_status, TableStatus::kActive);
  EXPECT_EQ(MessageOf(Units("t", 20, 10)), "");
  TableDescription now = DescriptionOf("t");
  EXPECT_EQ(now.table_status, TableStatus::kUpdating);
  EXPECT_EQ(now.warm_throughput->status, TableStatus::kUpdating);
  EXPECT_EQ(now.global_secondary_indexes[0].index_status, IndexStatus::kActive) << "not its change";
  world_.clock.AdvanceMicros(kTransientStatusMicros - 1);
  EXPECT_EQ(MessageOf(Units("t", 30, 10)),
            "Attempt to change a resource which is still in use: Table is being updated: t");
  world_.clock.AdvanceMicros(1);
  EXPECT_EQ(DescriptionOf("t").table_status, TableStatus::kActive);

  UpdateTableRequest request;
  request.table_name = "t";
  GlobalSecondaryIndexUpdate update;
  update.update.emplace();
  update.update->index_name = "index";
  update.update->provisioned_throughput = ProvisionedThroughput{6, 5};
  request.global_secondary_index_updates = {update};
  EXPECT_EQ(MessageOf(request), "");
  now = DescriptionOf("t");
  EXPECT_EQ(now.table_status, TableStatus::kUpdating);
  EXPECT_EQ(now.global_secondary_indexes[0].index_status, IndexStatus::kUpdating);
  EXPECT_EQ(now.global_secondary_indexes[0].warm_throughput->status, IndexStatus::kUpdating);
  world_.clock.AdvanceMicros(kTransientStatusMicros);
  EXPECT_EQ(DescriptionOf("t").global_secondary_indexes[0].index_status, IndexStatus::kActive);

  // A switch of the billing mode is the indexes' as well.
  UpdateTableRequest to_on_demand;
  to_on_demand.table_name = "t";
  to_on_demand.billing_mode = BillingMode::kPayPerRequest;
  EXPECT_EQ(MessageOf(to_on_demand), "");
  EXPECT_EQ(DescriptionOf("t").global_secondary_indexes[0].index_status, IndexStatus::kUpdating);
  EXPECT_EQ(MessageOf(to_on_demand),
            "Attempt to change a resource which is still in use: Table is being updated: t");
}

TEST_F(TableCapacity, NothingOfARefusedChangeStays) {
  CreateIndexed("t");
  UpdateTableRequest request = Units("t", 20, 20);
  request.warm_throughput = WarmThroughput{1, {}};
  EXPECT_NE(MessageOf(std::move(request)), "");
  EXPECT_EQ(DescriptionOf("t").provisioned_throughput.read_capacity_units, 10);
  EXPECT_FALSE(DescriptionOf("t").provisioned_throughput.last_increase_date_time);
}

TEST_F(TableCapacity, TwoTablesCreatedAtOnceShareTheAccountsQuota) {
  world_.env.settings.throughput.account_quota_read_units = 15;
  std::vector<Result<CreateTableResponse>> answers;
  Context context{world_.env, world_.loop, ""};
  for (const char* name : {"one", "two"}) {
    CreateTableRequest request;
    request.table_name = name;
    request.key_schema = {{"pk", KeyType::kHash}};
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    request.provisioned_throughput = ProvisionedThroughput{10, 1};
    CreateTable(context, std::move(request),
                [&](Result<CreateTableResponse> answer) { answers.push_back(std::move(answer)); });
  }
  while (answers.size() < 2) world_.loop.RunOne();
  ASSERT_NE(answers[0].ok(), answers[1].ok());
  EXPECT_EQ((answers[0].ok() ? answers[1] : answers[0]).error().message(),
            "Cannot increase provisioned throughput to more than 15 units per account");
  EXPECT_EQ(world_.store->List().size(), 1u);
}

TEST_F(TableCapacity, WhatIsAboveALoweredQuotaMayBeLoweredInSteps) {
  world_.Create("t");  // 3000 and 1
  world_.env.settings.throughput.account_quota_read_units = 1000;
  EXPECT_EQ(MessageOf(Units("t", 2000, 1)), "");
  EXPECT_EQ(MessageOf(Units("t", 2000, 2)), "") << "adds no reads";
  EXPECT_EQ(MessageOf(Units("t", 2001, 2)),
            "Cannot increase provisioned throughput to more than 1,000 units per account");
}

}  // namespace
}  // namespace stator::ops
