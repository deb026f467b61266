#include "access/policy.h"

#include <gtest/gtest.h>

namespace stator::access {
namespace {

// "ok" or the message.
std::string Outcome(std::string_view text, PolicyKind kind) {
  const auto policy = Policy::Parse(text, kind, "p");
  if (policy.ok()) return "ok";
  EXPECT_EQ(policy.error().code(), ErrorCode::kValidation);
  return policy.error().message();
}
std::string Identity(std::string_view text) { return Outcome(text, PolicyKind::kIdentity); }
std::string Trust(std::string_view text) { return Outcome(text, PolicyKind::kTrust); }
// Without the prefix that all texts of DynamoDB have.
std::string OfTable(std::string_view text) {
  std::string outcome = Outcome(text, PolicyKind::kResource);
  constexpr std::string_view kPrefix = "One or more parameter values were invalid: ";
  if (outcome.starts_with(kPrefix)) outcome.erase(0, kPrefix.size());
  return outcome;
}
// A document of one identity statement with these members.
std::string WithMembers(std::string_view members) {
  return Identity("{\"Version\": \"2012-10-17\", \"Statement\": {\"Effect\": \"Allow\", " +
                  std::string(members) + "}}");
}

constexpr char kSyntax[] = "Syntax errors in policy.";

TEST(Policy, AcceptsWhatIamAccepts) {
  EXPECT_EQ(Identity(R"({"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})"),
            "ok");
  EXPECT_EQ(Identity(R"({"Version": "2008-10-17", "Id": "x", "Statement":
      {"Sid": "a1", "Effect": "Deny", "NotAction": ["s3:Get*"], "NotResource": ["arn:aws:s3:::b/*"],
       "Condition": {"StringEquals": {"aws:userid": ["a"], "aws:username": "b"},
                     "Bool": {"aws:SecureTransport": false}}}})"),
            "ok");
  EXPECT_EQ(WithMembers(R"("Action": "dynamodb:*", "Resource": "arn:*:dynamodb:*:*:*")"), "ok");
}

TEST(Policy, RefusesDocumentsWithIamsTexts) {
  EXPECT_EQ(Identity(""), kSyntax);
  EXPECT_EQ(Identity("[]"), kSyntax);
  EXPECT_EQ(Identity(R"({"Statement": [], "Statement": []})"), kSyntax);
  EXPECT_EQ(Identity(R"({"Statement": []})"), kSyntax);
  EXPECT_EQ(Identity(R"({"Statement": ["x"]})"), kSyntax);
  EXPECT_EQ(Identity(R"({"Version": "2012-10-17"})"), kSyntax);
  EXPECT_EQ(Identity(R"({"Version": "2012-10-17", "Statements": []})"), kSyntax);
  EXPECT_EQ(Identity(R"({"Version": "2020-10-17", "Statement": []})"),
            "Policy document must be version 2012-10-17 or greater.");
  EXPECT_EQ(Identity(R"({"Statement": [
      {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"},
      {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}]})"),
            "Statement IDs (SID) in a single policy must be unique.");
  EXPECT_EQ(Identity(std::string(Policy::kMaxBytes + 1, ' ')), "The policy failed legacy parsing");
  EXPECT_EQ(Identity("{\"Id\": \"\xe2\x82\xac\"}"), "The policy failed legacy parsing");
}

TEST(Policy, RefusesStatementsWithIamsTexts) {
  EXPECT_EQ(WithMembers(R"("Resource": "*")"), "Policy statement must contain actions.");
  EXPECT_EQ(WithMembers(R"("Action": [], "Resource": "*")"),
            "Policy statement must contain actions.");
  EXPECT_EQ(WithMembers(R"("Action": "*")"), "Policy statement must contain resources.");
  EXPECT_EQ(WithMembers(R"("Action": "*", "NotAction": "*", "Resource": "*")"), kSyntax);
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "*", "NotResource": "*")"), kSyntax);
  EXPECT_EQ(WithMembers(R"("Action": 1, "Resource": "*")"), kSyntax);
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "*", "Sid": "a b")"), kSyntax);
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "*", "Conditions": {})"), kSyntax);
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "*", "Condition": {"Bool": "x"})"), kSyntax);
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "*", "Principal": "*")"),
            "Policy document should not specify a principal.");
  EXPECT_EQ(WithMembers(R"("Action": "GetItem", "Resource": "*")"),
            "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.");
  EXPECT_EQ(WithMembers(R"("Action": "a:b:c", "Resource": "*")"),
            "Actions/Condition can contain only one colon.");
  EXPECT_EQ(WithMembers(R"("Action": "a_b:c", "Resource": "*")"), "Vendor a_b is not valid");
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "Music")"),
            R"(Resource Music must be in ARN format or "*".)");
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "arn:x:s3:::b")"),
            R"(Partition "x" is not valid for resource "arn:x:s3:::b".)");
  EXPECT_EQ(WithMembers(R"("Action": "*", "Resource": "arn:aws:dynamo*:::b")"),
            "Resource vendor must be fully qualified and cannot contain regexes.");
  EXPECT_NE(WithMembers(R"("Action": "*", "NotResource": "arn:aws:dynamodb:${aws:userid}::b")"),
            "ok");
  EXPECT_EQ(Identity(R"({"Statement": {"Effect": "allow", "Action": "*", "Resource": "*"}})"),
            kSyntax);
}

