#include "access/directories.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace stator::access {
namespace {

constexpr char kAccount[] = "111122223333";
constexpr int64_t kNow = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z
constexpr char kAllowGet[] =
    R"({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem",
        "Resource": "*", "Condition": {"StringEquals": {"aws:PrincipalTag/team": "blue"}}}})";
constexpr char kAllowPut[] =
    R"({"Statement": {"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"}})";
constexpr char kDenyPut[] =
    R"({"Statement": {"Effect": "Deny", "Action": "dynamodb:PutItem", "Resource": "*"}})";
constexpr char kTrust[] =
    R"({"Statement": {"Effect": "Allow", "Principal": {"AWS": "111122223333"},
        "Action": "sts:AssumeRole"}})";

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    keyring_ = std::make_shared<Keyring>(*Keyring::FromKeys({std::string(32, 'k')}));
    records_.accounts.push_back({kAccount, "", 0});
    User alice;
    alice.account = kAccount;
    alice.name = "alice";
    alice.id = "AIDAALICE";
    alice.inline_policies = {{"get", kAllowGet}};
    alice.tags = {{"team", "blue"}};
    alice.groups = {"Staff"};
    records_.users.push_back(alice);
    Group staff;
    staff.account = kAccount;
    staff.name = "staff";
    staff.id = "AGPASTAFF";
    staff.attached_policies = {"arn:aws:iam::111122223333:policy/put"};
    records_.groups.push_back(staff);
    ManagedPolicy put;
    put.account = kAccount;
    put.name = "put";
    put.versions = {{1, kAllowPut, 0}, {2, kDenyPut, 0}};
    records_.policies.push_back(put);
    Role app;
    app.account = kAccount;
    app.name = "app";
    app.id = "AROAAPP";
    app.trust_policy = kTrust;
    app.attached_policies = {"arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess"};
    app.tags = {{"team", "blue"}, {"site", "x"}};
    records_.roles.push_back(app);
    AddKey("AKIAALICE", "alice", "secret-of-alice");
    AddKey("AKIAROOT", "", "secret-of-root");
  }

  // The account as requests see it.
  struct Live {
    std::unique_ptr<Directories> all;
    std::shared_ptr<const Directory> directory;
  };
  Live Make(const Records& records, std::shared_ptr<const Keyring> keyring = nullptr) {
    if (keyring == nullptr) keyring = keyring_;
    Live live{std::make_unique<Directories>(keyring, clock_),
              std::make_shared<Directory>(kAccount, records, *keyring, policies_)};
    live.all->Replace(kAccount, live.directory);
    return live;
  }
  void AddKey(const std::string& id, const std::string& user, std::string_view secret) {
    records_.keys.push_back(
        {id, kAccount, user, keyring_->Seal(secret, SecretPurpose(id), &random_), true, 0});
  }
  Session RoleSession() {
    Session session;
    session.key_id = "ASIASESSION";
    session.secret = "secret-of-session";
    session.account = kAccount;
    session.issuer = "app";
    session.issuer_id = "AROAAPP";
    session.name = "s1";
    session.issued_micros = kNow;
    session.expires_micros = kNow + 900'000'000;
    session.tags = {{"Team", "red"}};
    return session;
  }
  std::string Token(const Session& session) {
    const Result<std::string> token = SealSession(session, *keyring_, &random_);
    EXPECT_TRUE(token.ok());
    return token.ok() ? *token : "";
  }
  static bool Allows(const Caller& caller, std::string_view action) {
    RequestContext context;
    caller.SetContext(&context);
    const Principal principal = caller.principal();
    const ResourceName resource("arn:aws:dynamodb:r:111122223333:table/t");
    return Authorize({principal, *FindAction(action), resource, kAccount, context},
                     caller.policies(false, nullptr))
        .allowed;
  }

  SystemSecureRandom random_;
  ManualClock clock_{kNow};
  std::shared_ptr<const Keyring> keyring_;
  PolicyCache policies_;
  Records records_;
};

