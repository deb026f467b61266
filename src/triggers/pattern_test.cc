#include "triggers/pattern.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace stator::triggers {
namespace {

constexpr std::string_view kRecord =
    R"({"eventName":"REMOVE","eventSource":"aws:dynamodb","dynamodb":{)"
    R"("ApproximateCreationDateTime":1760000000.0,"Keys":{"pk":{"S":"user#1"},"n":{"N":"42"}},)"
    R"("OldImage":{"pk":{"S":"user#1"},"tags":{"SS":["red","Green"]},"on":{"BOOL":true},)"
    R"("gone":{"NULL":true},"empty":{"S":""},"m":{"M":{"a":{"N":"7"}}}},"SizeBytes":26},)"
    R"("userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}})";

bool Match(std::string_view pattern, std::string_view record = kRecord) {
  const Result<Pattern> parsed = Pattern::Parse(pattern);
  EXPECT_TRUE(parsed.ok()) << pattern << ": " << parsed.error().message();
  if (!parsed.ok()) return false;
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(record);
  uint64_t steps = 0;
  const std::optional<bool> matches =
      parsed->Matches(parser.parse(padded).value(), &steps, [] { return true; });
  EXPECT_TRUE(matches.has_value());
  return matches.value_or(false);
}

TEST(Pattern, MatchesTheUsualPatterns) {
  EXPECT_TRUE(Match(R"({"eventName":["REMOVE"]})"));
  EXPECT_FALSE(Match(R"({"eventName":["INSERT"]})"));
  EXPECT_TRUE(Match(R"({"eventName":["INSERT","REMOVE"]})"));
  EXPECT_TRUE(
      Match(R"({"userIdentity":{"type":["Service"],"principalId":["dynamodb.amazonaws.com"]}})"));
  EXPECT_FALSE(Match(R"({"userIdentity":{"type":["Service"],"principalId":["other"]}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"user#"}]}}}})"));
  EXPECT_FALSE(Match(R"({"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"order#"}]}}}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"OldImage":{"on":{"BOOL":[true]}}}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"OldImage":{"empty":{"S":[""]}}}})"));
}

TEST(Pattern, ComparesTextByPrefixSuffixAndCase) {
  const auto tag = [](std::string_view choice) {
    return R"({"dynamodb":{"OldImage":{"tags":{"SS":[)" + std::string(choice) + "]}}}}";
  };
  EXPECT_TRUE(Match(tag(R"("red")"))) << "an element of the record's array is enough";
  EXPECT_FALSE(Match(tag(R"("green")")));
  EXPECT_TRUE(Match(tag(R"({"equals-ignore-case":"green"})")));
  EXPECT_TRUE(Match(tag(R"({"suffix":"een"})")));
  EXPECT_FALSE(Match(tag(R"({"suffix":"much longer than the value"})")));
  EXPECT_TRUE(Match(tag(R"({"prefix":{"equals-ignore-case":"gR"}})")));
  EXPECT_TRUE(Match(tag(R"({"suffix":{"equals-ignore-case":"EEN"}})")));
}

TEST(Pattern, TellsWhetherALeafExists) {
  EXPECT_TRUE(Match(R"({"userIdentity":{"type":[{"exists":true}]}})"));
  EXPECT_FALSE(Match(R"({"userIdentity":{"type":[{"exists":false}]}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"NewImage":{"pk":{"S":[{"exists":false}]}}}})"));
  EXPECT_FALSE(Match(R"({"dynamodb":{"NewImage":{"pk":{"S":[{"exists":true}]}}}})"));
}

TEST(Pattern, NegationMatchesLeavesThatAreThere) {
  EXPECT_TRUE(Match(R"({"eventName":[{"anything-but":["INSERT","MODIFY"]}]})"));
  EXPECT_FALSE(Match(R"({"eventName":[{"anything-but":"REMOVE"}]})"));
  EXPECT_FALSE(Match(R"({"eventName":[{"anything-but":{"prefix":"REM"}}]})"));
  EXPECT_TRUE(Match(R"({"eventName":[{"anything-but":{"suffix":["X","Y"]}}]})"));
  EXPECT_FALSE(Match(R"({"missing":[{"anything-but":"x"}]})")) << "nothing is there";
}

TEST(Pattern, NumbersAreComparedByValue) {
  EXPECT_TRUE(Match(R"({"dynamodb":{"SizeBytes":[26]}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"SizeBytes":[2.6e1]}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"SizeBytes":[{"numeric":[">",0,"<=",26]}]}})"));
  EXPECT_FALSE(Match(R"({"dynamodb":{"SizeBytes":[{"numeric":["<",26]}]}})"));
  EXPECT_TRUE(Match(R"({"dynamodb":{"ApproximateCreationDateTime":[{"numeric":[">",0]}]}})"));
  // The service does the same: N is a string, so only the second choice can match.
  const std::string_view n =
      R"({"dynamodb":{"Keys":{"n":{"N":[{"numeric":[">",100]},{"anything-but":"101"}]}}}})";
  EXPECT_TRUE(Match(n));
}

