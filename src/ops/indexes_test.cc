// Query and Scan of indexes: however they are paged, and whatever has to be read from the disk,
// they answer what the items say.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "model/node.h"
#include "ops/payload.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;

KeySchemaElement Hash(const char* name) { return {name, KeyType::kHash}; }
KeySchemaElement Range(const char* name) { return {name, KeyType::kRange}; }

CreateTableRequest TableWithIndexes() {
  CreateTableRequest request;
  request.table_name = "t";
  request.billing_mode = BillingMode::kPayPerRequest;
  request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                   {"sk", ScalarAttributeType::kN},
                                   {"g", ScalarAttributeType::kS},
                                   {"n", ScalarAttributeType::kN}};
  request.key_schema = {Hash("pk"), Range("sk")};
  LocalSecondaryIndex local{"local", {Hash("pk"), Range("n")}, {ProjectionType::kKeysOnly, {}}};
  request.local_secondary_indexes = {local};
  GlobalSecondaryIndex plain;
  plain.index_name = "plain";
  plain.key_schema = {Hash("g"), Range("n")};
  plain.projection.projection_type = ProjectionType::kAll;
  GlobalSecondaryIndex several;
  several.index_name = "several";
  several.key_schema = {Hash("g"), Hash("pk"), Range("n"), Range("sk")};
  several.projection.projection_type = ProjectionType::kKeysOnly;
  request.global_secondary_indexes = {plain, several};
  return request;
}

struct Row {
  std::string pk;
  int sk = 0;
  std::string g;  // empty: not there
  int n = -1;     // negative: not there

  std::string Encoded() const {
    std::string text =
        "{pk: '" + pk + "', sk: " + std::to_string(sk) + ", text: 't" + std::to_string(sk) + "'";
    if (!g.empty()) text += ", g: '" + g + "'";
    if (n >= 0) text += ", n: " + std::to_string(n);
    return Item(text + "}");
  }
};

struct IndexWorld : TestWorld {
  explicit IndexWorld(uint64_t seed) : TestWorld(seed) {
    EXPECT_TRUE(Call(CreateTable, TableWithIndexes()).ok());
    for (int i = 0; i < 150; ++i) {
      Row row{"p" + std::to_string(i % 3), i, i % 7 == 0 ? "" : "g" + std::to_string(i % 2),
              i % 5 == 0 ? -1 : i % 4};
      EXPECT_TRUE(Put("t", row.Encoded()).ok());
      rows.push_back(row);
    }
    engine.set_stutter(0.3);
  }
  // All pages, as sort keys of the table in the order of the answers.
  std::vector<std::string> QueryAll(QueryRequest request) {
    std::vector<std::string> found;
    while (true) {
      const Result<QueryResponse> page = Call(Query, request);
      EXPECT_TRUE(page.ok()) << (page.ok() ? "" : page.error().message());
      if (!page.ok()) return found;
      for (const model::ItemView item : *page->items) found.emplace_back(item.Find("sk").text());
      if (!page->last_evaluated_key) return found;
      request.exclusive_start_key = EncodedItem{*page->last_evaluated_key};
    }
  }
  std::vector<Row> rows;
};

QueryRequest QueryOf(const char* index, const char* condition,
                     std::vector<std::pair<std::string, std::string>> values) {
  QueryRequest request;
  request.table_name = "t";
  request.index_name = index;
  request.key_condition_expression = condition;
  request.expression_attribute_values.emplace();
  for (auto& [name, value] : values)
    request.expression_attribute_values->emplace_back(name, Value(value));
  return request;
}