TEST(Policy, TrustPolicies) {
  EXPECT_EQ(Trust(R"({"Statement": {"Effect": "Allow", "Principal": {"AWS": "111122223333",
      "Federated": "arn:aws:iam::111122223333:oidc-provider/x"}, "Action": "sts:AssumeRole"}})"),
            "ok");
  EXPECT_EQ(Trust("{"), "This policy contains invalid Json");
  EXPECT_EQ(Trust(R"({"Statement": []})"), "Could not parse the policy: Statement is empty!");
  EXPECT_EQ(Trust(R"({"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole"}})"),
            "Missing required field Principal");
  EXPECT_EQ(Trust(R"({"Statement": {"Effect": "Allow", "Principal": "*"}})"),
            "Missing required field Action");
  EXPECT_EQ(Trust(R"({"Statement": {"Principal": "*", "Action": "sts:AssumeRole"}})"),
            "Missing required field Effect");
  EXPECT_EQ(Trust(R"({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole",
      "Resource": "*"}})"),
            "Has prohibited field Resource.");
  EXPECT_EQ(Trust(R"({"Statement": {"Effect": "Deny", "NotPrincipal": "*", "Action": "sts:*"}})"),
            "AssumeRole policy must not contain NotPrincipal field.");
  EXPECT_EQ(Trust(R"({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "iam:*"}})"),
            "AssumeRole policy may only specify STS AssumeRole actions.");
  for (const char* principal : {"arn:aws:iam::111122223333:user/*", "arn:aws:s3:::x", "alice",
                                "1111", "arn:aws:iam::111122223333:group/g"}) {
    EXPECT_EQ(Trust(std::string(R"({"Statement": {"Effect": "Allow", "Principal": {"AWS": ")") +
                    principal + R"("}, "Action": "sts:AssumeRole"}})"),
              std::string(R"(Invalid principal in policy: "AWS":")") + principal + "\"");
  }
}