TEST(Pattern, OrIsBesideOtherNames) {
  EXPECT_TRUE(Match(R"({"$or":[{"eventName":["INSERT"]},{"eventName":["REMOVE"]}]})"));
  EXPECT_FALSE(Match(R"({"$or":[{"eventName":["INSERT"]},{"eventName":["MODIFY"]}]})"));
  EXPECT_FALSE(
      Match(R"({"eventSource":["x"],"$or":[{"eventName":["REMOVE"]},{"eventName":["MODIFY"]}]})"));
  EXPECT_TRUE(Match(R"({"eventName":["INSERT"],"eventName":["REMOVE"]})"))
      << "the last of a name counts";
}

TEST(Pattern, RefusesWhatIsNoneAndWhatCannotMatch) {
  const auto why = [](std::string_view pattern) {
    const Result<Pattern> parsed = Pattern::Parse(pattern);
    EXPECT_FALSE(parsed.ok()) << pattern;
    return parsed.ok() ? "" : parsed.error().message();
  };
  for (const std::string_view pattern :
       {"", "[]", "1", "{", "{}", R"({"a":{}})", R"({"a":[]})", R"({"a":"b"})", R"({"a":[["b"]]})",
        R"({"a":[{"prefix":1}]})", R"({"a":[{"prefix":"x","suffix":"y"}]})",
        R"({"a":[{"exists":"true"}]})", R"({"a":[{"like":"x"}]})", R"({"a":[{"anything-but":[]}]})",
        R"({"a":[{"anything-but":true}]})", R"({"a":[{"numeric":[">"]}]})",
        R"({"a":[{"numeric":[">","1"]}]})", R"({"a":[{"numeric":[">",1,">",2]}]})",
        R"({"a":[{"numeric":["=",1,"<",2]}]})"}) {
    EXPECT_TRUE(std::string_view(why(pattern)).starts_with("Invalid filter pattern definition"))
        << pattern;
  }
  EXPECT_NE(why(R"({"a":[{"numeric":[">",5,"<",5]}]})").find("range"), std::string::npos);
  EXPECT_NE(why(R"({"dynamodb":{"NewImage":{"n":{"N":[{"numeric":[">",5]}]}}}})").find("strings"),
            std::string::npos);
  EXPECT_NE(why("{\"a\":[\"" + std::string(kMostPatternBytes, 'x') + "\"]}").find("longer"),
            std::string::npos);
  std::string deep;
  for (int i = 0; i < 60; ++i) deep += "{\"a\":";
  deep += "[1]" + std::string(60, '}');
  EXPECT_NE(why(deep).find("more than"), std::string::npos);
}

