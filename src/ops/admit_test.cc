// What requests take from the throughput of tables and indexes, and what becomes of those beyond
// it.
#include "ops/admit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/payload.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;
using testing::HasSubstr;
using testing::StartsWith;
using throughput::Access;
using throughput::Limit;
using throughput::Rates;
using throughput::Throttling;

constexpr char kTableSentence[] =
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning level with the UpdateTable API.";
constexpr char kIndexSentence[] =
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was exceeded. Consider increasing your provisioning level for the "
    "under-provisioned global secondary indexes with the UpdateTable API.";

std::string Text(size_t bytes) { return "'" + std::string(bytes, 'x') + "'"; }

struct AdmitWorld : TestWorld {
  explicit AdmitWorld(Throttling mode) { env.admission.SetModeOfAll(mode); }

  // Key pk and sk; the global index by-g, the local index by-n.
  void CreateTable3(const std::string& name, ProvisionedThroughput units,
                    ProvisionedThroughput index_units) {
    CreateTableRequest request;
    request.table_name = name;
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                     {"sk", ScalarAttributeType::kN},
                                     {"g", ScalarAttributeType::kS},
                                     {"n", ScalarAttributeType::kN}};
    request.key_schema = {{"pk", KeyType::kHash}, {"sk", KeyType::kRange}};
    request.provisioned_throughput = units;
    GlobalSecondaryIndex global;
    global.index_name = "by-g";
    global.key_schema = {{"g", KeyType::kHash}};
    global.projection.projection_type = ProjectionType::kAll;
    global.provisioned_throughput = index_units;
    request.global_secondary_indexes = {global};
    LocalSecondaryIndex local;
    local.index_name = "by-n";
    local.key_schema = {{"pk", KeyType::kHash}, {"n", KeyType::kRange}};
    local.projection.projection_type = ProjectionType::kKeysOnly;
    request.local_secondary_indexes = {local};
    ASSERT_TRUE(Call(CreateTable, std::move(request)).ok());
  }
  throughput::Meter& Meter(const std::string& table) { return *store->Find(table)->meters.table; }
  throughput::Meter& IndexMeter(const std::string& table) {
    return *store->Find(table)->meters.indexes.back();
  }

  Status PutOne(const std::string& table, const std::string& item,
                const char* condition = nullptr) {
    PutItemRequest request;
    request.table_name = table;
    request.item.bytes = Item(item);
    if (condition != nullptr) request.condition_expression = condition;
    const auto answer = Call(PutItem, std::move(request), "PutItem");
    return answer.ok() ? OkStatus() : Status(answer.error());
  }
  Result<GetItemResponse> Get(const std::string& table, const std::string& key,
                              bool consistent = true) {
    GetItemRequest request;
    request.table_name = table;
    request.key.bytes = Item(key);
    request.consistent_read = consistent;
    return Call(GetItem, std::move(request), "GetItem");
  }
  int64_t Items(const std::string& table) { return store->Counts(*store->Find(table))->items; }
};

// Units of table and index, from answers.
struct Reported {
  double table = 0;
  double index = 0;
  void Add(const std::optional<ConsumedCapacity>& capacity) {
    ASSERT_TRUE(capacity.has_value());
    for (const auto& global : capacity->global_secondary_indexes) {
      if (global.index_name == "by-g") index += global.capacity.capacity_units;
    }
    double globals = 0;
    for (const auto& global : capacity->global_secondary_indexes)
      globals += global.capacity.capacity_units;
    table += capacity->capacity_units - globals;
  }
};

