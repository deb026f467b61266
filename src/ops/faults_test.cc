// What requests meet while the fault dial is on.
#include "ops/faults.h"

#include <gtest/gtest.h>

#include "ops/payload.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;

constexpr int64_t kSecond = 1'000'000;

// Table t with key pk, sk and the global index by-g; table u with key pk.
struct FaultWorld : TestWorld {
  FaultWorld() {
    CreateTableRequest request;
    request.table_name = "t";
    request.billing_mode = BillingMode::kPayPerRequest;
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                     {"sk", ScalarAttributeType::kN},
                                     {"g", ScalarAttributeType::kS}};
    request.key_schema = {{"pk", KeyType::kHash}, {"sk", KeyType::kRange}};
    GlobalSecondaryIndex index;
    index.index_name = "by-g";
    index.key_schema = {{"g", KeyType::kHash}};
    index.projection.projection_type = ProjectionType::kAll;
    request.global_secondary_indexes = {index};
    EXPECT_TRUE(Call(CreateTable, std::move(request)).ok());
    Create("u");
  }
  void Turn(const std::string& table, std::vector<std::vector<FaultSetting>> rules) {
    FaultDial::Rules made;
    for (const auto& rule : rules) made.push_back(MakeFaultRule(rule).value());
    SetFaults(env, table, std::move(made));
  }
  Status PutRow(int sk, int n) {
    PutItemRequest request;
    request.table_name = "t";
    request.item.bytes =
        Item("{pk: 'p', sk: " + std::to_string(sk) + ", g: 'all', n: " + std::to_string(n) + "}");
    const auto answer = Call(PutItem, std::move(request), "PutItem");
    return answer.ok() ? OkStatus() : Status(answer.error());
  }
  // The item's n; -1: absent.
  int Get(int sk, bool consistent = false) {
    GetItemRequest request;
    request.table_name = "t";
    request.key.bytes = Key(sk);
    request.consistent_read = consistent;
    const auto answer = Call(GetItem, std::move(request), "GetItem");
    EXPECT_TRUE(answer.ok());
    return answer->item ? NumberIn(*answer->item) : -1;
  }
  // n of all rows, as pages of `limit` give them.
  std::string QueryAll(const char* index, bool consistent = false, int64_t limit = 2,
                       bool forward = true) {
    std::string found;
    QueryRequest request;
    request.table_name = "t";
    if (index != nullptr) request.index_name = index;
    request.consistent_read = consistent;
    request.limit = limit;
    request.scan_index_forward = forward;
    request.key_condition_expression = index != nullptr ? "g = :v" : "pk = :v";
    request.expression_attribute_values = {{":v", Value(index != nullptr ? "'all'" : "'p'")}};
    while (true) {
      const auto page = Call(Query, request, "Query");
      EXPECT_TRUE(page.ok());
      for (const model::ItemView item : *page->items)
        found += std::to_string(NumberIn(std::string(item.encoded()))) + " ";
      if (!page->last_evaluated_key) return found;
      request.exclusive_start_key = EncodedItem{*page->last_evaluated_key};
    }
  }
  static std::string Key(int sk) { return Item("{pk: 'p', sk: " + std::to_string(sk) + "}"); }
  static int NumberIn(const std::string& item) {
    return std::stoi(std::string(model::ItemView(item).Find("n").text()));
  }
};