TEST(Policy, TablePoliciesWithDynamoDBsTexts) {
  const auto with = [](std::string_view members) {
    return OfTable(R"({"Version": "2012-10-17", "Statement": [{)" + std::string(members) + "}]}");
  };
  constexpr std::string_view kGood =
      R"("Effect": "allow", "Principal": {"AWS": "111122223333"}, "Action": "dynamodb:GetItem")";
  const auto good = [&](std::string_view more) {
    return with(std::string(kGood) + std::string(more));
  };
  EXPECT_EQ(good(R"(, "Resource": "*", "Sid": "any text")"), "ok");
  EXPECT_EQ(OfTable("{"), "Invalid policy document: This policy contains invalid Json");
  EXPECT_EQ(OfTable(R"({"Statement": []})"),
            "Invalid policy document: Could not parse the policy: Statement is empty!");
  EXPECT_EQ(good(""), "Invalid policy document: Missing required field Resource");
  EXPECT_EQ(with(R"("Effect": "Allow", "Principal": "me", "Action": "*", "Resource": "*")"),
            "Invalid policy document: Syntax error at position (1,74)");
  EXPECT_EQ(with(R"("Effect": "Allow", "Principal": {"AWS": "1111222233334"}, "Action": "*",
                    "Resource": "*")"),
            "Invalid principal in policy document.");
  EXPECT_EQ(with(R"("Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "*",
                    "Resource": "*")"),
            "Invalid policy document: Policy contains invalid service principal");
  EXPECT_EQ(with(R"("Effect": "Deny", "Principal": "*", "Resource": "*",
                    "Action": ["dynamodb:ListTables", "dynamodb:GetItem", "dynamodb:CreateTable"])"),
            "Invalid policy document: The following action names are invalid: "
            "\"dynamodb:ListTables\", \"dynamodb:CreateTable\"");
  EXPECT_EQ(good(R"(, "Resource": "arn:aws:dynamodb:table/Music")"),
            "Invalid policy document: The relative-id \"table/Music\" is invalid for ARN "
            "\"arn:aws:dynamodb:table/Music\"");
  EXPECT_EQ(OfTable(R"({"Statement": [
      {"Sid": "a", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"},
      {"Sid": "a", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}]})"),
            "Invalid policy document: The Statement Ids in the policy are not unique");
  EXPECT_EQ(OfTable(std::string(20'481, ' ')), "Maximum policy size of 20480 bytes exceeded");
}

TEST(Policy, GrantsToEveryoneMustBeBounded) {
  const auto with = [](std::string_view principal, std::string_view condition) {
    return OfTable(R"({"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem",
        "Resource": "*", )" +
                   std::string(principal) + R"(, "Condition": {)" + std::string(condition) + "}}}");
  };
  constexpr char kEveryone[] = R"("Principal": "*")";
  constexpr char kUnbounded[] =
      "Resource-based policy grants unbounded access in one or more elements. Please revise the "
      "policy to ensure least-privilege form of access";
  EXPECT_EQ(with(kEveryone, ""), kUnbounded);
  EXPECT_EQ(with(R"("Principal": {"AWS": ["111122223333", "*"]})", ""), kUnbounded);
  EXPECT_EQ(with(R"("NotPrincipal": {"AWS": "111122223333"})", ""), kUnbounded);
  EXPECT_EQ(with(kEveryone, R"("StringEquals": {"aws:PrincipalAccount": "111122223333"})"), "ok");
  EXPECT_EQ(
      with(kEveryone, R"("ArnLike": {"aws:PrincipalArn": ["arn:aws:iam::111122223333:role/a"]})"),
      "ok");
  EXPECT_EQ(with(kEveryone, R"("ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/a"})"),
            kUnbounded);
  EXPECT_EQ(with(kEveryone, R"("StringEquals": {"aws:PrincipalArn": "${aws:PrincipalArn}"})"),
            kUnbounded);
  for (const char* operation :
       {"StringNotEquals", "StringEqualsIfExists", "ForAllValues:StringEquals"}) {
    EXPECT_EQ(with(kEveryone, std::string("\"") + operation +
                                  R"(": {"aws:PrincipalAccount": "111122223333"})"),
              kUnbounded)
        << operation;
  }
  EXPECT_EQ(with(kEveryone, R"("IpAddress": {"aws:SourceIp": "10.0.0.0/8"})"), kUnbounded);
}

TEST(Policy, KnowsWhichKeysItReads) {
  const auto policy = Policy::Parse(R"({"Version": "2012-10-17", "Statement": [
      {"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb:*:*:table/${aws:username}"},
      {"Effect": "Allow", "Action": "*", "Resource": "*",
       "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/t}*"}}}]})",
                                    PolicyKind::kIdentity, "p");
  ASSERT_TRUE(policy.ok());
  EXPECT_EQ((*policy)->keys(),
            KeySet::Of(ContextKey::kUsername, ContextKey::kLeadingKeys, ContextKey::kPrincipalTag));
  EXPECT_TRUE((*policy)->ReadsKey(ContextKey::kLeadingKeys));
  EXPECT_FALSE((*policy)->ReadsKey(ContextKey::kAttributes));
}

TEST(Policy, SizeLeavesOutSpace) { EXPECT_EQ(Policy::SizeWithoutSpace(" {\n\t\"a b\": 1}"), 8u); }

TEST(Catalogue, FindsAndMatchesActions) {
  ASSERT_TRUE(FindAction("DYNAMODB:getitem").has_value());
  EXPECT_EQ(ActionOf(*FindAction("DYNAMODB:getitem")).name, "dynamodb:GetItem");
  EXPECT_FALSE(FindAction("dynamodb:GetItems").has_value());
  EXPECT_FALSE(FindAction("").has_value());
  for (size_t i = 0; i < Actions().size(); ++i)
    EXPECT_EQ(FindAction(Actions()[i].name), static_cast<ActionId>(i)) << Actions()[i].name;
  EXPECT_EQ(MatchActions("*").count(), Actions().size());
  EXPECT_EQ(MatchActions("dynamodb:partiql*").count(), 4u);
  EXPECT_EQ(MatchActions("dynamodb:?etItem").count(), 1u);
  EXPECT_TRUE(MatchActions("s3:*").none());
  EXPECT_TRUE(ActionOf(*FindAction("dynamodb:ListTables")).only_wildcard());
  EXPECT_FALSE(ActionOf(*FindAction("dynamodb:Scan")).keys.Has(ContextKey::kLeadingKeys));
}

}  // namespace
}  // namespace stator::access
