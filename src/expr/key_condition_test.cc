#include <gtest/gtest.h>

#include "expr/test_request.h"

namespace stator::expr {
namespace {

// "pk = 'x'; sk BETWEEN 1 2", or the error.
std::string Extract(std::string_view text) {
  const Result<Condition> condition = notation::ParseWithStock(text, Role::kKeyCondition);
  if (!condition.ok()) return condition.error().message();
  const Result<std::vector<KeyConditionPart>> parts = ExtractKeyConditions(*condition);
  if (!parts.ok()) return parts.error().message();
  constexpr const char* kOps[] = {"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"};
  std::string out;
  for (const KeyConditionPart& part : *parts) {
    if (!out.empty()) out += "; ";
    out += part.attribute + " " + kOps[part.op] + " " +
           notation::Show(model::ValueView(std::string_view(part.value)));
    if (!part.value2.empty())
      out += " " + notation::Show(model::ValueView(std::string_view(part.value2)));
  }
  return out;
}

TEST(KeyConditionTest, Accepted) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"pk = :s", "pk = 'x'"},
      {"pk = :s AND sk = :n", "pk = 'x'; sk = 1"},
      {"sk < :n AND pk = :s", "sk < 1; pk = 'x'"},
      {"(pk = :s) AND (sk <= :n)", "pk = 'x'; sk <= 1"},
      {"(pk = :s AND sk > :n)", "pk = 'x'; sk > 1"},
      {":s = pk", "pk = 'x'"},
      {":n <= sk AND pk = :s", "sk >= 1; pk = 'x'"},
      {":n < sk AND pk = :s", "sk > 1; pk = 'x'"},
      {":n >= sk AND pk = :s", "sk <= 1; pk = 'x'"},
      {":n > sk AND pk = :s", "sk < 1; pk = 'x'"},
      {"pk = :s AND sk BETWEEN :n AND :m", "pk = 'x'; sk BETWEEN 1 2"},
      {"pk = :s AND begins_with(sk, :t)", "pk = 'x'; sk begins_with 'y'"},
      {"#dot = :s AND sk >= :b", "a.b = 'x'; sk >= x'ab'"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Extract(text), want) << text;
}

TEST(KeyConditionTest, Refused) {
  const std::string condition = "Invalid condition in KeyConditionExpression: ";
  const std::string op = "Invalid operator used in KeyConditionExpression: ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"pk = :s OR sk = :s", op + "OR"},
      {"NOT pk = :s", op + "NOT"},
      {"pk = :s AND NOT sk = :s", op + "NOT"},
      {"pk <> :s", op + "<>"},
      {"a.b <> :s", op + "<>"},
      {"pk IN (:s)", op + "IN"},
      {"attribute_exists(pk)", op + "attribute_exists"},
      {"attribute_not_exists(pk)", op + "attribute_not_exists"},
      {"attribute_type(pk, :S)", op + "attribute_type"},
      {"pk = :s AND contains(sk, :s)", op + "contains"},
      {"size(pk) = :n", "KeyConditionExpressions cannot contain nested operations"},
      {"pk = size(sk)", "KeyConditionExpressions cannot contain nested operations"},
      {"pk = :s AND sk BETWEEN :n AND size(pk)",
       "KeyConditionExpressions cannot contain nested operations"},
      {"pk.a = :s",
       "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested "
       "attributes"},
      {"pk[0] = :s",
       "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested "
       "attributes"},
      {"pk = :s AND pk = :t", "KeyConditionExpressions must only contain one condition per key"},
      {"pk = :s AND (sk > :s AND sk < :t)",
       "KeyConditionExpressions must only contain one condition per key"},
      {"pk = :s AND sk = :s AND c = :t", "Conditions can be of length 1 or 2 only"},
      {":s = :t", condition + "No key attribute specified"},
      {"pk = sk", condition + "Multiple attribute names used in one condition"},
      {"pk = :s AND sk BETWEEN pk AND :t",
       condition + "Multiple attribute names used in one condition"},
      {"begins_with(pk, sk)", condition + "Multiple attribute names used in one condition"},
      {":s BETWEEN sk AND :t",
       condition + "BETWEEN operator must have the key attribute as its first operand"},
      {"begins_with(:s, sk)",
       condition + "begins_with operator must have the key attribute as its first operand"},
      {"pk = pk",
       "Invalid KeyConditionExpression: The first operand must be distinct from the remaining "
       "operands for this operator or "
       "function; operator: =, first operand: [pk]"},
      {"pk = :s AND begins_with(sk, :n)",
       "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator "
       "or function: begins_with, "
       "operand type: N"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Extract(text), want) << text;
}

TEST(KeyConditionTest, KeysOfSeveralAttributes) {
  const Result<Condition> condition =
      notation::ParseWithStock("a = :s AND b = :t AND c = :n AND d > :m", Role::kKeyCondition);
  ASSERT_TRUE(condition.ok());
  const auto parts = ExtractKeyConditions(*condition, 8);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->size(), 4u);
  EXPECT_FALSE(ExtractKeyConditions(*condition).ok());
}

}  // namespace
}  // namespace stator::expr
