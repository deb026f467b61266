#include "ops/table_definition.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "ops/test_world.h"

namespace stator::ops {
namespace {

CreateTableRequest Good() {
  CreateTableRequest request;
  request.table_name = "Music";
  request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                   {"sk", ScalarAttributeType::kN}};
  request.key_schema = {{"pk", KeyType::kHash}, {"sk", KeyType::kRange}};
  request.billing_mode = BillingMode::kPayPerRequest;
  return request;
}

class Define : public testing::Test {
 protected:
  std::string MessageOf(const CreateTableRequest& request) {
    const Result<table::TableDescriptor> result = DefineTable(world_.env, request);
    if (result.ok()) return "";
    EXPECT_EQ(result.error().code(), ErrorCode::kValidation);
    return result.error().message();
  }
  TestWorld world_;
};

TEST_F(Define, OnDemand) {
  const Result<table::TableDescriptor> d = DefineTable(world_.env, Good());
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->name, "Music");
  EXPECT_EQ(d->key_schema.partition, (model::KeyAttribute{"pk", model::Type::kS}));
  EXPECT_EQ(d->key_schema.sort, (model::KeyAttribute{"sk", model::Type::kN}));
  EXPECT_EQ(d->partitions.size(), 4u);
  EXPECT_TRUE(d->billing_mode_given);
  EXPECT_EQ(d->created_micros, world_.clock.NowMicros());
  EXPECT_EQ(d->tablet_id, 0u) << "the store's to choose";
}

TEST_F(Define, ProvisionedIsTheDefault) {
  CreateTableRequest request = Good();
  request.billing_mode.reset();
  EXPECT_EQ(MessageOf(request), BothUnitsWhenProvisioned().message());
  request.provisioned_throughput = ProvisionedThroughput{6000, 1000};
  const Result<table::TableDescriptor> d = DefineTable(world_.env, request);
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->partitions.size(), 3u);
  EXPECT_FALSE(d->billing_mode_given);
  request.billing_mode = BillingMode::kPayPerRequest;
  EXPECT_EQ(MessageOf(request), NeitherUnitsWhenOnDemand().message());
  request.billing_mode = BillingMode::kProvisioned;
  request.provisioned_throughput->read_capacity_units = 1'000'000'000'001;
  EXPECT_EQ(MessageOf(request), "Given value 1000000000001 for ReadCapacityUnits is out of bounds");
}

TEST_F(Define, BadKeys) {
  const auto with = [this](std::vector<KeySchemaElement> key,
                           std::vector<AttributeDefinition> attributes) {
    CreateTableRequest request = Good();
    request.key_schema = std::move(key);
    request.attribute_definitions = std::move(attributes);
    return MessageOf(request);
  };
  const AttributeDefinition pk = {"pk", ScalarAttributeType::kS},
                            sk = {"sk", ScalarAttributeType::kN};
  EXPECT_EQ(with({{"pk", KeyType::kHash}}, {pk}), "");
  EXPECT_EQ(with({{"pk", KeyType::kRange}}, {pk}),
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  EXPECT_EQ(with({{"pk", KeyType::kHash}, {"sk", KeyType::kHash}}, {pk, sk}),
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
  EXPECT_EQ(with({{"pk", KeyType::kHash}, {"pk", KeyType::kRange}}, {pk}),
            "Both the Hash Key and the Range Key element in the KeySchema have the same name");
  EXPECT_EQ(with({{"pk", KeyType::kHash}}, {}),
            "Invalid KeySchema: Some index key attribute have no definition");
  EXPECT_EQ(with({}, {pk}), "Invalid KeySchema: Some index key attribute have no definition");
  EXPECT_EQ(with({{"pk", KeyType::kHash}}, {pk, sk}),
            "One or more parameter values were invalid: Number of attributes in KeySchema does not "
            "exactly match number of "
            "attributes defined in AttributeDefinitions");
  EXPECT_EQ(with({{"pk", KeyType::kHash}}, {pk, pk}), "Attribute Name is duplicated: pk");
  EXPECT_NE(
      with({{"pk", KeyType::kHash}, {"sk", KeyType::kRange}, {"x", KeyType::kRange}}, {pk, sk}),
      "");
  CreateTableRequest request = Good();
  request.key_schema.reset();
  EXPECT_NE(MessageOf(request), "");
}

TEST_F(Define, WhatIsNotBuiltIsRefusedNotIgnored) {
  CreateTableRequest request = Good();
  request.global_secondary_indexes.emplace();
  EXPECT_NE(MessageOf(request).find("GlobalSecondaryIndexes"), std::string::npos);
  request = Good();
  request.local_secondary_indexes.emplace();
  EXPECT_NE(MessageOf(request).find("LocalSecondaryIndexes"), std::string::npos);
  request = Good();
  request.sse_specification = SseSpecification{true, SseType::kKms, "alias/mine"};
  EXPECT_NE(MessageOf(request).find("KMSMasterKeyId"), std::string::npos);
  request.sse_specification = SseSpecification{true, {}, {}};
  EXPECT_EQ(MessageOf(request), "");
}

TEST_F(Define, StreamsHaveAViewTypeExactlyWhenTheyAreEnabled) {
  CreateTableRequest request = Good();
  request.stream_specification = StreamSpecification{true, StreamViewType::kKeysOnly};
  EXPECT_EQ(MessageOf(request), "");
  request.stream_specification = StreamSpecification{true, {}};
  EXPECT_NE(MessageOf(request).find("StreamViewType"), std::string::npos);
  request.stream_specification = StreamSpecification{false, StreamViewType::kKeysOnly};
  EXPECT_NE(MessageOf(request).find("stream disabled"), std::string::npos);
  request.stream_specification = StreamSpecification{false, {}};
  EXPECT_EQ(MessageOf(request), "");
}

TEST_F(Define, Tags) {
  CreateTableRequest request = Good();
  request.tags.emplace();
  for (size_t i = 0; i < kMaxTags; ++i) request.tags->push_back({"k" + std::to_string(i), "v"});
  EXPECT_EQ(MessageOf(request), "");
  request.tags->push_back({"one more", "v"});
  EXPECT_NE(MessageOf(request), "");
}

TEST(NewUuid, IsOfVersion4AndNew) {
  SeededRandom random(1);
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 2000; ++i) {
    const std::string uuid = NewUuid(random);
    ASSERT_TRUE(std::regex_match(uuid, form)) << uuid;
    ASSERT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace stator::ops
