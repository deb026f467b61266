// Transactions under concurrency: totals that hold, skew that is refused, tokens that count once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ops/payload.h"
#include "ops/test_world.h"
#include "ops/transaction.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;

constexpr int kAccounts = 8;
constexpr int kStart = 100;

// A client on a thread of its own.
struct Client {
  explicit Client(TestWorld& w) : world(w) {}
  template <typename Response, typename Request>
  Result<Response> Call(void (*operation)(Context&, Request, Callback<Response>), Request request) {
    std::optional<Result<Response>> answer;
    Context context{world.env, loop};
    operation(context, std::move(request),
              [&answer](Result<Response> response) { answer.emplace(std::move(response)); });
    while (!answer) loop.RunOne();
    return std::move(*answer);
  }
  TestWorld& world;
  Pump loop;
};

std::string Key(int account) { return Item("{pk: 'a" + std::to_string(account) + "'}"); }

TransactWriteItem Update(const std::string& table, std::string key, const std::string& update,
                         const std::string& condition, int value) {
  TransactWriteItem item;
  TransactWriteAction& action = item.update.emplace();
  action.table_name = table;
  action.item.bytes = std::move(key);
  action.update_expression = update;
  if (!condition.empty()) action.condition_expression = condition;
  action.expression_attribute_values.emplace();
  action.expression_attribute_values->emplace_back(":v", Value(std::to_string(value)));
  return item;
}

TransactWriteItem Check(const std::string& table, std::string key, const std::string& condition) {
  TransactWriteItem item;
  TransactWriteAction& action = item.condition_check.emplace();
  action.table_name = table;
  action.item.bytes = std::move(key);
  action.condition_expression = condition;
  return item;
}

int64_t NumberIn(const std::string& item, const char* name) {
  return std::stoll(std::string(model::ItemView(item).Find(name).text()));
}

// Accounts are spread over two tables, so that a batch and a read span tablets.
const std::string& TableOf(int account) {
  static const std::string kTables[] = {"even", "odd"};
  return kTables[account % 2];
}

TEST(Transactions, TheTotalOfAllAccountsNeverChanges) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TestWorld world(seed, 2, 10000);
    world.Create("even");
    world.Create("odd");
    for (int i = 0; i < kAccounts; ++i) {
      ASSERT_TRUE(world
                      .Put(TableOf(i), Item("{pk: 'a" + std::to_string(i) +
                                            "', n: " + std::to_string(kStart) + "}"))
                      .ok());
    }
    world.engine.set_stutter(0.3);
    std::atomic<int> writers{3};
    std::atomic<int> moved{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        Client client(world);
        SeededRandom random(seed * 100 + static_cast<uint64_t>(t));
        for (int i = 0; i < 300; ++i) {
          const int from = static_cast<int>(random.Below(kAccounts));
          const int to = static_cast<int>(
              (static_cast<uint64_t>(from) + 1 + random.Below(kAccounts - 1)) % kAccounts);
          const int amount = static_cast<int>(random.Below(60)) + 1;
          TransactWriteItemsRequest request;
          request.transact_items.push_back(
              Update(TableOf(from), Key(from), "SET n = n - :v", "n >= :v", amount));
          request.transact_items.push_back(
              Update(TableOf(to), Key(to), "SET n = n + :v", "", amount));
          const auto answer = client.Call(TransactWriteItems, std::move(request));
          if (answer.ok()) {
            ++moved;
            continue;
          }
          ASSERT_EQ(answer.error().message(),
                    "Transaction cancelled, please refer cancellation reasons for specific "
                    "reasons [ConditionalCheckFailed, None]");
        }
        --writers;
      });
    }
    threads.emplace_back([&] {
      Client client(world);
      do {
        TransactGetItemsRequest request;
        for (int i = 0; i < kAccounts; ++i)
          request.transact_items.push_back({{TableOf(i), {Key(i)}, {}, {}}});
        const auto answer = client.Call(TransactGetItems, std::move(request));
        ASSERT_TRUE(answer.ok()) << answer.error().message();
        int64_t total = 0;
        for (const auto& item : answer->responses) {
          const int64_t amount = NumberIn(item.value(), "n");
          ASSERT_GE(amount, 0);
          total += amount;
        }
        ASSERT_EQ(total, kAccounts * kStart);
      } while (writers > 0);
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(moved, 100);
  }
}