// The units of an operation, as it reports and as the meters count them.
class UnitsTest : public testing::Test {
 protected:
  void SetUp() override { world_.CreateTable3("tab", {3000, 1000}, {3000, 1000}); }
  template <typename Response, typename Request>
  void Check(void (*operation)(Context&, Request, Callback<Response>), Request request,
             const char* name) {
    request.return_consumed_capacity = ReturnConsumedCapacity::kIndexes;
    const Rates table = world_.Meter("tab").resource().consumed();
    const Rates index = world_.IndexMeter("tab").resource().consumed();
    Result<Response> answer = world_.Call(operation, std::move(request), name);
    ASSERT_TRUE(answer.ok()) << name << ": " << answer.error().message();
    Reported reported;
    if constexpr (requires { answer->consumed_capacity->size(); }) {
      ASSERT_TRUE(answer->consumed_capacity.has_value());
      for (const ConsumedCapacity& each : *answer->consumed_capacity) reported.Add(each);
    } else {
      reported.Add(answer->consumed_capacity);
    }
    const Rates now = world_.Meter("tab").resource().consumed();
    const Rates index_now = world_.IndexMeter("tab").resource().consumed();
    EXPECT_EQ(now.read - table.read + now.write - table.write, reported.table) << name;
    EXPECT_EQ(index_now.read - index.read + index_now.write - index.write, reported.index) << name;
    EXPECT_GT(reported.table + reported.index, 0) << name;
  }
  AdmitWorld world_{Throttling::kEnforce};
};

TEST_F(UnitsTest, AreThoseThatAreReported) {
  for (int i = 0; i < 30; ++i) {
    PutItemRequest put;
    put.table_name = "tab";
    put.item.bytes = Item("{pk: 'p', sk: " + std::to_string(i) +
                          ", g: 'all', n: 1, d: " + Text(static_cast<size_t>(i) * 200) + "}");
    Check(PutItem, put, "PutItem");
  }
  UpdateItemRequest update;
  update.table_name = "tab";
  update.key.bytes = Item("{pk: 'p', sk: 3}");
  update.update_expression = "SET g = :g, n = :n";
  update.expression_attribute_values = {{":g", Value("'else'")}, {":n", Value("2")}};
  Check(UpdateItem, update, "UpdateItem");
  DeleteItemRequest remove;
  remove.table_name = "tab";
  remove.key.bytes = Item("{pk: 'p', sk: 29}");
  Check(DeleteItem, remove, "DeleteItem");
  for (const bool consistent : {false, true}) {
    GetItemRequest get;
    get.table_name = "tab";
    get.key.bytes = Item("{pk: 'p', sk: 28}");
    get.consistent_read = consistent;
    Check(GetItem, get, "GetItem");
    QueryRequest query;
    query.table_name = "tab";
    query.consistent_read = consistent;
    query.key_condition_expression = "pk = :p";
    query.expression_attribute_values = {{":p", Value("'p'")}};
    Check(Query, query, "Query");
    query.index_name = "by-n";
    query.select = Select::kAllAttributes;
    Check(Query, query, "Query");
    ScanRequest scan;
    scan.table_name = "tab";
    scan.consistent_read = consistent;
    Check(Scan, scan, "Scan");
  }
  QueryRequest query;
  query.table_name = "tab";
  query.index_name = "by-g";
  query.key_condition_expression = "g = :g";
  query.expression_attribute_values = {{":g", Value("'all'")}};
  Check(Query, query, "Query");
  ScanRequest scan;
  scan.table_name = "tab";
  scan.index_name = "by-g";
  Check(Scan, scan, "Scan");
  scan.index_name = "by-n";
  scan.select = Select::kAllAttributes;
  Check(Scan, scan, "Scan");

  BatchGetItemRequest batch_get;
  KeysAndAttributes keys;
  keys.table_name = "tab";
  keys.keys.resize(2);
  keys.keys[0].bytes = Item("{pk: 'p', sk: 28}");
  keys.keys[1].bytes = Item("{pk: 'absent', sk: 1}");
  batch_get.request_items = {keys};
  Check(BatchGetItem, batch_get, "BatchGetItem");
  BatchWriteItemRequest batch_write;
  TableWriteRequests writes;
  writes.table_name = "tab";
  writes.requests.resize(2);
  writes.requests[0].put_request.emplace().item.bytes =
      Item("{pk: 'q', sk: 1, g: 'all', d: " + Text(3000) + "}");
  writes.requests[1].delete_request.emplace().key.bytes = Item("{pk: 'p', sk: 28}");
  batch_write.request_items = {writes};
  Check(BatchWriteItem, batch_write, "BatchWriteItem");

  ExecuteStatementRequest statement;
  for (const char* text :
       {"SELECT * FROM tab WHERE pk = 'p' AND sk = 5", "SELECT * FROM tab WHERE pk = 'p'",
        "SELECT * FROM tab", "SELECT * FROM tab WHERE pk IN ['p', 'q']",
        "INSERT INTO tab VALUE {'pk': 'r', 'sk': 1, 'g': 'all', 'n': 5}",
        "UPDATE tab SET g = 'moved' WHERE pk = 'r' AND sk = 1",
        "DELETE FROM tab WHERE pk = 'r' AND sk = 1"}) {
    statement.statement = text;
    Check(ExecuteStatement, statement, "ExecuteStatement");
  }
  BatchExecuteStatementRequest batch;
  batch.statements.resize(2);
  batch.statements[0].statement = "INSERT INTO tab VALUE {'pk': 'r', 'sk': 2, 'g': 'all'}";
  // Fails, and costs nevertheless.
  batch.statements[1].statement = "INSERT INTO tab VALUE {'pk': 'p', 'sk': 5}";
  Check(BatchExecuteStatement, batch, "BatchExecuteStatement");
  batch.statements[0].statement = "SELECT * FROM tab WHERE pk = 'r' AND sk = 2";
  batch.statements[1].statement = "SELECT * FROM tab WHERE pk = 'p' AND sk = 5";
  Check(BatchExecuteStatement, batch, "BatchExecuteStatement");
  ExecuteTransactionRequest transaction;
  transaction.transact_statements.resize(2);
  transaction.transact_statements[0].statement =
      "INSERT INTO tab VALUE {'pk': 's', 'sk': 1, 'g': 'all', 'n': 1}";
  transaction.transact_statements[1].statement = "DELETE FROM tab WHERE pk = 'r' AND sk = 2";
  transaction.client_request_token = "token";
  Check(ExecuteTransaction, transaction, "ExecuteTransaction");
  // Again: a read.
  Check(ExecuteTransaction, transaction, "ExecuteTransaction");
  TransactGetItemsRequest get;
  get.transact_items.resize(2);
  for (size_t i = 0; i < 2; ++i) {
    get.transact_items[i].get.table_name = "tab";
    get.transact_items[i].get.key.bytes = Item("{pk: 'p', sk: " + std::to_string(26 + i) + "}");
  }
  Check(TransactGetItems, get, "TransactGetItems");
  EXPECT_EQ(world_.Meter("tab").let_pass(), Rates());
}

