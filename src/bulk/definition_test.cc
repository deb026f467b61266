#include "bulk/definition.h"

#include <gtest/gtest.h>

namespace stator::bulk {
namespace {

constexpr const char* kProvisioned = R"({
  "TableName":"T","TableArn":"arn:T","TableStatus":"ACTIVE","ItemCount":3,
  "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
  "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
  "ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6,"NumberOfDecreasesToday":2},
  "LocalSecondaryIndexes":[{"IndexName":"l","IndexArn":"a","KeySchema":[],"Projection":{"ProjectionType":"ALL"}}],
  "GlobalSecondaryIndexes":[{"IndexName":"g","IndexStatus":"ACTIVE","KeySchema":[],
    "Projection":{"ProjectionType":"KEYS_ONLY"},"ItemCount":3,
    "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2}}],
  "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},
  "LatestStreamArn":"arn:T/stream/1","DeletionProtectionEnabled":true,
  "TableClassSummary":{"TableClass":"STANDARD_INFREQUENT_ACCESS"}})";

std::string Made(const char* description, bool on_demand) {
  Result<std::string> json = CreateTableJson(description, on_demand);
  EXPECT_TRUE(json.ok());
  return json.ok() ? *std::move(json) : std::string();
}

TEST(Definition, KeepsKeysIndexesAndThroughputAndNothingElse) {
  EXPECT_EQ(
      Made(kProvisioned, false),
      R"({"TableName":"T","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],)"
      R"("KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PROVISIONED",)"
      R"("ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6},)"
      R"("LocalSecondaryIndexes":[{"IndexName":"l","KeySchema":[],"Projection":{"ProjectionType":"ALL"}}],)"
      R"("GlobalSecondaryIndexes":[{"IndexName":"g","KeySchema":[],)"
      R"("Projection":{"ProjectionType":"KEYS_ONLY"},)"
      R"("ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2}}],)"
      R"("TableClass":"STANDARD_INFREQUENT_ACCESS"})");
}

TEST(Definition, OnDemandInsteadHasNoThroughput) {
  EXPECT_EQ(Made(kProvisioned, true).find("ProvisionedThroughput"), std::string::npos);
}

TEST(Definition, OnDemandKeepsItsLimits) {
  const std::string json =
      Made(R"({"TableName":"T","AttributeDefinitions":[],"KeySchema":[],)"
           R"("BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},)"
           R"("ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0},)"
           R"("OnDemandThroughput":{"MaxReadRequestUnits":9}})",
           false);
  EXPECT_EQ(json,
            R"({"TableName":"T","AttributeDefinitions":[],"KeySchema":[],)"
            R"("BillingMode":"PAY_PER_REQUEST","OnDemandThroughput":{"MaxReadRequestUnits":9}})");
}

TEST(Definition, WhatIsSetLaterIsTheStreamAndTheProtection) {
  const Result<LateSettings> late = LateSettingsOf(kProvisioned);
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->stream_view, "NEW_IMAGE");
  EXPECT_EQ(late->stream, R"({"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"})");
  EXPECT_EQ(late->stream_arn, "arn:T/stream/1");
  EXPECT_EQ(late->arn, "arn:T");
  EXPECT_TRUE(late->protect);
  const Result<LateSettings> none =
      LateSettingsOf(R"({"StreamSpecification":{"StreamEnabled":false},"LatestStreamArn":"x"})");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->stream, "");
}

}  // namespace
}  // namespace stator::bulk
