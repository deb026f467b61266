#include "ops/checks.h"

#include <gtest/gtest.h>

#include "expr/test_notation.h"
#include "ops/operations.h"
#include "ops/payload.h"
#include "ops/resource_policies.h"
#include "ops/table_status.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using model::ItemView;
using model::KeySchema;
using model::Type;

std::string MessageOf(const Status& status) { return status.ok() ? "" : status.error().message(); }

const KeySchema kSimple = {{"pk", Type::kS}, std::nullopt};
const KeySchema kComposite = {{"pk", Type::kS}, model::KeyAttribute{"sk", Type::kN}};

TEST(TableNameOf, NamesAndArns) {
  EXPECT_EQ(TableNameOf("Music").value(), "Music");
  EXPECT_EQ(TableNameOf("arn:aws:dynamodb:eu-west-1:123456789012:table/Music").value(), "Music");
  EXPECT_EQ(TableNameOf("arn:aws-cn:dynamodb:ddblocal:000000000000:table/a.b").value(), "a.b");
  EXPECT_EQ(TableNameOf("arnold").value(), "arnold");
  for (const char* bad : {"arn:",
                          "arn:aws:dynamodb:eu-west-1:1",
                          "arn:aws:dynamodb:eu-west-1:1:table/",
                          "arn:aws:dynamodb:x:1:Music",
                          "arn:aws:dynamodb:x:1:table/Music/index/i",
                          "arn:aws:dynamodb:x:1:tables/Music",
                          "arn:aws:dynamodb:x:123456789012:Music",
                          "arn:aws:dynamodb:x:123456789012:table/Music/index/i",
                          "arn:aws:dynamodb:x:123456789012:table/",
                          "arn:aws:dynamodb:x:123456789012:tables/Music",
                          "arn::dynamodb:x:123456789012:table/Music",
                          "arn:aws:s3:x:123456789012:table/Music",
                          "arn:aws:dynamodb::123456789012:table/Music",
                          "arn:aws:dynamodb:x:12345678901:table/Music",
                          "arn:aws:dynamodb:x:1234567890123:table/Music",
                          "arn:aws:dynamodb:x:12345678901a:table/Music",
                          "arn:aws:dynamodb:X:123456789012:table/Music",
                          "arn:aws:dynamodb:x:123456789012:table/a b",
                          "arn:aws:dynamodb:x:123456789012:table/M\xc3\xbcsic",
                          "arn:aws:dynamodb:x:123456789012"}) {
    const Result<std::string_view> name = TableNameOf(bad);
    ASSERT_FALSE(name.ok()) << bad;
    EXPECT_EQ(name.error().code(), ErrorCode::kValidation) << bad;
  }
}

// The store's name, or the error's.
std::string StoreNameFor(const Environment& env, const char* account, bool tells,
                         const char* name) {
  const Result<StoreTableName> found = StoreNameOf({env, account, tells}, name);
  return found.ok() ? found->str() : std::string(ErrorCodeName(found.error().code()));
}

TEST(StoreNameOf, ANameIsTheCallersAndAnArnItsAccounts) {
  TestWorld world;
  const Environment& env = world.env;
  const char* const kOwn = "arn:aws:dynamodb:us-east-1:000000000000:table/Music";
  const char* const kOther = "arn:aws:dynamodb:us-east-1:123456789012:table/Music";
  EXPECT_EQ(StoreNameFor(env, "", true, "Music"), "Music");
  EXPECT_EQ(StoreNameFor(env, "", true, kOwn), "Music");
  EXPECT_EQ(StoreNameFor(env, "", true, kOther), "123456789012/Music");
  EXPECT_EQ(StoreNameFor(env, "222222222222", true, "Music"), "222222222222/Music");
  EXPECT_EQ(StoreNameFor(env, "222222222222", true, kOwn), "Music");
  EXPECT_EQ(StoreNameFor(env, "222222222222", true, kOther), "123456789012/Music");
  // Without a verified key every ARN is the default account's.
  EXPECT_EQ(StoreNameFor(env, "", false, kOther), "Music");
  // An isolated account's ARNs are its own.
  EXPECT_EQ(StoreNameFor(env, "123456789012", false, "Music"), "123456789012/Music");
  EXPECT_EQ(StoreNameFor(env, "123456789012", false, kOther), "123456789012/Music");
  EXPECT_EQ(StoreNameFor(env, "123456789012", false, kOwn), "AccessDenied");
  EXPECT_EQ(StoreNameFor(env, "222222222222", false, kOther), "AccessDenied");
  // The form in the store is no name of a client.
  for (const char* account : {"", "123456789012"}) {
    EXPECT_EQ(StoreNameFor(env, account, true, "123456789012/Music"), "ResourceNotFound");
    EXPECT_EQ(StoreNameFor(env, account, true, "222222222222/Music"), "ResourceNotFound");
    EXPECT_EQ(
        StoreNameFor(env, account, true, "arn:aws:dynamodb:x:123456789012:table/222222222222/M"),
        "Validation");
  }
  EXPECT_EQ(TableArn(env, "123456789012/Music"),
            "arn:aws:dynamodb:us-east-1:123456789012:table/Music");
  EXPECT_EQ(TableArn(env, "Music"), kOwn);
}