TEST(Admit, ARefusalSaysCauseAndCureThenTheServicesWordsThenTheLesson) {
  AdmitWorld world(Throttling::kEnforce);
  world.CreateTable3("tab", {2, 1}, {1, 1});
  EXPECT_TRUE(world.Get("tab", "{pk: 'hot', sk: 1}").ok());
  EXPECT_TRUE(world.Get("tab", "{pk: 'hot', sk: 1}").ok());
  const auto refused = world.Get("tab", "{pk: 'hot', sk: 1}");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kProvisionedThroughputExceeded);
  EXPECT_EQ(refused.error().message(),
            "Table tab: 3 (so far) of 2 provisioned read units/s. Raise the read capacity of the "
            "table to 3 "
            "units or more, let auto scaling do it, or switch to on-demand. "
            "DynamoDB says: " +
                std::string(kTableSentence) + " Lesson: auto-scaling.");
  const auto* payload = dynamic_cast<const ThrottlingPayload*>(refused.error().payload().get());
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->reasons.at(0).reason, "TableReadProvisionedThroughputExceeded");
  EXPECT_EQ(world.Meter("tab").refusals(Access::kRead, Limit::kProvisioned), 1);
  world.clock.AdvanceMicros(1'000'000);
  EXPECT_TRUE(world.Get("tab", "{pk: 'hot', sk: 1}").ok());
}