// Two are on duty; each may leave if the other stays. Without the latch on what is only checked
// both would.
TEST(Transactions, WriteSkewIsRefused) {
  TestWorld world(7, 2, 10000);
  world.Create("duty");
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(world.Put("duty", Item("{pk: 'a" + std::to_string(i) + "', n: 1}")).ok());
    std::atomic<int> left{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        Client client(world);
        TransactWriteItemsRequest request;
        request.transact_items.push_back(Check("duty", Key(1 - i), "attribute_exists(n)"));
        request.transact_items.push_back(Update("duty", Key(i), "SET gone = :v REMOVE n", "", 1));
        if (client.Call(TransactWriteItems, std::move(request)).ok()) ++left;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(left, 1);
  }
}

TEST(Transactions, OneTokenUsedByManyCountsOnce) {
  TestWorld world(9, 2, 10000);
  world.Create("t");
  world.engine.set_stutter(0.3);
  for (int round = 1; round <= 50; ++round) {
    std::atomic<int> drew_writes{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        Client client(world);
        TransactWriteItemsRequest request;
        request.transact_items.push_back(Update("t", Key(0), "ADD n :v", "", 1));
        request.client_request_token = "round " + std::to_string(round);
        request.return_consumed_capacity = ReturnConsumedCapacity::kTotal;
        const auto answer = client.Call(TransactWriteItems, std::move(request));
        ASSERT_TRUE(answer.ok()) << answer.error().message();
        if (answer->consumed_capacity->at(0).write_capacity_units) ++drew_writes;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(drew_writes, 1);
    TransactGetItemsRequest get;
    get.transact_items.push_back({{"t", {Key(0)}, {}, {}}});
    ASSERT_EQ(NumberIn(world.Call(TransactGetItems, get)->responses.at(0).value(), "n"), round);
  }
}

TEST(Transactions, ATokenStandsForWhatTheRequestMeans) {
  TestWorld world;
  world.Create("t");
  const auto make = [](bool reversed) {
    TransactWriteItemsRequest request;
    TransactWriteAction& put = request.transact_items.emplace_back().put.emplace();
    put.table_name = "t";
    put.item.bytes = Item("{pk: 'k', a: 1, b: 2}");
    put.condition_expression = "#a <> :a AND #b <> :b";
    put.expression_attribute_names = {{"#a", "x"}, {"#b", "y"}};
    put.expression_attribute_values = {{":a", Value("1")}, {":b", Value("2")}};
    if (reversed) {
      std::swap(put.expression_attribute_names->at(0), put.expression_attribute_names->at(1));
      std::swap(put.expression_attribute_values->at(0), put.expression_attribute_values->at(1));
    }
    request.client_request_token = "token";
    return request;
  };
  ASSERT_TRUE(world.Call(TransactWriteItems, make(false)).ok());
  ASSERT_TRUE(world.Call(TransactWriteItems, make(true)).ok());
  TransactWriteItemsRequest other = make(false);
  other.transact_items[0].put->item.bytes = Item("{pk: 'k', a: 1, b: 3}");
  const auto refused = world.Call(TransactWriteItems, std::move(other));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kIdempotentParameterMismatch);
  // After its ten minutes the token means nothing.
  world.clock.AdvanceMicros(table::kTokenLifeMicros);
  other = make(false);
  other.transact_items[0].put->item.bytes = Item("{pk: 'k', a: 1, b: 3}");
  EXPECT_TRUE(world.Call(TransactWriteItems, std::move(other)).ok());
}