// No request of the default account's takes memory for a name.
TEST(StoreNameOf, TheDefaultAccountsNamesAreViews) {
  TestWorld world;
  const std::string name = "a-table-with-a-name-that-no-short-string-holds";
  const Result<StoreTableName> found = StoreNameOf({world.env, "", true}, name);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->view().data(), name.data());
}

// An account that is deleted while a table of it is made: the table does not stay.
TEST(Accounts, ATableDoesNotOutliveItsAccount) {
  struct Accounts final : ResourcePolicies {
    std::optional<Policy> Find(std::string_view) const override { return std::nullopt; }
    Status Alter(const std::string&, Change) override { return OkStatus(); }
    WorkerPool& changes() override { return pool; }
    Status CheckAccount(std::string_view account) override {
      asked = account;
      // The table is there when its account is looked for.
      there = store->Find("123456789012/music") != nullptr;
      if (!gone) return OkStatus();
      return Error(ErrorCode::kAccessDenied, "The account does not exist.");
    }
    WorkerPool pool{1, 1};
    table::Store* store = nullptr;
    bool gone = true;
    std::string asked;
    bool there = false;
  } accounts;
  TestWorld world;
  accounts.store = world.store.get();
  world.env.resource_policies = &accounts;
  const auto create = [&world](std::string account) {
    CreateTableRequest request;
    request.table_name = "music";
    request.key_schema = {{"pk", KeyType::kHash}};
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    request.billing_mode = BillingMode::kPayPerRequest;
    return world.CallAs(std::move(account), &CreateTable, std::move(request));
  };
  const auto refused = create("123456789012");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(accounts.asked, "123456789012");
  EXPECT_TRUE(accounts.there);
  EXPECT_EQ(world.store->Find("123456789012/music"), nullptr);
  // The default account is always there.
  EXPECT_TRUE(create("").ok());
  accounts.gone = false;
  EXPECT_TRUE(create("123456789012").ok());
  EXPECT_NE(world.store->Find("123456789012/music"), nullptr);
  world.env.resource_policies = nullptr;
}

// The operations of two accounts on one store, as their contexts name them.
TEST(Accounts, TablesOfOneNameAreTwo) {
  TestWorld world;
  const auto call = [&world](std::string account, auto operation, auto request) {
    return world.CallAs(std::move(account), operation, std::move(request));
  };
  const std::string other = "123456789012";
  for (const std::string& account : {std::string(), other}) {
    CreateTableRequest create;
    create.table_name = "music";
    create.key_schema = {{"pk", KeyType::kHash}};
    create.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    create.billing_mode = BillingMode::kPayPerRequest;
    const auto made = call(account, &CreateTable, std::move(create));
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->table_description.table_name, "music");
    PutItemRequest put;
    put.table_name = "music";
    put.item.bytes = Item(("{pk: 'a', of: '" + account + "'}").c_str());
    EXPECT_TRUE(call(account, &PutItem, std::move(put)).ok());
  }
  EXPECT_NE(world.store->Find("music"), nullptr);
  EXPECT_NE(world.store->Find("123456789012/music"), nullptr);
  for (const std::string& account : {std::string(), other}) {
    GetItemRequest get;
    get.table_name = "music";
    get.key.bytes = Item("{pk: 'a'}");
    const auto got = call(account, &GetItem, std::move(get));
    ASSERT_TRUE(got.ok() && got->item);
    EXPECT_EQ(*got->item, Item(("{pk: 'a', of: '" + account + "'}").c_str()));
    const auto listed = call(account, &ListTables, ListTablesRequest{});
    ASSERT_TRUE(listed.ok());
    EXPECT_EQ(listed->table_names, std::vector<std::string>{"music"});
  }
  const auto nothing = call("222222222222", &ListTables, ListTablesRequest{});
  EXPECT_TRUE(nothing.ok() && nothing->table_names.empty());
  CreateTableRequest create;
  create.table_name = "arn:aws:dynamodb:us-east-1:000000000000:table/new";
  create.key_schema = {{"pk", KeyType::kHash}};
  create.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
  const auto foreign = call(other, &CreateTable, std::move(create));
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code(), ErrorCode::kAccessDenied);
}

