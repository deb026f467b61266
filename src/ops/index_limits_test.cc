// What indexes forbid: collections and items that are too large, keys that do not fit, attributes
// that they do not have. And the end of an index that is not complete yet.
#include <gtest/gtest.h>

#include <thread>

#include "ops/payload.h"
#include "ops/test_world.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;

// `pk`, `sk` N; local index on `l` (everything), global ones on `g` and on `g` and `n` (keys).
void CreateIndexed(TestWorld& world, const std::string& name = "t", bool with_global = true) {
  CreateTableRequest request;
  request.table_name = name;
  request.billing_mode = BillingMode::kPayPerRequest;
  request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                   {"sk", ScalarAttributeType::kN},
                                   {"l", ScalarAttributeType::kS}};
  request.key_schema = {{"pk", KeyType::kHash}, {"sk", KeyType::kRange}};
  request.local_secondary_indexes = {LocalSecondaryIndex{
      "local", {{"pk", KeyType::kHash}, {"l", KeyType::kRange}}, {ProjectionType::kAll, {}}}};
  if (with_global) {
    request.attribute_definitions->push_back({"g", ScalarAttributeType::kS});
    GlobalSecondaryIndex global;
    global.index_name = "global";
    global.key_schema = {{"g", KeyType::kHash}};
    global.projection.projection_type = ProjectionType::kKeysOnly;
    request.global_secondary_indexes = {global};
  }
  const auto created = world.Call(CreateTable, std::move(request));
  ASSERT_TRUE(created.ok()) << created.error().message();
}

// {pk, sk, d} with `bytes` bytes in d, and what `more` says.
std::string Row(const std::string& pk, int sk, size_t bytes, const std::string& more = "") {
  return Item("{pk: '" + pk + "', sk: " + std::to_string(sk) + ", d: '" + std::string(bytes, 'x') +
              "'" + more + "}");
}

UpdateItemRequest Update(const std::string& key, const char* expression, const std::string& value) {
  UpdateItemRequest request;
  request.table_name = "t";
  request.key.bytes = Item(key);
  request.update_expression = expression;
  request.expression_attribute_values.emplace();
  request.expression_attribute_values->emplace_back(":v", Value(value));
  return request;
}

template <typename T>
std::string Outcome(const Result<T>& result) {
  if (result.ok()) return "ok";
  if (const auto* payload =
          dynamic_cast<const CancellationPayload*>(result.error().payload().get());
      payload != nullptr) {
    std::string text;
    for (const CancellationReason& reason : payload->reasons)
      text.append(reason.code).append(": ").append(reason.message).append("; ");
    return text;
  }
  return result.error().message();
}
std::string Outcome(const Status& status) { return status.ok() ? "ok" : status.error().message(); }

std::string BatchPut(TestWorld& world, std::vector<std::string> items) {
  BatchWriteItemRequest request;
  TableWriteRequests& table = request.request_items.emplace_back();
  table.table_name = "t";
  for (std::string& item : items) {
    table.requests.emplace_back().put_request.emplace();
    table.requests.back().put_request->item.bytes = std::move(item);
  }
  const auto answer = world.Call(BatchWriteItem, std::move(request));
  if (answer.ok() && !answer->unprocessed_items.empty()) return "unprocessed";
  return Outcome(answer);
}

// A put of {pk: 'other', sk: 0} and this one.
std::string TransactPut(TestWorld& world, std::string item) {
  TransactWriteItemsRequest request;
  for (std::string& each : std::vector<std::string>{Row("other", 0, 1), std::move(item)}) {
    TransactWriteAction& put = request.transact_items.emplace_back().put.emplace();
    put.table_name = "t";
    put.item.bytes = std::move(each);
  }
  return Outcome(world.Call(TransactWriteItems, std::move(request)));
}

std::string TransactUpdate(TestWorld& world, const std::string& key, const char* expression,
                           const std::string& value) {
  TransactWriteItemsRequest request;
  TransactWriteAction& update = request.transact_items.emplace_back().update.emplace();
  update.table_name = "t";
  update.item.bytes = Item(key);
  update.update_expression = expression;
  update.expression_attribute_values.emplace();
  update.expression_attribute_values->emplace_back(":v", Value(value));
  return Outcome(world.Call(TransactWriteItems, std::move(request)));
}