TEST_F(DirectoryTest, ResolvesLongTermKeys) {
  const Live live = Make(records_);
  const Directory& directory = *live.directory;
  EXPECT_TRUE(directory.problems().empty()) << directory.problems()[0];
  const KeyLookup alice = live.all->Find("AKIAALICE", "");
  ASSERT_EQ(alice.key, KeyState::kActive);
  EXPECT_EQ(alice.token, TokenState::kFits);
  EXPECT_EQ(alice.credential->secret, "secret-of-alice");
  const Caller& caller = *alice.credential->caller;
  EXPECT_EQ(caller.arn, "arn:aws:iam::111122223333:user/alice");
  EXPECT_TRUE(Allows(caller, "dynamodb:GetItem"));
  EXPECT_TRUE(Allows(caller, "dynamodb:PutItem")) << "of the group's managed policy";
  EXPECT_FALSE(Allows(caller, "dynamodb:DeleteItem"));
  EXPECT_TRUE(caller.keys.Has(ContextKey::kPrincipalTag));
  EXPECT_FALSE(caller.keys.Has(ContextKey::kLeadingKeys));

  EXPECT_EQ(live.all->Find("AKIAALICE", "token").token, TokenState::kInvalid);
  EXPECT_EQ(live.all->Find("AKIANONE", "").key, KeyState::kUnknown);
  const KeyLookup root = live.all->Find("AKIAROOT", "");
  EXPECT_TRUE(Allows(*root.credential->caller, "dynamodb:DeleteTable"));
  EXPECT_NE(root.credential->generation, alice.credential->generation);
}

TEST_F(DirectoryTest, EqualPoliciesAreCompiledOnce) {
  const std::string document = R"({"Version":"2012-10-17","Statement":[)"
                               R"({"Effect":"Allow","Action":"dynamodb:*","Resource":"*"}]})";
  records_.users.push_back(records_.users.front());
  records_.users.back().name = "bob";
  records_.users.back().id = "AIDABOB";
  for (User& user : records_.users) user.inline_policies = {{"p", document}};
  const Live live_first = Make(records_);
  const Directory& first = *live_first.directory;
  const auto policy_of = [](const Directory& directory, const User& user) {
    return directory.CallerOf(user.name)->identity.front();
  };
  const auto one = policy_of(first, records_.users[0]), two = policy_of(first, records_.users[1]);
  EXPECT_NE(one->name(), two->name());
  EXPECT_EQ(one->statements().data(), two->statements().data());

  Records changed = records_;
  changed.users[1].inline_policies = {
      {"p", R"({"Version":"2012-10-17","Statement":[)"
            R"({"Effect":"Deny","Action":"dynamodb:*","Resource":"*"}]})"}};
  const Live live_second = Make(changed);
  const Directory& second = *live_second.directory;
  EXPECT_EQ(policy_of(second, changed.users[0])->statements().data(), one->statements().data());
  EXPECT_FALSE(policy_of(second, changed.users[1])->statements().front().allows());
}

TEST_F(DirectoryTest, PoliciesOutOfUseAreForgotten) {
  const auto document = [](int i) {
    return R"({"Version":"2012-10-17","Statement":[{"Sid":"s)" + std::to_string(i) +
           R"(","Effect":"Allow","Action":"dynamodb:*","Resource":"*"}]})";
  };
  const auto kept = policies_.Compile(document(0), PolicyKind::kIdentity, "kept");
  ASSERT_TRUE(kept.ok());
  // The name outlives the policy that was compiled first.
  auto first = policies_.Compile(document(1), PolicyKind::kIdentity, "first");
  const auto second = policies_.Compile(document(1), PolicyKind::kIdentity, "second");
  const Statement* const statements = (*first)->statements().data();
  *first = nullptr;
  const auto third = policies_.Compile(document(1), PolicyKind::kIdentity, "third");
  EXPECT_EQ((*third)->statements().data(), statements);
  EXPECT_EQ((*second)->name(), "second");
  // A policy of another kind is another one.
  EXPECT_FALSE(policies_.Compile(document(1), PolicyKind::kResource, "r").ok());
  for (int i = 2; i < 20'000; ++i)
    ASSERT_TRUE(policies_.Compile(document(i), PolicyKind::kIdentity, "gone").ok());
  EXPECT_LT(policies_.size(), 2000u);
}

// The bound of a server is only as good as the count.
TEST_F(DirectoryTest, HoldingCountsEqualDocumentsOnce) {
  const Holding before = Make(records_).directory->holding();
  EXPECT_GT(before.policy_text, 2 * sizeof kAllowPut);
  EXPECT_GT(before.policy_memory, before.policy_text);
  std::string many = R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"a:b",)"
                     R"("Resource":["*")";
  for (int i = 0; i < 500; ++i) many += ",\"*\"";
  many += "]}]}";
  records_.users[0].inline_policies.push_back({"many", many});
  const Holding with = Make(records_).directory->holding();
  EXPECT_EQ(with.policy_text, before.policy_text + many.size());
  // Short texts take the most memory.
  EXPECT_GT(with.policy_memory, before.policy_memory + 20 * many.size());
  records_.users[0].inline_policies.push_back({"again", many});
  const Holding twice = Make(records_).directory->holding();
  EXPECT_EQ(twice.policy_text, with.policy_text + many.size());
  EXPECT_LT(twice.policy_memory, with.policy_memory + 1000);
  EXPECT_EQ(twice.records, before.records);
  AddKey("AKIAMORE", "alice", "x");
  EXPECT_GT(Make(records_).directory->holding().records, before.records);
}