TEST(CheckKey, ExactlyTheKey) {
  const std::string mismatch = "The provided key element does not match the schema";
  const auto check = [](const KeySchema& schema, const char* key) {
    const std::string encoded = Item(key);
    return MessageOf(CheckKey(schema, ItemView(encoded)));
  };
  EXPECT_EQ(check(kSimple, "{pk: 'a'}"), "");
  EXPECT_EQ(check(kComposite, "{pk: 'a', sk: 1}"), "");
  EXPECT_EQ(check(kSimple, "{}"), mismatch);
  EXPECT_EQ(check(kSimple, "{pk: 1}"), mismatch);
  EXPECT_EQ(check(kSimple, "{pk: 'a', extra: 1}"), mismatch);
  EXPECT_EQ(check(kSimple, "{other: 'a'}"), mismatch);
  EXPECT_EQ(check(kComposite, "{pk: 'a'}"), mismatch);
  EXPECT_EQ(check(kComposite, "{pk: 'a', sk: '1'}"), mismatch);
  EXPECT_EQ(check(kComposite, "{pk: 'a', other: 1}"), mismatch);
  EXPECT_EQ(check(kSimple, "{pk: ''}"),
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty string value. Key: pk");
}

TEST(CheckItemKey, SizesAndTypes) {
  const KeySchema schema = {{"pk", Type::kS}, model::KeyAttribute{"sk", Type::kB}};
  const auto check = [&](size_t partition, size_t sort) {
    const std::string item = Item("{pk: '" + std::string(partition, 'p') + "', sk: x'" +
                                  std::string(sort, 's') + "', more: [1]}");
    return MessageOf(CheckItemKey(schema, ItemView(item)));
  };
  EXPECT_EQ(check(2048, 1024), "");
  EXPECT_EQ(check(2049, 1),
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum "
            "size limit of2048 bytes");
  EXPECT_EQ(check(1, 1025),
            "One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
  EXPECT_EQ(check(1, 0),
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty binary value. Key: sk");
  const std::string missing = Item("{pk: 'a'}"), mistyped = Item("{pk: 'a', sk: 'text'}");
  EXPECT_EQ(MessageOf(CheckItemKey(schema, ItemView(missing))),
            "One or more parameter values were invalid: Missing the key sk in the item");
  EXPECT_EQ(
      MessageOf(CheckItemKey(schema, ItemView(mistyped))),
      "One or more parameter values were invalid: Type mismatch for key sk expected: B actual: S");
}

TEST(CheckExpressionParameters, MixedAndUnused) {
  EXPECT_EQ(MessageOf(CheckExpressionParameters({{"ConditionExpression", true}},
                                                {{"Expected", false}}, true, true)),
            "");
  EXPECT_EQ(MessageOf(CheckExpressionParameters(
                {{"UpdateExpression", true}, {"ConditionExpression", true}},
                {{"AttributeUpdates", false}, {"Expected", true}}, false, false)),
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {Expected} "
            "Expression parameters: {UpdateExpression, ConditionExpression}");
  EXPECT_EQ(MessageOf(CheckExpressionParameters({{"ConditionExpression", false}}, {}, true, false)),
            "ExpressionAttributeNames can only be specified when using expressions");
  EXPECT_EQ(MessageOf(CheckExpressionParameters({{"ConditionExpression", false}}, {}, false, true)),
            "ExpressionAttributeValues can only be specified when using expressions: "
            "ConditionExpression is null");
  EXPECT_EQ(MessageOf(CheckExpressionParameters(
                {{"UpdateExpression", false}, {"ConditionExpression", false}}, {}, false, true)),
            "ExpressionAttributeValues can only be specified when using expressions: "
            "UpdateExpression and ConditionExpression are null");
  EXPECT_FALSE(
      CheckExpressionParameters(
          {{"ProjectionExpression", true, false}, {"FilterExpression", false}}, {}, true, true)
          .ok())
      << "a projection uses no values";
}

TEST(CheckConditionalOperator, WantsTwoConditions) {
  const std::vector<LegacyCondition> none, one(1), two(2);
  EXPECT_TRUE(CheckConditionalOperator(std::nullopt, std::nullopt).ok());
  EXPECT_TRUE(CheckConditionalOperator(ConditionalOperator::kOr, two).ok());
  EXPECT_FALSE(CheckConditionalOperator(ConditionalOperator::kOr, one).ok());
  EXPECT_FALSE(CheckConditionalOperator(ConditionalOperator::kAnd, none).ok());
  EXPECT_FALSE(CheckConditionalOperator(ConditionalOperator::kAnd, std::nullopt).ok());
}

TEST(ConditionFailed, CarriesTheItemOnlyWhenAskedAndThere) {
  const std::string item = Item("{pk: 'a'}");
  EXPECT_EQ(ConditionFailed(std::nullopt, ItemView(item)).payload(), nullptr);
  EXPECT_EQ(ConditionFailed(ReturnValuesOnConditionCheckFailure::kNone, ItemView(item)).payload(),
            nullptr);
  EXPECT_EQ(ConditionFailed(ReturnValuesOnConditionCheckFailure::kAllOld, ItemView()).payload(),
            nullptr);
  const Error error = ConditionFailed(ReturnValuesOnConditionCheckFailure::kAllOld, ItemView(item));
  ASSERT_NE(error.payload(), nullptr);
  EXPECT_EQ(static_cast<const ItemPayload&>(*error.payload()).item, item);
}

}  // namespace
}  // namespace stator::ops
