#include <gtest/gtest.h>

#include "expr/test_request.h"

namespace stator::expr {
namespace {

LegacyCondition Compare(std::string op, std::vector<std::string> values,
                        std::string attribute = "a") {
  LegacyCondition condition;
  condition.attribute = std::move(attribute);
  condition.comparison_operator = std::move(op);
  condition.values.emplace();
  for (const std::string& value : values) condition.values->push_back(notation::Value(value));
  return condition;
}

LegacyCondition Expect(std::optional<std::string> value, std::optional<bool> exists) {
  LegacyCondition condition;
  condition.attribute = "a";
  if (value) condition.value = notation::Value(*value);
  condition.exists = exists;
  return condition;
}

// "true", "false" or the error.
std::string Outcome(const std::vector<LegacyCondition>& conditions, std::string_view item,
                    Role role = Role::kCondition, bool or_together = false) {
  const Result<Condition> condition = CompileLegacy(conditions, or_together, role);
  if (!condition.ok()) return condition.error().message();
  const std::string encoded = notation::Item(item);
  return Evaluate(*condition, model::ItemView(encoded)) ? "true" : "false";
}

TEST(LegacyTest, Operators) {
  struct Row {
    std::string op;
    std::vector<std::string> values;
    std::string item;
    bool holds;
  };
  const std::vector<Row> rows = {
      {"EQ", {"1"}, "{a: 1}", true},
      {"EQ", {"1"}, "{a: 2}", false},
      {"EQ", {"1"}, "{b: 1}", false},
      {"EQ", {"<'x', 'y'>"}, "{a: <'y', 'x'>}", true},
      {"EQ", {"[1, {k: 2}]"}, "{a: [1, {k: 2}]}", true},
      {"NE", {"1"}, "{a: 2}", true},
      {"NE", {"1"}, "{a: 1}", false},
      {"NE", {"1"}, "{b: 1}", true},
      {"LE", {"1"}, "{a: 1}", true},
      {"LT", {"1"}, "{a: 1}", false},
      {"GE", {"1"}, "{a: 1}", true},
      {"GT", {"1"}, "{a: 's'}", false},
      {"GT", {"'a'"}, "{a: 'b'}", true},
      {"LT", {"1"}, "{b: 0}", false},
      {"NULL", {}, "{b: 0}", true},
      {"NULL", {}, "{a: null}", false},
      {"NOT_NULL", {}, "{a: null}", true},
      {"NOT_NULL", {}, "{b: 0}", false},
      {"CONTAINS", {"'b'"}, "{a: 'abc'}", true},
      {"CONTAINS", {"2"}, "{a: <1, 2>}", true},
      {"CONTAINS", {"2"}, "{a: [1, 2]}", true},
      {"CONTAINS", {"'b'"}, "{b: 'abc'}", false},
      {"NOT_CONTAINS", {"'b'"}, "{a: 'abc'}", false},
      {"NOT_CONTAINS", {"'z'"}, "{a: 'abc'}", true},
      {"NOT_CONTAINS", {"'z'"}, "{b: 'abc'}", false},
      {"BEGINS_WITH", {"'ab'"}, "{a: 'abc'}", true},
      {"BEGINS_WITH", {"x'ab'"}, "{a: 'abc'}", false},
      {"IN", {"1", "2"}, "{a: 2}", true},
      {"IN", {"1", "2"}, "{a: 3}", false},
      {"IN", {"1"}, "{b: 1}", false},
      {"BETWEEN", {"1", "3"}, "{a: 3}", true},
      {"BETWEEN", {"1", "3"}, "{a: 4}", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Outcome({Compare(row.op, row.values)}, row.item), row.holds ? "true" : "false")
        << row.op << " " << row.item;
    EXPECT_EQ(Outcome({Compare(row.op, row.values)}, row.item, Role::kFilter),
              row.holds ? "true" : "false")
        << row.op;
  }
}

TEST(LegacyTest, ValueAndExists) {
  EXPECT_EQ(Outcome({Expect("1", {})}, "{a: 1}"), "true");
  EXPECT_EQ(Outcome({Expect("1", true)}, "{a: 2}"), "false");
  EXPECT_EQ(Outcome({Expect({}, false)}, "{a: 2}"), "false");
  EXPECT_EQ(Outcome({Expect({}, false)}, ""), "true");
  LegacyCondition with_value = Expect("1", {});
  with_value.comparison_operator = "GE";
  EXPECT_EQ(Outcome({with_value}, "{a: 2}"), "true");
}

TEST(LegacyTest, NamesAreLiteral) {
  EXPECT_EQ(Outcome({Compare("EQ", {"1"}, "m.x")}, "{m.x: 1, m: {x: 2}}"), "true");
  EXPECT_EQ(Outcome({Compare("EQ", {"1"}, "abort")}, "{abort: 1}"), "true");
}

TEST(LegacyTest, TogetherWithAndOr) {
  const std::vector<LegacyCondition> two = {Compare("EQ", {"1"}), Compare("EQ", {"2"}, "b")};
  EXPECT_EQ(Outcome(two, "{a: 1, b: 2}"), "true");
  EXPECT_EQ(Outcome(two, "{a: 1, b: 3}"), "false");
  EXPECT_EQ(Outcome(two, "{a: 1, b: 3}", Role::kCondition, true), "true");
  EXPECT_EQ(Outcome(two, "{a: 2, b: 3}", Role::kCondition, true), "false");
  const Result<Condition> condition = CompileLegacy(two, false, Role::kFilter);
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(TopLevelAttributes(*condition), (std::vector<std::string>{"a", "b"}));
}

TEST(LegacyTest, Errors) {
  const std::string prefix = "One or more parameter values were invalid: ";
  LegacyCondition both = Compare("EQ", {"1"});
  both.value = notation::Value("1");
  EXPECT_EQ(Outcome({both}, ""),
            prefix + "Value and AttributeValueList cannot be used together for Attribute: a");
  LegacyCondition exists = Compare("EQ", {"1"});
  exists.exists = true;
  EXPECT_EQ(Outcome({exists}, ""),
            prefix + "Exists and ComparisonOperator cannot be used together for Attribute: a");
  LegacyCondition bare = Compare("EQ", {});
  bare.values.reset();
  EXPECT_EQ(
      Outcome({bare}, ""),
      prefix +
          "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a");
  LegacyCondition no_operator = Compare("EQ", {"1"});
  no_operator.comparison_operator.reset();
  EXPECT_EQ(
      Outcome({no_operator}, ""),
      prefix + "AttributeValueList can only be used with a ComparisonOperator for Attribute: a");
  EXPECT_EQ(Outcome({Expect({}, {})}, ""),
            prefix + "Value must be provided when Exists is null for Attribute: a");
  EXPECT_EQ(Outcome({Expect({}, true)}, ""),
            prefix + "Value must be provided when Exists is true for Attribute: a");
  EXPECT_EQ(Outcome({Expect("1", false)}, ""),
            prefix + "Value cannot be used when Exists is false for Attribute: a");
  for (const auto& [op, values] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"EQ", {}},
           {"EQ", {"1", "2"}},
           {"BETWEEN", {"1"}},
           {"IN", {}},
           {"NULL", {"1"}},
           {"BEGINS_WITH", {"'a'", "'b'"}}}) {
    const std::string want =
        prefix + "Invalid number of argument(s) for the " + op + " ComparisonOperator";
    EXPECT_EQ(Outcome({Compare(op, values)}, ""), want);
    EXPECT_EQ(Outcome({Compare(op, values)}, "", Role::kFilter), want);
  }
  EXPECT_EQ(Outcome({Compare("IN", {"1", "'a'"})}, ""),
            prefix + "AttributeValues inside AttributeValueList must be of same type");
  for (const auto& [op, value, type] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"BEGINS_WITH", "1", "N"},
           {"LT", "<1>", "NS"},
           {"GE", "[1]", "L"},
           {"CONTAINS", "true", "BOOL"},
           {"NOT_CONTAINS", "null", "NULL"},
           {"IN", "{}", "M"}}) {
    EXPECT_EQ(
        Outcome({Compare(op, {value})}, ""),
        prefix + "ComparisonOperator " + op + " is not valid for " + type + " AttributeValue type");
  }
  EXPECT_EQ(Outcome({Compare("BETWEEN", {"2", "1"})}, ""),
            "The BETWEEN condition was provided a range where the lower bound is greater than the "
            "upper bound");
}

