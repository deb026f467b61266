#include "expr/bind.h"

#include <gtest/gtest.h>

#include "expr/test_request.h"

namespace stator::expr {
namespace {

using notation::ConditionError;
using notation::Repeat;

struct Case {
  std::string text;
  std::string error;  // after "Invalid ConditionExpression: "; "" if it parses
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string want = c.error.empty() ? "" : "Invalid ConditionExpression: " + c.error;
    EXPECT_EQ(ConditionError(c.text), want) << c.text.substr(0, 200);
  }
}

std::string Distinct(std::string_view op, std::string_view path) {
  return "The first operand must be distinct from the remaining operands for this operator or "
         "function; operator: " +
         std::string(op) + ", first operand: " + std::string(path);
}
std::string WrongType(std::string_view op, std::string_view type) {
  return "Incorrect operand type for operator or function; operator or function: " +
         std::string(op) + ", operand type: " + std::string(type);
}
std::string Misused(std::string_view name) {
  return "The function is not allowed to be used this way in an expression; function: " +
         std::string(name);
}
std::string Count(std::string_view name, int count) {
  return "Incorrect number of operands for operator or function; operator or function: " +
         std::string(name) + ", number of operands: " + std::to_string(count);
}
const std::string kRedundant = "The expression has redundant parentheses;";

TEST(BindTest, Accepted) {
  const char* const accepted[] = {
      // clang-format off
      "a = :s", "a<>:s", "(a) = :s", "((a) = :s)", "((a) = (:s))", "a = (:s)", "(a = :s)",
      "NOT a = :s", "NOT NOT a = :s", "NOT (a = :s)", "(NOT (a = :s))", "(NOT NOT a = :s)",
      "((a = :s) AND (b = :t))", "((a = :s) OR a = :t) AND (a=:s)",
      "(a = :s AND b = :s) AND c = :s", "((a = :s AND b = :s) AND c = :s)", "a = :s aNd b = :t",
      "a = :s or b = :t", "a=:s AND(b=:t)", "a BETWEEN :s AND :t", "a between (:s) and (:t)",
      "a BETWEEN :s AND :t AND b = :s", "NOT a BETWEEN :s AND :t OR b = :s", "a IN (:s)",
      "a in ((:s), :t)", "a IN (:n, :s, :l, b)", "attribute_exists(a)", "attribute_exists((a))",
      "(attribute_exists(a))", "attribute_exists\t(a)", "contains (a, :s)", "contains((a),(:s))",
      "contains(a, :map)", "contains(:s, :t)", "contains(:n, a)", "contains(a, size(b))",
      "begins_with(:s, a)", "begins_with(:s, :s)", "begins_with(a, b)", "begins_with(a, :b)",
      "attribute_type(a, :S)", "attribute_type(:s, :S)", "attribute_type(size(a), :S)",
      "size(a) > :n", "(size(a)) = :n", "size((a)) = :n", "size(a) = size(a)", "size(a) < :s",
      "size(:ss) = :n", "size(:l) = :n", "size(:map) = :n", "size(:s) = :n", "size(:b) = :n",
      "size(a) IN (:n)", "size(a) BETWEEN :n AND :m", "a BETWEEN size(b) AND size(c)", ":s = :s",
      ":s < a", "a = :ss", "a <> :l", "a\n=\r:s", "a . b = :s", "a[ 1 ] = :s",
      "a[0].b[1][2].c = :s", "#a.#b[3] = :s", "#dot = :s", "a [0] = :s", "#1 = :1", "#_ = :_",
      "a1_b = :s", "a[00] = :s", "a[2147483647] = :s", "#size = :n", "size(#size) = :n",
      "a.b = a.c", "a IN (a.b)", "a BETWEEN b AND c",
      // clang-format on
  };
  for (const char* text : accepted) {
    EXPECT_EQ(ConditionError(text), "") << text;
  }
}

TEST(BindTest, EmptyAndOversized) {
  Check({{"", "The expression can not be empty;"},
         {"a = :s" + std::string(4090, ' '), ""},
         {"a = :s" + std::string(4091, ' '),
          "Expression size has exceeded the maximum allowed size; expression size: 4097"}});
}

TEST(BindTest, NamesItsParameter) {
  EXPECT_EQ(ConditionError("", Role::kFilter),
            "Invalid FilterExpression: The expression can not be empty;");
  EXPECT_EQ(ConditionError("foo(a)", Role::kKeyCondition),
            "Invalid KeyConditionExpression: Invalid function name; function: foo");
}

TEST(BindTest, RedundantParentheses) {
  for (const char* text :
       {"((a = :s))", "(((a = :s)))", "((a)) = :s", "a = ((:s))", "attribute_exists(((a)))",
        "((attribute_exists(a)))", "NOT ((a = :s))", "a IN (((:s)))", "a BETWEEN ((:s)) AND :t",
        "((a = :s) AND (b = :t)) OR (((a=:s)))", "((size(a) = :n))", "((abort = foo(a)))",
        "((a = :s OR b = :s))", "((a = :s AND b = :s AND c = :x))"}) {
    Check({{text, kRedundant}});
  }
}

TEST(BindTest, Functions) {
  Check({
      {"foo(a)", "Invalid function name; function: foo"},
      {"foo(a) = :s", "Invalid function name; function: foo"},
      {"ATTRIBUTE_EXISTS(a)", "Invalid function name; function: ATTRIBUTE_EXISTS"},
      {"attribute_exists(foo(a))", "Invalid function name; function: foo"},
      {"if_not_exists(a, :s)",
       "The function is not allowed in a condition expression; function: if_not_exists"},
      {"list_append(a, :l) = :s",
       "The function is not allowed in a condition expression; function: list_append"},
      {"size(a)", Misused("size")},
      {"(size(a))", Misused("size")},
      {"NOT size(a)", Misused("size")},
      {"size(a) AND a = :s", Misused("size")},
      {"attribute_exists(a) = :s", Misused("attribute_exists")},
      {"a = attribute_exists(b)", Misused("attribute_exists")},
      {"begins_with(a) = :s", Misused("begins_with")},
      {"a BETWEEN attribute_exists(b) AND :s", Misused("attribute_exists")},
      {"size(contains(a, :s)) = :n", Misused("contains")},
      {"begins_with(a)", Count("begins_with", 1)},
      {"begins_with(a, :s, :t)", Count("begins_with", 3)},
      {"attribute_exists(a, b)", Count("attribute_exists", 2)},
      {"attribute_type(a)", Count("attribute_type", 1)},
      {"contains(a)", Count("contains", 1)},
      {"size(a, b) = :n", Count("size", 2)},
      {"attribute_exists(:s)",
       "Operator or function requires a document path; operator or function: attribute_exists"},
      {"attribute_not_exists(:s)",
       "Operator or function requires a document path; operator or function: attribute_not_exists"},
      {"attribute_exists(size(a))",
       "Operator or function requires a document path; operator or function: attribute_exists"},
  });
}

TEST(BindTest, NamesAndValues) {
  Check({
      {"abort = :s", "Attribute name is a reserved keyword; reserved keyword: abort"},
      {"a.Abort = :s", "Attribute name is a reserved keyword; reserved keyword: Abort"},
      {"size = :n", "Attribute name is a reserved keyword; reserved keyword: size"},
      {"#x = :s",
       "An expression attribute name used in the document path is not defined; attribute name: #x"},
      {"a.#x = :s",
       "An expression attribute name used in the document path is not defined; attribute name: #x"},
      {"a = :x",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"size(:x) = :n",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"a[2147483648] = :s", "List index is not within the allowable range; index: [2147483648]"},
      {"a[99999999999] = :s", "List index is not within the allowable range; index: [99999999999]"},
      {Repeat("a", ".", 32) + " = :s", ""},
      {Repeat("a", ".", 33) + " = :s",
       "The document path has too many nesting levels; nesting levels: 33"},
      {"a" + Repeat("[0]", "", 32) + " = :s",
       "The document path has too many nesting levels; nesting levels: 33"},
  });
}

TEST(BindTest, Operands) {
  Check({
      {"a = a", Distinct("=", "[a]")},
      {"#a <> a", Distinct("<>", "[a]")},
      {"a < a", Distinct("<", "[a]")},
      {"contains(a, a)", Distinct("contains", "[a]")},
      {"contains(a.b[1], a.b[1])", Distinct("contains", "[a, b, [1]]")},
      {"begins_with(a, a)", Distinct("begins_with", "[a]")},
      {"attribute_type(a, a)", Distinct("attribute_type", "[a]")},
      {"a IN (:s, a)", Distinct("IN", "[a]")},
      {"a BETWEEN :s AND a", Distinct("BETWEEN", "[a]")},
      {"a < :ss", WrongType("<", "SS")},
      {"a <= :bool", WrongType("<=", "BOOL")},
      {"a > :l", WrongType(">", "L")},
      {":null >= a", WrongType(">=", "NULL")},
      {"size(a) < :map", WrongType("<", "M")},
      {"begins_with(:n, a)", WrongType("begins_with", "N")},
      {"begins_with(a, :ss)", WrongType("begins_with", "SS")},
      {"begins_with(size(a), :s)", WrongType("begins_with", "N")},
      {"size(:n) = :n", WrongType("size", "N")},
      {"size(:bool) = :n", WrongType("size", "BOOL")},
      {"size(:null) = :n", WrongType("size", "NULL")},
      {"size(size(a)) = :n", WrongType("size", "N")},
      {"attribute_type(a, b)", WrongType("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")},
      {"attribute_type(a, :n)", WrongType("attribute_type", "N")},
      {"attribute_type(a, size(b))", WrongType("attribute_type", "N")},
      {"attribute_type(a, :Z)",
       "Invalid attribute type name found; type: Z, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
      {"a BETWEEN :ss AND :ss", WrongType("BETWEEN", "SS")},
      {"a BETWEEN b AND :bool", WrongType("BETWEEN", "BOOL")},
      {":l BETWEEN a AND b", WrongType("BETWEEN", "L")},
      {"a BETWEEN :s AND :n",
       "The BETWEEN operator requires same data type for lower and upper bounds; lower bound "
       "operand: AttributeValue: "
       "{S:x}, upper bound operand: AttributeValue: {N:1}"},
      {"a BETWEEN :m AND :n",
       "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
       "lower bound operand: "
       "AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"},
      {"a BETWEEN :b AND :c",
       "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
       "lower bound operand: "
       "AttributeValue: {B:YWI=}, upper bound operand: AttributeValue: {B:YWE=}"},
      {"a BETWEEN :s AND :s", ""},
  });
}

TEST(BindTest, Limits) {
  Check({
      {Repeat("a = :s", " AND ", 150), ""},
      {Repeat("a = :s", " AND ", 151),
       "The expression contains too many operators; operator count: 301"},
      {Repeat("a = :s", " AND ", 150) + " OR NOT b = :s",
       "The expression contains too many operators; operator count: 301"},
      {Repeat("attribute_exists(a)", " OR ", 150), ""},
      {Repeat("attribute_exists(a)", " OR ", 151),
       "The expression contains too many operators; operator count: 301"},
      {Repeat("NOT ", "", 299) + "a = :s", ""},
      {Repeat("NOT ", "", 1000) + "a = :s",
       "The expression contains too many operators; operator count: 301"},
      {Repeat("size(", "", 600) + "a" + std::string(600, ')') + " = :n",
       "The expression contains too many operators; operator count: 301"},
      {std::string(2000, '(') + "a = :s" + std::string(2000, ')'), kRedundant},
      {std::string(4000, '('), "Syntax error; token: \"<EOF>\", near: \"(\""},
      {Repeat("a = :s", " AND ", 151) + " AND foo(a)", "Invalid function name; function: foo"},
      {"a IN (" + Repeat(":s", ",", 100) + ")", ""},
      {"a IN (" + Repeat(":s", ",", 101) + ")",
       "The IN operator is provided with too many operands; number of operands: 101"},
  });
}

// Of several mistakes in one expression.
TEST(BindTest, OrderOfReports) {
  Check({
      {"((a = :s)) AND foo(a)", kRedundant},
      {"abort = :s AND foo(a)", "Invalid function name; function: foo"},
      {"size(a) AND foo(b)", "Invalid function name; function: foo"},
      {"abort = :s AND size(a)", Misused("size")},
      {"a = #x AND abort = :s", "Attribute name is a reserved keyword; reserved keyword: abort"},
      {"a = :x AND begins_with(b)",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"begins_with(b) AND a = :x", Count("begins_with", 1)},
      {"begins_with(:x)",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"#x = :x",
       "An expression attribute name used in the document path is not defined; attribute name: #x"},
      {"a = :x AND b = #x",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"a = a AND b = :x", Distinct("=", "[a]")},
      {"a = a AND b < :ss", Distinct("=", "[a]")},
      {"a < :ss AND a = a", WrongType("<", "SS")},
  });
}

}  // namespace
}  // namespace stator::expr
