// IAM and STS over a store in memory, with signed requests.
#include "iam/service.h"

#include <gtest/gtest.h>

#include <future>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "iam/form.h"
#include "iam/test_form.h"
#include "kv/memory_engine.h"
#include "ops/new_table.h"
#include "table/store.h"

namespace stator::iam {
namespace {

constexpr char kAccount[] = "111122223333";

TEST(Form, ReadsListsAndTags) {
  const Form form = Form::Parse(
                        "Action=X&Tags.member.1.Key=a+b&Tags.member.1.Value=%3D&"
                        "L.member.1=x&L.member.2=y&L.member.4=z&Empty=")
                        .value();
  EXPECT_EQ(form.Get("Action"), "X");
  EXPECT_EQ(form.Tags(), (std::vector<access::Tag>{{"a b", "="}}));
  EXPECT_EQ(form.List("L").size(), 2u);
  EXPECT_TRUE(form.Find("Empty"));
  EXPECT_FALSE(form.Find("Missing"));
  EXPECT_FALSE(Form::Parse("A=1&A=2").ok());
  std::string many;
  for (size_t i = 0; i <= Form::kMaxParameters; ++i) many += "&p" + std::to_string(i) + "=1";
  EXPECT_FALSE(Form::Parse(many).ok());
  EXPECT_FALSE(Form::Parse(std::string(Form::kMaxBytes + 1, 'a')).ok());
}

class IamTest : public testing::Test {
 protected:
  IamTest()
      : store_(table::Store::Open(engine_, clock_, workers_).value()),
        env_{*store_, clock_, seeded_, workers_, {}} {
    SetLogLevel(LogLevel::kOff);
    Open();
  }
  ~IamTest() override {
    workers_.Stop();
    SetLogLevel(LogLevel::kInfo);
  }

  identity::Identities::Options Options() {
    identity::Identities::Options options;
    options.account = kAccount;
    options.bounds = bounds_;
    options.accounts = declared_;
    options.root = identity::KeyPair{root_.id, root_.secret};
    options.keyring = std::make_shared<access::Keyring>(
        access::Keyring::FromKeys({std::string(32, 'm')}).value());
    return options;
  }
  // Opens the identities anew, as a server that starts does.
  void Open() {
    service_.reset();
    gate_.reset();
    identities_ = identity::Identities::Open(engine_, clock_, random_, Options()).value();
    gate_ = std::make_unique<guard::Gate>(
        clock_, *identities_,
        guard::Gate::Options{guard::Mode::kEnforce, kAccount, "us-east-1", "dummy"});
    service_ = std::make_unique<Service>(*identities_, *gate_, env_);
  }

  Reply Ask(const KeyOf& key, const std::string& form, bool sts = false) {
    const SignedForm signed_form(key, form, sts, clock_.NowMicros());
    const access::HttpRequestView http = signed_form.http();
    Result<Prepared> prepared = service_->Prepare(http);
    if (!prepared.ok()) return service_->RenderError(prepared.error(), sts);
    return service_->Run(*std::move(prepared), http, nullptr);
  }
  std::string Ok(const std::string& form, bool sts = false) {
    const Reply reply = Ask(root_, form, sts);
    EXPECT_EQ(reply.status, 200) << form << ": " << reply.body;
    return reply.body;
  }
  void ExpectError(const Reply& reply, int status, const std::string& code,
                   const std::string& text = "") {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_NE(reply.body.find("<Code>" + code + "</Code>"), std::string::npos) << reply.body;
    EXPECT_NE(reply.body.find(text), std::string::npos) << reply.body;
  }
  KeyOf NewKey(const std::string& user) {
    const std::string body = Ok("Action=CreateAccessKey&UserName=" + user);
    return {Between(body, "AccessKeyId"), Between(body, "SecretAccessKey")};
  }

