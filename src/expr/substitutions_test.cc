#include <gtest/gtest.h>

#include "expr/test_request.h"

namespace stator::expr {
namespace {

std::string Message(const Status& status) { return status.ok() ? "" : status.error().message(); }

TEST(SubstitutionsTest, Keys) {
  Substitutions subs;
  EXPECT_EQ(Message(subs.SetNames({})), "ExpressionAttributeNames must not be empty");
  EXPECT_EQ(Message(subs.SetValues({})), "ExpressionAttributeValues must not be empty");
  for (const char* key : {"#", "a", "", "#a-b", "##", "#\xc3\xa9", ":a", "# a"}) {
    EXPECT_EQ(Message(subs.SetNames({{"#ok", "a"}, {key, "a"}})),
              "ExpressionAttributeNames contains invalid key: Syntax error; key: \"" +
                  std::string(key) + "\"");
  }
  for (const char* key : {":", "a", "#a", ":a.b"}) {
    EXPECT_EQ(Message(subs.SetValues({{key, notation::Value("1")}})),
              "ExpressionAttributeValues contains invalid key: Syntax error; key: \"" +
                  std::string(key) + "\"");
  }
  EXPECT_EQ(Message(subs.SetNames({{"#a", ""}})),
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a");
  EXPECT_EQ(Message(subs.SetNames({{"#" + std::string(254, 'a'), "a"}})), "");
  EXPECT_EQ(Message(subs.SetValues({{":" + std::string(255, 'a'), notation::Value("1")}})),
            "ExpressionAttributeValues contains invalid key: The expression attribute map contains "
            "a key that is too long; "
            "size of key: 256");
  EXPECT_EQ(Message(subs.SetNames({{"#1", "a"}, {"#_", "b"}, {"#aZ_9", "c"}})), "");
}

TEST(SubstitutionsTest, Sizes) {
  Substitutions subs;
  EXPECT_EQ(Message(subs.SetNames({{"#a", std::string(65535, 'n')}})), "");
  EXPECT_EQ(Message(subs.SetNames({{"#a", std::string(65536, 'n')}})),
            "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be "
            "less than 65536 bytes for "
            "key #a");
  std::vector<std::pair<std::string, std::string>> names;
  for (int i = 0; i < 34; ++i)
    names.emplace_back("#n" + std::to_string(i), std::string(65000, 'n'));
  EXPECT_EQ(Message(Substitutions().SetNames(names)), "ExpressionAttributeNames exceeds max size");
  names.resize(30);
  Substitutions both;
  EXPECT_EQ(Message(both.SetNames(names)), "");
  EXPECT_EQ(
      Message(both.SetValues({{":v", notation::Value("'" + std::string(200000, 'v') + "'")}})),
      "ExpressionAttributeValues exceeds max size");
}

TEST(SubstitutionsTest, AllMustBeUsed) {
  Substitutions subs;
  ASSERT_TRUE(subs.SetNames({{"#b", "b"}, {"#a", "a"}}).ok());
  ASSERT_TRUE(subs.SetValues({{":v", notation::Value("1")},
                              {":w", notation::Value("2")},
                              {":u", notation::Value("2")}})
                  .ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}");
  ASSERT_TRUE(ParseProjection("#a, #b", &subs).ok());
  EXPECT_EQ(
      Message(subs.CheckAllUsed()),
      "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u, :v, :w}");
  ASSERT_TRUE(ParseCondition("c = :v", Role::kFilter, &subs).ok());
  ASSERT_TRUE(ParseUpdate("SET c = :w", &subs).ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}");
  ASSERT_TRUE(ParseCondition("c = :u", Role::kKeyCondition, &subs).ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()), "");
}

}  // namespace
}  // namespace stator::expr
