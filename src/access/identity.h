// The records of access control: what IAM's calls create. Plain data, with encodings that stores
// keep. Names are unique within their account and kind without regard to case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "base/result.h"

namespace stator::access {

struct Tag {
  std::string key;
  std::string value;
  friend bool operator==(const Tag&, const Tag&) = default;
};

struct InlinePolicy {
  std::string name;
  std::string document;
  friend bool operator==(const InlinePolicy&, const InlinePolicy&) = default;
};

struct Account {
  std::string id;  // 12 digits
  std::string alias;
  int64_t created_micros = 0;

  // The alias of an account that was deleted. Its record stays, so that its id is not given again.
  static constexpr std::string_view kDeleted = "(deleted)";
  bool deleted() const { return alias == kDeleted; }
  friend bool operator==(const Account&, const Account&) = default;
};

// The common part of users, groups and roles.
struct Identity {
  std::string account;
  std::string name;
  std::string path = "/";
  std::string id;  // "AIDA...", "AGPA...", "AROA..."
  int64_t created_micros = 0;
  std::vector<InlinePolicy> inline_policies;
  std::vector<std::string> attached_policies;  // ARNs
  std::vector<Tag> tags;                       // not of groups
  std::string boundary;                        // ARN of a managed policy, or empty; not of groups
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct User : Identity {
  std::vector<std::string> groups;  // names
  friend bool operator==(const User&, const User&) = default;
};

struct Group : Identity {
  friend bool operator==(const Group&, const Group&) = default;
};

struct Role : Identity {
  std::string description;
  std::string trust_policy;
  int64_t max_session_seconds = 3600;
  // Sessions that were issued before are refused.
  int64_t revoked_before_micros = 0;
  friend bool operator==(const Role&, const Role&) = default;
};

struct AccessKey {
  std::string id;  // "AKIA..."
  std::string account;
  std::string user;  // name; empty for the account's root
  std::string sealed_secret;
  bool active = true;
  int64_t created_micros = 0;
  friend bool operator==(const AccessKey&, const AccessKey&) = default;
};

struct PolicyVersion {
  int64_t number = 0;  // "v3" has 3
  std::string document;
  int64_t created_micros = 0;
  friend bool operator==(const PolicyVersion&, const PolicyVersion&) = default;
};

struct ManagedPolicy {
  std::string account;
  std::string name;
  std::string path = "/";
  std::string id;  // "ANPA..."
  std::string description;
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
  int64_t default_version = 1;
  int64_t next_version = 2;
  std::vector<PolicyVersion> versions;
  std::vector<Tag> tags;
  friend bool operator==(const ManagedPolicy&, const ManagedPolicy&) = default;

  // Returns the document in force; nullptr if the default version is missing.
  const std::string* document() const;
};

struct OidcProvider {
  std::string account;
  std::string url;  // "https://HOST/PATH"; on loopback "http://" too
  std::vector<std::string> client_ids;
  std::vector<std::string> thumbprints;
  int64_t created_micros = 0;
  std::vector<Tag> tags;
  friend bool operator==(const OidcProvider&, const OidcProvider&) = default;
};

// ---- encodings ----
//
//   record = kind [1] version [1] { field }
//   field  = varint(number) varint(length) bytes
//
// Each element of a list is a field. A reader passes over unknown fields from kOptionalFields on.
// It refuses other unknown fields and versions by name (kUnavailable, "written by a newer
// version"), so that no server acts on half of a record.

std::string Encode(const Account& record);
std::string Encode(const User& record);
std::string Encode(const Group& record);
std::string Encode(const Role& record);
std::string Encode(const AccessKey& record);
std::string Encode(const ManagedPolicy& record);
std::string Encode(const OidcProvider& record);

// Each overwrites `record`. kCorruption for bytes that are no record of this kind.
Status Decode(std::string_view bytes, Account* record);
Status Decode(std::string_view bytes, User* record);
Status Decode(std::string_view bytes, Group* record);
Status Decode(std::string_view bytes, Role* record);
Status Decode(std::string_view bytes, AccessKey* record);
Status Decode(std::string_view bytes, ManagedPolicy* record);
Status Decode(std::string_view bytes, OidcProvider* record);

// ---- names ----

// "arn:aws:iam::ACCOUNT:user/PATH/NAME" and so on.
std::string ArnOf(const User& user);
std::string ArnOf(const Group& group);
std::string ArnOf(const Role& role);
std::string ArnOf(const ManagedPolicy& policy);
std::string ArnOf(const OidcProvider& provider);
std::string RootArn(std::string_view account);
// "arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION".
std::string SessionArn(const Role& role, std::string_view session_name);

// Limits of IAM.
inline constexpr size_t kMaxUserName = 64;  // roles too
inline constexpr size_t kMaxAccountName = 63;
inline constexpr size_t kMaxGroupName = 128;  // policies too
inline constexpr size_t kMaxPath = 512;
inline constexpr size_t kMaxTags = 50;
inline constexpr size_t kMaxKeysPerUser = 2;
inline constexpr size_t kMaxVersionsPerPolicy = 5;
inline constexpr size_t kMaxAttachedPolicies = 10;
inline constexpr size_t kMaxGroupsPerUser = 10;
inline constexpr size_t kMaxManagedPolicyBytes = 6144;  // without white space; so are the next ones
inline constexpr size_t kMaxInlineBytesOfUser = 2048;
inline constexpr size_t kMaxInlineBytesOfGroup = 5120;
inline constexpr size_t kMaxInlineBytesOfRole = 10240;
inline constexpr size_t kMaxTrustPolicyBytes = 2048;
inline constexpr size_t kMaxSessionPolicyBytes = 2048;

// True for 1 to `longest` letters, digits and "_+=,.@-".
bool IsIdentityName(std::string_view name, size_t longest);
// True for "/" and for "/.../" of printable ASCII, up to kMaxPath bytes.
bool IsPath(std::string_view path);
bool IsAccountId(std::string_view id);

// ---- new ids and secrets ----

// Returns a prefix of four letters and random letters and digits up to `length`: 21 for "AIDA",
// "AROA", "AGPA" and "ANPA", 20 for "AKIA" and "ASIA".
std::string NewId(std::string_view prefix, size_t length, SecureRandom* random);
// Returns a secret of 40 characters (240 random bits).
std::string NewSecret(SecureRandom* random);

// ---- policies that every account has ----

struct BuiltInPolicy {
  std::string_view arn;  // "arn:aws:iam::aws:policy/AdministratorAccess"
  std::string_view description;
  std::string_view document;
};
// Returns AdministratorAccess, AmazonDynamoDBFullAccess, AmazonDynamoDBReadOnlyAccess and
// IAMFullAccess, as far as Stator has what they grant.
const std::vector<BuiltInPolicy>& BuiltInPolicies();

}  // namespace stator::access