TEST(IndexQuery, PagesEqualOnePassHoweverTheyAreCut) {
  IndexWorld world(17);
  struct Case {
    QueryRequest request;
    std::function<bool(const Row&)> wanted;
  };
  std::vector<Case> cases;
  cases.push_back({QueryOf("plain", "g = :g", {{":g", "'g1'"}}),
                   [](const Row& r) { return r.g == "g1" && r.n >= 0; }});
  cases.push_back({QueryOf("plain", "g = :g AND n > :n", {{":g", "'g1'"}, {":n", "1"}}),
                   [](const Row& r) { return r.g == "g1" && r.n > 1; }});
  cases.push_back({QueryOf("plain", "g = :g AND n <= :n", {{":g", "'g0'"}, {":n", "2"}}),
                   [](const Row& r) { return r.g == "g0" && r.n >= 0 && r.n <= 2; }});
  cases.push_back(
      {QueryOf("several", "g = :g AND pk = :p AND n = :n AND sk BETWEEN :a AND :b",
               {{":g", "'g1'"}, {":p", "'p1'"}, {":n", "3"}, {":a", "20"}, {":b", "120"}}),
       [](const Row& r) {
         return r.g == "g1" && r.pk == "p1" && r.n == 3 && r.sk >= 20 && r.sk <= 120;
       }});
  cases.push_back({QueryOf("local", "pk = :p AND n >= :n", {{":p", "'p2'"}, {":n", "1"}}),
                   [](const Row& r) { return r.pk == "p2" && r.n >= 1; }});
  cases.push_back({QueryOf("local", "pk = :p", {{":p", "'p2'"}}),
                   [](const Row& r) { return r.pk == "p2" && r.n >= 0; }});
  cases.back().request.select = Select::kAllAttributes;
  cases.push_back({QueryOf("local", "pk = :p", {{":p", "'p0'"}, {":hundred", "100"}}),
                   [](const Row& r) { return r.pk == "p0" && r.n >= 0 && r.sk >= 100; }});
  cases.back().request.filter_expression = "sk >= :hundred";
  cases.back().request.select = Select::kAllAttributes;
  for (size_t c = 0; c < cases.size(); ++c) {
    std::vector<std::string> wanted;
    for (const Row& row : world.rows) {
      if (cases[c].wanted(row)) wanted.push_back(std::to_string(row.sk));
    }
    ASSERT_FALSE(wanted.empty()) << c;
    std::sort(wanted.begin(), wanted.end());
    const std::vector<std::string> forward = world.QueryAll(cases[c].request);
    std::vector<std::string> sorted = forward;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, wanted) << c;
    for (int64_t limit : {1, 2, 3, 7, 1000}) {
      QueryRequest request = cases[c].request;
      request.limit = limit;
      EXPECT_EQ(world.QueryAll(request), forward) << c << " limit " << limit;
      request.scan_index_forward = false;
      std::vector<std::string> backward = world.QueryAll(request);
      std::reverse(backward.begin(), backward.end());
      EXPECT_EQ(backward, forward) << c << " backward, limit " << limit;
    }
  }
}

TEST(IndexScan, SegmentsPartitionAnIndex) {
  IndexWorld world(5);
  for (const char* index : {"plain", "several", "local"}) {
    std::multiset<std::string> wanted;
    for (const Row& row : world.rows) {
      if (row.n >= 0 && (index == std::string("local") || !row.g.empty()))
        wanted.insert(std::to_string(row.sk));
    }
    for (int64_t total : {1, 2, 5}) {
      std::multiset<std::string> found;
      for (int64_t segment = 0; segment < total; ++segment) {
        ScanRequest request;
        request.table_name = "t";
        request.index_name = index;
        request.segment = segment;
        request.total_segments = total;
        request.limit = 9;
        while (true) {
          const Result<ScanResponse> page = world.Call(Scan, request);
          ASSERT_TRUE(page.ok()) << page.error().message();
          for (const model::ItemView item : *page->items) found.emplace(item.Find("sk").text());
          if (!page->last_evaluated_key) break;
          request.exclusive_start_key = EncodedItem{*page->last_evaluated_key};
        }
      }
      EXPECT_EQ(found, wanted) << index << " in " << total;
    }
  }
}