// Accounts are replaced one by one; tokens and keys follow theirs.
TEST_F(DirectoryTest, AccountsChangeByThemselves) {
  Live live = Make(records_);
  const std::string token = Token(RoleSession());
  const auto session = live.all->Find("ASIASESSION", token).credential;
  ASSERT_NE(session, nullptr);
  Records other;
  other.accounts = {{"444455556666", "", 0}};
  other.keys = {{"AKIAOTHER", "444455556666", "",
                 keyring_->Seal("other", SecretPurpose("AKIAOTHER"), &random_), true, 0}};
  live.all->Replace("444455556666",
                    std::make_shared<Directory>("444455556666", other, *keyring_, policies_));
  EXPECT_EQ(live.all->Find("AKIAOTHER", "").credential->caller->account, "444455556666");
  EXPECT_EQ(live.all->Find("ASIASESSION", token).credential, session) << "not opened again";
  EXPECT_EQ(live.all->All().size(), 2u);

  Records changed = records_;
  changed.roles.clear();
  changed.keys.erase(changed.keys.begin());
  live.all->Replace(kAccount, std::make_shared<Directory>(kAccount, changed, *keyring_, policies_));
  EXPECT_EQ(live.all->Find("ASIASESSION", token).key, KeyState::kUnknown);
  EXPECT_EQ(live.all->Find("AKIAALICE", "").key, KeyState::kUnknown);
  EXPECT_EQ(live.all->Find("AKIAROOT", "").key, KeyState::kActive);
  EXPECT_EQ(live.all->Find("AKIAOTHER", "").key, KeyState::kActive);
  live.all->Replace("444455556666", nullptr);
  EXPECT_EQ(live.all->Find("AKIAOTHER", "").key, KeyState::kUnknown);
  EXPECT_EQ(live.all->Of("444455556666"), nullptr);
  EXPECT_EQ(live.all->All().size(), 1u);
}

TEST_F(DirectoryTest, InactiveKeysKeepTheirSecret) {
  records_.keys[0].active = false;
  const Live live = Make(records_);
  EXPECT_EQ(live.all->Find("AKIAALICE", "").key, KeyState::kInactive);
}

TEST_F(DirectoryTest, TheDefaultVersionIsInForce) {
  records_.policies[0].default_version = 2;
  const Live live = Make(records_);
  const Directory& directory = *live.directory;
  EXPECT_FALSE(Allows(*directory.CallerOf("ALICE"), "dynamodb:PutItem"));
  EXPECT_TRUE(Allows(*directory.CallerOf("ALICE"), "dynamodb:GetItem"));
}

TEST_F(DirectoryTest, WhatCannotBeReadDeniesAndIsNamed) {
  records_.users[0].inline_policies.push_back({"bad", "{"});
  const Live live_unreadable = Make(records_);
  const Directory& unreadable = *live_unreadable.directory;
  ASSERT_EQ(unreadable.problems().size(), 1u);
  EXPECT_NE(unreadable.problems()[0].find("bad of arn:aws:iam::111122223333:user/alice"),
            std::string::npos)
      << unreadable.problems()[0];
  EXPECT_FALSE(Allows(*unreadable.CallerOf("alice"), "dynamodb:GetItem"));

  records_.users[0].inline_policies.pop_back();
  for (const auto& change : {+[](Records& r) { r.users[0].groups.push_back("gone"); },
                             +[](Records& r) { r.users[0].attached_policies = {"arn:gone"}; },
                             +[](Records& r) { r.users[0].boundary = "arn:gone"; }}) {
    Records changed = records_;
    change(changed);
    const Live live = Make(changed);
    const Directory& directory = *live.directory;
    EXPECT_FALSE(Allows(*directory.CallerOf("alice"), "dynamodb:GetItem"));
  }
}

TEST_F(DirectoryTest, KeysOfAnotherMasterKeyAreUnknownAndNamed) {
  const auto other = std::make_shared<Keyring>(*Keyring::FromKeys({std::string(32, 'x')}));
  const Live live = Make(records_, other);
  const Directory& directory = *live.directory;
  EXPECT_EQ(live.all->Find("AKIAALICE", "").key, KeyState::kUnknown);
  ASSERT_EQ(directory.problems().size(), 2u);
  EXPECT_NE(directory.problems()[0].find(keyring_->key_id()), std::string::npos);
}