TEST(StaleReads, GiveTheStateOfThatAge) {
  FaultWorld world;
  ASSERT_TRUE(world.PutRow(1, 10).ok());
  ASSERT_TRUE(world.PutRow(2, 20).ok());
  world.clock.AdvanceMicros(kSecond);
  world.Turn("t", {{{"fault", {"stale-read"}}, {"age", {"2s"}}}});
  ASSERT_TRUE(world.PutRow(1, 11).ok());
  ASSERT_TRUE(world.PutRow(3, 30).ok());
  for (const double stutter : {0.0, 0.7}) {
    world.engine.set_stutter(stutter);
    EXPECT_EQ(world.Get(1), 10);
    EXPECT_EQ(world.Get(3), -1);
    EXPECT_EQ(world.Get(1, /*consistent=*/true), 11);
    EXPECT_EQ(world.QueryAll(nullptr), "10 20 ");
    EXPECT_EQ(world.QueryAll(nullptr, false, 1, /*forward=*/false), "20 10 ");
    EXPECT_EQ(world.QueryAll(nullptr, /*consistent=*/true), "11 20 30 ");
  }
  ScanRequest scan;
  scan.table_name = "t";
  EXPECT_EQ(world.Call(Scan, scan, "Scan")->count, 2);
  scan.consistent_read = true;
  EXPECT_EQ(world.Call(Scan, scan, "Scan")->count, 3);
  BatchGetItemRequest batch;
  batch.request_items.push_back({"t", {{world.Key(1)}, {world.Key(3)}}, {}, {}, {}, {}});
  const auto got = world.Call(BatchGetItem, batch, "BatchGetItem");
  ASSERT_EQ(got->responses[0].items.size(), 1u);
  EXPECT_EQ(world.NumberIn(got->responses[0].items[0]), 10);
  TransactGetItemsRequest transaction;
  transaction.transact_items.push_back({{"t", {world.Key(3)}, {}, {}}});
  EXPECT_TRUE(
      world.Call(TransactGetItems, transaction, "TransactGetItems")->responses[0].has_value())
      << "never stale";

  world.clock.AdvanceMicros(2 * kSecond);
  EXPECT_EQ(world.Get(1), 11);
  EXPECT_EQ(world.QueryAll(nullptr), "11 20 30 ");
  ASSERT_TRUE(world.PutRow(1, 12).ok());
  EXPECT_EQ(world.Get(1), 11);
  world.Turn("t", {});
  EXPECT_EQ(world.Get(1), 12);
}

TEST(StaleReads, TheIndexLagsAloneOrWithItsTable) {
  FaultWorld world;
  world.Turn("*", {{{"fault", {"index-delay"}}, {"delay", {"5s"}}, {"index", {"by-g"}}}});
  ASSERT_TRUE(world.PutRow(1, 10).ok());
  EXPECT_EQ(world.QueryAll("by-g"), "");
  EXPECT_EQ(world.QueryAll(nullptr), "10 ");
  world.clock.AdvanceMicros(4 * kSecond);
  ASSERT_TRUE(world.PutRow(2, 20).ok());
  EXPECT_EQ(world.QueryAll("by-g"), "");
  world.clock.AdvanceMicros(kSecond);
  EXPECT_EQ(world.QueryAll("by-g"), "10 ");
  world.clock.AdvanceMicros(4 * kSecond);
  EXPECT_EQ(world.QueryAll("by-g"), "10 20 ");
  world.Turn("*", {{{"fault", {"index-delay"}}, {"delay", {"5s"}}, {"index", {"other"}}}});
  ASSERT_TRUE(world.PutRow(3, 30).ok());
  EXPECT_EQ(world.QueryAll("by-g"), "10 20 30 ");
}

template <typename Response>
std::string Reasons(const Result<Response>& answer) {
  if (answer.ok()) return "ok";
  const auto* payload = dynamic_cast<const CancellationPayload*>(answer.error().payload().get());
  if (payload == nullptr) return std::string(ErrorCodeName(answer.error().code()));
  std::string out;
  for (const CancellationReason& reason : payload->reasons) out.append(reason.code).append(" ");
  return out;
}

TransactWriteItem Put(const std::string& table, const std::string& item) {
  TransactWriteItem action;
  action.put.emplace();
  action.put->table_name = table;
  action.put->item.bytes = Item(item);
  return action;
}