// What fails costs the indexes nothing and leaves them alone.
TEST(IndexWrites, RefusedOnesChangeNoEntry) {
  IndexWorld world(9);
  const auto entries = [&] {
    const table::TablePtr table = world.store->Find("t");
    std::vector<int64_t> counts;
    for (const table::IndexDescriptor& index : table->descriptor.indexes) {
      const Result<table::TableCounts> read = world.store->IndexCounts(*table, index);
      counts.push_back(read.ok() ? read->bytes : -1);
    }
    return counts;
  };
  world.engine.set_stutter(0);
  const std::vector<int64_t> before = entries();
  PutItemRequest put;
  put.table_name = "t";
  put.item.bytes = Item("{pk: 'p1', sk: 1, g: 'other', n: 77}");
  put.condition_expression = "attribute_not_exists(pk)";
  EXPECT_EQ(world.Call(PutItem, put).error().code(), ErrorCode::kConditionalCheckFailed);
  UpdateItemRequest update;
  update.table_name = "t";
  update.key.bytes = Item("{pk: 'p1', sk: 1}");
  update.update_expression = "SET g = :g";
  update.expression_attribute_values.emplace();
  update.expression_attribute_values->emplace_back(":g", Value("5"));
  const Result<UpdateItemResponse> updated = world.Call(UpdateItem, update);
  ASSERT_FALSE(updated.ok());
  EXPECT_EQ(
      updated.error().message(),
      "The update expression attempted to update the secondary index key to unsupported type");
  EXPECT_EQ(entries(), before);
  world.engine.RefuseAll(true);
  EXPECT_FALSE(world.Put("t", Item("{pk: 'p1', sk: 1, g: 'other', n: 77}")).ok());
  world.engine.RefuseAll(false);
  EXPECT_EQ(entries(), before);
}

// --- Transactions --------------------------------------------------------------------------------

TransactWriteAction Action(const std::string& item) {
  TransactWriteAction action;
  action.table_name = "t";
  action.item.bytes = Item(item);
  return action;
}

TransactWriteAction UpdateAction(const std::string& key, const char* expression,
                                 std::vector<std::pair<std::string, std::string>> values) {
  TransactWriteAction action = Action(key);
  action.update_expression = expression;
  for (auto& [name, value] : values) {
    if (!action.expression_attribute_values) action.expression_attribute_values.emplace();
    action.expression_attribute_values->emplace_back(name, Value(value));
  }
  return action;
}

std::vector<std::string> AllOf(TestWorld& world, std::optional<std::string> index) {
  ScanRequest request;
  request.table_name = "t";
  request.index_name = std::move(index);
  const Result<ScanResponse> page = world.Call(Scan, request);
  EXPECT_TRUE(page.ok() && !page->last_evaluated_key);
  std::vector<std::string> all;
  if (!page.ok()) return all;
  for (const model::ItemView item : *page->items) all.emplace_back(item.encoded());
  return all;
}

// Every index holds what the items say, and counts it.
void ExpectEntriesMatch(TestWorld& world) {
  const table::TablePtr table = world.store->Find("t");
  const std::vector<std::string> items = AllOf(world, {});
  for (const table::IndexDescriptor& index : table->descriptor.indexes) {
    SCOPED_TRACE(index.name);
    std::set<std::string_view> names = {"pk", "sk"};
    for (const auto* side : {&index.key.partition, &index.key.sort}) {
      for (const model::KeyAttribute& attribute : *side) names.insert(attribute.name);
    }
    std::vector<std::string> wanted;
    for (const std::string& bytes : items) {
      model::Node entry;
      size_t keys = 0;
      for (const model::MapView::Entry& attribute : model::ItemView(bytes).attributes()) {
        const bool is_key = names.contains(attribute.name);
        keys += is_key ? 1 : 0;
        if (!is_key && index.projection != table::IndexDescriptor::Projection::kAll) continue;
        entry.map()[std::string(attribute.name)] = model::Node::FromView(attribute.value);
      }
      if (keys == names.size()) wanted.push_back(entry.EncodeItem());
    }
    std::vector<std::string> found = AllOf(world, index.name);
    std::sort(wanted.begin(), wanted.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, wanted);
    const Result<table::TableCounts> counts = world.store->IndexCounts(*table, index);
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->items, static_cast<int64_t>(wanted.size()));
  }
}

