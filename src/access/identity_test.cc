#include "access/identity.h"

#include <gtest/gtest.h>

#include <set>

#include "access/policy.h"
#include "access/record_codec.h"
#include "access/seal.h"

namespace stator::access {
namespace {

User FullUser() {
  User user;
  user.account = "111122223333";
  user.name = "alice";
  user.path = "/team/";
  user.id = "AIDAALICE";
  user.created_micros = 1'767'225'600'000'000;
  user.inline_policies = {{"one", "{}"}, {"two", ""}};
  user.attached_policies = {"arn:aws:iam::aws:policy/AdministratorAccess"};
  user.tags = {{"team", "blue"}, {"empty", ""}};
  user.boundary = "arn:aws:iam::111122223333:policy/b";
  user.groups = {"staff", "ops"};
  return user;
}

Role FullRole() {
  Role role;
  static_cast<Identity&>(role) = FullUser();
  role.description = "d";
  role.trust_policy = "{\"Statement\": []}";
  role.max_session_seconds = 7200;
  role.revoked_before_micros = -5;
  return role;
}

ManagedPolicy FullPolicy() {
  ManagedPolicy policy;
  policy.account = "111122223333";
  policy.name = "p";
  policy.id = "ANPAP";
  policy.description = "d";
  policy.created_micros = 1;
  policy.updated_micros = 2;
  policy.default_version = 3;
  policy.next_version = 4;
  policy.versions = {{1, "{\"a\": 1}", 5}, {3, "{}", 6}};
  policy.tags = {{"k", "v"}};
  return policy;
}

template <typename T>
void ExpectRoundTrip(const T& record) {
  const std::string bytes = Encode(record);
  T read;
  const Status status = Decode(bytes, &read);
  ASSERT_TRUE(status.ok()) << status.error().message();
  EXPECT_EQ(read, record);
  EXPECT_EQ(Encode(read), bytes);
  // A record that lost its end, or has one bit changed, is an error or another record: it must not
  // crash and never become a record with half of the fields by accident of the length.
  for (size_t i = 0; i < bytes.size(); ++i) {
    T other;
    (void)Decode(std::string_view(bytes).substr(0, i), &other);
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    (void)Decode(changed, &other);
  }
}

TEST(IdentityRecords, RoundTrips) {
  ExpectRoundTrip(Account{"111122223333", "acme", 7});
  ExpectRoundTrip(Account{});
  ExpectRoundTrip(FullUser());
  ExpectRoundTrip(User());
  Group group;
  static_cast<Identity&>(group) = FullUser();
  ExpectRoundTrip(group);
  ExpectRoundTrip(FullRole());
  ExpectRoundTrip(AccessKey{"AKIA", "111122223333", "alice", std::string("\0\1\2", 3), false, 9});
  ExpectRoundTrip(FullPolicy());
  ExpectRoundTrip(
      OidcProvider{"111122223333", "https://idp.example/x", {"a", "b"}, {"00ff"}, 3, {{"k", "v"}}});
}

// The bytes that a store keeps. A change here is a change of the format.
TEST(IdentityRecords, EncodingIsFixed) {
  EXPECT_EQ(Hex(Encode(AccessKey{"AKIA1", "1", "u", "s", true, 64})),
            "4b01"
            "0105414b494131"
            "020131"
            "030175"
            "040173"
            "050101"
            "06028001");
}

TEST(IdentityRecords, ReplacesWhatTheRecordHeld) {
  User read = FullUser();
  ASSERT_TRUE(Decode(Encode(User()), &read).ok());
  EXPECT_EQ(read, User());
}

TEST(IdentityRecords, RefusesNewerRecordsByName) {
  const std::string bytes = Encode(FullUser());
  User read;
  std::string other = bytes;
  other[1] = 2;
  EXPECT_EQ(Decode(other, &read).error().code(), ErrorCode::kUnavailable);
  other = bytes + std::string("\x20\x01x", 3);  // field 32
  EXPECT_EQ(Decode(other, &read).error().message(),
            "A record of access control has the field 32: it was written by a newer version. Run "
            "that version.");
  other = bytes + std::string("\x40\x01x", 3);  // field 64: optional
  EXPECT_TRUE(Decode(other, &read).ok());
  EXPECT_EQ(read, FullUser());
  EXPECT_EQ(Decode(Encode(FullRole()), &read).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(Decode(bytes + "\x01", &read).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(Decode(bytes + std::string("\x02\x01x", 3), &read).error().code(),
            ErrorCode::kCorruption)
      << "two names";
}

TEST(IdentityRecords, PolicyInForce) {
  ManagedPolicy policy = FullPolicy();
  ASSERT_NE(policy.document(), nullptr);
  EXPECT_EQ(*policy.document(), "{}");
  policy.default_version = 2;
  EXPECT_EQ(policy.document(), nullptr);
}

TEST(IdentityNames, Arns) {
  EXPECT_EQ(ArnOf(FullUser()), "arn:aws:iam::111122223333:user/team/alice");
  EXPECT_EQ(ArnOf(FullRole()), "arn:aws:iam::111122223333:role/team/alice");
  EXPECT_EQ(SessionArn(FullRole(), "s1"), "arn:aws:sts::111122223333:assumed-role/alice/s1");
  EXPECT_EQ(ArnOf(FullPolicy()), "arn:aws:iam::111122223333:policy/p");
  EXPECT_EQ(ArnOf(OidcProvider{"1", "https://h/p", {}, {}, 0, {}}),
            "arn:aws:iam::1:oidc-provider/h/p");
}

TEST(IdentityNames, Rules) {
  EXPECT_TRUE(IsIdentityName("a_B+=,.@-9", 64));
  for (const char* name : {"", "a b", "a/b", "a:b", "\xc3\xa9"})
    EXPECT_FALSE(IsIdentityName(name, 64)) << name;
  EXPECT_FALSE(IsIdentityName(std::string(65, 'a'), 64));
  EXPECT_TRUE(IsPath("/"));
  EXPECT_TRUE(IsPath("/a/b!/"));
  for (const char* path : {"", "a/", "/a", "/a b/"}) EXPECT_FALSE(IsPath(path)) << path;
  EXPECT_FALSE(IsPath("/" + std::string(511, 'a') + "/"));
  EXPECT_TRUE(IsAccountId("000000000000"));
  EXPECT_FALSE(IsAccountId("11112222333"));
  EXPECT_FALSE(IsAccountId("11112222333x"));
}

TEST(IdentityNames, NewIdsAndSecrets) {
  SystemSecureRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewId("AKIA", 20, &random);
    const std::string secret = NewSecret(&random);
    EXPECT_EQ(id.size(), 20u);
    EXPECT_EQ(id.substr(0, 4), "AKIA");
    EXPECT_EQ(id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), std::string::npos);
    EXPECT_EQ(secret.size(), 40u);
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_TRUE(seen.insert(secret).second);
  }
}

TEST(IdentityNames, BuiltInPoliciesCompile) {
  EXPECT_EQ(BuiltInPolicies().size(), 4u);
  for (const BuiltInPolicy& policy : BuiltInPolicies()) {
    EXPECT_TRUE(Policy::Parse(policy.document, PolicyKind::kIdentity, std::string(policy.arn)).ok())
        << policy.arn;
  }
}

TEST(Keyring, SealsForOnePurpose) {
  SystemSecureRandom random;
  const std::string key(32, 'k');
  const Result<Keyring> ring = Keyring::FromKeys({key});
  ASSERT_TRUE(ring.ok());
  const std::string sealed = ring->Seal("secret", "the key A", &random);
  EXPECT_EQ(sealed.find("secret"), std::string::npos);
  EXPECT_NE(sealed, ring->Seal("secret", "the key A", &random));
  EXPECT_EQ(*ring->Unseal(sealed, "the key A"), "secret");
  EXPECT_EQ(ring->Unseal(sealed, "the key B").error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(*ring->Unseal(ring->Seal("", "empty", &random), "empty"), "");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(ring->Unseal(changed, "the key A").ok()) << i;
    EXPECT_FALSE(ring->Unseal(sealed.substr(0, i), "the key A").ok()) << i;
  }
}

TEST(Keyring, RotatesKeys) {
  SystemSecureRandom random;
  const std::string old_key(32, 'o');
  const std::string new_key(32, 'n');
  const Result<Keyring> before = Keyring::FromKeys({old_key});
  const Result<Keyring> both = Keyring::FromKeys({new_key, old_key});
  const Result<Keyring> after = Keyring::FromKeys({new_key});
  ASSERT_TRUE(before.ok() && both.ok() && after.ok());
  const std::string sealed = before->Seal("secret", "x", &random);
  EXPECT_EQ(*both->Unseal(sealed, "x"), "secret");
  EXPECT_TRUE(both->IsOutdated(sealed));
  EXPECT_FALSE(both->IsOutdated(both->Seal("secret", "x", &random)));
  const Result<std::string> refused = after->Unseal(sealed, "x");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kValidation);
  EXPECT_NE(refused.error().message().find(before->key_id()), std::string::npos)
      << refused.error().message();
  EXPECT_FALSE(Keyring::FromKeys({}).ok());
  EXPECT_FALSE(Keyring::FromKeys({"short"}).ok());
}

TEST(Keyring, ReadsKeys) {
  EXPECT_EQ(*Keyring::ParseKey(std::string(64, '6') + "\n"), std::string(32, '\x66'));
  EXPECT_EQ(*Keyring::ParseKey(" ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY= "),
            std::string(32, 'f'));
  for (const std::string& text : {std::string(), std::string(" "), std::string(63, '6'),
                                  std::string(64, 'g'), std::string(32, 'k')})
    EXPECT_FALSE(Keyring::ParseKey(text).ok()) << text;
}

}  // namespace
}  // namespace stator::access