TEST(Admit, ObserveLetsPassAndCounts) {
  AdmitWorld world(Throttling::kObserve);
  world.CreateTable3("tab", {2, 1}, {1, 1});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.Get("tab", "{pk: 'hot', sk: 1}").ok());
  EXPECT_EQ(world.Meter("tab").refusals(Access::kRead, Limit::kProvisioned), 3);
  EXPECT_EQ(world.Meter("tab").let_pass(), (Rates{3, 0}));
  EXPECT_EQ(world.Meter("tab").resource().consumed(), (Rates{2, 0}));
}

TEST(Admit, OffAndWorkOfTheServerAreNotMeasured) {
  AdmitWorld world(Throttling::kOff);
  world.CreateTable3("tab", {1, 1}, {1, 1});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.Get("tab", "{pk: 'hot', sk: 1}").ok());
  EXPECT_EQ(world.Meter("tab").resource().consumed(), Rates());
  world.env.admission.SetModeOfAll(Throttling::kEnforce);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.Put("tab", Item("{pk: 'a', sk: 1, g: 'x'}")).ok());
  EXPECT_EQ(world.Meter("tab").resource().consumed(), Rates());
  EXPECT_TRUE(world.PutOne("tab", "{pk: 'a', sk: 1}").ok());
  EXPECT_FALSE(world.PutOne("tab", "{pk: 'a', sk: 1}").ok());
}

TEST(Admit, AnIndexWithoutCapacityThrottlesItsTable) {
  AdmitWorld world(Throttling::kEnforce);
  world.CreateTable3("tab", {100, 100}, {1, 1});
  EXPECT_TRUE(world.PutOne("tab", "{pk: 'a', sk: 1, g: 'x'}").ok());
  const Rates before = world.Meter("tab").resource().consumed();
  const Status refused = world.PutOne("tab", "{pk: 'b', sk: 2, g: 'x'}");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(),
              StartsWith("Index by-g: 2 (so far) of 1 provisioned write units/s. "));
  EXPECT_THAT(refused.error().message(), HasSubstr(kIndexSentence));
  const auto* payload = dynamic_cast<const ThrottlingPayload*>(refused.error().payload().get());
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->reasons.at(0).reason, "IndexWriteProvisionedThroughputExceeded");
  EXPECT_EQ(payload->reasons.at(0).resource,
            "arn:aws:dynamodb:us-east-1:000000000000:table/tab/index/by-g");
  // All or nothing.
  EXPECT_EQ(world.Meter("tab").resource().consumed(), before);
  EXPECT_EQ(world.Items("tab"), 1);
  // What the index does not see is none of its business.
  EXPECT_TRUE(world.PutOne("tab", "{pk: 'b', sk: 2}").ok());
}

TEST(Admit, AFailedConditionCostsTheStoredItemAndNoIndex) {
  AdmitWorld world(Throttling::kEnforce);
  world.CreateTable3("tab", {100, 100}, {100, 100});
  ASSERT_TRUE(world.PutOne("tab", "{pk: 'a', sk: 1, g: 'x', d: " + Text(2500) + "}").ok());
  const Rates table = world.Meter("tab").resource().consumed();
  const Rates index = world.IndexMeter("tab").resource().consumed();
  EXPECT_EQ(
      world.PutOne("tab", "{pk: 'a', sk: 1, g: 'y'}", "attribute_not_exists(pk)").error().code(),
      ErrorCode::kConditionalCheckFailed);
  EXPECT_EQ(world.Meter("tab").resource().consumed().write, table.write + 3);
  EXPECT_EQ(world.IndexMeter("tab").resource().consumed(), index);
}

