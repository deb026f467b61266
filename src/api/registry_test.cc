#include "api/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "access/catalogue.h"
#include "api/schema.h"
#include "model/value.h"

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

// An encoded item whose one attribute, a string, is `text`.
std::string ItemWith(std::string_view text) {
  std::string entries, item;
  model::AppendName(&entries, "a");
  model::AppendString(&entries, text);
  model::AppendItem(&item, 1, entries);
  return item;
}

TEST(Registry, RecordsCountAsTheJsonThatTheyBecome) {
  const std::string control(3000, '\x01'), plain(700, 'x');
  ops::GetRecordsResponse page;
  page.aws_region = "us-east-1";
  EXPECT_FALSE(internal::SizeOf(page).is_long());
  EXPECT_EQ(internal::SizeOf(page).bytes, 0u);
  // Keys alone, as of a stream of view type KEYS_ONLY.
  ops::StreamRecord record;
  record.event_id = std::string(32, 'f');
  record.sequence_number = std::string(40, '7');
  record.by_service = true;
  record.keys = ItemWith(control);
  for (int count = 1; count <= 330; ++count) page.records.push_back(record);
  const internal::AnswerSize of_keys = internal::SizeOf(page);
  EXPECT_TRUE(of_keys.is_long());
  EXPECT_FALSE(of_keys.is_quick());
  std::string json;
  RenderResponse(page, &json);
  EXPECT_GT(json.size(), 330u * 6 * control.size());
  EXPECT_GE(of_keys.bytes, json.size());
  EXPECT_LE(of_keys.bytes, 2 * json.size());

  // With images; text without anything to escape.
  page.records.resize(1);
  page.records[0].keys = ItemWith("k");
  page.records[0].new_image = ItemWith(plain);
  page.records[0].old_image = ItemWith(plain + plain);
  page.stream_view_type = ops::StreamViewType::kNewAndOldImages;
  json.clear();
  RenderResponse(page, &json);
  EXPECT_GE(internal::SizeOf(page).bytes, json.size());
  EXPECT_FALSE(internal::SizeOf(page).is_long());
}

// Each costs its frame, whatever it holds.
TEST(Registry, ManySmallRecordsAreLong) {
  ops::GetRecordsResponse page;
  ops::StreamRecord record;
  record.keys = ItemWith("k");
  page.records.assign(1000, record);
  EXPECT_TRUE(internal::SizeOf(page).is_long());
  page.records.resize(100);
  EXPECT_FALSE(internal::SizeOf(page).is_long());
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
