#include "ops/checks.h"

#include <gtest/gtest.h>

#include "expr/test_notation.h"
#include "ops/payload.h"

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
