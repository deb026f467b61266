#include "exchange/ion.h"

#include <gtest/gtest.h>

#include "api/attribute_json.h"
#include "expr/test_notation.h"

namespace stator::exchange {
namespace {

std::string FromJson(std::string_view json) {
  simdjson::dom::parser parser;
  std::string item;
  std::optional<Error> wrong;
  EXPECT_TRUE(api::ReadItem(parser.parse(json.data(), json.size()).value(), &item, &wrong).ok());
  EXPECT_FALSE(wrong) << wrong->message();
  return item;
}

std::string ToIon(std::string_view json) {
  std::string out;
  AppendIonItem(&out, model::ItemView(FromJson(json)));
  return out;
}

TEST(Ion, WritesWhatTheDocumentsShow) {
  EXPECT_EQ(ToIon(R"({"pk":{"S":"a"},"n":{"N":"1"},"big":{"N":"600"},"bin":{"B":"aGk="},)"
                  R"("tags":{"SS":["x"]},"none":{"NULL":true}})"),
            R"({big:6d2,bin:{{aGk=}},n:1.,none:null,pk:"a",tags:$dynamodb_SS::["x"]})");
  EXPECT_EQ(ToIon(R"({"a b":{"BOOL":true},"true":{"L":[{"S":"q\"\\\n\u0001"},{"M":{}}]},)"
                  R"("ns":{"NS":["103","8.5"]},"'":{"N":"0"}})"),
            R"({'\'':0.,'a b':true,ns:$dynamodb_NS::[8.5,103.],'true':["q\"\\\n\x01",{}]})");
}

TEST(Ion, DecimalsAreMinimal) {
  const std::pair<const char*, const char*> cases[] = {
      {"103", "103."},         {"-2000", "-2d3"},        {"0", "0."},
      {"0.001", "0.001"},      {"0.000001", "0.000001"}, {"0.00000012", "1.2d-7"},
      {"-0.0000001", "-1d-7"}, {"1e125", "1d125"},       {"1.5e-130", "1.5d-130"},
      {"12.50", "12.5"}};
  for (const auto& [number, ion] : cases) {
    const std::string json = std::string(R"({"n":{"N":")") + number + "\"}}";
    EXPECT_EQ(ToIon(json), std::string("{n:") + ion + "}");
    EXPECT_EQ(ReadIonItem("{Item:" + ToIon(json) + "}").value(), FromJson(json)) << number;
  }
}

TEST(Ion, ReadsWhatItWrites) {
  const std::string item = FromJson(
      R"({"s":{"S":"a \"q\" 'x' \\ \u0000\t{}[] é 😀"},"n":{"N":"12345678901234567890123456789012345678"},)"
      R"("b":{"B":"AAEC/w=="},"t":{"BOOL":true},"f":{"BOOL":false},"nil":{"NULL":true},)"
      R"("l":{"L":[{"L":[]},{"M":{"x y":{"N":"-1"}}}]},"ss":{"SS":["b","a"]},"ns":{"NS":["2","1e3"]},)"
      R"("bs":{"BS":["aGk=",""]},"$x":{"S":""}})");
  std::string text = "{Item:";
  AppendIonItem(&text, model::ItemView(item));
  text += "}";
  EXPECT_EQ(ReadIonItem(text).value(), item);
}

TEST(Ion, ReadsOtherSpellings) {
  EXPECT_EQ(
      ReadIonItem("{ 'Item' : { \"pk\" : '''a''' '''b\\n''' , n:5, m : 1.5e2, b:{{ aG k= }},\n"
                  "u:\"\\u00e9\\U0001f600\\x41\", x:null.string, } }")
          .value(),
      FromJson(R"({"pk":{"S":"ab\n"},"n":{"N":"5"},"m":{"N":"150"},"b":{"B":"aGk="},)"
               R"("u":{"S":"é😀A"},"x":{"NULL":true}})"));
}

TEST(Ion, RefusesWhatIsNoItem) {
  for (const char* text :
       {"", "{", "{}", "{Item:1}", "{Item:{a:}}", "{Item:{a:b}}", "{Item:{a:\"x}}",
        "{Item:{a:{{a}}}}", "{Item:{a:$dynamodb_SS::[1]}}", "{Item:{a:$dynamodb_SS::[]}}",
        "{Item:{a:x::1}}", "{Item:{a:$dynamodb_NS::[1.,10d-1]}}", "{Item:{a:1.2.3}}",
        "{Item:{a:1e}}", "{Item:{}} x", "{Item:{a:\"\\q\"}}", "{Item:{a:\"\xff\"}}",
        "{Item:{'':1}}", "{Item:{a:2024-01-01}}"})
    EXPECT_FALSE(ReadIonItem(text).ok()) << text;
  std::string deep(40, '[');
  EXPECT_FALSE(ReadIonItem("{Item:{a:" + deep + std::string(40, ']') + "}}").ok());
}

TEST(Ion, RecordsHaveConditions) {
  RecordCondition condition;
  const auto item = ReadIonRecord(
      R"($ion_1_0 {ConditionExpression:"#n = :v",ExpressionAttributeNames:{'#n':"n"},)"
      R"(Item:{pk:"a"},ExpressionAttributeValues:{':v':1.5}})",
      &condition);
  // The version marker is not part of a document.
  EXPECT_FALSE(item.ok());
  condition = RecordCondition();
  const auto whole = ReadIonRecord(
      R"({ConditionExpression:"#n = :v",ExpressionAttributeNames:{'#n':"n"},Item:{pk:"a"},)"
      R"(ExpressionAttributeValues:{':v':1.5}})",
      &condition);
  ASSERT_TRUE(whole.ok()) << whole.error().message();
  EXPECT_EQ(condition.expression, "#n = :v");
  ASSERT_EQ(condition.names->size(), 1u);
  EXPECT_EQ(condition.names->front(), (std::pair<std::string, std::string>("#n", "n")));
  EXPECT_EQ(model::ItemView(*condition.values).Find(":v").text(), "1.5");
  for (const char* wrong :
       {R"({Item:{pk:"a"},Condition:"x"})", R"({Item:{pk:"a"},ConditionExpression:1.})",
        R"({Item:{pk:"a"},ExpressionAttributeNames:{'#n':1.}})"}) {
    RecordCondition refused;
    const auto read = ReadIonRecord(wrong, &refused);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.error().code(), ErrorCode::kValidation) << wrong;
  }
}

}  // namespace
}  // namespace stator::exchange