// Beside them a global index comes and goes, so that transactions wait at gates and change versions
// of the table.
TEST(IndexTransactions, EntriesEqualTheRecomputation) {
  TestWorld world(5, 2, 10000);
  ASSERT_TRUE(world.Call(CreateTable, TableWithIndexes()).ok());
  world.engine.set_stutter(0.2);
  std::atomic<int> running{2};
  std::atomic<int> written{0};
  std::atomic<int> canceled{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(70 + t);
      Pump loop;
      Context context{world.env, loop};
      for (int round = 0; round < 400; ++round) {
        TransactWriteItemsRequest request;
        for (int sk = static_cast<int>(random.Below(4)); sk < 24;
             sk += 1 + static_cast<int>(random.Below(6))) {
          const std::string pk = "p" + std::to_string(random.Below(2));
          const std::string key = "{pk: '" + pk + "', sk: " + std::to_string(sk) + "}";
          TransactWriteItem& item = request.transact_items.emplace_back();
          switch (random.Below(8)) {
            case 0: item.delete_item = Action(key); break;
            case 1: item.update = UpdateAction(key, "REMOVE g", {}); break;
            case 2:
              item.update =
                  UpdateAction(key, "SET n = :n", {{":n", std::to_string(random.Below(3))}});
              break;
            case 3:
              item.update = UpdateAction(key, "SET extra = :n", {{":n", std::to_string(round)}});
              break;
            case 4:
              item.condition_check = Action(key);
              item.condition_check->condition_expression =
                  random.Below(4) == 0 ? "attribute_exists(pk)" : "attribute_not_exists(never)";
              break;
            default: {
              item.put = Action(key);
              const Row row{pk, sk,
                            random.Below(4) == 0 ? "" : "g" + std::to_string(random.Below(2)),
                            static_cast<int>(random.Below(4)) - 1};
              item.put->item.bytes = row.Encoded();
              break;
            }
          }
        }
        if (random.Below(2) == 0)
          request.client_request_token = "token " + std::to_string(1000 * t + round);
        std::optional<Result<TransactWriteItemsResponse>> answer;
        TransactWriteItems(context, std::move(request),
                           [&](auto response) { answer.emplace(std::move(response)); });
        while (!answer) loop.RunOne();
        if (answer->ok()) {
          ++written;
        } else {
          EXPECT_EQ(answer->error().code(), ErrorCode::kTransactionCanceled)
              << answer->error().message();
          ++canceled;
        }
      }
      --running;
    });
  }
  int changes = 0;
  for (; running > 0 || changes % 2 == 0; ++changes) {
    UpdateTableRequest request;
    request.table_name = "t";
    GlobalSecondaryIndexUpdate update;
    if (changes % 2 == 0) {
      update.create.emplace();
      update.create->index_name = "late";
      update.create->key_schema = {Hash("n"), Range("g")};
      update.create->projection.projection_type = ProjectionType::kAll;
      request.attribute_definitions = {{"n", ScalarAttributeType::kN},
                                       {"g", ScalarAttributeType::kS}};
    } else {
      update.delete_index = DeleteIndexAction{"late"};
    }
    request.global_secondary_index_updates = {update};
    const Result<UpdateTableResponse> changed = world.Call(UpdateTable, request);
    EXPECT_TRUE(changed.ok()) << changed.error().message();
    while (world.store->BuildsIndexes()) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  world.engine.set_stutter(0);
  EXPECT_GT(written, 50);
  EXPECT_GT(canceled, 5);
  ASSERT_NE(world.store->Find("t")->descriptor.FindIndex("late"), nullptr);
  ExpectEntriesMatch(world);
}

