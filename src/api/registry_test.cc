#include "api/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "access/catalogue.h"
#include "api/schema.h"

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

// A schema that AllSchemas lacks would be missing in docs/operations.md and in the audit log, and
// an operation without an action is refused to all but root.
TEST(Registry, EveryOperationHasASchemaAndAnAction) {
  std::set<std::string_view> schemas;
  for (const OperationSchema* schema : AllSchemas()) schemas.insert(schema->name);
  // These consist of actions of other names.
  const std::set<std::string_view> composed = {"BatchExecuteStatement", "ExecuteStatement",
                                               "ExecuteTransaction", "TransactGetItems",
                                               "TransactWriteItems"};
  Registry registry;
  RegisterAll(&registry);
  const std::vector<Operation> all = registry.All();
  for (const Operation& operation : all) {
    EXPECT_TRUE(schemas.contains(operation.name)) << operation.name << " is not in AllSchemas";
    EXPECT_NE(access::FindAction(fmt::format("dynamodb:{}", operation.name)).has_value(),
              composed.contains(operation.name))
        << operation.name << " has no row in access/catalogue.cc";
  }
  EXPECT_EQ(all.size(), schemas.size());
}

}  // namespace
}  // namespace stator::api