TEST(LegacyTest, KeyConditions) {
  const Result<Condition> condition =
      CompileLegacy({Compare("EQ", {"'x'"}, "pk"), Compare("BETWEEN", {"1", "2"}, "sk")}, false,
                    Role::kKeyCondition);
  ASSERT_TRUE(condition.ok());
  const auto parts = ExtractKeyConditions(*condition);
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].attribute, "pk");
  EXPECT_EQ((*parts)[0].op, KeyConditionPart::kEq);
  EXPECT_EQ((*parts)[1].op, KeyConditionPart::kBetween);
  EXPECT_EQ((*parts)[1].value2, notation::Value("2"));
  for (const char* op : {"NE", "IN", "CONTAINS", "NOT_CONTAINS"}) {
    const Result<Condition> odd =
        CompileLegacy({Compare(op, {"'x'"}, "pk")}, false, Role::kKeyCondition);
    ASSERT_TRUE(odd.ok());
    EXPECT_EQ(ExtractKeyConditions(*odd).error().message(),
              "Attempted conditional constraint is not an indexable operation");
  }
  const Result<Condition> three =
      CompileLegacy({Compare("EQ", {"1"}), Compare("EQ", {"1"}, "b"), Compare("EQ", {"1"}, "c")},
                    false, Role::kKeyCondition);
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(ExtractKeyConditions(*three).error().message(),
            "Conditions can be of length 1 or 2 only");
  EXPECT_TRUE(ExtractKeyConditions(*three, 3).ok());
}

