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
              "ExpressionAttributeNames contains invalid key: Syntax error; key: \"" + std::string(key) + "\"");
  }
  for (const char* key : {":", "a", "#a", ":a.b"}) {
    EXPECT_EQ(Message(subs.SetValues({{key, notation::Value("1")}})),
              "ExpressionAttributeValues contains invalid key: Syntax error; key: \"" + std::string(key) + "\"");
  }
  EXPECT_EQ(Message(subs.SetNames({{"#a", ""}})),
            "ExpressionAttributeNames contains invalid value: Empty attribute name is not valid for key #a");
  EXPECT_EQ(Message(subs.SetNames({{"#1", "a"}, {"#_", "b"}, {"#aZ_9", "c"}})), "");
}

TEST(SubstitutionsTest, AllMustBeUsed) {
  Substitutions subs;
  ASSERT_TRUE(subs.SetNames({{"#b", "b"}, {"#a", "a"}}).ok());
  ASSERT_TRUE(subs.SetValues({{":v", notation::Value("1")}, {":w", notation::Value("2")}, {":u", notation::Value("2")}}).ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()), "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}");
  ASSERT_TRUE(ParseProjection("#a, #b", &subs).ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u, :v, :w}");
  ASSERT_TRUE(ParseCondition("c = :v", Role::kFilter, &subs).ok());
  ASSERT_TRUE(ParseUpdate("SET c = :w", &subs).ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()), "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}");
  ASSERT_TRUE(ParseCondition("c = :u", Role::kKeyCondition, &subs).ok());
  EXPECT_EQ(Message(subs.CheckAllUsed()), "");
}

}  // namespace
}  // namespace stator::expr