TEST(IndexTransactions, CapacityAndMetrics) {
  TestWorld world;
  ASSERT_TRUE(world.Call(CreateTable, TableWithIndexes()).ok());
  const auto run = [&](std::vector<TransactWriteItem> items) {
    TransactWriteItemsRequest request;
    request.transact_items = std::move(items);
    request.return_consumed_capacity = ReturnConsumedCapacity::kIndexes;
    request.return_item_collection_metrics = ReturnItemCollectionMetrics::kSize;
    request.client_request_token = "token " + std::to_string(world.random.Below(1u << 30));
    return request;
  };
  std::vector<TransactWriteItem> items(3);
  items[0].put = Action("{pk: 'p', sk: 1, g: 'g', n: 1, text: '" + std::string(1500, 'x') + "'}");
  items[1].put = Action("{pk: 'p', sk: 2, n: 1}");
  items[2].condition_check = Action("{pk: 'q', sk: 3}");
  items[2].condition_check->condition_expression = "attribute_not_exists(pk)";
  TransactWriteItemsRequest first = run(std::move(items));
  const auto units = [](const std::vector<IndexCapacity>& all) {
    std::string text;
    for (const IndexCapacity& one : all)
      text += one.index_name + " " + std::to_string(one.capacity.capacity_units) + ";";
    return text;
  };
  Result<TransactWriteItemsResponse> answer = world.Call(TransactWriteItems, first);
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  ASSERT_EQ(answer->consumed_capacity->size(), 1u);
  const ConsumedCapacity& put = answer->consumed_capacity->at(0);
  EXPECT_EQ(put.table->capacity_units, 2 * (2 + 1 + 1)) << "only the table's part is doubled";
  EXPECT_EQ(put.table->write_capacity_units, 8.0);
  EXPECT_EQ(units(put.local_secondary_indexes), "local 2.000000;");
  EXPECT_EQ(units(put.global_secondary_indexes), "plain 2.000000;several 1.000000;");
  EXPECT_EQ(put.capacity_units, 13);
  EXPECT_EQ(put.write_capacity_units, 13.0);
  ASSERT_TRUE(answer->item_collection_metrics);
  ASSERT_EQ(answer->item_collection_metrics->size(), 1u);
  EXPECT_EQ(answer->item_collection_metrics->at(0).table_name, "t");
  ASSERT_EQ(answer->item_collection_metrics->at(0).metrics.size(), 1u)
      << "two items of one collection, and one only checked";
  EXPECT_EQ(answer->item_collection_metrics->at(0).metrics[0].item_collection_key,
            Item("{pk: 'p'}"));

  // The same again under its token reads the table and touches no index.
  answer = world.Call(TransactWriteItems, first);
  ASSERT_TRUE(answer.ok());
  const ConsumedCapacity& again = answer->consumed_capacity->at(0);
  EXPECT_EQ(again.capacity_units, 6);
  EXPECT_EQ(again.read_capacity_units, 6.0);
  EXPECT_TRUE(again.global_secondary_indexes.empty() && again.local_secondary_indexes.empty());

  // A key that moves costs both entries.
  items = std::vector<TransactWriteItem>(2);
  items[0].update = UpdateAction("{pk: 'p', sk: 1}", "SET g = :g", {{":g", "'h'"}});
  items[1].delete_item = Action("{pk: 'p', sk: 2}");
  answer = world.Call(TransactWriteItems, run(std::move(items)));
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  const ConsumedCapacity& moved = answer->consumed_capacity->at(0);
  EXPECT_EQ(moved.table->capacity_units, 6);
  EXPECT_EQ(units(moved.local_secondary_indexes), "local 1.000000;");
  EXPECT_EQ(units(moved.global_secondary_indexes), "plain 4.000000;several 2.000000;");
  ExpectEntriesMatch(world);
}

TEST(IndexTransactions, BadIndexKeysAreReasons) {
  TestWorld world;
  ASSERT_TRUE(world.Call(CreateTable, TableWithIndexes()).ok());
  const auto reason_of = [&](TransactWriteItem bad) {
    TransactWriteItemsRequest request;
    request.transact_items.emplace_back().put = Action("{pk: 'good', sk: 1, g: 'g', n: 1}");
    request.transact_items.push_back(std::move(bad));
    const auto refused = world.Call(TransactWriteItems, std::move(request));
    if (refused.ok()) return std::string("written");
    const auto* payload = dynamic_cast<const CancellationPayload*>(refused.error().payload().get());
    if (payload == nullptr || payload->reasons.size() != 2 || payload->reasons[0].code != "None")
      return std::string("other");
    return std::string(payload->reasons[1].code) + ": " + payload->reasons[1].message;
  };
  TransactWriteItem bad;
  bad.put = Action("{pk: 'p', sk: 1, g: 7}");
  EXPECT_EQ(
      reason_of(bad),
      "ValidationError: One or more parameter values were invalid: Type mismatch for Index Key g "
      "Expected: S Actual: N IndexName: plain");
  bad = {};
  bad.update = UpdateAction("{pk: 'p', sk: 1}", "SET g = :g", {{":g", "7"}});
  EXPECT_EQ(reason_of(bad),
            "ValidationError: The update expression attempted to update the secondary index key to "
            "unsupported type");
  EXPECT_TRUE(AllOf(world, {}).empty());
  EXPECT_TRUE(AllOf(world, "plain").empty());
}