std::string ApplyLegacy(LegacyUpdate::Action action, std::optional<std::string> value,
                        std::string_view item, std::string attribute = "a") {
  LegacyUpdate update;
  update.attribute = std::move(attribute);
  update.action = action;
  if (value) update.value = notation::Value(*value);
  const Result<Update> compiled = CompileLegacyUpdates({update});
  if (!compiled.ok()) return compiled.error().message();
  const std::string old_item = notation::Item(item);
  const std::string key = notation::Item("{pk: 'k'}");
  const Result<Updated> updated =
      ApplyUpdate(*compiled, model::ItemView(old_item), model::ItemView(key));
  if (!updated.ok()) return updated.error().message();
  return notation::Show(model::ItemView(updated->item));
}

TEST(LegacyTest, AttributeUpdates) {
  const std::string prefix = "One or more parameter values were invalid: ";
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kPut, "1", "{b: 2}"), "{a: 1, b: 2}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kPut, "1", "{b: 2}", "b.c"), "{b: 2, b.c: 1}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kPut, "1", ""), "{a: 1, pk: 'k'}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, "1", "{a: 2}"), "{a: 3}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, "1", ""), "{a: 1, pk: 'k'}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, "<1, 2>", "{a: <3>}"), "{a: <1, 2, 3>}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, "[3]", "{a: [1, 2]}"), "{a: [1, 2, 3]}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, "[3]", "{a: 1}"),
            "Type mismatch for attribute to update");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kDelete, {}, "{a: 1, b: 2}"), "{b: 2}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kDelete, {}, ""), "");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kDelete, "<1>", "{a: <1, 2>}"), "{a: <2>}");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kPut, {}, ""),
            prefix + "Only DELETE action is allowed when no attribute value is specified");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, {}, ""),
            prefix + "Only DELETE action is allowed when no attribute value is specified");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kDelete, "1", ""),
            prefix + "DELETE action with value is not supported for the type N");
  EXPECT_EQ(ApplyLegacy(LegacyUpdate::kAdd, "'s'", ""),
            prefix + "ADD action is not supported for the type S");
  EXPECT_FALSE(CompileLegacyUpdates({})->present());
}

}  // namespace
}  // namespace stator::expr