TEST(Admit, BatchesLeaveTheThrottledPartUndone) {
  AdmitWorld world(Throttling::kEnforce);
  world.CreateTable3("tab", {4, 4}, {100, 100});
  BatchWriteItemRequest write;
  TableWriteRequests writes;
  writes.table_name = "tab";
  writes.requests.resize(6);
  for (int i = 0; i < 6; ++i) {
    writes.requests[static_cast<size_t>(i)].put_request.emplace().item.bytes =
        Item("{pk: 'a', sk: " + std::to_string(i) + "}");
  }
  write.request_items = {writes};
  const auto written = world.Call(BatchWriteItem, write, "BatchWriteItem");
  ASSERT_TRUE(written.ok());
  ASSERT_EQ(written->unprocessed_items.size(), 1u);
  EXPECT_EQ(written->unprocessed_items[0].requests.size(), 2u);
  EXPECT_EQ(world.Items("tab"), 4);
  EXPECT_EQ(world.Call(BatchWriteItem, write, "BatchWriteItem").error().code(),
            ErrorCode::kProvisionedThroughputExceeded);

  BatchGetItemRequest get;
  KeysAndAttributes keys;
  keys.table_name = "tab";
  keys.consistent_read = true;
  keys.keys.resize(6);
  for (size_t i = 0; i < 6; ++i)
    keys.keys[i].bytes = Item("{pk: 'a', sk: " + std::to_string(i) + "}");
  get.request_items = {keys};
  const auto got = world.Call(BatchGetItem, get, "BatchGetItem");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->responses[0].items.size(), 4u);
  ASSERT_EQ(got->unprocessed_keys.size(), 1u);
  EXPECT_EQ(got->unprocessed_keys[0].keys.size(), 2u);
  EXPECT_EQ(world.Call(BatchGetItem, get, "BatchGetItem").error().code(),
            ErrorCode::kProvisionedThroughputExceeded);

  BatchExecuteStatementRequest statements;
  statements.statements.resize(1);
  statements.statements[0].statement = "SELECT * FROM tab WHERE pk = 'a' AND sk = 1";
  const auto answers = world.Call(BatchExecuteStatement, statements, "BatchExecuteStatement");
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ(answers->responses[0].error->code, "ProvisionedThroughputExceeded");
  statements.statements[0].statement = "INSERT INTO tab VALUE {'pk': 'z', 'sk': 1}";
  const auto inserted = world.Call(BatchExecuteStatement, statements, "BatchExecuteStatement");
  ASSERT_TRUE(inserted.ok());
  EXPECT_EQ(inserted->responses[0].error->code, "ProvisionedThroughputExceeded");
}

TEST(Admit, ATransactionIsCancelledByTheActionThatHasNoRoom) {
  AdmitWorld world(Throttling::kEnforce);
  world.CreateTable3("rich", {100, 100}, {100, 100});
  world.CreateTable3("poor", {1, 1}, {100, 100});
  ASSERT_TRUE(world.PutOne("poor", "{pk: 'a', sk: 1}").ok());
  ExecuteTransactionRequest request;
  request.transact_statements.resize(2);
  request.transact_statements[0].statement = "INSERT INTO rich VALUE {'pk': 'a', 'sk': 1}";
  request.transact_statements[1].statement = "INSERT INTO poor VALUE {'pk': 'b', 'sk': 1}";
  const auto canceled = world.Call(ExecuteTransaction, request, "ExecuteTransaction");
  ASSERT_FALSE(canceled.ok());
  EXPECT_EQ(canceled.error().code(), ErrorCode::kTransactionCanceled);
  const auto* payload = dynamic_cast<const CancellationPayload*>(canceled.error().payload().get());
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->reasons[0].code, "None");
  EXPECT_EQ(payload->reasons[1].code, "ProvisionedThroughputExceeded");
  EXPECT_THAT(payload->reasons[1].message, HasSubstr(kTableSentence));
  EXPECT_EQ(world.Items("rich"), 0);
  EXPECT_EQ(world.Meter("rich").resource().consumed(), Rates());

  ASSERT_TRUE(world.Get("poor", "{pk: 'a', sk: 1}").ok());
  request.transact_statements[0].statement = "SELECT * FROM poor WHERE pk = 'a' AND sk = 1";
  request.transact_statements[1].statement = "SELECT * FROM rich WHERE pk = 'a' AND sk = 1";
  const auto read = world.Call(ExecuteTransaction, request, "ExecuteTransaction");
  ASSERT_FALSE(read.ok());
  payload = dynamic_cast<const CancellationPayload*>(read.error().payload().get());
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->reasons[0].code, "ProvisionedThroughputExceeded");
  EXPECT_EQ(payload->reasons[1].code, "None");
}

