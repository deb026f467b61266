// UpdateItem's size rule, and batches over an engine that refuses.
#include <gtest/gtest.h>

#include <set>

#include "ops/test_world.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;

Result<UpdateItemResponse> Update(TestWorld& world, const std::string& expression,
                                  size_t text_bytes) {
  UpdateItemRequest request;
  request.table_name = "t";
  request.key.bytes = Item("{pk: 'k'}");
  request.update_expression = expression;
  if (expression.find(":v") != std::string::npos) {
    request.expression_attribute_values.emplace();
    request.expression_attribute_values->emplace_back(
        ":v", Value("'" + std::string(text_bytes, 'x') + "'"));
  }
  return world.Call(UpdateItem, std::move(request));
}

// The item {pk: 'k', a: text} has 2 + 1 + 1 + text bytes. With its key replaced by 3 + 19 for one
// SET it is 1 + text + 22.
TEST(UpdateItem, MeasuresTheLargerOfItemAndItemWithActionCost) {
  TestWorld world;
  world.Create("t");
  const size_t most = model::kMaxItemBytes - 1 - 22;
  EXPECT_TRUE(Update(world, "SET a = :v", most).ok());
  const Result<UpdateItemResponse> over = Update(world, "SET a = :v", most + 1);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().message(), "Item size to update has exceeded the maximum allowed size");
  // Two SETs cost 19 more, and a second attribute of 1 + 1.
  EXPECT_TRUE(Update(world, "SET a = :v REMOVE b", most - 2).ok());
  EXPECT_FALSE(Update(world, "SET a = :v REMOVE b", most - 1).ok());
  // PutItem measures the item alone.
  EXPECT_TRUE(
      world.Put("t", Item("{pk: 'k', a: '" + std::string(model::kMaxItemBytes - 4, 'x') + "'}"))
          .ok());
  const Status put =
      world.Put("t", Item("{pk: 'k', a: '" + std::string(model::kMaxItemBytes - 3, 'x') + "'}"));
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().message(), "Item size has exceeded the maximum allowed size");
}

TEST(UpdateItem, OnAMissingItem) {
  TestWorld world;
  const table::TablePtr table = world.Create("t");
  ASSERT_TRUE(Update(world, "REMOVE a", 0).ok());
  EXPECT_EQ(world.store->Counts(*table)->items, 0);
  ASSERT_TRUE(Update(world, "SET a = :v", 1).ok());
  EXPECT_EQ(world.store->Counts(*table)->items, 1);
  const Result<UpdateItemResponse> of_key = Update(world, "SET pk = :v", 1);
  ASSERT_FALSE(of_key.ok());
  EXPECT_EQ(of_key.error().message(),
            "One or more parameter values were invalid: Cannot update attribute pk. This attribute "
            "is part of the key");
}

std::string KeyOf(const std::string& pk) {
  return table::EncodePartitionPrefix(model::ValueView(Value("'" + pk + "'")));
}

BatchWriteItemRequest Batch(int puts) {
  BatchWriteItemRequest request;
  TableWriteRequests table;
  table.table_name = "t";
  for (int i = 0; i < puts; ++i) {
    WriteRequest write;
    write.put_request =
        PutRequest{{Item("{pk: 'k" + std::to_string(i) + "', n: " + std::to_string(i) + "}")}};
    table.requests.push_back(std::move(write));
  }
  request.request_items.push_back(std::move(table));
  return request;
}

