#include "api/registry.h"

#include <gtest/gtest.h>

namespace stator::api {
namespace {

void First(ops::Context&, ops::DescribeLimitsRequest, ops::Callback<ops::DescribeLimitsResponse>) {}
void Second(ops::Context&, ops::DescribeLimitsRequest, ops::Callback<ops::DescribeLimitsResponse>) {
}

TEST(Registry, FindsByPrefixAndName) {
  Registry registry;
  registry.Register("GetItem", Access::kRead, First);
  registry.Register("PutItem", Access::kWrite, Second);  // of the same length
  registry.Register("GetRecords", Access::kRead, First, Api::kStreams);
  ASSERT_NE(registry.Find("DynamoDB_20120810.GetItem"), nullptr);
  EXPECT_EQ(registry.Find("DynamoDB_20120810.GetItem")->name, "GetItem");
  EXPECT_EQ(registry.Find("DynamoDB_20120810.PutItem")->access, Access::kWrite);
  EXPECT_NE(registry.Find("DynamoDBStreams_20120810.GetRecords"), nullptr);
  for (std::string_view target :
       {"", ".", "GetItem", "DynamoDB_20120810.", "DynamoDB_20120810.GetIte",
        "dynamodb_20120810.GetItem", "DynamoDB_20120810.GetItem ", "DynamoDB_20120810.GetRecords",
        "DynamoDBStreams_20120810.GetItem"}) {
    EXPECT_EQ(registry.Find(target), nullptr) << target;
  }
}

TEST(Registry, ALaterRegistrationReplaces) {
  Registry registry;
  registry.Register("GetItem", Access::kRead, First);
  registry.Register("GetItem", Access::kWrite, Second);
  EXPECT_EQ(registry.Find("DynamoDB_20120810.GetItem")->access, Access::kWrite);
  EXPECT_EQ(registry.Find("DynamoDB_20120810.GetItem")->handler,
            reinterpret_cast<Operation::AnyHandler>(Second));
}

TEST(Registry, CountsTheItemsOfAReply) {
  ops::GetItemResponse get;
  EXPECT_EQ(internal::CountItems(get), 0);
  get.item = "x";
  EXPECT_EQ(internal::CountItems(get), 1);
  ops::QueryResponse query;
  EXPECT_EQ(internal::CountItems(query), 0);
  query.items = ops::ItemList{"a", "b"};
  EXPECT_EQ(internal::CountItems(query), 2);
  ops::BatchGetItemResponse batch;
  batch.responses = {{"t", {"a", "b"}}, {"u", {"c"}}};
  EXPECT_EQ(internal::CountItems(batch), 3);
  EXPECT_EQ(internal::CountItems(ops::PutItemResponse()), 0);
}

}  // namespace
}  // namespace stator::api
