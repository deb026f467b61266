#include "server/iam_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/why_control.h"

namespace stator::server {
namespace {

std::string Form(const std::vector<std::string>& words) {
  const Result<std::string> form = FormOfWords(words);
  return form.ok() ? *form : form.error().message();
}

TEST(IamWords, AreThoseOfTheAwsCli) {
  EXPECT_EQ(Form({"create-access-key", "--user-name", "a+b"}),
            "Version=2010-05-08&Action=CreateAccessKey&UserName=a%2Bb");
  EXPECT_EQ(Form({"list-users"}), "Version=2010-05-08&Action=ListUsers");
  EXPECT_EQ(Form({"tag-user", "--user-name=x", "--tags", "Key=team,Value=red", "Key=a,Value="}),
            "Version=2010-05-08&Action=TagUser&UserName=x&Tags.member.1.Key=team"
            "&Tags.member.1.Value=red&Tags.member.2.Key=a&Tags.member.2.Value=");
  EXPECT_EQ(Form({"create-policy-version", "--set-as-default", "--policy-arn", "p"}),
            "Version=2010-05-08&Action=CreatePolicyVersion&SetAsDefault=true&PolicyArn=p");
  EXPECT_EQ(Form({"simulate-principal-policy", "--action-names", "a", "b", "--context-entries",
                  "ContextKeyName=k,ContextKeyType=string,ContextKeyValues=v"}),
            "Version=2010-05-08&Action=SimulatePrincipalPolicy&ActionNames.member.1=a"
            "&ActionNames.member.2=b&ContextEntries.member.1.ContextKeyName=k"
            "&ContextEntries.member.1.ContextKeyType=string"
            "&ContextEntries.member.1.ContextKeyValues.member.1=v");
  EXPECT_EQ(Form({"create-open-id-connect-provider", "--client-id-list", "a", "b"}),
            "Version=2010-05-08&Action=CreateOpenIDConnectProvider&ClientIDList.member.1=a"
            "&ClientIDList.member.2=b");
  EXPECT_EQ(Form({"add-client-id-to-open-id-connect-provider", "--client-id=c",
                  "--open-id-connect-provider-arn=x"}),
            "Version=2010-05-08&Action=AddClientIDToOpenIDConnectProvider&ClientID=c"
            "&OpenIDConnectProviderArn=x");
}

TEST(IamWords, ReadFiles) {
  const std::string path = testing::TempDir() + "/stator-policy.json";
  std::ofstream(path) << "{\"a\": 1}";
  EXPECT_EQ(Form({"put-user-policy", "--policy-document", "file://" + path}),
            "Version=2010-05-08&Action=PutUserPolicy&PolicyDocument=%7B%22a%22%3A%201%7D");
  std::filesystem::remove(path);
  EXPECT_EQ(Form({"put-user-policy", "--policy-document", "file://" + path}),
            "cannot read " + path);
}

TEST(IamWords, WrongOnesAreNamed) {
  EXPECT_EQ(Form({"create-user", "alice"}), "\"alice\" is no option");
  EXPECT_EQ(Form({"create-user", "--user-name"}), "--user-name takes one value");
  EXPECT_EQ(Form({"create-user", "--user-name", "a", "b"}), "--user-name takes one value");
  EXPECT_EQ(Form({"tag-user", "--tags", "red"}), "\"red\" is not like Key=a,Value=b");
}

TEST(IamWords, AQuestionHasAValueForEachContext) {
  const Result<guard::Question> question =
      QuestionOfWords({"why", "--principal", "alice", "--action=dynamodb:GetItem", "--resource",
                       "t", "--context", "dynamodb:LeadingKeys=a=b", "dynamodb:LeadingKeys=c",
                       "--context", "aws:SourceIp=192.0.2.7"});
  ASSERT_TRUE(question.ok()) << question.error().message();
  EXPECT_EQ(WriteQuestion(*question),
            R"({"principal":"alice","action":"dynamodb:GetItem","resource":"t",)"
            R"("context":{"dynamodb:LeadingKeys":["a=b","c"],"aws:SourceIp":["192.0.2.7"]}})");
  const Result<guard::Question> again = ReadQuestion(WriteQuestion(*question));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(WriteQuestion(*again), WriteQuestion(*question));
  EXPECT_FALSE(QuestionOfWords({"why", "--principal", "alice"}).ok());
  EXPECT_FALSE(QuestionOfWords({"why", "--who", "alice"}).ok());
  EXPECT_FALSE(QuestionOfWords({"why", "--context", "x"}).ok());
}

TEST(IamWords, QuestionsOfOtherShapesAreRefused) {
  for (const char* body :
       {"", "[]", "{}", R"({"principal":"a"})", R"({"principal":1,"action":"x"})",
        R"({"principal":"a","action":"x","context":[]})",
        R"({"principal":"a","action":"x","context":{"k":[1]}})",
        R"({"principal":"a","action":"x","other":1})"}) {
    EXPECT_FALSE(ReadQuestion(body).ok()) << body;
  }
  EXPECT_TRUE(ReadQuestion(R"({"principal":"a","action":"x","context":{"k":"v"}})").ok());
}

TEST(IamWords, RepliesAreShownAsJson) {
  EXPECT_EQ(JsonOfReply("<XResponse xmlns=\"u\"><XResult><User><UserName>a&amp;b</UserName>"
                        "<Tags><member><Key>k</Key><Value></Value></member></Tags></User>"
                        "<IsTruncated>false</IsTruncated><Groups></Groups>"
                        "<PolicyDocument>%7B%22a%22%7D</PolicyDocument></XResult>"
                        "<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
                        "</XResponse>"),
            R"({
    "User": {
        "UserName": "a&b",
        "Tags": [
            {
                "Key": "k",
                "Value": ""
            }
        ]
    },
    "IsTruncated": false,
    "Groups": [],
    "PolicyDocument": "{\"a\"}"
})");
  EXPECT_EQ(JsonOfReply("<XResponse xmlns=\"u\"><ResponseMetadata></ResponseMetadata></XResponse>"),
            "");
  EXPECT_EQ(JsonOfReply(""), "");
}

}  // namespace
}  // namespace stator::server