TEST(Pattern, ManyChoicesCostOneSearch) {
  std::string record = R"({"a":{"SS":[)", choices, few;
  for (int i = 0; i < 20'000; ++i) record += fmt::format("{}\"v{}\"", i == 0 ? "" : ",", i);
  record += "]}}";
  for (int i = 0; i < 400; ++i) choices += fmt::format("{}\"x{}\"", i == 0 ? "" : ",", i);
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(record);
  const simdjson::dom::element json = parser.parse(padded).value();
  const Pattern pattern = Pattern::Parse(R"({"a":{"SS":[)" + choices + "]}}").value();
  uint64_t steps = 0;
  EXPECT_EQ(pattern.Matches(json, &steps, [] { return true; }), false);
  EXPECT_GE(steps, 20'000u);
  EXPECT_LE(steps, 20'010u);
  // A stop is heard in the middle.
  steps = 0;
  EXPECT_EQ(pattern.Matches(json, &steps, [] { return false; }), std::nullopt);
  EXPECT_LT(steps, 20'000u);
}

TEST(Pattern, ManyNamesCostOneWalk) {
  std::string record = R"({"a":{)", names;
  for (int i = 0; i < 20'000; ++i) record += fmt::format("{}\"v{}\":1", i == 0 ? "" : ",", i);
  record += "}}";
  for (int i = 0; i < 150; ++i)
    names += fmt::format(R"({}"x{}":[{{"exists":false}}])", i == 0 ? "" : ",", i);
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(record);
  const Pattern pattern = Pattern::Parse(R"({"a":{)" + names + "}}").value();
  uint64_t steps = 0;
  EXPECT_EQ(pattern.Matches(parser.parse(padded).value(), &steps, [] { return true; }), true);
  EXPECT_LE(steps, 20'200u);
}

TEST(Pattern, RefusesWhatIsTooCostly) {
  const auto cost_of = [](std::string_view choice, int times, std::string_view around) {
    std::string list;
    for (int i = 0; i < times; ++i) list += (i == 0 ? "" : ",") + std::string(choice);
    return Pattern::Parse(fmt::format(fmt::runtime(around), list));
  };
  const std::string_view either = R"({{"a":{{"$or":[{}]}}}})", rule = R"({{"a":[{}]}})";
  EXPECT_TRUE(cost_of(R"({"SS":["b"]})", 40, either).ok());
  EXPECT_TRUE(cost_of(R"({"anything-but":"b"})", 90, rule).ok());
  EXPECT_TRUE(cost_of(R"({"prefix":"b"})", 200, rule).ok());
  for (const Result<Pattern>& costly :
       {cost_of(R"({"SS":["b"]})", 200, either), cost_of(R"({"anything-but":"b"})", 150, rule),
        cost_of(R"({"numeric":[">",1]})", 150, rule)}) {
    ASSERT_FALSE(costly.ok());
    EXPECT_NE(costly.error().message().find("100 is the most"), std::string::npos)
        << costly.error().message();
  }
}

// Sorted choices match what each of them alone would.
TEST(Pattern, ChoicesOfTextMatchLikeOneAfterTheOther) {
  const uint64_t seed = SystemSeed();
  SCOPED_TRACE(seed);
  const auto lower = [](std::string text) {
    for (char& c : text) c = c == 'A' ? 'a' : c == 'B' ? 'b' : c;
    return text;
  };
  for (const uint64_t from : {uint64_t{13}, seed}) {
    SeededRandom random(from);
    const auto text_of = [&random](uint64_t most) {
      std::string text(random.Below(most), ' ');
      for (char& c : text) c = "aAbB"[random.Below(4)];
      return text;
    };
    for (int round = 0; round < 3000; ++round) {
      const std::string text = text_of(6);
      std::string choices;
      bool wanted = false;
      for (uint64_t i = 0, count = 1 + random.Below(8); i < count; ++i) {
        const std::string choice = text_of(5);
        const std::string low = lower(choice), low_text = lower(text);
        if (i > 0) choices += ',';
        switch (random.Below(6)) {
          case 0:
            choices += fmt::format(R"("{}")", choice);
            wanted = wanted || text == choice;
            break;
          case 1:
            choices += fmt::format(R"({{"prefix":"{}"}})", choice);
            wanted = wanted || text.starts_with(choice);
            break;
          case 2:
            choices += fmt::format(R"({{"suffix":"{}"}})", choice);
            wanted = wanted || text.ends_with(choice);
            break;
          case 3:
            choices += fmt::format(R"({{"equals-ignore-case":"{}"}})", choice);
            wanted = wanted || low_text == low;
            break;
          case 4:
            choices += fmt::format(R"({{"prefix":{{"equals-ignore-case":"{}"}}}})", choice);
            wanted = wanted || low_text.starts_with(low);
            break;
          default:
            choices += fmt::format(R"({{"suffix":{{"equals-ignore-case":"{}"}}}})", choice);
            wanted = wanted || low_text.ends_with(low);
        }
      }
      const std::string record = fmt::format(R"({{"a":"{}"}})", text);
      EXPECT_EQ(Match(fmt::format(R"({{"a":[{}]}})", choices), record), wanted)
          << choices << " on " << text;
    }
  }
}

// Random bytes, and patterns with random damage: each is refused or gives an answer.
TEST(Pattern, SurvivesRandomPatterns) {
  const uint64_t seed = SystemSeed();
  SCOPED_TRACE(seed);
  const std::vector<std::string> sources = {
      R"({"eventName":[{"anything-but":["INSERT",1]}],"$or":[{"a":[1]},{"b":[{"exists":false}]}]})",
      R"({"dynamodb":{"Keys":{"pk":{"S":[{"prefix":{"equals-ignore-case":"U"}}]}}}})",
      R"({"dynamodb":{"SizeBytes":[{"numeric":[">",0,"<=",26]}]}})"};
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(kRecord);
  const simdjson::dom::element record = parser.parse(padded).value();
  int parsed_count = 0;
  for (const uint64_t from : {uint64_t{11}, seed}) {
    SeededRandom random(from);
    for (int round = 0; round < 20'000; ++round) {
      std::string text = sources[random.Below(sources.size())];
      for (uint64_t damage = random.Below(4); damage > 0; --damage) {
        const size_t at = random.Below(text.size());
        switch (random.Below(3)) {
          case 0: text[at] = "{}[]\":,01ae$-\\ "[random.Below(15)]; break;
          case 1: text.erase(at, 1 + random.Below(8)); break;
          default: text.insert(at, text.substr(random.Below(text.size()), random.Below(12)));
        }
        if (text.empty()) text = " ";
      }
      const Result<Pattern> pattern = Pattern::Parse(text);
      if (!pattern.ok()) continue;
      ++parsed_count;
      uint64_t steps = 0;
      EXPECT_TRUE(pattern->Matches(record, &steps, [] { return true; }).has_value());
    }
  }
  EXPECT_GT(parsed_count, 1000);
}

}  // namespace
}  // namespace stator::triggers
