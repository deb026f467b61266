// Kinesis destinations over a store in memory; where they are sent is the room triggers'.
#include "ops/kinesis_destinations.h"

#include <gtest/gtest.h>

#include <optional>

#include "ops/test_world.h"

namespace stator::ops {
namespace {

// Each destination may have a thread of its own.
TEST(KinesisDestinations, AreBoundedOverAllTables) {
  TestWorld world;
  world.env.settings.kinesis = true;
  const auto enable = [&world](size_t number) {
    const std::string name = "t" + std::to_string(number);
    CreateTableRequest table;
    table.table_name = name;
    table.key_schema = {{"pk", KeyType::kHash}};
    table.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    table.billing_mode = BillingMode::kPayPerRequest;
    EXPECT_TRUE(world.Call(CreateTable, std::move(table)).ok());
    EnableKinesisStreamingDestinationRequest request;
    request.table_name = name;
    request.stream_arn = "arn:aws:kinesis:us-east-1:000000000000:stream/s";
    const auto answer = world.Call(EnableKinesisStreamingDestination, std::move(request));
    return answer.ok() ? std::optional<Error>() : answer.error();
  };
  for (size_t i = 0; i < kMostDestinationsInUse; ++i) ASSERT_FALSE(enable(i)) << i;
  const std::optional<Error> refused = enable(kMostDestinationsInUse);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace stator::ops