  kv::MemoryEngine engine_;
  ManualClock clock_;
  SeededRandom seeded_{1};
  access::SystemSecureRandom random_;
  WorkerPool workers_{1, 100};
  std::unique_ptr<table::Store> store_;
  ops::Environment env_;
  identity::Identities::Bounds bounds_;
  std::vector<identity::DeclaredAccount> declared_;
  const KeyOf root_{"AKIAROOTROOTROOTROOT", "root's secret"};
  std::unique_ptr<identity::Identities> identities_;
  std::unique_ptr<guard::Gate> gate_;
  std::unique_ptr<Service> service_;
};

// White space is free of IAM's own limits.
TEST_F(IamTest, AllPoliciesTogetherAreBoundedAsSent) {
  bounds_.policy_text = 250'000;
  Open();
  std::string document = Document(R"({"Effect":"Allow","Action":"*","Resource":"*"})");
  for (int i = 0; i < 100'000; ++i) document += "%20";
  Ok("Action=CreateUser&UserName=alice");
  Ok("Action=CreatePolicy&PolicyName=one&PolicyDocument=" + document);
  Ok("Action=PutUserPolicy&UserName=alice&PolicyName=two&PolicyDocument=" + document);
  const Reply refused =
      Ask(root_, "Action=CreatePolicy&PolicyName=three&PolicyDocument=" + document);
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_NE(refused.body.find("LimitExceeded"), std::string::npos) << refused.body;
  // A policy that is smaller than the one it replaces is taken in any case.
  Ok("Action=PutUserPolicy&UserName=alice&PolicyName=two&PolicyDocument=" +
     Document(R"({"Effect":"Allow","Action":"*","Resource":"*"})"));
  Ok("Action=CreatePolicy&PolicyName=three&PolicyDocument=" + document);
}

// Beyond half of a bound an account has its share.
TEST_F(IamTest, NoAccountLeavesNoRoomToOthers) {
  bounds_.policy_text = 400'000;
  Open();
  const std::string made = Ok("Action=CreateAccount&AccountId=222222222222");
  const KeyOf other{Between(made, "AccessKeyId"), Between(made, "SecretAccessKey")};
  std::string document = Document(R"({"Effect":"Allow","Action":"*","Resource":"*"})");
  for (int i = 0; i < 90'000; ++i) document += "%20";
  const auto create = [&](const KeyOf& key, const std::string& name) {
    return Ask(key, "Action=CreatePolicy&PolicyName=" + name + "&PolicyDocument=" + document);
  };
  EXPECT_EQ(create(root_, "one").status, 200);
  EXPECT_EQ(create(root_, "two").status, 200);
  ExpectError(create(root_, "three"), 409, "LimitExceeded",
              "those of one account may have 100000 bytes");
  EXPECT_EQ(create(other, "one").status, 200);
  ExpectError(create(other, "two"), 409, "LimitExceeded",
              "those of one account may have 100000 bytes");
  Ok(std::string("Action=DeletePolicy&PolicyArn=arn:aws:iam::") + kAccount + ":policy/two");
  Ok(std::string("Action=DeletePolicy&PolicyArn=arn:aws:iam::") + kAccount + ":policy/one");
  EXPECT_EQ(create(other, "two").status, 200);
  // After a restart the same is known.
  Open();
  ExpectError(create(other, "three"), 409, "LimitExceeded", "those of one account");
  EXPECT_EQ(create(root_, "one").status, 200);
}

TEST_F(IamTest, CompiledPoliciesAndRecordsAreBounded) {
  bounds_.policy_memory = 300'000;
  bounds_.records = 100'000;
  Open();
  Ok("Action=CreateUser&UserName=alice");
  const auto put = [&](const std::string& name) {
    std::string resources = "\"*\"";
    for (int i = 0; i < 350; ++i) resources += ",\"*\"";
    return Ask(root_,
               "Action=CreatePolicy&PolicyName=" + name + "&PolicyDocument=" +
                   Document(R"({"Sid":")" + name +
                            R"(","Effect":"Allow","Action":"*","Resource":[)" + resources + "]}"));
  };
  Reply last;
  int stored = 0;
  for (; stored < 100; ++stored) {
    last = put("p" + std::to_string(stored));
    if (last.status != 200) break;
  }
  EXPECT_GE(stored, 1);
  ExpectError(last, 409, "LimitExceeded", "All policies, compiled, of the store");
  int users = 0;
  for (; users < 1000; ++users) {
    last = Ask(root_, "Action=CreateUser&UserName=u" + std::to_string(users));
    if (last.status != 200) break;
  }
  EXPECT_GE(users, 10);
  ExpectError(last, 409, "LimitExceeded", "All users, groups, roles and keys");
  ExpectError(Ask(root_, "Action=CreateAccessKey&UserName=alice"), 409, "LimitExceeded",
              "All users, groups, roles and keys");
  Ok("Action=DeleteUser&UserName=u0");
  Ok("Action=CreateUser&UserName=u0");
}

TEST_F(IamTest, UsersOfTheServersFileAreBounded) {
  identity::DeclaredUser user;
  user.name = "declared";
  user.policies = {{"p", R"({"Version":"2012-10-17","Statement":)"
                         R"({"Effect":"Allow","Action":"*","Resource":"*"}})"}};
  const auto refusal = [&](identity::Identities::Bounds bounds) {
    identity::Identities::Options options = Options();
    options.users = {user};
    options.bounds = bounds;
    const auto opened = identity::Identities::Open(engine_, clock_, random_, std::move(options));
    return opened.ok() ? std::string() : opened.error().message();
  };
  EXPECT_EQ(refusal({}), "");
  for (const auto bound :
       {&identity::Identities::Bounds::policy_text, &identity::Identities::Bounds::policy_memory,
        &identity::Identities::Bounds::records}) {
    identity::Identities::Bounds bounds;
    bounds.*bound = 50;
    EXPECT_NE(refusal(bounds).find("of the users of stator.toml"), std::string::npos);
    EXPECT_NE(refusal(bounds).find("more than the 50"), std::string::npos);
  }
}

// A table that another server makes while the account is deleted.
TEST_F(IamTest, NoTableOutlivesItsAccount) {
  Ok("Action=CreateAccount&AccountId=222222222222");
  bool made = false;
  identity::Identities::Options options = Options();
  options.announce = [&] {
    if (std::exchange(made, true)) return;
    table::TableDescriptor descriptor;
    descriptor.name = "222222222222/late";
    descriptor.table_id = "late";
    descriptor.key_schema = {{"p", model::Type::kS}, {}};
    std::promise<bool> created;
    store_->Create(std::move(descriptor),
                   [&](const Result<table::TablePtr>& table) { created.set_value(table.ok()); });
    EXPECT_TRUE(created.get_future().get());
  };
  service_.reset();
  gate_.reset();
  identities_ = identity::Identities::Open(engine_, clock_, random_, std::move(options)).value();
  gate_ = std::make_unique<guard::Gate>(
      clock_, *identities_,
      guard::Gate::Options{guard::Mode::kEnforce, kAccount, "us-east-1", "dummy"});
  service_ = std::make_unique<Service>(*identities_, *gate_, env_);
  EXPECT_TRUE(identities_->CheckAccount("222222222222").ok());
  Ok("Action=DeleteAccount&AccountId=222222222222");
  EXPECT_TRUE(made);
  EXPECT_TRUE(store_->ListOf("222222222222").empty());
  EXPECT_EQ(identities_->CheckAccount("222222222222").error().code(), ErrorCode::kAccessDenied);
  EXPECT_TRUE(identities_->CheckAccount(kAccount).ok());
}

// As a server leaves them that is killed between making a table and looking for its account.
TEST_F(IamTest, TablesOfDeletedAccountsAreDropped) {
  for (const char* account : {"222222222222", "333333333333"})
    Ok(std::string("Action=CreateAccount&AccountId=") + account);
  Ok("Action=DeleteAccount&AccountId=222222222222");
  for (const char* name :
       {"222222222222/late", "333333333333/kept", "444444444444/of-no-record", "kept"}) {
    table::TableDescriptor descriptor;
    descriptor.name = name;
    descriptor.table_id = name;
    descriptor.key_schema = {{"p", model::Type::kS}, {}};
    std::promise<bool> created;
    store_->Create(std::move(descriptor),
                   [&](const Result<table::TablePtr>& table) { created.set_value(table.ok()); });
    EXPECT_TRUE(created.get_future().get());
  }
  Open();
  EXPECT_EQ(identities_->CountDeletedAccounts(), 1u);
  EXPECT_EQ(identities_->CountAccounts(), 1u);
  ops::DropTablesOfAccounts(
      *store_, [this](std::string_view account) { return identities_->IsDeletedAccount(account); });
  EXPECT_TRUE(store_->ListOf("222222222222").empty());
  EXPECT_EQ(store_->List().size(), 3u);
}

// An account of stator.toml, which stands before what is stored of it.
TEST_F(IamTest, DeclaredAccountsHaveStoredUsersToo) {
  const KeyOf blue{"AKIABLUEBLUEBLUEBLUE", "its root's secret"};
  const auto open = [&](bool declared) {
    declared_.clear();
    if (declared)
      declared_.push_back({"222222222222", "blue", identity::KeyPair{blue.id, blue.secret}});
    Open();
  };
  open(true);
  EXPECT_TRUE(identities_->CheckAccount("222222222222").ok());
  EXPECT_EQ(identities_->CountAccounts(), 1u);
  EXPECT_EQ(Between(Ok("Action=ListAccounts"), "AccountName"), "blue");
  ExpectError(Ask(root_, "Action=CreateAccount&AccountId=222222222222"), 409,
              "EntityAlreadyExists");
  ExpectError(Ask(root_, "Action=DeleteAccount&AccountId=222222222222"), 409, "DeleteConflict",
              "declared");
  ExpectError(Ask(blue, "Action=DeleteAccessKey&AccessKeyId=" + blue.id), 400,
              "UnmodifiableEntity");
  ExpectError(Ask(blue, "Action=DeleteAccessKey&AccessKeyId=" + root_.id), 404, "NoSuchEntity");
  EXPECT_EQ(Between(Ask(blue, "Action=CreateUser&UserName=alice").body, "Arn"),
            "arn:aws:iam::222222222222:user/alice");
  open(true);
  EXPECT_EQ(Ask(blue, "Action=GetUser&UserName=alice").status, 200);
  EXPECT_EQ(identities_->CountAccounts(), 1u);
  // Not declared any more, it is a stored one, without the key that was declared.
  open(false);
  EXPECT_EQ(Ask(blue, "Action=GetCallerIdentity", true).status, 403);
  EXPECT_NE(identities_->DirectoryOf("222222222222")->FindUser("alice"), nullptr);
  Ok("Action=DeleteAccount&AccountId=222222222222");
  declared_.push_back({"222222222222", "", {}});
  const auto refused = identity::Identities::Open(engine_, clock_, random_, Options());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("was deleted"), std::string::npos);
}

TEST_F(IamTest, UsersAndKeysSurviveARestart) {
  const std::string created = Ok("Action=CreateUser&UserName=alice&Path=/team/");
  EXPECT_EQ(Between(created, "Arn"), "arn:aws:iam::111122223333:user/team/alice");
  EXPECT_TRUE(Between(created, "UserId").starts_with("AIDA"));
  ExpectError(Ask(root_, "Action=CreateUser&UserName=ALICE"), 409, "EntityAlreadyExists",
              "User with name ALICE already exists.");
  const KeyOf key = NewKey("alice");
  EXPECT_EQ(key.secret.size(), 40u);
  Open();
  const Reply who = Ask(key, "Action=GetCallerIdentity", true);
  EXPECT_EQ(Between(who.body, "Arn"), "arn:aws:iam::111122223333:user/team/alice");
  // The secret stands nowhere in the store.
  bool found = false;
  ASSERT_TRUE(engine_
                  .Scan({identity::kIdentityTablet, "", ""}, kv::Tier::kAny,
                        [&](std::string_view, std::string_view value) {
                          found = found || value.find(key.secret) != std::string_view::npos;
                          return true;
                        })
                  .ok());
  EXPECT_FALSE(found);
  Ok("Action=UpdateAccessKey&UserName=alice&Status=Inactive&AccessKeyId=" + key.id);
  ExpectError(Ask(key, "Action=GetCallerIdentity", true), 403, "InvalidClientTokenId");
  ExpectError(Ask(root_, "Action=DeleteUser&UserName=alice"), 409, "DeleteConflict",
              "must delete access keys first");
  Ok("Action=DeleteAccessKey&UserName=alice&AccessKeyId=" + key.id);
  Ok("Action=DeleteUser&UserName=alice");
  ExpectError(Ask(root_, "Action=GetUser&UserName=alice"), 404, "NoSuchEntity",
              "The user with name alice cannot be found.");
}

TEST_F(IamTest, KeysPerUserAreLimited) {
  Ok("Action=CreateUser&UserName=alice");
  NewKey("alice");
  NewKey("alice");
  ExpectError(Ask(root_, "Action=CreateAccessKey&UserName=alice"), 409, "LimitExceeded",
              "Cannot exceed quota for AccessKeysPerUser: 2");
}

TEST_F(IamTest, RightsComeFromUsersGroupsAndManagedPolicies) {
  Ok("Action=CreateUser&UserName=alice");
  const KeyOf alice = NewKey("alice");
  ExpectError(Ask(alice, "Action=ListUsers"), 403, "AccessDenied",
              "because no identity-based policy allows the iam:ListUsers action");
  Ok("Action=CreateGroup&GroupName=readers");
  Ok("Action=PutGroupPolicy&GroupName=readers&PolicyName=p&PolicyDocument=" +
     Document(R"({"Effect":"Allow","Action":"iam:List*","Resource":"*"})"));
  Ok("Action=AddUserToGroup&GroupName=readers&UserName=alice");
  EXPECT_EQ(Ask(alice, "Action=ListUsers").status, 200);
  ExpectError(Ask(root_, "Action=DeleteGroup&GroupName=readers"), 409, "DeleteConflict");
  const std::string policy =
      Ok("Action=CreatePolicy&PolicyName=no-lists&PolicyDocument=" +
         Document(R"({"Effect":"Deny","Action":"iam:ListUsers","Resource":"*"})"));
  const std::string arn = Between(policy, "Arn");
  Ok("Action=AttachUserPolicy&UserName=alice&PolicyArn=" + arn);
  ExpectError(Ask(alice, "Action=ListUsers"), 403, "AccessDenied", "with an explicit deny");
  Ok("Action=CreatePolicyVersion&SetAsDefault=true&PolicyArn=" + arn +
     "&PolicyDocument=" + Document(R"({"Effect":"Deny","Action":"iam:ListRoles","Resource":"*"})"));
  EXPECT_EQ(Ask(alice, "Action=ListUsers").status, 200);
  ExpectError(Ask(root_, "Action=DeletePolicy&PolicyArn=" + arn), 409, "DeleteConflict");
  ExpectError(Ask(root_, "Action=DeletePolicyVersion&VersionId=v2&PolicyArn=" + arn), 409,
              "DeleteConflict", "Cannot delete the default version of a policy.");
  ExpectError(
      Ask(root_, "Action=AttachUserPolicy&UserName=alice&PolicyArn=arn:aws:iam::1:policy/x"), 404,
      "NoSuchEntity", "does not exist or is not attachable");
}

TEST_F(IamTest, DelegatedAdministratorsStayInTheirBoundary) {
  Ok("Action=CreateUser&UserName=admin");
  const KeyOf admin = NewKey("admin");
  const std::string boundary =
      Between(Ok("Action=CreatePolicy&PolicyName=limit&PolicyDocument=" +
                 Document(R"({"Effect":"Allow","Action":"dynamodb:*","Resource":"*"})")),
              "Arn");
  Ok("Action=PutUserPolicy&UserName=admin&PolicyName=p&PolicyDocument=" +
     Document(R"({"Effect":"Allow","Action":["iam:CreateUser","iam:PutUserPolicy"],"Resource":"*",
                  "Condition":{"StringEquals":{"iam:PermissionsBoundary":")" +
              boundary + R"("}}})"));
  ExpectError(Ask(admin, "Action=CreateUser&UserName=free"), 403, "AccessDenied");
  EXPECT_EQ(Ask(admin, "Action=CreateUser&UserName=bound&PermissionsBoundary=" + boundary).status,
            200);
  const std::string all = Document(R"({"Effect":"Allow","Action":"*","Resource":"*"})");
  EXPECT_EQ(
      Ask(admin, "Action=PutUserPolicy&UserName=bound&PolicyName=p&PolicyDocument=" + all).status,
      200);
  ExpectError(Ask(admin, "Action=PutUserPolicy&UserName=admin&PolicyName=q&PolicyDocument=" + all),
              403, "AccessDenied");
}

TEST_F(IamTest, RolesAreAssumedByThoseThatTheyTrust) {
  Ok("Action=CreateUser&UserName=alice");
  Ok("Action=CreateUser&UserName=mallory");
  const KeyOf alice = NewKey("alice");
  const KeyOf mallory = NewKey("mallory");
  Ok("Action=CreateRole&RoleName=writer&AssumeRolePolicyDocument=" +
     Document(
         R"({"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:user/alice"},"Action":"sts:AssumeRole",
             "Condition":{"StringEquals":{"sts:ExternalId":"42"}}})"));
  Ok("Action=PutRolePolicy&RoleName=writer&PolicyName=p&PolicyDocument=" +
     Document(R"({"Effect":"Allow","Action":["iam:ListUsers","iam:ListRoles"],"Resource":"*"})"));
  const std::string assume =
      "Action=AssumeRole&RoleSessionName=s1&RoleArn=arn:aws:iam::111122223333:role/writer";
  ExpectError(Ask(alice, assume, true), 403, "AccessDenied");
  ExpectError(Ask(mallory, assume + "&ExternalId=42", true), 403, "AccessDenied");
  const Reply missing =
      Ask(mallory,
          "Action=AssumeRole&RoleSessionName=s1&RoleArn=arn:aws:iam::111122223333:role/none", true);
  ExpectError(missing, 403, "AccessDenied");
  const Reply given = Ask(alice, assume + "&ExternalId=42", true);
  ASSERT_EQ(given.status, 200) << given.body;
  const KeyOf session{Between(given.body, "AccessKeyId"), Between(given.body, "SecretAccessKey"),
                      Between(given.body, "SessionToken")};
  EXPECT_EQ(Between(Ask(session, "Action=GetCallerIdentity", true).body, "Arn"),
            "arn:aws:sts::111122223333:assumed-role/writer/s1");
  EXPECT_EQ(Ask(session, "Action=ListUsers").status, 200);
  ExpectError(Ask(session, "Action=ListGroups"), 403, "AccessDenied");
  // A session policy narrows.
  const Reply narrowed =
      Ask(alice,
          assume + "&ExternalId=42&Policy=" +
              Document(R"({"Effect":"Allow","Action":"iam:ListRoles","Resource":"*"})"),
          true);
  const KeyOf narrow{Between(narrowed.body, "AccessKeyId"),
                     Between(narrowed.body, "SecretAccessKey"),
                     Between(narrowed.body, "SessionToken")};
  EXPECT_EQ(Ask(narrow, "Action=ListRoles").status, 200);
  ExpectError(Ask(narrow, "Action=ListUsers"), 403, "AccessDenied", "session policy");
  ExpectError(Ask({session.id, session.secret, narrow.token}, "Action=ListUsers"), 403,
              "InvalidClientTokenId");
  ExpectError(Ask(alice, assume + "&ExternalId=42&DurationSeconds=7200", true), 400,
              "ValidationError", "MaxSessionDuration");
  clock_.AdvanceMicros(3601 * int64_t{1'000'000});
  ExpectError(Ask(session, "Action=ListUsers"), 403, "ExpiredToken");
}

TEST_F(IamTest, BadDocumentsAreRefused) {
  Ok("Action=CreateUser&UserName=alice");
  const std::string put = "Action=PutUserPolicy&UserName=alice&PolicyName=p&PolicyDocument=";
  ExpectError(Ask(root_, put + "nonsense"), 400, "MalformedPolicyDocument");
  ExpectError(Ask(root_, put + Document(R"({"Effect":"Allow","Action":"*"})")), 400,
              "MalformedPolicyDocument");
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += (i == 0 ? "" : ",") +
            std::string(R"({"Effect":"Allow","Action":"dynamodb:GetItem","Resource":"*"})");
  }
  ExpectError(Ask(root_, put + Document(many)), 409, "LimitExceeded",
              "Maximum policy size of 2048 bytes exceeded for user alice");
  EXPECT_EQ(Ok("Action=ListUserPolicies&UserName=alice").find("<member>"), std::string::npos);
  ExpectError(Ask(root_, "Action=CreateUser&UserName=a/b"), 400, "ValidationError");
  ExpectError(Ask(root_, "Action=NoSuchCall"), 400, "InvalidAction");
}

TEST_F(IamTest, SimulationNamesTheDecidingPolicy) {
  Ok("Action=CreateUser&UserName=alice");
  Ok("Action=PutUserPolicy&UserName=alice&PolicyName=own&PolicyDocument=" +
     Document(R"({"Sid":"Mine","Effect":"Allow","Action":"dynamodb:GetItem","Resource":"*",
                  "Condition":{"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["${aws:username}"]}}})"));
  const std::string ask =
      "Action=SimulatePrincipalPolicy&PolicySourceArn=arn:aws:iam::111122223333:user/alice"
      "&ActionNames.member.1=dynamodb:GetItem&ActionNames.member.2=dynamodb:PutItem"
      "&ContextEntries.member.1.ContextKeyName=dynamodb:LeadingKeys"
      "&ContextEntries.member.1.ContextKeyType=stringList"
      "&ContextEntries.member.1.ContextKeyValues.member.1=";
  const std::string own = Ok(ask + "alice");
  EXPECT_NE(own.find("<EvalDecision>allowed</EvalDecision>"), std::string::npos) << own;
  EXPECT_NE(own.find("<EvalDecision>implicitDeny</EvalDecision>"), std::string::npos) << own;
  EXPECT_NE(own.find("own of arn:aws:iam::111122223333:user/alice"), std::string::npos) << own;
  EXPECT_EQ(Ok(ask + "bob").find("allowed</EvalDecision>"), std::string::npos);
}

TEST_F(IamTest, SimulationsThatTakeTooLongAreRefused) {
  std::string patterns;
  for (int i = 0; i < 200; ++i) patterns += (i == 0 ? "\"*b" : ",\"*b") + std::to_string(i) + "*\"";
  std::string ask =
      "Action=SimulateCustomPolicy&PolicyInputList.member.1=" +
      Document(R"({"Effect":"Deny","Action":"*","Resource":"*",
                   "Condition":{"ForAnyValue:StringLike":{"dynamodb:LeadingKeys":[)" +
               patterns + "]}}}") +
      "&ActionNames.member.1=dynamodb:GetItem&ContextEntries.member.1.ContextKeyType=stringList"
      "&ContextEntries.member.1.ContextKeyName=dynamodb:LeadingKeys";
  for (int i = 1; i <= 400; ++i) {
    ask += "&ContextEntries.member.1.ContextKeyValues.member." + std::to_string(i) + "=" +
           std::string(1000, 'a');
  }
  ExpectError(Ask(root_, ask), 400, "ValidationError", "steps to evaluate");
}

TEST_F(IamTest, PagesOfLists) {
  for (int i = 0; i < 7; ++i) Ok("Action=CreateUser&UserName=user" + std::to_string(i));
  std::string marker;
  int seen = 0;
  for (int page = 0; page < 4; ++page) {
    const std::string body =
        Ok("Action=ListUsers&MaxItems=3" + (marker.empty() ? "" : "&Marker=" + marker));
    for (size_t at = 0; (at = body.find("<UserName>", at)) != std::string::npos; ++at) ++seen;
    marker = Between(body, "Marker");
    if (marker.empty()) break;
  }
  EXPECT_EQ(seen, 7);
  ExpectError(Ask(root_, "Action=ListUsers&MaxItems=0"), 400, "ValidationError");
}

TEST_F(IamTest, AnotherMasterKeyOpensNothing) {
  Ok("Action=CreateUser&UserName=alice");
  identity::Identities::Options options = Options();
  options.keyring =
      std::make_shared<access::Keyring>(access::Keyring::FromKeys({std::string(32, 'x')}).value());
  const auto wrong = identity::Identities::Open(engine_, clock_, random_, std::move(options));
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message().find("not the one that sealed"), std::string::npos);
  options = Options();
  options.keyring = nullptr;
  const auto none = identity::Identities::Open(engine_, clock_, random_, std::move(options));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("--master-key-file"), std::string::npos);
}

// A process that shares the store learns of changes, and says when it cannot.
TEST_F(IamTest, ChangesReachOtherProcesses) {
  identity::Identities::Options options = Options();
  options.shared = true;
  const auto other =
      identity::Identities::Open(engine_, clock_, random_, std::move(options)).value();
  Ok("Action=CreateUser&UserName=alice");
  EXPECT_EQ(other->DirectoryOf(kAccount)->FindUser("alice"), nullptr);
  ASSERT_TRUE(other->Refresh().ok());
  EXPECT_NE(other->DirectoryOf(kAccount)->FindUser("alice"), nullptr);
  EXPECT_TRUE(other->Fresh().ok());
  // The record of another account comes and goes.
  Ok("Action=CreateAccount&AccountId=222222222222");
  EXPECT_TRUE(other->CheckAccount("222222222222").ok());
  EXPECT_EQ(other->CountAccounts(), 1u);
  const auto unchanged = other->DirectoryOf(kAccount);
  Ok("Action=DeleteAccount&AccountId=222222222222");
  EXPECT_EQ(other->CheckAccount("222222222222").error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(other->CountAccounts(), 0u);
  EXPECT_EQ(other->DirectoryOf(kAccount), unchanged) << "only what changed is built";
  clock_.AdvanceMicros(identity::Identities::kStaleMicros + 1);
  EXPECT_FALSE(other->Fresh().ok());
  ASSERT_TRUE(other->Refresh().ok());
  EXPECT_TRUE(other->Fresh().ok());
}

// Each process reads and compiles only the policy that has changed.
TEST_F(IamTest, PoliciesOfTablesReachOtherProcessesOneByOne) {
  identity::Identities::Options options = Options();
  options.shared = true;
  const auto other =
      identity::Identities::Open(engine_, clock_, random_, std::move(options)).value();
  const auto put = [&](identity::Identities& process, const std::string& id,
                       const std::string& text, const std::string& owner = "") {
    return process.ChangeResource(
        id,
        [&](std::optional<identity::ResourcePolicyRecord>* record) {
          if (text.empty()) {
            record->reset();
          } else {
            *record = identity::ResourcePolicyRecord{1, text, ""};
          }
          return OkStatus();
        },
        [&](const std::string& resource) -> std::string {
          return resource == id ? owner : "111111111111";
        });
  };
  const auto policy = [](size_t spaces) {
    return R"({"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*",)"
           R"("Action":"dynamodb:GetItem","Resource":"*"}})" +
           std::string(spaces, ' ');
  };
  EXPECT_FALSE(identities_->any_resources());
  ASSERT_TRUE(put(*identities_, "one", policy(0)).ok());
  ASSERT_TRUE(put(*identities_, "two", policy(1)).ok());
  EXPECT_EQ(other->FindResource("one"), nullptr);
  ASSERT_TRUE(other->Refresh().ok());
  const auto one = other->FindResource("one");
  ASSERT_NE(one, nullptr);
  EXPECT_NE(one->compiled, nullptr);
  EXPECT_EQ(one->record.account, kAccount);

  ASSERT_TRUE(put(*identities_, "two", policy(2)).ok());
  ASSERT_TRUE(other->Refresh().ok());
  EXPECT_EQ(other->FindResource("two")->record.text, policy(2));
  EXPECT_EQ(other->FindResource("one"), one) << "only what changed is made";
  ASSERT_TRUE(put(*other, "one", "").ok());
  ASSERT_TRUE(identities_->Refresh().ok());
  EXPECT_EQ(identities_->FindResource("one"), nullptr);
  EXPECT_EQ(identities_->ResourcesBefore(2), std::vector<std::string>{"two"});
  EXPECT_TRUE(identities_->ResourcesBefore(1).empty());
  Open();
  EXPECT_EQ(identities_->FindResource("two")->record.text, policy(2));
  EXPECT_EQ(identities_->FindResource("one"), nullptr);

  // Half of the bound is for everyone, the other half is shared; sums follow each change.
  bounds_.resource_text = 4 * policy(0).size();
  Open();
  ASSERT_TRUE(put(*identities_, "two", "").ok());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(put(*identities_, "a", policy(0), "111111111111").ok());
    ASSERT_TRUE(put(*identities_, "b", policy(0), "111111111111").ok());
    const Status third = put(*identities_, "c", policy(1), "222222222222");
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code(), ErrorCode::kLimitExceeded);
    ASSERT_TRUE(put(*identities_, "b", "").ok());
    ASSERT_TRUE(put(*identities_, "a", "").ok());
  }
  const Status large = put(*identities_, "a", policy(4 * policy(0).size()), "111111111111");
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message().find("together may have"), std::string::npos);
}

