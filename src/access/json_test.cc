#include "access/json.h"

#include <gtest/gtest.h>

namespace stator::access {
namespace {

std::string ErrorOf(std::string_view text, const JsonLimits& limits = {}) {
  const Result<JsonValue> value = ReadJson(text, limits);
  return value.ok() ? "ok" : value.error().message();
}

TEST(Json, ReadsValuesInOrderWithPositions) {
  const Result<JsonValue> read =
      ReadJson(" {\"b\": [1, -2.5e+3, true, false, null],\n  \"a\": {\"x\": \"y\"}} ");
  ASSERT_TRUE(read.ok()) << read.error().message();
  ASSERT_EQ(read->members.size(), 2u);
  EXPECT_EQ(read->members[0].name, "b");
  const JsonValue* list = read->Find("b");
  ASSERT_EQ(list->elements.size(), 5u);
  EXPECT_EQ(list->elements[1].text, "-2.5e+3");
  EXPECT_TRUE(list->elements[2].boolean);
  EXPECT_EQ(list->elements[4].kind, JsonValue::Kind::kNull);
  EXPECT_EQ(list->position.line, 1u);
  EXPECT_EQ(list->position.column, 8u);
  EXPECT_EQ(read->Find("a")->position.line, 2u);
  EXPECT_EQ(read->Find("a")->position.column, 8u);
  EXPECT_EQ(read->Find("c"), nullptr);
}

TEST(Json, UnescapesStrings) {
  const Result<JsonValue> read = ReadJson(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00")");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->text, "\"\\/\b\f\n\r\tA\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "[",
                          "[1,]",
                          "{\"a\":1,}",
                          "{\"a\"}",
                          "{a:1}",
                          "[1 2]",
                          "1 2",
                          "01",
                          "1.",
                          "-",
                          "+1",
                          ".5",
                          "1e",
                          "tru",
                          "nul",
                          "'a'",
                          "\"a",
                          "\"\\x\"",
                          "\"\\u12\"",
                          "\"\\ud800\"",
                          "\"\\udc00\"",
                          "\"\\ud800\\u0041\"",
                          "\"\n\"",
                          "\"\xff\"",
                          "\"\xc0\x80\"",
                          "\"\xed\xa0\x80\"",
                          "\"\xf4\x90\x80\x80\"",
                          "/**/1",
                          "NaN",
                          "{\"a\":1}}"}) {
    EXPECT_NE(ErrorOf(bad), "ok") << bad;
  }
  EXPECT_EQ(ErrorOf("{\"a\":\n x}"), "line 2, column 2: not a value");
}

TEST(Json, RefusesMembersOfOneName) {
  EXPECT_EQ(ErrorOf(R"({"a":1,"b":2,"a":3})"),
            "line 1, column 20: the member \"a\" stands twice in one object");
  EXPECT_EQ(ErrorOf(R"({"a":1,"\u0061":2})"),
            "line 1, column 19: the member \"a\" stands twice in one object");
  EXPECT_EQ(ErrorOf(R"({"a":{"b":1},"c":{"b":1}})"), "ok");
}

TEST(Json, StopsAtItsLimits) {
  JsonLimits limits;
  limits.max_depth = 3;
  EXPECT_EQ(ErrorOf("[[[1]]]", limits), "ok");
  EXPECT_EQ(ErrorOf("[[[[1]]]]", limits), "line 1, column 4: nested too deeply");
  limits.max_values = 3;
  EXPECT_EQ(ErrorOf("[1,2]", limits), "ok");
  EXPECT_EQ(ErrorOf("[1,2,3]", limits), "line 1, column 6: too many values");
  EXPECT_NE(ErrorOf(std::string(100'000, '[')), "ok");
}

}  // namespace
}  // namespace stator::access
