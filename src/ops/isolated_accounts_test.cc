// Accounts of access keys: numbers, the limit, the idle hour, and what a drop takes away.
#include "ops/isolated_accounts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "ops/operations.h"
#include "ops/test_as_account.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

constexpr int64_t kHour = 3'600'000'000;

struct World : TestWorld {
  World() { SetLogLevel(LogLevel::kOff); }
  ~World() { SetLogLevel(LogLevel::kInfo); }

  // Runs an operation of an access key.
  template <typename Response, typename Request>
  Result<Response> As(IsolatedAccounts& accounts, std::string_view key,
                      void (*operation)(Context&, Request, Callback<Response>), Request request) {
    return RunAs(*this, accounts, key, operation, std::move(request));
  }
  Result<CreateTableResponse> MakeTable(IsolatedAccounts& accounts, std::string_view key,
                                        const std::string& name, bool stream = false) {
    CreateTableRequest request;
    request.table_name = name;
    request.key_schema = {{"pk", KeyType::kHash}};
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    request.billing_mode = BillingMode::kPayPerRequest;
    if (stream) request.stream_specification = {true, StreamViewType::kKeysOnly};
    return As(accounts, key, &CreateTable, std::move(request));
  }
  Result<PutItemResponse> PutAs(IsolatedAccounts& accounts, std::string_view key,
                                const std::string& table, const char* item) {
    PutItemRequest request;
    request.table_name = table;
    request.item.bytes = Item(item);
    return As(accounts, key, &PutItem, std::move(request));
  }
  std::optional<std::string> GetAs(IsolatedAccounts& accounts, std::string_view key,
                                   const std::string& table) {
    GetItemRequest request;
    request.table_name = table;
    request.key.bytes = Item("{pk: 'a'}");
    const auto got = As(accounts, key, &GetItem, std::move(request));
    EXPECT_TRUE(got.ok()) << got.error().message();
    return got.ok() ? got->item : std::nullopt;
  }
};

template <typename T>
ErrorCode CodeOf(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorCode::kInternal : result.error().code();
}

// Clients may have written the numbers down, so they must never change.
TEST(IsolatedAccounts, TheNumberOfAKeyIsOnceAndForAll) {
  EXPECT_EQ(IsolatedAccounts::AccountOfKey("123456789012"), "123456789012");
  EXPECT_EQ(IsolatedAccounts::AccountOfKey("AKIAIOSFODNN7EXAMPLE"), "084097185385");
  EXPECT_EQ(IsolatedAccounts::AccountOfKey("test-1").size(), 12u);
  EXPECT_NE(IsolatedAccounts::AccountOfKey("test-1"), IsolatedAccounts::AccountOfKey("test-2"));
}

TEST(IsolatedAccounts, TablesOfOneNameAreOneForEachKey) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  for (const char* key : {"blue", "red"}) {
    const auto made = world.MakeTable(accounts, key, "music");
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->table_description.table_arn,
              "arn:aws:dynamodb:us-east-1:" + IsolatedAccounts::AccountOfKey(key) + ":table/music");
  }
  ASSERT_TRUE(world.PutAs(accounts, "blue", "music", "{pk: 'a', of: 'blue'}").ok());
  EXPECT_EQ(world.GetAs(accounts, "blue", "music"), Item("{pk: 'a', of: 'blue'}"));
  EXPECT_EQ(world.GetAs(accounts, "red", "music"), std::nullopt);
  EXPECT_EQ(world.store->Find("music"), nullptr);
  const auto listed = world.As(accounts, "red", &ListTables, ListTablesRequest{});
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->table_names, std::vector<std::string>{"music"});
  EXPECT_EQ(accounts.totals().accounts, 2u);
}

TEST(IsolatedAccounts, AnArnOfAnotherKeysTableIsRefused) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  ASSERT_TRUE(world.MakeTable(accounts, "blue", "music").ok());
  ASSERT_TRUE(world.MakeTable(accounts, "red", "music").ok());
  const auto arn = [](std::string_view key) {
    return "arn:aws:dynamodb:us-east-1:" + IsolatedAccounts::AccountOfKey(key) + ":table/music";
  };
  EXPECT_TRUE(world.PutAs(accounts, "blue", arn("blue"), "{pk: 'a'}").ok());
  EXPECT_EQ(CodeOf(world.PutAs(accounts, "red", arn("blue"), "{pk: 'a'}")),
            ErrorCode::kAccessDenied);
  EXPECT_EQ(CodeOf(world.PutAs(accounts, "red", "arn:aws:dynamodb:us-east-1:000000000000:table/x",
                               "{pk: 'a'}")),
            ErrorCode::kAccessDenied);
  // The form of a name in the store is no way there either.
  EXPECT_EQ(CodeOf(world.PutAs(accounts, "red", IsolatedAccounts::AccountOfKey("blue") + "/music",
                               "{pk: 'a'}")),
            ErrorCode::kResourceNotFound);
  // An account's own ARN is a name for its CreateTable as well.
  EXPECT_TRUE(world.MakeTable(accounts, "red", arn("red") + "2").ok());
}