// Calls act in the account of their key.
TEST_F(IamTest, AccountsKeepTheirIdentitiesApart) {
  const std::string made = Ok("Action=CreateAccount&AccountId=222222222222&AccountName=blue");
  EXPECT_EQ(Between(made, "AccountId"), "222222222222");
  const KeyOf other{Between(made, "AccessKeyId"), Between(made, "SecretAccessKey")};
  EXPECT_EQ(Between(Ask(other, "Action=GetCallerIdentity", true).body, "Arn"),
            "arn:aws:iam::222222222222:root");
  ExpectError(Ask(root_, "Action=CreateAccount&AccountId=222222222222"), 409,
              "EntityAlreadyExists");
  ExpectError(Ask(root_, std::string("Action=CreateAccount&AccountId=") + kAccount), 409,
              "EntityAlreadyExists");
  ExpectError(Ask(root_, "Action=CreateAccount&AccountId=22222222222x"), 400, "ValidationError");
  for (const char* call : {"Action=CreateAccount", "Action=ListAccounts",
                           "Action=DeleteAccount&AccountId=222222222222"})
    ExpectError(Ask(other, call), 403, "AccessDenied");

  Ok("Action=CreateUser&UserName=alice");
  Ok("Action=CreateUser&UserName=bob");
  EXPECT_EQ(Between(Ask(other, "Action=CreateUser&UserName=alice").body, "Arn"),
            "arn:aws:iam::222222222222:user/alice");
  const std::string list = Ask(other, "Action=ListUsers").body;
  EXPECT_EQ(list.find("bob"), std::string::npos);
  EXPECT_EQ(list.find(kAccount), std::string::npos);
  ExpectError(Ask(other, "Action=GetUser&UserName=bob"), 404, "NoSuchEntity");
  ExpectError(Ask(other, "Action=DeleteAccessKey&AccessKeyId=" + NewKey("bob").id), 404,
              "NoSuchEntity");
  Ok("Action=CreatePolicy&PolicyName=p&PolicyDocument=" +
     Document(R"({"Effect":"Allow","Action":"dynamodb:GetItem","Resource":"*"})"));
  const std::string arn = std::string("arn:aws:iam::") + kAccount + ":policy/p";
  ExpectError(Ask(other, "Action=GetPolicy&PolicyArn=" + arn), 403, "AccessDenied");
  ExpectError(Ask(other, "Action=AttachUserPolicy&UserName=alice&PolicyArn=" + arn), 404,
              "NoSuchEntity");
  ExpectError(
      Ask(other, "Action=PutUserPermissionsBoundary&UserName=alice&PermissionsBoundary=" + arn),
      404, "NoSuchEntity");

  Open();
  EXPECT_EQ(Between(Ask(other, "Action=GetUser&UserName=alice").body, "Arn"),
            "arn:aws:iam::222222222222:user/alice");
  EXPECT_EQ(Between(Ok("Action=ListAccounts"), "AccountName"), "blue");
  Ok("Action=DeleteAccount&AccountId=222222222222");
  EXPECT_EQ(Ask(other, "Action=GetCallerIdentity", true).status, 403);
  EXPECT_EQ(Ok("Action=ListAccounts").find("blue"), std::string::npos);
  ExpectError(Ask(root_, "Action=CreateAccount&AccountId=222222222222"), 409,
              "EntityAlreadyExists");
  Ok("Action=GetUser&UserName=alice");
}

}  // namespace
}  // namespace stator::iam
