// The runner's own parts: a comparison that lets everything pass would make every script pass.
#include <gtest/gtest.h>

#include "expand.h"
#include "match.h"
#include "script.h"

namespace stator::scripts {
namespace {

bool Matches(std::string_view expected, std::string_view actual,
             std::string_view operation = "GetItem", Saved* saved = nullptr) {
  simdjson::dom::parser left_parser;
  simdjson::dom::parser right_parser;
  simdjson::dom::element left;
  simdjson::dom::element right;
  EXPECT_EQ(left_parser.parse(simdjson::padded_string(expected)).get(left), simdjson::SUCCESS);
  EXPECT_EQ(right_parser.parse(simdjson::padded_string(actual)).get(right), simdjson::SUCCESS);
  Saved none;
  return !Match(left, right, operation, saved != nullptr ? saved : &none).has_value();
}

TEST(MatchTest, MembersAreExactUnlessOthersAreAllowed) {
  EXPECT_TRUE(Matches(R"({"a": 1, "b": "x"})", R"({"b":"x","a":1.0})"));
  EXPECT_FALSE(Matches(R"({"a": 1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(Matches(R"({"a": 1, "b": 2})", R"({"a":1})"));
  EXPECT_TRUE(Matches(R"({"a": 1, "...": "..."})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(Matches(R"({"a": 1, "...": "..."})", R"({"b":2})"));
  EXPECT_TRUE(Matches(R"({"a": "*"})", R"({"a":{"x":[1]}})"));
  EXPECT_FALSE(Matches(R"({"a": "*"})", "{}"));
  EXPECT_FALSE(Matches(R"({"a": "1"})", R"({"a":1})"));
  EXPECT_FALSE(Matches(R"({"a": 0.5})", R"({"a":1})"));
  EXPECT_FALSE(Matches(R"({"a": true})", R"({"a":false})"));
}

TEST(MatchTest, ListsHaveTheirOrderAndSetsHaveNone) {
  EXPECT_FALSE(Matches(R"({"L": [1, 2]})", R"({"L":[2,1]})"));
  EXPECT_TRUE(Matches(R"({"SS": ["a", "b"]})", R"({"SS":["b","a"]})"));
  EXPECT_FALSE(Matches(R"({"SS": ["a", "a"]})", R"({"SS":["b","a"]})"));
  EXPECT_FALSE(Matches(R"({"SS": ["a"]})", R"({"SS":["a","b"]})"));
  EXPECT_FALSE(Matches(R"({"Items": [1, 2]})", R"({"Items":[2,1]})", "Query"));
  EXPECT_TRUE(Matches(R"({"Items": [1, 2]})", R"({"Items":[2,1]})", "Scan"));
  EXPECT_TRUE(
      Matches(R"({"Responses": {"t": [1, 2]}})", R"({"Responses":{"t":[2,1]}})", "BatchGetItem"));
}

TEST(MatchTest, Saves) {
  Saved saved;
  EXPECT_TRUE(Matches(R"({"k": "{{save:key}}"})", R"({"k":{"S":"x"}})", "Scan", &saved));
  EXPECT_EQ(*Expand(R"(["{{saved:key}}"])", {}, saved), R"([{"S":"x"}])");
  EXPECT_FALSE(Expand(R"("{{saved:other}}")", {}, saved).ok());
}

TEST(ExpandTest, Forms) {
  EXPECT_EQ(*Expand("a{{repeat:xy:3}}b", {}, {}), "axyxyxyb");
  EXPECT_EQ(*Expand(R"({{repeat:{"L":[:2}}{{repeat:]}:2}})", {}, {}), R"({"L":[{"L":[]}]})");
  EXPECT_EQ(*Expand("{{each:i=8..10}}<{{i:03}}>{{end}}", {}, {}), "<008>,<009>,<010>");
  EXPECT_EQ(*Expand("{{each:i=1..2}}[{{each:j=1..2}}{{i}}{{j}}{{end}}]{{end}}", {}, {}),
            "[11,12],[21,22]");
  EXPECT_EQ(*Expand(R"({"a":{"M":{}}})", {}, {}), R"({"a":{"M":{}}})");
  EXPECT_FALSE(Expand("{{each:i=1..2}}x", {}, {}).ok());
  EXPECT_FALSE(Expand("{{repeat:x}}", {}, {}).ok());
}

TEST(ScriptTest, Steps) {
  const auto steps = ParseScript(
      "# comment\ntable tab pk:S sk:N\n\nPutItem for i=1..2\n> Origin: x\n{\"a\":\n# "
      "inside\n{{i}}}\n----\n< status: 400\n"
      "! ValidationException: the text \n{\"Item\": 1}\n\nreopen\n\nScan raw\nnot json\n----\n! "
      "SerializationException\n");
  ASSERT_TRUE(steps.ok()) << steps.error().message();
  ASSERT_EQ(steps->size(), 5u);
  EXPECT_EQ((*steps)[0].operation, "CreateTable");
  const Step& put = (*steps)[2];
  EXPECT_EQ(put.line, 4);
  EXPECT_EQ(put.bindings, (Bindings{{"i", 2}}));
  EXPECT_EQ(put.headers, (std::vector<HeaderLine>{{"Origin", "x"}}));
  EXPECT_EQ(put.request, "{\"a\":\n{{i}}}");
  EXPECT_EQ(put.reply_headers, (std::vector<HeaderLine>{{"status", "400"}}));
  EXPECT_EQ(put.error_type, "ValidationException");
  EXPECT_EQ(put.message_rule, Step::Message::kExact);
  EXPECT_EQ(put.message, "the text ");
  EXPECT_EQ(put.expected, "{\"Item\": 1}");
  EXPECT_TRUE((*steps)[3].reopen);
  EXPECT_TRUE((*steps)[4].raw);
  EXPECT_EQ((*steps)[4].message_rule, Step::Message::kAbsent);
}

TEST(ScriptTest, WhatIsBrokenIsNamed) {
  EXPECT_EQ(ParseScript("Scan\n{}\n").error().message(), "2: a step without ----");
  EXPECT_EQ(ParseScript("\nScan\n{}\n----\n\n").error().message(),
            "5: nothing is expected of this step");
  EXPECT_FALSE(ParseScript("Scan twice\n{}\n----\n{}\n").ok());
  EXPECT_FALSE(ParseScript("Scan\n{}\n----\n! \n").ok());
}

}  // namespace
}  // namespace stator::scripts