TEST(Conflicts, NameTheActionsOfTheTable) {
  FaultWorld world;
  world.Turn("u", {{{"fault", {"conflict"}}}});
  TransactWriteItemsRequest write;
  write.transact_items = {Put("t", "{pk: 'p', sk: 1, n: 1}"), Put("u", "{pk: 'a'}"),
                          Put("t", "{pk: 'p', sk: 2, n: 1}")};
  EXPECT_EQ(Reasons(world.Call(TransactWriteItems, write, "TransactWriteItems")),
            "None TransactionConflict None ");
  EXPECT_EQ(world.Get(1), -1) << "all or nothing";
  TransactGetItemsRequest read;
  read.transact_items = {{{"t", {world.Key(1)}, {}, {}}}, {{"u", {Item("{pk: 'a'}")}, {}, {}}}};
  EXPECT_EQ(Reasons(world.Call(TransactGetItems, read, "TransactGetItems")),
            "None TransactionConflict ");
  PutItemRequest put;
  put.table_name = "u";
  put.item.bytes = Item("{pk: 'a'}");
  EXPECT_EQ(Reasons(world.Call(PutItem, put, "PutItem")), "TransactionConflict");
  EXPECT_EQ(Reasons(world.Call(PutItem, put)), "ok") << "the server's own work meets no faults";
  world.Turn("t", {{{"fault", {"throttle"}}, {"count", {"1"}}}});
  world.Turn("u", {});
  EXPECT_EQ(Reasons(world.Call(TransactGetItems, read, "TransactGetItems")),
            "ThrottlingError None ");
  world.Turn("t", {{{"fault", {"throttle"}}, {"cause", {"account"}}, {"count", {"1"}}}});
  EXPECT_EQ(Reasons(world.Call(TransactGetItems, read, "TransactGetItems")),
            "RequestLimitExceeded");
  EXPECT_EQ(Reasons(world.Call(TransactGetItems, read, "TransactGetItems")), "ok");
}

TEST(Conflicts, ARepeatedTokenIsInProgress) {
  FaultWorld world;
  world.Turn("u", {{{"fault", {"in-progress"}}, {"count", {"2"}}}});
  TransactWriteItemsRequest request;
  request.transact_items = {Put("u", "{pk: 'a'}")};
  request.client_request_token = "token";
  const auto answer = [&] {
    return Reasons(world.Call(TransactWriteItems, request, "TransactWriteItems"));
  };
  EXPECT_EQ(answer(), "ok") << "not the first time";
  EXPECT_EQ(answer(), "TransactionInProgress");
  EXPECT_EQ(answer(), "TransactionInProgress");
  EXPECT_EQ(answer(), "ok");
}

TEST(Throttles, SayWhatIsExceeded) {
  FaultWorld world;
  const auto reason = [](const Error& error) {
    const auto* payload = dynamic_cast<const ThrottlingPayload*>(error.payload().get());
    return payload == nullptr
               ? ""
               : std::string(ErrorCodeName(error.code())) + " " + payload->reasons[0].reason;
  };
  world.Turn("t", {{{"fault", {"throttle"}}, {"count", {"1"}}}});
  EXPECT_EQ(reason(world.PutRow(1, 1).error()), "Throttling TableWriteKeyRangeThroughputExceeded");
  EXPECT_TRUE(world.PutRow(1, 1).ok());
  world.Turn("t", {{{"fault", {"throttle"}}, {"cause", {"provisioned"}}, {"index", {"by-g"}}}});
  EXPECT_EQ(reason(world.PutRow(1, 1).error()),
            "ProvisionedThroughputExceeded IndexWriteProvisionedThroughputExceeded");
  EXPECT_EQ(world.QueryAll(nullptr), "1 ") << "only reads of the index";
  QueryRequest request;
  request.table_name = "t";
  request.index_name = "by-g";
  request.key_condition_expression = "g = :v";
  request.expression_attribute_values = {{":v", Value("'all'")}};
  EXPECT_EQ(reason(world.Call(Query, request, "Query").error()),
            "ProvisionedThroughputExceeded IndexReadProvisionedThroughputExceeded");
  request.key_condition_expression = "nonsense";
  EXPECT_EQ(world.Call(Query, request, "Query").error().code(), ErrorCode::kValidation)
      << "an invalid request meets no fault";
}