TEST(BatchWriteItem, WhatTheEngineRefusesIsUnprocessed) {
  for (const double stutter : {0.0, 0.8}) {
    TestWorld world(5);
    const table::TablePtr table = world.Create("t");
    world.engine.set_stutter(stutter);
    const std::string key = KeyOf("k7");
    world.engine.Refuse(key);
    BatchWriteItemRequest request = Batch(25);
    const std::string refused_item = request.request_items[0].requests[7].put_request->item.bytes;
    request.return_consumed_capacity = ReturnConsumedCapacity::kTotal;
    const Result<BatchWriteItemResponse> answer = world.Call(BatchWriteItem, std::move(request));
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    ASSERT_EQ(answer->unprocessed_items.size(), 1u);
    EXPECT_EQ(answer->unprocessed_items[0].table_name, "t");
    ASSERT_EQ(answer->unprocessed_items[0].requests.size(), 1u);
    EXPECT_EQ(answer->unprocessed_items[0].requests[0].put_request->item.bytes, refused_item);
    EXPECT_EQ(answer->consumed_capacity->at(0).capacity_units, 24.0)
        << "what was not written is not paid";
    EXPECT_EQ(world.store->Counts(*table)->items, 24);
  }
}

TEST(BatchWriteItem, WhenAllIsRefusedTheRequestFails) {
  TestWorld world;
  const table::TablePtr table = world.Create("t");
  world.engine.RefuseAll(true);
  const Result<BatchWriteItemResponse> answer = world.Call(BatchWriteItem, Batch(3));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
  world.engine.RefuseAll(false);
  EXPECT_EQ(world.store->Counts(*table)->items, 0);
}

TEST(BatchWriteItem, LimitsAndDuplicates) {
  TestWorld world;
  world.Create("t");
  EXPECT_TRUE(world.Call(BatchWriteItem, Batch(25)).ok());
  EXPECT_EQ(world.Call(BatchWriteItem, Batch(26)).error().message(),
            "Too many items requested for the BatchWriteItem call");
  BatchWriteItemRequest twice = Batch(2);
  WriteRequest remove;
  remove.delete_request = DeleteRequest{{Item("{pk: 'k1'}")}};
  twice.request_items[0].requests.push_back(remove);
  EXPECT_EQ(world.Call(BatchWriteItem, std::move(twice)).error().message(),
            "Provided list of item keys contains duplicates");
  BatchWriteItemRequest neither = Batch(1);
  neither.request_items[0].requests[0].put_request.reset();
  EXPECT_FALSE(world.Call(BatchWriteItem, std::move(neither)).ok());
  BatchWriteItemRequest unknown = Batch(1);
  unknown.request_items[0].table_name = "nowhere";
  EXPECT_EQ(world.Call(BatchWriteItem, std::move(unknown)).error().code(),
            ErrorCode::kResourceNotFound);
}

TEST(BatchGetItem, SixteenMegabytesAndTheRestIsUnprocessed) {
  for (const double stutter : {0.0, 0.5}) {
    TestWorld world(6);
    world.Create("t");
    constexpr int kItems = 50;
    const size_t text = 390'000;  // 43 items of it fit in 16 MB
    BatchGetItemRequest request;
    KeysAndAttributes keys;
    keys.table_name = "t";
    for (int i = 0; i < kItems; ++i) {
      const std::string pk = "{pk: 'k" + std::to_string(i) + "'";
      ASSERT_TRUE(world.Put("t", Item(pk + ", a: '" + std::string(text, 'x') + "'}")).ok());
      keys.keys.push_back({Item(pk + "}")});
    }
    world.engine.set_stutter(stutter);
    request.request_items.push_back(keys);
    std::set<std::string> got;
    int rounds = 0;
    while (!request.request_items.empty()) {
      ASSERT_LT(++rounds, 5);
      const Result<BatchGetItemResponse> answer = world.Call(BatchGetItem, std::move(request));
      ASSERT_TRUE(answer.ok());
      size_t bytes = 0;
      for (const std::string& item : answer->responses.at(0).items) {
        bytes += model::ItemView(item).size_bytes();
        EXPECT_TRUE(got.insert(std::string(model::ItemView(item).Find("pk").text())).second);
      }
      EXPECT_LE(bytes, 16u << 20);
      request = BatchGetItemRequest{};
      request.request_items = answer->unprocessed_keys;
    }
    EXPECT_EQ(got.size(), static_cast<size_t>(kItems));
    EXPECT_EQ(rounds, 2);
  }
}

}  // namespace
}  // namespace stator::ops