TEST(Admit, OnDemandTablesHaveOtherExceptions) {
  AdmitWorld world(Throttling::kEnforce);
  CreateTableRequest create;
  create.table_name = "tab";
  create.key_schema = {{"pk", KeyType::kHash}};
  create.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
  create.billing_mode = BillingMode::kPayPerRequest;
  create.on_demand_throughput = OnDemandThroughput{1, 2};
  ASSERT_TRUE(world.Call(CreateTable, create).ok());
  EXPECT_TRUE(world.PutOne("tab", "{pk: 'a'}").ok());
  EXPECT_TRUE(world.PutOne("tab", "{pk: 'b'}").ok());
  const Status refused = world.PutOne("tab", "{pk: 'c'}");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kThrottling);
  EXPECT_THAT(
      refused.error().message(),
      StartsWith("Table tab: 3 (so far) of 2 write units/s that OnDemandThroughput allows. Raise "
                 "OnDemandThroughput to 3 write units per second or more, or remove it. "
                 "DynamoDB says: Throughput exceeds the current capacity of your table or index."));

  create.table_name = "quota";
  create.on_demand_throughput.reset();
  ASSERT_TRUE(world.Call(CreateTable, create).ok());
  // 40,000 read units, of which no partition has more than 3,000.
  for (uint64_t i = 0; i < 15; ++i) {
    world.Meter("quota").resource().Charge(
        world.clock.NowMicros(), {nullptr, Access::kRead, false, 2 * 2700, {i << 60, "", ""}});
  }
  const auto read = world.Get("quota", "{pk: 'a'}");
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(read.error().code() == ErrorCode::kRequestLimitExceeded ||
              read.error().code() == ErrorCode::kThrottling);
}

TEST(Admit, APageIsAdmittedAtItsBeginningAndChargedWholly) {
  AdmitWorld world(Throttling::kEnforce);
  world.CreateTable3("tab", {10, 1000}, {10, 1000});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world
                    .PutOne("tab", "{pk: 'p', sk: " + std::to_string(i) +
                                       ", g: 'all', d: " + Text(8000) + "}")
                    .ok());
  }
  QueryRequest query;
  query.table_name = "tab";
  query.consistent_read = true;
  query.key_condition_expression = "pk = :p";
  query.expression_attribute_values = {{":p", Value("'p'")}};
  const auto page = world.Call(Query, query, "Query");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->count, 100);
  const double tokens =
      world.Meter("tab").resource().Tokens(world.clock.NowMicros(), Access::kRead);
  EXPECT_LT(tokens, -180);
  EXPECT_EQ(world.Call(Query, query, "Query").error().code(),
            ErrorCode::kProvisionedThroughputExceeded);
  // Until that is paid back.
  world.clock.AdvanceMicros(25'000'000);
  EXPECT_TRUE(world.Call(Query, query, "Query").ok());
}