TEST_F(DirectoryTest, SecretsCannotBeSwappedBetweenKeys) {
  std::swap(records_.keys[0].sealed_secret, records_.keys[1].sealed_secret);
  const Live live = Make(records_);
  EXPECT_EQ(live.all->Find("AKIAALICE", "").key, KeyState::kUnknown);
}

TEST_F(DirectoryTest, ResolvesSessions) {
  const Live live = Make(records_);
  const std::string token = Token(RoleSession());
  const KeyLookup found = live.all->Find("ASIASESSION", token);
  ASSERT_EQ(found.key, KeyState::kActive);
  EXPECT_EQ(found.token, TokenState::kFits);
  EXPECT_EQ(found.credential->secret, "secret-of-session");
  const Caller& caller = *found.credential->caller;
  EXPECT_EQ(caller.arn, "arn:aws:sts::111122223333:assumed-role/app/s1");
  EXPECT_EQ(caller.issuer_arn, "arn:aws:iam::111122223333:role/app");
  EXPECT_EQ(caller.user_id, "AROAAPP:s1");
  EXPECT_EQ(caller.tags, (std::vector<Tag>{{"site", "x"}, {"Team", "red"}}));
  EXPECT_TRUE(Allows(caller, "dynamodb:PutItem"));
  EXPECT_EQ(live.all->Find("ASIASESSION", token).credential, found.credential) << "cached";

  EXPECT_EQ(live.all->Find("ASIAOTHER", token).key, KeyState::kUnknown);
  EXPECT_EQ(live.all->Find("ASIASESSION", "").key, KeyState::kUnknown);
  EXPECT_EQ(live.all->Find("ASIASESSION", token + "x").key, KeyState::kUnknown);
  clock_.AdvanceMicros(900'000'000);
  EXPECT_EQ(live.all->Find("ASIASESSION", token).token, TokenState::kExpired);
}

TEST_F(DirectoryTest, SessionsEndWithTheirRole) {
  const std::string token = Token(RoleSession());
  for (const auto& change :
       {+[](Records& r) { r.roles.clear(); }, +[](Records& r) { r.roles[0].id = "AROANEW"; },
        +[](Records& r) { r.roles[0].revoked_before_micros = kNow + 1; }}) {
    Records changed = records_;
    change(changed);
    const Live live = Make(changed);
    const KeyLookup found = live.all->Find("ASIASESSION", token);
    EXPECT_EQ(found.key, KeyState::kUnknown);
    EXPECT_EQ(found.token, TokenState::kInvalid);
  }
}

TEST_F(DirectoryTest, SessionPoliciesNarrow) {
  Session session = RoleSession();
  session.has_policies = true;
  session.policies = {kAllowPut};
  const Live live = Make(records_);
  const Directory& directory = *live.directory;
  EXPECT_TRUE(Allows(*directory.CallerOf(session), "dynamodb:PutItem"));
  EXPECT_FALSE(Allows(*directory.CallerOf(session), "dynamodb:DeleteItem"));
  session.policies = {"{"};
  EXPECT_FALSE(Allows(*directory.CallerOf(session), "dynamodb:PutItem"));
}

TEST_F(DirectoryTest, SessionsOfUsers) {
  const Live live = Make(records_);
  const Directory& directory = *live.directory;
  Session session = RoleSession();
  session.kind = Session::Kind::kUser;
  session.issuer = "alice";
  session.issuer_id = "AIDAALICE";
  session.tags.clear();
  const auto user = directory.CallerOf(session);
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(user->arn, "arn:aws:iam::111122223333:user/alice");
  EXPECT_TRUE(Allows(*user, "dynamodb:GetItem"));
  RequestContext context;
  user->SetContext(&context);
  EXPECT_EQ(context.Find(ResolveKey("aws:TokenIssueTime"))->text, "2026-01-01T00:00:00Z");

  session.kind = Session::Kind::kFederatedUser;
  session.name = "bob";
  const auto federated = directory.CallerOf(session);
  ASSERT_NE(federated, nullptr);
  EXPECT_EQ(federated->arn, "arn:aws:sts::111122223333:federated-user/bob");
  EXPECT_EQ(federated->user_id, "111122223333:bob");
  EXPECT_FALSE(Allows(*federated, "dynamodb:GetItem")) << "no policy, no rights";
  session.issuer_id = "AIDAOTHER";
  EXPECT_EQ(directory.CallerOf(session), nullptr);
}