constexpr const char* kTooLarge = "Collection size exceeded.";

TEST(ItemCollections, GrowToTheirLimitAndMayAlwaysShrink) {
  TestWorld world;
  world.engine.set_stutter(0.3);
  CreateIndexed(world);
  world.store->LimitCollections(4000);
  const std::string key = "{pk: 'p', sk: 1}";
  // Item and entry count: 2 * 1,0xx bytes.
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 1, 1000, ", l: 'a'"))), "ok");
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 2, 1000, ", l: 'a'"))), kTooLarge);
  EXPECT_EQ(world.Put("t", Row("p", 2, 1000, ", l: 'a'")).error().code(),
            ErrorCode::kItemCollectionTooLarge);
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 2, 1000))), "ok") << "without an entry it fits";
  EXPECT_EQ(Outcome(world.Call(UpdateItem, Update("{pk: 'p', sk: 2}", "SET l = :v", "'a'"))),
            kTooLarge);
  EXPECT_EQ(Outcome(world.Call(UpdateItem, Update("{pk: 'p', sk: 3}", "SET d = :v",
                                                  "'" + std::string(1000, 'y') + "'"))),
            kTooLarge);
  EXPECT_EQ(BatchPut(world, {Row("q", 1, 10), Row("p", 4, 1000)}), kTooLarge);
  EXPECT_EQ(TransactPut(world, Row("p", 4, 1000)),
            "None: ; ItemCollectionSizeLimitExceeded: Collection size exceeded.; ");
  GetItemRequest get;
  get.table_name = "t";
  get.key.bytes = Item("{pk: 'other', sk: 0}");
  EXPECT_FALSE(world.Call(GetItem, get)->item) << "nothing of the transaction is there";
  EXPECT_EQ(Outcome(world.Put("t", Row("q", 5, 1000, ", l: 'a'"))), "ok") << "another collection";

  // Above a limit that is lower now, what shrinks is taken and what keeps its size too.
  world.store->LimitCollections(100);
  EXPECT_EQ(Outcome(world.Call(UpdateItem,
                               Update(key, "SET d = :v", "'" + std::string(1000, 'z') + "'"))),
            "ok");
  EXPECT_EQ(Outcome(world.Call(UpdateItem,
                               Update(key, "SET d = :v", "'" + std::string(1001, 'z') + "'"))),
            kTooLarge);
  EXPECT_EQ(
      Outcome(world.Call(UpdateItem, Update(key, "SET d = :v", "'" + std::string(900, 'z') + "'"))),
      "ok");
  DeleteItemRequest gone;
  gone.table_name = "t";
  gone.key.bytes = Item("{pk: 'p', sk: 2}");
  EXPECT_EQ(Outcome(world.Call(DeleteItem, gone)), "ok");
  gone.key.bytes = Item(key);
  EXPECT_EQ(Outcome(world.Call(DeleteItem, gone)), "ok");
  const table::TablePtr table = world.store->Find("t");
  const std::string item_key =
      table::EncodeItemKey(table->key_schema(), model::ItemView(gone.key.bytes));
  EXPECT_EQ(*world.store->CollectionBytes(*table, item_key, kv::Tier::kAny), 0);
}

TEST(ItemCollections, HaveNoLimitWithoutLocalIndexes) {
  TestWorld world;
  world.store->LimitCollections(100);
  world.Create("t", ScalarAttributeType::kN);
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 1, 1000))), "ok");
}