TEST(UpdateTableIndexes, LimitsAndDefinitions) {
  TestWorld world;
  world.Create("t", ScalarAttributeType::kN);
  const auto create = [&](const char* name, const char* key, ScalarAttributeType type) {
    UpdateTableRequest request;
    request.table_name = "t";
    request.attribute_definitions = {{key, type}, {"unused", ScalarAttributeType::kS}};
    GlobalSecondaryIndexUpdate update;
    update.create.emplace();
    update.create->index_name = name;
    update.create->key_schema = {Hash(key)};
    update.create->projection.projection_type = ProjectionType::kAll;
    update.create->provisioned_throughput = ProvisionedThroughput{1, 2};
    request.global_secondary_index_updates = {update};
    return world.Call(UpdateTable, request);
  };
  const auto built = [&] {
    while (world.store->BuildsIndexes()) std::this_thread::yield();
  };
  const Result<UpdateTableResponse> first = create("first", "a", ScalarAttributeType::kS);
  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_EQ(first->table_description.table_status, TableStatus::kUpdating);
  ASSERT_EQ(first->table_description.global_secondary_indexes.size(), 1u);
  EXPECT_EQ(first->table_description.attribute_definitions.size(), 3u)
      << "what nobody uses is dropped";
  built();
  EXPECT_EQ(create("first", "a", ScalarAttributeType::kS).error().code(), ErrorCode::kValidation);
  const Result<UpdateTableResponse> redefined = create("second", "a", ScalarAttributeType::kN);
  ASSERT_FALSE(redefined.ok());
  EXPECT_EQ(redefined.error().message(),
            "One or more parameter values were invalid: Attributes cannot be redefined. Please "
            "check that your attribute has the same type as previously defined. Existing schema: "
            "Schema:[SchemaElement: key{a:S:HASH}] New schema: Schema:[SchemaElement: "
            "key{a:N:HASH}]");
  ASSERT_TRUE(create("second", "a", ScalarAttributeType::kS).ok());
  built();
  EXPECT_EQ(world.store->Find("t")->descriptor.FindIndex("second")->key.partition[0].type,
            model::Type::kS);

  UpdateTableRequest request;
  request.table_name = "t";
  GlobalSecondaryIndexUpdate update;
  update.update.emplace();
  update.update->index_name = "first";
  update.update->provisioned_throughput = ProvisionedThroughput{1, 2};
  request.global_secondary_index_updates = {update};
  const Result<UpdateTableResponse> same = world.Call(UpdateTable, request);
  ASSERT_FALSE(same.ok());
  EXPECT_TRUE(same.error().message().starts_with(
      "The provisioned throughput for the index first will not change."));
  request.global_secondary_index_updates->front().update->provisioned_throughput =
      ProvisionedThroughput{3, 1};
  ASSERT_TRUE(world.Call(UpdateTable, request).ok());
  const table::IndexThroughput& throughput =
      world.store->Find("t")->descriptor.FindIndex("first")->throughput;
  EXPECT_EQ(throughput.read_units, 3);
  EXPECT_EQ(throughput.write_units, 1);
  EXPECT_EQ(throughput.decreases_today, 1);

  GlobalSecondaryIndexUpdate gone;
  gone.delete_index = DeleteIndexAction{"first"};
  GlobalSecondaryIndexUpdate gone_too;
  gone_too.delete_index = DeleteIndexAction{"second"};
  request.global_secondary_index_updates = {gone, gone_too};
  EXPECT_EQ(world.Call(UpdateTable, request).error().code(), ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace stator::ops