TEST_F(DirectoryTest, TrustPolicies) {
  const Live live = Make(records_);
  const Directory& directory = *live.directory;
  const Role* role = directory.FindRole("APP");
  ASSERT_NE(role, nullptr);
  const auto trust = directory.TrustPolicyOf(*role);
  ASSERT_NE(trust, nullptr);
  EXPECT_EQ(trust->kind(), PolicyKind::kTrust);
}

TEST_F(DirectoryTest, TokensAreBoundedAndTamperProof) {
  Session session = RoleSession();
  session.has_policies = true;
  session.policies = {kAllowPut, kAllowGet};
  session.source_identity = "me";
  session.federated_provider = "arn:aws:iam::111122223333:oidc-provider/x";
  const std::string token = Token(session);
  EXPECT_EQ(
      token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      std::string::npos);
  EXPECT_EQ(token.find("secret"), std::string::npos);
  const Result<Session> opened = OpenSession(token, *keyring_);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(*opened, session);
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(OpenSession(changed, *keyring_).ok()) << i;
    EXPECT_FALSE(OpenSession(token.substr(0, i), *keyring_).ok()) << i;
  }
  // A sealed secret is no token.
  EXPECT_FALSE(OpenSession("!", *keyring_).ok());
  session.policies.assign(1, std::string(kMaxTokenBytes, ' '));
  EXPECT_EQ(SealSession(session, *keyring_, &random_).error().code(), ErrorCode::kLimitExceeded);
}

// The verifier, the directory and the signer together.
TEST_F(DirectoryTest, VerifiesRequestsOfSessions) {
  const Live live = Make(records_);
  Verifier verifier(clock_, *live.all, "dummy");
  const std::string token = Token(RoleSession());
  const auto outcome = [&](const SigningKey& key) -> std::string {
    std::vector<OwnedHeader> headers = {{"Host", "localhost"}};
    SigningOptions options;
    options.region = "us-east-1";
    options.service = "dynamodb";
    options.now_micros = clock_.NowMicros();
    SignRequest(key, options, "POST", "/", "{}", &headers);
    std::vector<HeaderLine> lines;
    for (const OwnedHeader& header : headers) lines.push_back({header.name, header.value});
    const Result<VerifiedRequest> verified =
        verifier.Verify({"POST", "/", lines, "{}"}, {"dynamodb", {}});
    return verified.ok() ? verified->credential->caller->arn
                         : std::string(ErrorCodeName(verified.error().code()));
  };
  EXPECT_EQ(outcome({"ASIASESSION", "secret-of-session", token}),
            "arn:aws:sts::111122223333:assumed-role/app/s1");
  EXPECT_EQ(outcome({"ASIASESSION", "wrong", token}), "InvalidSignature");
  EXPECT_EQ(outcome({"ASIASESSION", "secret-of-session", ""}), "UnrecognizedClient");
  EXPECT_EQ(outcome({"AKIAALICE", "secret-of-alice", ""}), "arn:aws:iam::111122223333:user/alice");
  EXPECT_EQ(outcome({"AKIAALICE", "secret-of-alice", token}), "UnrecognizedClient");
  clock_.AdvanceMicros(900'000'000);
  EXPECT_EQ(outcome({"ASIASESSION", "secret-of-session", token}), "ExpiredToken");
}

// Sessions, keys and unknown keys at once, so that the caches of tokens and of signing keys are
// filled and read by several threads (for ThreadSanitizer).
TEST_F(DirectoryTest, ServesSeveralThreads) {
  const Live live = Make(records_);
  Verifier verifier(clock_, *live.all, "dummy", /*cached_keys=*/4);
  std::vector<std::jthread> threads;
  std::atomic<int> verified = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      SystemSecureRandom random;
      for (int i = 0; i < 50; ++i) {
        Session session = RoleSession();
        session.name = "s" + std::to_string(i % 7);
        const Result<std::string> token = SealSession(session, *keyring_, &random);
        const SigningKey keys[] = {{"ASIASESSION", "secret-of-session", *token},
                                   {"AKIAALICE", "secret-of-alice", ""},
                                   {"AKIANONE" + std::to_string(t), "x", ""}};
        for (const SigningKey& key : keys) {
          std::vector<OwnedHeader> headers = {{"Host", "localhost"}};
          SigningOptions options;
          options.region = "r" + std::to_string(i % 5);
          options.service = "dynamodb";
          options.now_micros = kNow;
          SignRequest(key, options, "POST", "/", "{}", &headers);
          std::vector<HeaderLine> lines;
          for (const OwnedHeader& header : headers) lines.push_back({header.name, header.value});
          if (verifier.Verify({"POST", "/", lines, "{}"}, {"dynamodb", {}}).ok()) ++verified;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(verified, 4 * 50 * 2);
}

}  // namespace
}  // namespace stator::access
