#include "plan/query_plan.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "expr/test_notation.h"

namespace stator::plan {
namespace {

using expr::KeyConditionPart;
using expr::notation::Value;
using model::KeySchema;
using model::Type;
using model::ValueView;

const KeySchema kSimple = {{"pk", Type::kS}, std::nullopt};
const KeySchema kNumbers = {{"pk", Type::kS}, model::KeyAttribute{"sk", Type::kN}};
const KeySchema kTexts = {{"pk", Type::kS}, model::KeyAttribute{"sk", Type::kS}};

KeyConditionPart Part(const char* attribute, KeyConditionPart::Op op, std::string_view value,
                      std::string_view value2 = "") {
  return {attribute, op, Value(value), value2.empty() ? "" : Value(value2)};
}
const KeyConditionPart kPk = Part("pk", KeyConditionPart::kEq, "'p'");

std::string MessageOf(const KeySchema& schema, const std::vector<KeyConditionPart>& parts) {
  const Result<KeyInterval> result = PlanQuery(schema, parts);
  if (result.ok()) return "";
  EXPECT_EQ(result.error().code(), ErrorCode::kValidation);
  return result.error().message();
}

TEST(PlanQuery, PartitionAlone) {
  const Result<KeyInterval> interval = PlanQuery(kNumbers, {kPk});
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(interval->partition, std::vector<std::string>{Value("'p'")});
  const std::string any = Value("-7");
  EXPECT_TRUE(interval->ContainsSort(ValueView(any)));
}

TEST(PlanQuery, Refusals) {
  const std::string not_supported = "Query key condition not supported";
  const std::string type =
      "One or more parameter values were invalid: Condition parameter type does not match schema "
      "type";
  EXPECT_EQ(MessageOf(kNumbers, {Part("sk", KeyConditionPart::kEq, "1")}),
            "Query condition missed key schema element: pk");
  EXPECT_EQ(MessageOf(kNumbers, {}), "Query condition missed key schema element: pk");
  EXPECT_EQ(MessageOf(kNumbers, {kPk, Part("other", KeyConditionPart::kEq, "1")}),
            "Query condition missed key schema element: sk");
  EXPECT_EQ(MessageOf(kSimple, {kPk, Part("other", KeyConditionPart::kEq, "1")}), not_supported);
  EXPECT_EQ(MessageOf(kNumbers, {Part("pk", KeyConditionPart::kGt, "'p'")}), not_supported);
  EXPECT_EQ(MessageOf(kNumbers, {Part("pk", KeyConditionPart::kEq, "1")}), type);
  EXPECT_EQ(MessageOf(kNumbers, {kPk, Part("sk", KeyConditionPart::kEq, "'1'")}), type);
  EXPECT_EQ(MessageOf(kNumbers, {kPk, Part("sk", KeyConditionPart::kBetween, "1", "'2'")}), type);
  EXPECT_EQ(MessageOf(kNumbers, {Part("pk", KeyConditionPart::kEq, "''")}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty string value. Key: pk");
  EXPECT_EQ(MessageOf(kTexts, {kPk, Part("sk", KeyConditionPart::kEq, "''")}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty string value. Key: sk");
}

// ContainsSort agrees with the meaning of every operator.
TEST(PlanQuery, IntervalsMeanTheirOperators) {
  SeededRandom random(3);
  for (int i = 0; i < 5000; ++i) {
    const auto n = [&] { return static_cast<int64_t>(random.Below(9)) - 4; };
    const int64_t low = n(), high = n(), sort = n();
    const auto op = static_cast<KeyConditionPart::Op>(random.Below(6));
    std::vector<KeyConditionPart> parts = {
        kPk, Part("sk", op, std::to_string(low),
                  op == KeyConditionPart::kBetween ? std::to_string(high) : "")};
    if (random.Below(2) == 0) std::swap(parts[0], parts[1]);
    const Result<KeyInterval> interval = PlanQuery(kNumbers, parts);
    ASSERT_TRUE(interval.ok());
    bool expected = false;
    switch (op) {
      case KeyConditionPart::kEq: expected = sort == low; break;
      case KeyConditionPart::kLt: expected = sort < low; break;
      case KeyConditionPart::kLe: expected = sort <= low; break;
      case KeyConditionPart::kGt: expected = sort > low; break;
      case KeyConditionPart::kGe: expected = sort >= low; break;
      default: expected = low <= sort && sort <= high; break;
    }
    const std::string value = Value(std::to_string(sort));
    ASSERT_EQ(interval->ContainsSort(ValueView(value)), expected)
        << op << " " << low << " " << high << " " << sort;
  }
}

TEST(PlanQuery, Prefixes) {
  const Result<KeyInterval> interval =
      PlanQuery(kTexts, {kPk, Part("sk", KeyConditionPart::kBeginsWith, "'ab'")});
  ASSERT_TRUE(interval.ok());
  for (const auto& [text, inside] : std::vector<std::pair<const char*, bool>>{
           {"'ab'", true}, {"'abc'", true}, {"'a'", false}, {"'ac'", false}, {"''", false}}) {
    const std::string value = Value(text);
    EXPECT_EQ(interval->ContainsSort(ValueView(value)), inside) << text;
  }
}

// Multi-attribute keys: equality on every partition attribute, a prefix of the sort attributes,
// only the last of them free.
TEST(PlanQuery, SeveralAttributes) {
  const model::IndexKeySchema schema = {{{"a", Type::kS}, {"b", Type::kN}},
                                        {{"c", Type::kS}, {"d", Type::kN}, {"e", Type::kS}}};
  const KeyConditionPart a = Part("a", KeyConditionPart::kEq, "'x'");
  const KeyConditionPart b = Part("b", KeyConditionPart::kEq, "1");
  const KeyConditionPart c = Part("c", KeyConditionPart::kEq, "'y'");
  const KeyConditionPart d = Part("d", KeyConditionPart::kGt, "5");
  const KeyConditionPart e = Part("e", KeyConditionPart::kBeginsWith, "'z'");
  const auto message = [&](const std::vector<KeyConditionPart>& parts) {
    const Result<KeyInterval> result = PlanQuery(schema, parts);
    return result.ok() ? "" : result.error().message();
  };
  const auto partition = [](const std::string& names) {
    return "HASH key attributes " + names + " must have equality conditions specified in the query";
  };
  const auto sort = [](const std::string& names, const std::string& because) {
    return "RANGE key attributes " + names +
           " must have equality conditions specified in the query because a condition is present "
           "on key attribute " +
           because;
  };
  EXPECT_EQ(message({a}), partition("b"));
  EXPECT_EQ(message({b, c}), partition("a"));
  EXPECT_EQ(message({c}), partition("a, b"));
  EXPECT_EQ(message({a, Part("b", KeyConditionPart::kGt, "'1'")}), partition("b"));
  EXPECT_EQ(message({a, b, d}), sort("c", "d"));
  EXPECT_EQ(message({a, b, e}), sort("c, d", "e"));
  EXPECT_EQ(message({a, b, c, e}), sort("d", "e"));
  EXPECT_EQ(message({a, b, d, e}), sort("c", "d"));
  EXPECT_EQ(message({a, b, c, d, e}), sort("d", "e"));
  EXPECT_EQ(message({a, b, Part("c", KeyConditionPart::kGt, "'y'"), d,
                     Part("e", KeyConditionPart::kEq, "'z'")}),
            sort("c, d", "e"));
  EXPECT_EQ(message({a, b, Part("f", KeyConditionPart::kEq, "1")}),
            "Query condition missed key schema element: c");
  EXPECT_EQ(message({a, b, c, Part("d", KeyConditionPart::kEq, "1"), e,
                     Part("f", KeyConditionPart::kEq, "1")}),
            "Query key condition not supported");

  const Result<KeyInterval> interval =
      PlanQuery(schema, {d, c, b, a});  // the textual order is free
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(interval->partition, (std::vector<std::string>{Value("'x'"), Value("1")}));
  EXPECT_EQ(interval->leading, std::vector<std::string>{Value("'y'")});
  const auto contains = [&](std::string_view item) {
    const std::string encoded = expr::notation::Item(item);
    return interval->ContainsSortKey(schema, model::ItemView(encoded));
  };
  EXPECT_TRUE(contains("{a: 'x', b: 1, c: 'y', d: 6, e: 'q'}"));
  EXPECT_FALSE(contains("{a: 'x', b: 1, c: 'y', d: 5, e: 'q'}"));
  EXPECT_FALSE(contains("{a: 'x', b: 1, c: 'z', d: 6, e: 'q'}"));
}

}  // namespace
}  // namespace stator::plan