TEST(ItemSize, CountsTheEntryInALocalIndex) {
  TestWorld world;
  CreateIndexed(world);
  const std::string large = Row("p", 1, 250'000, ", l: 'a'");
  constexpr const char* kPut = "Item size has exceeded the maximum allowed size";
  constexpr const char* kUpdate = "Item size to update has exceeded the maximum allowed size";
  EXPECT_EQ(Outcome(world.Put("t", large)), kPut);
  EXPECT_EQ(BatchPut(world, {large}), kPut);
  EXPECT_EQ(TransactPut(world, large), kPut) << "refused as a whole";
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 1, 250'000, ", g: 'a'"))), "ok")
      << "global indexes do not count";
  EXPECT_EQ(Outcome(world.Call(UpdateItem, Update("{pk: 'p', sk: 1}", "SET l = :v", "'a'"))),
            kUpdate);
  EXPECT_EQ(TransactUpdate(world, "{pk: 'p', sk: 1}", "SET l = :v", "'a'"),
            std::string("ValidationError: ") + kUpdate + "; ");
  // Item and entry are 204,800 bytes each: names, keys and l take 10 of them.
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 2, 204'800 - 10, ", l: 'a'"))), "ok");
  EXPECT_EQ(Outcome(world.Put("t", Row("p", 2, 204'800 - 9, ", l: 'a'"))), kPut);
}

TEST(IndexKeys, ThatDoNotFitRefuseEveryWrite) {
  TestWorld world;
  CreateIndexed(world);
  ASSERT_TRUE(world.Put("t", Row("p", 1, 1)).ok());
  const std::string kInvalid = "One or more parameter values were invalid: ";
  const std::string kNotValid = "One or more parameter values are not valid. ";
  const std::string kEmpty =
      "The AttributeValue for a key attribute cannot contain an empty string value.";
  struct Case {
    const char* attribute;
    std::string value;
    std::string put;
    std::string update;
  };
  const Case cases[] = {
      {"g", "1", kInvalid + "Type mismatch for Index Key g Expected: S Actual: N IndexName: global",
       "The update expression attempted to update the secondary index key to unsupported type"},
      {"l", "true",
       kInvalid + "Type mismatch for Index Key l Expected: S Actual: BOOL IndexName: local",
       "The update expression attempted to update the secondary index key to unsupported type"},
      {"g", "''",
       kNotValid + "A value specified for a secondary index key is not supported. " + kEmpty +
           " IndexName: global, IndexKey: g",
       kNotValid +
           "The update expression attempted to update a secondary index key to a value that is not "
           "supported. " +
           kEmpty},
      {"l", "''",
       kNotValid + "A value specified for a secondary index key is not supported. " + kEmpty +
           " IndexName: local, IndexKey: l",
       kNotValid +
           "The update expression attempted to update a secondary index key to a value that is not "
           "supported. " +
           kEmpty},
      {"g", "'" + std::string(2049, 'x') + "'",
       kInvalid + "Size of hashkey has exceeded the maximum size limit of2048 bytes",
       "The update expression attempted to update the secondary index key beyond allowed size "
       "limits"},
      {"l", "'" + std::string(1025, 'x') + "'",
       kInvalid + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
       "The update expression attempted to update the secondary index key beyond allowed size "
       "limits"},
  };
  for (const Case& c : cases) {
    const std::string item = Row("p", 1, 2, std::string(", ") + c.attribute + ": " + c.value);
    const std::string set = std::string("SET ") + c.attribute + " = :v";
    EXPECT_EQ(Outcome(world.Put("t", item)), c.put);
    EXPECT_EQ(BatchPut(world, {Row("q", 1, 1), item}), c.put);
    EXPECT_EQ(TransactPut(world, item), "None: ; ValidationError: " + c.put + "; ");
    EXPECT_EQ(Outcome(world.Call(UpdateItem, Update("{pk: 'p', sk: 1}", set.c_str(), c.value))),
              c.update);
    EXPECT_EQ(TransactUpdate(world, "{pk: 'p', sk: 1}", set.c_str(), c.value),
              "ValidationError: " + c.update + "; ");
  }
  const table::TablePtr table = world.store->Find("t");
  EXPECT_EQ(world.store->Counts(*table)->items, 1);
  for (const table::IndexDescriptor& index : table->descriptor.indexes) {
    EXPECT_EQ(world.store->IndexCounts(*table, index)->items, 0) << index.name;
  }
}

UpdateTableRequest ChangeOf(GlobalSecondaryIndexUpdate update) {
  UpdateTableRequest request;
  request.table_name = "t";
  request.attribute_definitions = {{"g", ScalarAttributeType::kS}};
  request.global_secondary_index_updates = {std::move(update)};
  return request;
}

UpdateTableRequest CreationOf(const std::string& name) {
  GlobalSecondaryIndexUpdate update;
  update.create.emplace();
  update.create->index_name = name;
  update.create->key_schema = {{"g", KeyType::kHash}};
  update.create->projection.projection_type = ProjectionType::kAll;
  return ChangeOf(std::move(update));
}

UpdateTableRequest DeletionOf(const std::string& name) {
  GlobalSecondaryIndexUpdate update;
  update.delete_index = DeleteIndexAction{name};
  return ChangeOf(std::move(update));
}

TEST(IndexDeletion, EndsTheFillingOfAnIndex) {
  TestWorld world;
  CreateIndexed(world, "twin");
  CreateIndexed(world, "t", false);
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(world.Put("t", Row("p" + std::to_string(i % 7), i, 5, ", g: 'a'")).ok());
  // One entry cannot be written, so the index does not become ACTIVE. An entry's key is the same in
  // any table of these keys.
  const table::TablePtr twin = world.store->Find("twin");
  const std::string stuck = Row("p1", 1, 5, ", g: 'a'");
  world.engine.Refuse(table::EncodeEntryKey(twin->descriptor, *twin->descriptor.FindIndex("global"),
                                            model::ItemView(stuck)));
  ASSERT_EQ(Outcome(world.Call(UpdateTable, CreationOf("late"))), "ok");
  EXPECT_TRUE(world.store->BuildsIndexes());
  EXPECT_EQ(world.Call(UpdateTable, CreationOf("other")).error().code(), ErrorCode::kLimitExceeded);
  EXPECT_EQ(world.Call(UpdateTable, DeletionOf("nobody")).error().code(),
            ErrorCode::kLimitExceeded);
  QueryRequest query;
  query.table_name = "t";
  query.index_name = "late";
  query.key_condition_expression = "g = :g";
  query.expression_attribute_values.emplace();
  query.expression_attribute_values->emplace_back(":g", Value("'a'"));
  EXPECT_EQ(Outcome(world.Call(Query, query)),
            "Cannot read from backfilling global secondary index: late");
  const uint32_t tablet = world.store->Find("t")->descriptor.FindIndex("late")->tablet_id;

  const Result<UpdateTableResponse> deleted = world.Call(UpdateTable, DeletionOf("late"));
  ASSERT_TRUE(deleted.ok()) << deleted.error().message();
  ASSERT_EQ(deleted->table_description.global_secondary_indexes.size(), 1u);
  EXPECT_EQ(deleted->table_description.global_secondary_indexes[0].index_status,
            IndexStatus::kDeleting);
  while (world.store->BuildsIndexes()) std::this_thread::yield();
  const table::TablePtr table = world.store->Find("t");
  EXPECT_EQ(table->descriptor.FindIndex("late"), nullptr);
  EXPECT_EQ(world.engine.ApproximateBytes({kv::Space::kItems, tablet}), 0u);
  EXPECT_TRUE(world.Put("t", stuck).ok()) << "nobody writes that entry any more";

  // The same name again, complete this time; its counters know nothing of the first.
  world.engine.Refuse("");
  ASSERT_EQ(Outcome(world.Call(UpdateTable, CreationOf("late"))), "ok");
  while (world.store->BuildsIndexes()) std::this_thread::yield();
  const table::TablePtr again = world.store->Find("t");
  const table::IndexDescriptor* late = again->descriptor.FindIndex("late");
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->state, table::IndexDescriptor::State::kActive);
  EXPECT_EQ(world.store->IndexCounts(*again, *late)->items, 300);
  EXPECT_EQ(world.store->IndexCounts(*again, *late)->bytes, world.store->Counts(*again)->bytes);
  EXPECT_EQ(world.Call(Query, query)->count, 300);
}

}  // namespace
}  // namespace stator::ops