TEST(Transactions, NothingIsWrittenWhenTheEngineRefuses) {
  TestWorld world;
  const table::TablePtr table = world.Create("t");
  world.engine.RefuseAll(true);
  const auto make = [] {
    TransactWriteItemsRequest request;
    for (int i = 0; i < 3; ++i)
      request.transact_items.push_back(Update("t", Key(i), "SET n = :v", "", i));
    request.client_request_token = "token";
    return request;
  };
  const auto refused = world.Call(TransactWriteItems, make());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(world.store->Counts(*table)->items, 0);
  world.engine.RefuseAll(false);
  ASSERT_TRUE(world.Call(TransactWriteItems, make()).ok());
  EXPECT_EQ(world.store->Counts(*table)->items, 3);
}

// An update that grows an item beyond 400 KB is a reason; more than 4 MB together is an invalid
// request.
TEST(Transactions, Sizes) {
  TestWorld world;
  const table::TablePtr table = world.Create("t");
  const auto make = [](int updates, size_t text_bytes) {
    TransactWriteItemsRequest request;
    for (int i = 0; i < updates; ++i) {
      request.transact_items.push_back(Update("t", Key(i), "SET a = :v", "", 0));
      request.transact_items.back().update->expression_attribute_values = {
          {":v", Value("'" + std::string(text_bytes, 'x') + "'")}};
    }
    return request;
  };
  const size_t most = model::kMaxItemBytes - 2 - 2 - 1;  // pk: 2 + 2, a: 1
  const auto large = world.Call(TransactWriteItems, make(2, most + 1));
  ASSERT_FALSE(large.ok());
  const auto* payload = dynamic_cast<const CancellationPayload*>(large.error().payload().get());
  ASSERT_NE(payload, nullptr);
  ASSERT_EQ(payload->reasons.size(), 2u);
  EXPECT_EQ(payload->reasons[0].code, "ValidationError");
  EXPECT_EQ(payload->reasons[0].message,
            "Item size to update has exceeded the maximum allowed size");
  EXPECT_TRUE(world.Call(TransactWriteItems, make(10, most)).ok());
  const auto many = world.Call(TransactWriteItems, make(11, most - 1));
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().code(), ErrorCode::kValidation);
  EXPECT_EQ(world.store->Counts(*table)->items, 10);
}

// The items and their tables are held while they are evaluated.
TEST(Transactions, ConditionsThatTakeTooLongTogetherAreRefused) {
  TestWorld world;
  world.Create("t");
  std::string condition = "contains(x, :v)";
  for (int i = 1; i < 140; ++i) condition += " OR contains(x, :v)";
  const std::string big = "x: '" + std::string(390'000, 'a') + "'}";
  const auto transact = [&](int checks) {
    TransactWriteItemsRequest request;
    for (int i = 0; i < checks; ++i) {
      const std::string key = "pk: 'k" + std::to_string(i) + "'";
      EXPECT_TRUE(world.Put("t", Item("{" + key + ", " + big)).ok());
      TransactWriteAction& action = request.transact_items.emplace_back().condition_check.emplace();
      action.table_name = "t";
      action.item.bytes = Item("{" + key + "}");
      action.condition_expression = condition;
      action.expression_attribute_values.emplace();
      action.expression_attribute_values->emplace_back(":v",
                                                       Value("'" + std::string(4000, 'a') + "b'"));
    }
    return world.Call(TransactWriteItems, std::move(request)).error().message();
  };
  EXPECT_EQ(transact(1),
            "Transaction cancelled, please refer cancellation reasons for specific reasons "
            "[ConditionalCheckFailed]");
  EXPECT_EQ(transact(4),
            "The conditions of the transaction take too long to evaluate. Use shorter conditions, "
            "or fewer of them.");
}

}  // namespace
}  // namespace stator::ops
