#include "expr/parse.h"

#include <gtest/gtest.h>

#include "expr/reserved_words.h"
#include "expr/test_request.h"

namespace stator::expr {
namespace {

struct Case {
  std::string text;
  std::string token;
  std::string near;
};

TEST(ParseTest, ConditionSyntaxErrors) {
  const std::vector<Case> cases = {
      // clang-format off
      {"   ", "<EOF>", "   "}, {"a", "<EOF>", "a"}, {"a =", "<EOF>", "="},
      {"a = = :s", "=", "= = :s"}, {"a ! :s", "!", "a ! :s"}, {"!!", "!", "!!"},
      {"a = :s !! b = :t", "!", ":s !!"}, {"a AND b = :s", "AND", "a AND b"},
      {"a = :s = :t", "=", ":s = :t"}, {"a = :s b", "b", ":s b"}, {"(a = :s", "<EOF>", ":s"},
      {"a = :s)", ")", ":s)"}, {"(a) AND a = :s", "AND", ") AND a"},
      {"a = (b = :s)", "=", "b = :s"}, {"(a = :s) = :t", "=", ") = :t"}, {"NOT a", "<EOF>", "a"},
      {"NOT (a)", "<EOF>", ")"}, {"NOT", "<EOF>", "NOT"}, {"foo()", ")", "()"},
      {"size() = :n", ")", "() ="}, {"a IN ()", ")", "()"}, {"a IN :s", ":s", "IN :s"},
      {"a IN (:s", "<EOF>", ":s"}, {"a IN (:s,)", ")", ",)"}, {"a IN (:s) IN (:t)", "IN", ") IN ("},
      {"a IN (b = :s)", "=", "b = :s"}, {"a NOT IN (:s)", "NOT", "a NOT IN"},
      {"a = NOT b", "NOT", "= NOT b"}, {"attribute_not_exists(NOT a)", "NOT", "(NOT a"},
      {"attribute_exists(a = :s)", "=", "a = :s"}, {"begins_with(a b)", "b", "a b)"},
      {"begins_with(a,)", ")", ",)"}, {"begins_with(a,b", "<EOF>", "b"},
      {"a between :s", "<EOF>", ":s"}, {"a BETWEEN :s OR :t", "OR", ":s OR :t"},
      {"a BETWEEN (:s AND :t)", "AND", ":s AND :t"}, {"()", ")", "()"}, {"(a, b)", ",", "a, b"},
      {"a, b", ",", "a, b"}, {"a OR b", "OR", "a OR b"}, {"a.", "<EOF>", "."},
      {"a. = :s", "=", ". = :s"}, {".a = :s", ".", ".a"}, {"a..b = :s", ".", "..b"},
      {"a.1 = :s", "1", ".1 ="}, {"a[", "<EOF>", "["}, {"a[1", "<EOF>", "1"},
      {"a[b] = :s", "b", "[b]"}, {"a[-1] = :s", "-", "[-1"}, {"a[:n] = :s", ":n", "[:n]"},
      {"a[1.0] = :s", ".", "1.0"}, {"a[0]b = :s", "b", "]b ="}, {"[0] = :s", "[", "[0"},
      {":s.a = :t", ".", ":s.a"}, {":s[0] = :t", "[", ":s[0"}, {"a.:s = a", ":s", ".:s ="},
      {"# = :s", "#", "# ="}, {": = a", ":", ": ="}, {"_a = :s", "_", "_a"},
      {"a._b = :s", "_", "._b"}, {"1a = :s", "1", "1a"}, {"a = 1", "1", "= 1"},
      {"a = 'x'", "'", "= 'x"}, {"a < > :s", ">", "< > :s"}, {"a == :s", "=", "== :s"},
      {"a != :s", "!", "a !="}, {"a = :s;", ";", ":s;"}, {"and = :s", "and", "and ="},
      {"between = :s", "between", "between ="}, {"in IN (:s)", "in", "in IN"},
      {"not = :s", "=", "not = :s"}, {"SET a = :s", "SET", "SET a"},
      {"a.set = :s", "set", ".set ="}, {"a=:sAND b=:t", "b", ":sAND b="},
      {"a + b = :s", "+", "a + b"}, {"#a(b)", "(", "#a(b"}, {"a.b(c)", "(", "b(c"},
      {":s", "<EOF>", ":s"}, {"\xc3\xa9 = :s", "\xc3\xa9", "\xc3\xa9 ="},
      // clang-format on
      {"a = :s \xf0\x9f\x98\x80 b", "\xf0\x9f\x98\x80", ":s \xf0\x9f\x98\x80 b"},
      {"a = :s \xff", "\xff", ":s \xff"},
      {"a\xc2\xa0= :s", "\xc2\xa0", "a\xc2\xa0="},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(notation::ConditionError(c.text),
              "Invalid ConditionExpression: Syntax error; token: \"" + c.token + "\", near: \"" +
                  c.near + "\"")
        << c.text;
  }
}

TEST(ParseTest, SyntaxComesBeforeEverythingElse) {
  EXPECT_EQ(notation::ConditionError("((foo(abort))) = #x AND"),
            "Invalid ConditionExpression: Syntax error; token: \"<EOF>\", near: \"AND\"");
}

// What the tree of a condition looks like, fully parenthesised.
std::string Shape(const Tree& tree, NodeId id) {
  const Node& node = tree.nodes[id];
  if (node.op == Op::kValue) return std::string(tree.Text(node.begin, node.size));
  if (node.op == Op::kPath) return DescribePath(tree, node);
  std::string out = "(" + std::string(OpName(node.op));
  for (NodeId child = node.first_child; child != kNoNode; child = tree.nodes[child].next)
    out += " " + Shape(tree, child);
  return out + ")";
}

TEST(ParseTest, Precedence) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a = :s OR b = :s AND c = :s", "(OR (= [a] :s) (AND (= [b] :s) (= [c] :s)))"},
      {"a = :s AND b = :s OR c = :s", "(OR (AND (= [a] :s) (= [b] :s)) (= [c] :s))"},
      {"(a = :s OR b = :s) AND c = :s", "(AND (OR (= [a] :s) (= [b] :s)) (= [c] :s))"},
      {"NOT a = :s AND b = :s", "(AND (NOT (= [a] :s)) (= [b] :s))"},
      {"NOT NOT a = :s OR b = :s", "(OR (NOT (NOT (= [a] :s))) (= [b] :s))"},
      {"a = :s AND NOT b = :s AND c = :s", "(AND (= [a] :s) (NOT (= [b] :s)) (= [c] :s))"},
      {"a BETWEEN :s AND :t AND b IN (:s, c)", "(AND (BETWEEN [a] :s :t) (IN [b] :s [c]))"},
      {"NOT a BETWEEN :s AND :t", "(NOT (BETWEEN [a] :s :t))"},
      {"a = :s AND (b = :s AND c = :s)", "(AND (= [a] :s) (AND (= [b] :s) (= [c] :s)))"},
      {"begins_with(a.b[3], :s) OR size(a) >= :n",
       "(OR (begins_with [a, b, [3]] :s) (>= (size [a]) :n))"},
  };
  for (const auto& [text, shape] : cases) {
    Tree tree;
    const Result<NodeId> root = ParseConditionText("ConditionExpression", text, &tree);
    ASSERT_TRUE(root.ok()) << root.error().message();
    EXPECT_EQ(Shape(tree, *root), shape);
  }
}

TEST(ReservedWordsTest, AnyCaseAndNothingElse) {
  for (const char* word : {"ABORT", "zone", "Current", "size", "count", "name", "STATUS", "at"}) {
    EXPECT_TRUE(IsReservedWord(word)) << word;
  }
  for (const char* word :
       {"", "a", "pk", "id", "zones", "abort1", "ab-ort", "averyveryverylongname"}) {
    EXPECT_FALSE(IsReservedWord(word)) << word;
  }
}

}  // namespace
}  // namespace stator::expr
