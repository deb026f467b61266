#include "bulk/plain_json.h"

#include <gtest/gtest.h>

#include "bulk/test_items.h"

namespace stator::bulk {
namespace {

std::string PlainOf(std::string_view json) {
  const std::string item = ItemOf(json);
  std::string out;
  AppendPlainItem(&out, model::ItemView(item));
  return out;
}

TEST(PlainJson, KeepsEveryType) {
  const std::string json =
      R"({"b":{"B":"AAE="},"bs":{"BS":["AA==","AQ=="]},"f":{"BOOL":false},)"
      R"("l":{"L":[{"N":"1"},{"S":"x"},{"L":[]}]},)"
      R"("m":{"M":{"a":{"NULL":true},"b":{"M":{}}}},)"
      R"("n":{"N":"12345678901234567890123456789012345678"},)"
      R"("ns":{"NS":["-1","2.5"]},"pk":{"S":"a\"b\n"},"ss":{"SS":["x","y"]},"z":{"S":""}})";
  const Result<std::string> item = ReadPlainItem(PlainOf(json));
  ASSERT_TRUE(item.ok()) << item.error().message();
  EXPECT_EQ(JsonOf(*item), JsonOf(ItemOf(json)));
}

TEST(PlainJson, IsPlain) {
  EXPECT_EQ(PlainOf(R"({"pk":{"S":"a"},"n":{"N":"1.50"},"l":{"L":[{"BOOL":true},{"NULL":true}]}})"),
            R"({"l":[true,null],"n":1.5,"pk":"a"})");
  EXPECT_EQ(PlainOf(R"({"b":{"B":"AAE="},"ns":{"NS":["2","1"]}})"),
            R"({"b":{"$B":"AAE="},"ns":{"$NS":[1,2]}})");
}

TEST(PlainJson, MapsThatLookTypedStayMaps) {
  for (const char* json :
       {R"({"m":{"M":{"$B":{"S":"AAE="}}}})", R"({"m":{"M":{"$M":{"M":{}}}}})",
        R"({"m":{"M":{"$M":{"M":{"$NS":{"L":[]}}}}}})",
        R"({"m":{"M":{"$B":{"S":"no"},"x":{"N":"1"}}}})", R"({"$B":{"S":"an attribute"}})"}) {
    const Result<std::string> item = ReadPlainItem(PlainOf(json));
    ASSERT_TRUE(item.ok()) << json << item.error().message();
    EXPECT_EQ(JsonOf(*item), json);
  }
}

TEST(PlainJson, TellsDamageFromWrongValues) {
  for (const char* text :
       {"", "[1]", R"({"a":)", R"({"a":tru})", R"({"a" 1})", "{\"a\":\"\xff\"}"}) {
    const Result<std::string> item = ReadPlainItem(text);
    ASSERT_FALSE(item.ok()) << text;
    EXPECT_EQ(item.error().code(), ErrorCode::kCorruption) << text;
  }
  for (const char* text : {R"({"a":1,"a":2})", R"({"a":{"$B":"?"}})", R"({"a":{"$SS":[]}})",
                           R"({"a":{"$NS":[1,1.0]}})",
                           R"({"a":123456789012345678901234567890123456789})", R"({"a":1e200})"}) {
    const Result<std::string> item = ReadPlainItem(text);
    ASSERT_FALSE(item.ok()) << text;
    EXPECT_EQ(item.error().code(), ErrorCode::kValidation) << text;
  }
}

TEST(PlainJson, DeepValuesAreRefused) {
  const std::string deep = R"({"a":)" + std::string(200, '[') + std::string(200, ']') + "}";
  const Result<std::string> item = ReadPlainItem(deep);
  ASSERT_FALSE(item.ok());
  EXPECT_EQ(item.error().code(), ErrorCode::kValidation);
}

}  // namespace
}  // namespace stator::bulk
