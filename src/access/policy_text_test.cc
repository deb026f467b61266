#include "access/policy_text.h"

#include <gtest/gtest.h>

#include "access/policy.h"

namespace stator::access {
namespace {

std::string Normal(std::string_view text) {
  const Result<ResourcePolicyText> result = NormalizeResourcePolicy(text);
  return result.ok() ? result->normal : result.error().message();
}

TEST(ResourcePolicyTextTest, TakesTheFormOfTheService) {
  constexpr std::string_view kNormal =
      R"({"Version":"2012-10-17","Id":"x","Statement":[{"Sid":"s","Effect":"Allow",)"
      R"("Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"dynamodb:GetItem",)"
      R"("Resource":"*","Condition":{"Bool":{"aws:SecureTransport":true}}}]})";
  EXPECT_EQ(Normal(R"( {"Statement": {"Condition": {"Bool": {"aws:SecureTransport": true}},
      "Resource": ["*"], "Action": ["dynamodb:GetItem"], "Principal": {"AWS": ["111122223333"]},
      "Effect": "allow", "Sid": "s"}, "Id": "x", "Version": "2012-10-17"})"),
            kNormal);
  EXPECT_EQ(Normal(kNormal), kNormal);
  EXPECT_TRUE(Policy::Parse(kNormal, PolicyKind::kResource, "").ok());
}

TEST(ResourcePolicyTextTest, KeepsListsAndText) {
  EXPECT_EQ(Normal(R"({"Version": "2012-10-17", "Statement": [
      {"Effect": "Deny", "NotPrincipal": {"AWS": ["111122223333", "arn:aws:iam::1111222233334:user/a"]},
       "NotAction": "dynamodb:GetItem", "NotResource": "*"}]})"),
            "One or more parameter values were invalid: Invalid principal in policy document.");
  EXPECT_EQ(Normal(R"({"Version": "2012-10-17", "Statement": [
      {"Effect": "Deny", "Principal": "*", "Sid": "a \"b\" \\ \u00e9",
       "Action": ["dynamodb:GetItem", "dynamodb:Query"],
       "Resource": "*"}]})"),
            "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Sid\":\"a \\\"b\\\" \\\\ "
            "\xc3\xa9\",\"Effect\":\"Deny\",\"Principal\":\"*\",\"Action\":[\"dynamodb:GetItem\","
            "\"dynamodb:Query\"],\"Resource\":\"*\"}]}");
}

TEST(ResourcePolicyTextTest, ALeftOutVersionIsTold) {
  constexpr std::string_view kStatement =
      R"("Statement": {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}})";
  const auto without = NormalizeResourcePolicy("{" + std::string(kStatement));
  const auto with =
      NormalizeResourcePolicy("{\"Version\": \"2008-10-17\", " + std::string(kStatement));
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ(without->normal, with->normal);
  EXPECT_FALSE(*without == *with);
}

}  // namespace
}  // namespace stator::access