TEST(IsolatedAccounts, TheDefaultAccountIsOfItsNumberAndOfNoKey) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  for (const char* key : {"", "000000000000"}) {
    const auto use = accounts.Enter(key);
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(use->account(), "");
  }
  EXPECT_EQ(accounts.totals().accounts, 0u);
  EXPECT_EQ(CodeOf(accounts.Enter(std::string(129, 'k'))), ErrorCode::kUnrecognizedClient);
  EXPECT_TRUE(accounts.Enter(std::string(128, 'k')).ok());
}

TEST(IsolatedAccounts, OneAccountTooManyIsRefusedByName) {
  World world;
  IsolatedAccounts accounts(world.env, {.most = 2});
  EXPECT_TRUE(accounts.Enter("one").ok());
  EXPECT_TRUE(accounts.Enter("two").ok());
  const auto third = accounts.Enter("three");
  EXPECT_EQ(CodeOf(third), ErrorCode::kLimitExceeded);
  EXPECT_NE(third.error().message().find("--isolate-accounts"), std::string::npos);
  EXPECT_TRUE(accounts.Enter("one").ok()) << "those that are there go on";
  EXPECT_EQ(accounts.totals().refused, 1u);
  ASSERT_TRUE(accounts.Drop(IsolatedAccounts::AccountOfKey("one")).ok());
  EXPECT_TRUE(accounts.Enter("three").ok());
}

// A key whose id is the number that another key has by its digest.
TEST(IsolatedAccounts, TwoKeysOfOneNumberAreNotOneAccount) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  EXPECT_TRUE(accounts.Enter("blue").ok());
  EXPECT_EQ(CodeOf(accounts.Enter(IsolatedAccounts::AccountOfKey("blue"))),
            ErrorCode::kLimitExceeded);
}

TEST(IsolatedAccounts, ADropTakesTheAccountsTablesAndStreamsAndNoOthers) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  for (const char* key : {"blue", "red"}) {
    ASSERT_TRUE(world.MakeTable(accounts, key, "music", /*stream=*/true).ok());
    ASSERT_TRUE(world.MakeTable(accounts, key, "books").ok());
  }
  const std::string blue = IsolatedAccounts::AccountOfKey("blue");
  const Result<size_t> dropped = accounts.Drop(blue);
  ASSERT_TRUE(dropped.ok()) << dropped.error().message();
  EXPECT_EQ(*dropped, 2u);
  EXPECT_TRUE(world.store->ListOf(blue).empty());
  EXPECT_TRUE(world.store->ListStreamsOf(blue).empty());
  const std::string red = IsolatedAccounts::AccountOfKey("red");
  EXPECT_EQ(world.store->ListOf(red).size(), 2u);
  EXPECT_EQ(world.store->ListStreamsOf(red).size(), 1u);
  EXPECT_EQ(CodeOf(accounts.Drop(blue)), ErrorCode::kResourceNotFound);
  // The key begins anew.
  EXPECT_TRUE(world.MakeTable(accounts, "blue", "music").ok());
  EXPECT_EQ(world.GetAs(accounts, "blue", "music"), std::nullopt);
}

TEST(IsolatedAccounts, ATokenOfADroppedAccountIsForgotten) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  const auto put = [&] {
    TransactWriteItemsRequest request;
    request.client_request_token = "the-token";
    TransactWriteItem item;
    item.put.emplace();
    item.put->table_name = "music";
    item.put->item.bytes = Item("{pk: 'a'}");
    request.transact_items.push_back(std::move(item));
    return world.As(accounts, "blue", &TransactWriteItems, std::move(request));
  };
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(world.MakeTable(accounts, "blue", "music").ok());
    ASSERT_TRUE(put().ok());
    EXPECT_EQ(world.GetAs(accounts, "blue", "music"), Item("{pk: 'a'}")) << round;
    ASSERT_TRUE(accounts.Drop(IsolatedAccounts::AccountOfKey("blue")).ok());
  }
}

TEST(IsolatedAccounts, AnIdleHourEndsAnAccount) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  ASSERT_TRUE(world.MakeTable(accounts, "blue", "music").ok());
  ASSERT_TRUE(world.MakeTable(accounts, "red", "music").ok());
  world.clock.AdvanceMicros(kHour - 1);
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(accounts.totals().accounts, 2u);
  EXPECT_EQ(world.GetAs(accounts, "red", "music"), std::nullopt);  // a use
  world.clock.AdvanceMicros(1);
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(accounts.totals().accounts, 1u);
  EXPECT_EQ(accounts.totals().dropped, 1u);
  EXPECT_TRUE(world.store->ListOf(IsolatedAccounts::AccountOfKey("blue")).empty());
  EXPECT_EQ(world.store->ListOf(IsolatedAccounts::AccountOfKey("red")).size(), 1u);
  world.clock.AdvanceMicros(kHour);
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(accounts.totals().accounts, 0u);
  EXPECT_TRUE(world.store->List().empty());
}