TEST(Batches, LeaveAShareUndone) {
  FaultWorld world;
  world.Turn("u", {{{"fault", {"unprocessed"}}, {"share", {"0.5"}}}});
  BatchWriteItemRequest write;
  BatchGetItemRequest read;
  write.request_items.push_back({"u", {}});
  read.request_items.push_back({"u", {}, {}, {}, {}, {}});
  for (int i = 0; i < 20; ++i) {
    const std::string key = Item("{pk: 'k" + std::to_string(i) + "'}");
    write.request_items[0].requests.push_back({PutRequest{{key}}, {}});
    read.request_items[0].keys.push_back({key});
  }
  const BatchWriteItemRequest all = write;
  std::string course;
  while (true) {
    const auto answer = world.Call(BatchWriteItem, write, "BatchWriteItem");
    ASSERT_TRUE(answer.ok());
    course += std::to_string(world.store->Counts(*world.store->Find("u"))->items) + " ";
    if (answer->unprocessed_items.empty()) break;
    write.request_items = answer->unprocessed_items;
  }
  EXPECT_EQ(course, "10 15 18 19 20 ");
  std::set<std::string> found;
  course.clear();
  while (true) {
    const auto answer = world.Call(BatchGetItem, read, "BatchGetItem");
    ASSERT_TRUE(answer.ok());
    for (const std::string& item : answer->responses[0].items)
      EXPECT_TRUE(found.insert(item).second);
    course += std::to_string(found.size()) + " ";
    if (answer->unprocessed_keys.empty()) break;
    read.request_items = answer->unprocessed_keys;
  }
  EXPECT_EQ(course, "10 15 18 19 20 ");
  world.Turn("u", {{{"fault", {"unprocessed"}}, {"share", {"1"}}}});
  EXPECT_EQ(Reasons(world.Call(BatchWriteItem, all, "BatchWriteItem")),
            "ProvisionedThroughputExceeded");
  read.request_items[0].keys = {{Item("{pk: 'k0'}")}};
  EXPECT_EQ(Reasons(world.Call(BatchGetItem, read, "BatchGetItem")),
            "ProvisionedThroughputExceeded");
}

TEST(Answers, AreLostAfterTheOperationOrRefusedBefore) {
  FaultWorld world;
  const auto put = [&](int n) {
    Context context{world.env, world.loop, "PutItem"};
    PutItemRequest request;
    request.table_name = "t";
    request.item.bytes = Item("{pk: 'p', sk: 1, n: " + std::to_string(n) + "}");
    std::optional<bool> ok;
    PutItem(context, std::move(request), [&](Result<PutItemResponse> answer) { ok = answer.ok(); });
    while (!ok) world.loop.RunOne();
    return std::make_pair(*ok, context.faults);
  };
  world.Turn("t", {{{"fault", {"error"}}, {"when", {"after"}}, {"operations", {"PutItem"}}},
                   {{"fault", {"slow"}}, {"delay", {"2s"}}, {"operations", {"PutItem"}}}});
  const auto [done, lost] = put(1);
  EXPECT_TRUE(done && lost.lost);
  EXPECT_EQ(lost.delay_micros, 2 * kSecond);
  EXPECT_EQ(world.Get(1), 1);
  world.Turn("t", {{{"fault", {"error"}}, {"operations", {"PutItem"}}}});
  const auto [wrote, refused] = put(2);
  EXPECT_TRUE(!wrote && refused.refused && !refused.lost);
  EXPECT_EQ(world.Get(1), 1);
}

}  // namespace
}  // namespace stator::ops
