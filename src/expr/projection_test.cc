#include <gtest/gtest.h>

#include "expr/test_request.h"

namespace stator::expr {
namespace {

Result<Projection> Parse(std::string_view text) {
  Substitutions subs = notation::StockFor(text);
  return ParseProjection(text, &subs);
}

std::string Error(std::string_view text) {
  const Result<Projection> projection = Parse(text);
  return projection.ok() ? "" : projection.error().message();
}

TEST(ProjectionTest, Selects) {
  const std::string item = notation::Item(
      "{pk: 'k', a: 1, b: {x: 1, y: {z: 2, w: 3}, v: [1]}, l: [0, 1, 2, {p: 1, q: 2, r: 3}, [10, "
      "11, 12]], s: 'text',"
      " a.b: 'dot', quo\"te: 'esc', blank: {}, name: 7}");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a", "{a: 1}"},
      {"a, pk", "{a: 1, pk: 'k'}"},
      {"gone", "{}"},
      {"#dot", "{a.b: 'dot'}"},
      {"b.x", "{b: {x: 1}}"},
      {"b.y.z, b.x", "{b: {x: 1, y: {z: 2}}}"},
      {"b.y", "{b: {y: {w: 3, z: 2}}}"},
      {"b.nope", "{}"},
      {"b.y.nope, a", "{a: 1}"},
      {"b.x.deeper", "{}"},
      {"l[2], l[0]", "{l: [0, 2]}"},
      {"l[9]", "{}"},
      {"l[3].q, l[3].p, l[1]", "{l: [1, {p: 1, q: 2}]}"},
      {"l[4][2], l[4][0]", "{l: [[10, 12]]}"},
      {"l[3].nope, l[0]", "{l: [0]}"},
      {"s[0]", "{}"},
      {"s.x", "{}"},
      {"b[0]", "{}"},
      {"l.x", "{}"},
      {"blank", "{blank: {}}"},
      {"blank.x", "{}"},
      {"b.v[0], b.v[1]", "{b: {v: [1]}}"},
      {"zz, a, aa", "{a: 1}"},
  };
  for (const auto& [text, want] : cases) {
    const Result<Projection> projection = Parse(text);
    ASSERT_TRUE(projection.ok()) << text << projection.error().message();
    const std::string got = Project(*projection, model::ItemView(item));
    EXPECT_TRUE(model::CheckItem(got).ok()) << text;
    EXPECT_EQ(got, notation::Item(want)) << text << ": " << notation::Show(model::ItemView(got));
  }
}

TEST(ProjectionTest, NamesThatNeedEscapesAndLongNames) {
  Substitutions subs;
  const std::string long_name(300, 'n');
  ASSERT_TRUE(subs.SetNames({{"#q", "q\"t"}, {"#l", long_name}}).ok());
  const Result<Projection> projection = ParseProjection("#q, #l", &subs);
  ASSERT_TRUE(projection.ok());
  const std::string item = notation::Item("{a: 1, q\"t: 2, " + long_name + ": 3}");
  EXPECT_EQ(Project(*projection, model::ItemView(item)),
            notation::Item("{q\"t: 2, " + long_name + ": 3}"));
}

TEST(ProjectionTest, NoItemAndNoProjection) {
  const std::string item = notation::Item("{a: 1}");
  EXPECT_EQ(Project(Projection(), model::ItemView(item)), item);
  EXPECT_EQ(Project(Parse("a").value(), model::ItemView()), notation::Item("{}"));
}

TEST(ProjectionTest, Errors) {
  auto overlap = [](std::string_view one, std::string_view two) {
    return "Invalid ProjectionExpression: Two document paths overlap with each other; must remove "
           "or rewrite one of these "
           "paths; path one: " +
           std::string(one) + ", path two: " + std::string(two);
  };
  auto conflict = [](std::string_view one, std::string_view two) {
    return "Invalid ProjectionExpression: Two document paths conflict with each other; must remove "
           "or rewrite one of these "
           "paths; path one: " +
           std::string(one) + ", path two: " + std::string(two);
  };
  auto syntax = [](std::string_view token, std::string_view near) {
    return "Invalid ProjectionExpression: Syntax error; token: \"" + std::string(token) +
           "\", near: \"" + std::string(near) + "\"";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "Invalid ProjectionExpression: The expression can not be empty;"},
      {std::string(4097, 'a'),
       "Invalid ProjectionExpression: Expression size has exceeded the maximum allowed size; "
       "expression size: 4097"},
      {"a,", syntax("<EOF>", ",")},
      {"a b", syntax("b", "a b")},
      {", a", syntax(",", ", a")},
      {"size(a)", syntax("(", "size(a")},
      {"(a)", syntax("(", "(a")},
      {":s", syntax(":s", ":s")},
      {"AND", syntax("AND", "AND")},
      {"a = b", syntax("=", "a = b")},
      {"a, a", overlap("[a]", "[a]")},
      {"#a, a", overlap("[a]", "[a]")},
      {"a, b, a", overlap("[a]", "[a]")},
      {"a, a.b", overlap("[a]", "[a, b]")},
      {"a.b, a", overlap("[a, b]", "[a]")},
      {"a[0], a[0].b", overlap("[a, [0]]", "[a, [0], b]")},
      {"a.b.c, a.b.c.d, a.b", overlap("[a, b, c]", "[a, b, c, d]")},
      {"a.c, a.b, a", overlap("[a, c]", "[a]")},
      {"a.b, a[0]", conflict("[a, b]", "[a, [0]]")},
      {"b, a[1].x, c, a[1][0]", conflict("[a, [1], x]", "[a, [1], [0]]")},
      {"abort",
       "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: "
       "abort"},
      {"a.b.c.abort",
       "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: "
       "abort"},
      {"#x",
       "Invalid ProjectionExpression: An expression attribute name used in the document path is "
       "not defined; "
       "attribute name: #x"},
      {"#x, abort",
       "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: "
       "abort"},
      {"a, a, #x",
       "Invalid ProjectionExpression: An expression attribute name used in the document path is "
       "not defined; "
       "attribute name: #x"},
      {notation::Repeat("a", ".", 33),
       "Invalid ProjectionExpression: The document path has too many nesting levels; nesting "
       "levels: 33"},
      {notation::Repeat("a", ".", 32), ""},
      {"a[0], a[1], b.c, b.d, c", ""},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(Error(text), error) << text;
}

TEST(ProjectionTest, TopLevelAttributes) {
  EXPECT_EQ(TopLevelAttributes(Parse("b.x, #dot, b.y, l[1]").value()),
            (std::vector<std::string>{"b", "a.b", "l"}));
  EXPECT_TRUE(TopLevelAttributes(Projection()).empty());
}

TEST(ProjectionTest, AttributesToGet) {
  const std::string item = notation::Item("{a: 1, b: {c: 2}, b.c: 3}");
  const Result<Projection> projection = CompileAttributesToGet({"b.c", "a", "zz"});
  ASSERT_TRUE(projection.ok());
  EXPECT_EQ(Project(*projection, model::ItemView(item)), notation::Item("{a: 1, b.c: 3}"));
  EXPECT_EQ(TopLevelAttributes(*projection), (std::vector<std::string>{"b.c", "a", "zz"}));
  const Result<Projection> duplicate = CompileAttributesToGet({"a", "b", "a"});
  ASSERT_FALSE(duplicate.ok());
  EXPECT_EQ(duplicate.error().message(),
            "One or more parameter values were invalid: Duplicate value in attribute name: a");
}

}  // namespace
}  // namespace stator::expr