TEST(IsolatedAccounts, ARequestUnderWayIsNotIdle) {
  World world;
  IsolatedAccounts accounts(world.env, {.most_wait_micros = 1'000});
  std::optional<IsolatedAccounts::Use> use = accounts.Enter("blue").value();
  world.clock.AdvanceMicros(2 * kHour);
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(CodeOf(accounts.Drop(use->account())), ErrorCode::kUnavailable);
  ASSERT_EQ(accounts.List("", 10).size(), 1u);
  EXPECT_EQ(accounts.List("", 10)[0].running, 1u);
  EXPECT_TRUE(accounts.Enter("blue").ok()) << "the drop was given up";
  use.reset();  // counts as a use
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(accounts.totals().accounts, 1u);
}

TEST(IsolatedAccounts, WithoutAnIdleTimeAnAccountStays) {
  World world;
  IsolatedAccounts accounts(world.env, {.idle_micros = 0});
  EXPECT_TRUE(accounts.Enter("blue").ok());
  world.clock.AdvanceMicros(1000 * kHour);
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(accounts.totals().accounts, 1u);
}

TEST(IsolatedAccounts, ManyIdleAccountsGoInPieces) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(accounts.Enter("key-" + std::to_string(i)).ok());
  world.clock.AdvanceMicros(kHour);
  int pieces = 1;
  while (accounts.DropIdle()) ++pieces;
  EXPECT_EQ(pieces, 7);
  EXPECT_EQ(accounts.totals().dropped, 100u);
}

// A drop waits for the request, and the requests that come meanwhile are told to try again.
TEST(IsolatedAccounts, ADropWaitsForRequestsUnderWay) {
  World world;
  IsolatedAccounts accounts(world.env, {.most_wait_micros = 600'000'000});
  std::optional<IsolatedAccounts::Use> use = accounts.Enter("blue").value();
  const std::string account = use->account();
  std::atomic<bool> ended{false};
  std::thread dropper([&] {
    EXPECT_TRUE(accounts.Drop(account).ok());
    ended = true;
  });
  while (accounts.Enter("blue").ok()) std::this_thread::yield();
  EXPECT_EQ(CodeOf(accounts.Enter("blue")), ErrorCode::kUnavailable);
  EXPECT_FALSE(ended);
  use.reset();
  dropper.join();
  EXPECT_TRUE(accounts.Enter("blue").ok());
}

TEST(IsolatedAccounts, WhatAnEarlierProcessLeftIsTakenOver) {
  World world;
  {
    IsolatedAccounts accounts(world.env, {});
    ASSERT_TRUE(world.MakeTable(accounts, "blue", "music").ok());
    ASSERT_TRUE(world.MakeTable(accounts, "red", "music").ok());
  }
  IsolatedAccounts accounts(world.env, {});
  ASSERT_TRUE(accounts.Adopt().ok());
  EXPECT_EQ(accounts.totals().accounts, 2u);
  for (const IsolatedAccounts::View& view : accounts.List("", 10)) EXPECT_EQ(view.key_id, "");
  world.clock.AdvanceMicros(kHour - 1);
  EXPECT_EQ(world.GetAs(accounts, "red", "music"), std::nullopt);
  world.clock.AdvanceMicros(1);
  accounts.DropIdle();
  const auto left = accounts.List("", 10);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key_id, "red");
}

TEST(IsolatedAccounts, TheDefaultAccountsNumberMustNotBeAKeys) {
  World world;
  {
    IsolatedAccounts accounts(world.env, {});
    ASSERT_TRUE(world.MakeTable(accounts, "123456789012", "music").ok());
  }
  world.env.settings.account = "123456789012";
  IsolatedAccounts accounts(world.env, {});
  const Status adopted = accounts.Adopt();
  ASSERT_FALSE(adopted.ok());
  EXPECT_NE(adopted.error().message().find("--account=123456789012"), std::string::npos);
}

// A store that refuses writes keeps the account, and a later call drops it.
TEST(IsolatedAccounts, ADropThatFailsKeepsTheAccount) {
  World world;
  IsolatedAccounts accounts(world.env, {});
  ASSERT_TRUE(world.MakeTable(accounts, "blue", "music").ok());
  const std::string account = IsolatedAccounts::AccountOfKey("blue");
  world.engine.RefuseAll(true);
  EXPECT_FALSE(accounts.Drop(account).ok());
  world.clock.AdvanceMicros(kHour);
  EXPECT_FALSE(accounts.DropIdle());
  EXPECT_EQ(accounts.totals().accounts, 1u);
  EXPECT_EQ(world.GetAs(accounts, "blue", "music"), std::nullopt);
  world.engine.RefuseAll(false);
  EXPECT_TRUE(accounts.Drop(account).ok());
  EXPECT_TRUE(world.store->List().empty());
}

}  // namespace
}  // namespace stator::ops
