#include "guard/why.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/random.h"
#include "kv/memory_engine.h"
#include "table/store.h"

namespace stator::guard {
namespace {

constexpr char kAccount[] = "111122223333";

access::User UserWith(const std::string& name, const std::string& document) {
  access::User user;
  user.account = kAccount;
  user.name = name;
  user.id = "AIDA" + name;
  user.inline_policies = {{"own", document}};
  return user;
}

class WhyTest : public testing::Test {
 protected:
  void SetUp() override {
    environment_.reset(new ops::Environment{
        *store_, clock_, random_, workers_, {.account = kAccount, .region = "us-east-1"}});
    access::Records records;
    records.accounts = {{kAccount, "", 0}};
    records.users = {UserWith("alice", R"({"Version":"2012-10-17","Statement":[
          {"Effect":"Allow","Action":"dynamodb:*Item","Resource":"*","Condition":
            {"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["${aws:username}"]}}},
          {"Sid":"Stop","Effect":"Deny","Action":"dynamodb:PutItem","Resource":"*"}]})"),
                     UserWith("broken", "{")};
    access::ManagedPolicy edge;
    edge.account = kAccount;
    edge.name = "edge";
    edge.id = "ANPAEDGE";
    edge.versions = {{1, R"({"Version":"2012-10-17","Statement":
                             {"Effect":"Allow","Action":"dynamodb:Query","Resource":"*"}})",
                      0}};
    records.policies = {edge};
    access::User bounded = records.users[0];
    bounded.name = "bounded";
    bounded.id = "AIDABOUNDED";
    bounded.boundary = access::ArnOf(edge);
    records.users.push_back(bounded);
    access::Role role;
    role.account = kAccount;
    role.name = "app";
    role.id = "AROAAPP";
    records.roles = {role};
    auto keyring = std::make_shared<access::Keyring>(
        access::Keyring::FromKeys({std::string(32, 'k')}).value());
    directory_ =
        std::make_unique<access::Directory>(kAccount, std::move(records), *keyring, policies_);
  }
  void TearDown() override {
    workers_.Stop();
    engine_.reset();
  }
  Result<Answer> Ask(const std::string& principal, const std::string& action,
                     const std::string& resource = "t", std::vector<Question::Entry> context = {}) {
    return AnswerWhy({principal, action, resource, std::move(context)}, *directory_, nullptr,
                     "us-east-1", *environment_);
  }
  std::string Reason(const std::string& principal, const std::string& action,
                     std::vector<Question::Entry> context = {}) {
    const Result<Answer> answer = Ask(principal, action, "t", std::move(context));
    return answer.ok() ? Explain(answer->judgement) : answer.error().message();
  }

  ManualClock clock_;
  SeededRandom random_{1};
  WorkerPool workers_{1, 100};
  std::unique_ptr<kv::Engine> engine_ = std::make_unique<kv::MemoryEngine>();
  std::unique_ptr<table::Store> store_ = table::Store::Open(*engine_, clock_, workers_).value();
  std::unique_ptr<ops::Environment> environment_;
  access::PolicyCache policies_;
  std::unique_ptr<access::Directory> directory_;
};

TEST_F(WhyTest, TheDecidingStatementIsNamed) {
  const std::string policy = "own of arn:aws:iam::111122223333:user/alice";
  EXPECT_EQ(Reason("alice", "dynamodb:GetItem", {{"dynamodb:LeadingKeys", {"alice"}}}),
            "allowed by statement (number 1) of the identity-based policy " + policy);
  EXPECT_EQ(Reason("alice", "dynamodb:PutItem"),
            "denied by statement \"Stop\" (number 2) of the identity-based policy " + policy);
  EXPECT_EQ(Reason("alice", "dynamodb:GetItem", {{"dynamodb:LeadingKeys", {"alice", "bob"}}}),
            "denied: no statement of an identity-based policy allows it");
  EXPECT_EQ(Reason("bounded", "dynamodb:GetItem", {{"DYNAMODB:leadingkeys", {"bounded"}}}),
            "denied: no statement of a permissions boundary allows it");
  EXPECT_EQ(Reason("broken", "dynamodb:GetItem"),
            "denied: an identity-based policy cannot be read, so it denies everything");
  EXPECT_EQ(Reason("root", "dynamodb:DeleteTable"), "allowed: the root user needs no statement");
  EXPECT_EQ(Reason("alice", "sts:GetCallerIdentity"), "allowed: every caller may do it");
}

TEST_F(WhyTest, PrincipalsAreFoundByNameAndArn) {
  for (const char* principal :
       {"alice", "ALICE", "arn:aws:iam::111122223333:user/alice", "app",
        "arn:aws:iam::111122223333:role/app", "arn:aws:sts::111122223333:assumed-role/app/session",
        "arn:aws:iam::111122223333:root"}) {
    EXPECT_TRUE(Ask(principal, "dynamodb:Scan").ok()) << principal;
  }
  for (const char* principal : {"carol", "arn:aws:iam::999999999999:user/alice", "arn:alice",
                                "arn:aws:sts::111122223333:assumed-role/app",
                                "arn:aws:sts::111122223333:assumed-role/none/s"}) {
    EXPECT_EQ(Ask(principal, "dynamodb:Scan").error().code(), ErrorCode::kResourceNotFound)
        << principal;
  }
}

TEST_F(WhyTest, ResourcesAndMissingKeysAreShown) {
  const Answer open = Ask("alice", "dynamodb:GetItem").value();
  EXPECT_EQ(open.judgement.resource, "arn:aws:dynamodb:us-east-1:111122223333:table/t");
  EXPECT_EQ(open.missing, std::vector<std::string>{"dynamodb:LeadingKeys"});
  EXPECT_EQ(Ask("alice", "dynamodb:ListTables", "").value().judgement.resource, "*");
  EXPECT_EQ(Ask("alice", "dynamodb:Dance").error().code(), ErrorCode::kValidation);
  EXPECT_FALSE(
      Ask("alice", "dynamodb:GetItem", "t", {{"k", std::vector<std::string>(kMostEntryValues + 1)}})
          .ok());
  EXPECT_FALSE(
      Ask("alice", "dynamodb:GetItem", "t", std::vector<Question::Entry>(kMostEntries + 1)).ok());
}

TEST(Judgements, KeepTheLastDenial) {
  Judgements judgements;
  for (size_t i = 0; i < 2 * Judgements::kMost; ++i) {
    const Judgement judgement{"a", std::to_string(i), i + 1 < 2 * Judgements::kMost};
    judgements.Add(judgement);
    judgements.Add(judgement);
  }
  EXPECT_EQ(judgements.list().size(), Judgements::kMost);
  EXPECT_FALSE(judgements.list().back().allowed);
  EXPECT_TRUE(judgements.list().front().allowed);
  EXPECT_GE(judgements.left_out(), Judgements::kMost);
}

}  // namespace
}  // namespace stator::guard