// Whatever mixture of requests comes: observe passes all of them, and its model is that of enforce.
TEST(Admit, ObserveAndEnforceAccountTheSameUnits) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AdmitWorld observe(Throttling::kObserve);
    AdmitWorld enforce(Throttling::kEnforce);
    int refused = 0;
    int requests = 0;
    for (AdmitWorld* world : {&observe, &enforce}) {
      SeededRandom random(seed);
      world->CreateTable3("tab", {4, 6}, {2, 4});
      // Items of one key always have one size, so that a write costs the same whether or not an
      // earlier one was refused.
      const auto item = [](uint64_t key) {
        return "{pk: 'k" + std::to_string(key % 5) + "', sk: " + std::to_string(key) + ", g: 'g" +
               std::to_string(key % 3) + "', n: 1, d: " + Text(key * 100) + "}";
      };
      for (uint64_t key = 0; key < 40; ++key) ASSERT_TRUE(world->Put("tab", Item(item(key))).ok());
      for (int i = 0; i < 400; ++i) {
        const uint64_t key = random.Below(40);
        Status outcome;
        switch (random.Below(4)) {
          case 0: outcome = world->PutOne("tab", item(key)); break;
          case 1: outcome = world->PutOne("tab", item(key), "attribute_not_exists(pk)"); break;
          case 2: {
            const auto got = world->Get(
                "tab", "{pk: 'k" + std::to_string(key % 5) + "', sk: " + std::to_string(key) + "}",
                key % 2 == 0);
            if (!got.ok()) outcome = got.error();
            break;
          }
          default: {
            QueryRequest query;
            query.table_name = "tab";
            if (key % 2 == 0) query.index_name = "by-g";
            query.key_condition_expression = key % 2 == 0 ? "g = :v" : "pk = :v";
            query.expression_attribute_values = {
                {":v", Value(key % 2 == 0 ? "'g1'" : "'k" + std::to_string(key % 5) + "'")}};
            const auto page = world->Call(Query, query, "Query");
            if (!page.ok()) outcome = page.error();
          }
        }
        const bool throttled =
            !outcome.ok() && outcome.error().code() == ErrorCode::kProvisionedThroughputExceeded;
        if (world == &observe) {
          EXPECT_FALSE(throttled);
        } else {
          refused += throttled ? 1 : 0;
          ++requests;
        }
        if (random.Below(3) == 0) {
          world->clock.AdvanceMicros(static_cast<int64_t>(random.Below(400'000)));
          world->env.admission.Advance();
        }
      }
    }
    EXPECT_GT(refused, requests / 20);
    EXPECT_LT(refused, requests * 19 / 20);
    int64_t counted = 0;
    for (const bool index : {false, true}) {
      throughput::Meter& a = index ? observe.IndexMeter("tab") : observe.Meter("tab");
      throughput::Meter& b = index ? enforce.IndexMeter("tab") : enforce.Meter("tab");
      EXPECT_EQ(a.resource().consumed(), b.resource().consumed()) << seed;
      EXPECT_EQ(b.let_pass(), Rates());
      for (int l = 0; l < throughput::kLimits; ++l) {
        const Limit limit = static_cast<Limit>(l);
        EXPECT_EQ(a.resource().refused(limit), b.resource().refused(limit)) << seed;
        for (const Access access : {Access::kRead, Access::kWrite}) {
          EXPECT_EQ(a.refusals(access, limit), b.refusals(access, limit)) << seed;
          counted += b.refusals(access, limit);
        }
      }
    }
    EXPECT_EQ(counted, refused);
  }
}

TEST(Admit, RequestsOfManyThreadsAreCountedOnce) {
  TestWorld world;
  world.Create("tab");
  constexpr int kThreads = 4;
  constexpr int kReads = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&world] {
      Pump loop;
      for (int i = 0; i < kReads; ++i) {
        Context ctx{world.env, loop, "GetItem"};
        GetItemRequest request;
        request.table_name = "tab";
        request.key.bytes = Item("{pk: 'k" + std::to_string(i % 7) + "'}");
        bool done = false;
        GetItem(ctx, std::move(request), [&done](auto answer) {
          EXPECT_TRUE(answer.ok());
          done = true;
        });
        loop.RunUntil([&done] { return done; });
      }
    });
  }
  for (int i = 0; i < 20; ++i) world.env.admission.Advance();
  for (std::thread& thread : threads) thread.join();
  throughput::Meter& meter = *world.store->Find("tab")->meters.table;
  EXPECT_EQ(meter.resource().consumed().read + meter.let_pass().read, kThreads * kReads * 0.5);
}

}  // namespace
}  // namespace stator::ops
