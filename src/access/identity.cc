#include "access/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "access/record_codec.h"

namespace stator::access {
namespace {

// The fields of each record, for both directions. `Visitor` has Text, Number, Texts and Records.

struct VisitTag {
  template <typename Visitor, typename T>
  void operator()(Visitor& v, T& tag) const {
    v.Text(1, tag.key);
    v.Text(2, tag.value);
  }
};
struct VisitInline {
  template <typename Visitor, typename T>
  void operator()(Visitor& v, T& policy) const {
    v.Text(1, policy.name);
    v.Text(2, policy.document);
  }
};
struct VisitVersion {
  template <typename Visitor, typename T>
  void operator()(Visitor& v, T& version) const {
    v.Number(1, version.number);
    v.Text(2, version.document);
    v.Number(3, version.created_micros);
  }
};
template <typename Visitor, typename T>
void VisitIdentity(Visitor& v, T& identity) {
  v.Text(1, identity.account);
  v.Text(2, identity.name);
  v.Text(3, identity.path);
  v.Text(4, identity.id);
  v.Number(5, identity.created_micros);
  v.Records(6, identity.inline_policies, VisitInline());
  v.Texts(7, identity.attached_policies);
  v.Records(8, identity.tags, VisitTag());
  v.Text(9, identity.boundary);
}

template <typename A, typename B>
constexpr bool kSame = std::is_same_v<std::remove_const_t<A>, B>;

template <typename Visitor, typename T>
void Visit(Visitor& v, T& record) {
  if constexpr (kSame<T, Account>) {
    v.Text(1, record.id);
    v.Text(2, record.alias);
    v.Number(3, record.created_micros);
  } else if constexpr (kSame<T, User>) {
    VisitIdentity(v, record);
    v.Texts(16, record.groups);
  } else if constexpr (kSame<T, Group>) {
    VisitIdentity(v, record);
  } else if constexpr (kSame<T, Role>) {
    VisitIdentity(v, record);
    v.Text(16, record.description);
    v.Text(17, record.trust_policy);
    v.Number(18, record.max_session_seconds);
    v.Number(19, record.revoked_before_micros);
  } else if constexpr (kSame<T, AccessKey>) {
    v.Text(1, record.id);
    v.Text(2, record.account);
    v.Text(3, record.user);
    v.Text(4, record.sealed_secret);
    v.Flag(5, record.active);
    v.Number(6, record.created_micros);
  } else if constexpr (kSame<T, ManagedPolicy>) {
    v.Text(1, record.account);
    v.Text(2, record.name);
    v.Text(3, record.path);
    v.Text(4, record.id);
    v.Text(5, record.description);
    v.Number(6, record.created_micros);
    v.Number(7, record.updated_micros);
    v.Number(8, record.default_version);
    v.Number(9, record.next_version);
    v.Records(10, record.versions, VisitVersion());
    v.Records(11, record.tags, VisitTag());
  } else {
    static_assert(kSame<T, OidcProvider>);
    v.Text(1, record.account);
    v.Text(2, record.url);
    v.Texts(3, record.client_ids);
    v.Texts(4, record.thumbprints);
    v.Number(5, record.created_micros);
    v.Records(6, record.tags, VisitTag());
  }
}

constexpr char kVersion = 1;

template <typename T>
constexpr char KindOf() {
  if constexpr (kSame<T, Account>) return 'A';
  if constexpr (kSame<T, User>) return 'U';
  if constexpr (kSame<T, Group>) return 'G';
  if constexpr (kSame<T, Role>) return 'R';
  if constexpr (kSame<T, AccessKey>) return 'K';
  if constexpr (kSame<T, ManagedPolicy>) return 'P';
  return 'O';
}

template <typename T>
std::string EncodeRecord(const T& record) {
  RecordWriter writer;
  writer.bytes = {KindOf<T>(), kVersion};
  Visit(writer, record);
  return std::move(writer.bytes);
}

template <typename T>
Status DecodeRecord(std::string_view bytes, T* record) {
  const auto newer = [](std::string what) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("A record of access control has {}: it was written by a newer "
                             "version. Run that version.",
                             what));
  };
  if (bytes.size() < 2 || bytes[0] != KindOf<T>())
    return CorruptionError("A record of access control is not of its kind.");
  if (bytes[1] != kVersion) return newer(fmt::format("version {}", bytes[1] & 0xff));
  RecordReader reader;
  if (!reader.Parse(bytes.substr(2)))
    return CorruptionError("A record of access control is damaged.");
  // Lists without elements are not written: begin with none, and with the defaults of the rest.
  *record = T();
  Visit(reader, *record);
  if (reader.broken) return CorruptionError("A record of access control is damaged.");
  if (const uint64_t number = reader.Unknown(); number != 0)
    return newer(fmt::format("the field {}", number));
  return OkStatus();
}

std::string IdentityArn(const Identity& identity, std::string_view kind) {
  return fmt::format("arn:aws:iam::{}:{}{}{}", identity.account, kind, identity.path,
                     identity.name);
}

}  // namespace

const std::string* ManagedPolicy::document() const {
  for (const PolicyVersion& version : versions) {
    if (version.number == default_version) return &version.document;
  }
  return nullptr;
}

std::string Encode(const Account& record) { return EncodeRecord(record); }
std::string Encode(const User& record) { return EncodeRecord(record); }
std::string Encode(const Group& record) { return EncodeRecord(record); }
std::string Encode(const Role& record) { return EncodeRecord(record); }
std::string Encode(const AccessKey& record) { return EncodeRecord(record); }
std::string Encode(const ManagedPolicy& record) { return EncodeRecord(record); }
std::string Encode(const OidcProvider& record) { return EncodeRecord(record); }

Status Decode(std::string_view bytes, Account* record) { return DecodeRecord(bytes, record); }
Status Decode(std::string_view bytes, User* record) { return DecodeRecord(bytes, record); }
Status Decode(std::string_view bytes, Group* record) { return DecodeRecord(bytes, record); }
Status Decode(std::string_view bytes, Role* record) { return DecodeRecord(bytes, record); }
Status Decode(std::string_view bytes, AccessKey* record) { return DecodeRecord(bytes, record); }
Status Decode(std::string_view bytes, ManagedPolicy* record) { return DecodeRecord(bytes, record); }
Status Decode(std::string_view bytes, OidcProvider* record) { return DecodeRecord(bytes, record); }

std::string ArnOf(const User& user) { return IdentityArn(user, "user"); }
std::string ArnOf(const Group& group) { return IdentityArn(group, "group"); }
std::string ArnOf(const Role& role) { return IdentityArn(role, "role"); }
std::string ArnOf(const ManagedPolicy& policy) {
  return fmt::format("arn:aws:iam::{}:policy{}{}", policy.account, policy.path, policy.name);
}
std::string ArnOf(const OidcProvider& provider) {
  std::string_view name = provider.url;
  const size_t scheme = name.find("://");
  if (scheme != std::string_view::npos) name.remove_prefix(scheme + 3);
  return fmt::format("arn:aws:iam::{}:oidc-provider/{}", provider.account, name);
}
std::string RootArn(std::string_view account) {
  return fmt::format("arn:aws:iam::{}:root", account);
}
std::string SessionArn(const Role& role, std::string_view session_name) {
  return fmt::format("arn:aws:sts::{}:assumed-role/{}/{}", role.account, role.name, session_name);
}

bool IsIdentityName(std::string_view name, size_t longest) {
  return !name.empty() && name.size() <= longest &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("_+=,.@-").find(c) != std::string_view::npos;
         });
}

bool IsPath(std::string_view path) {
  return path.size() <= kMaxPath && path.starts_with('/') && path.ends_with('/') &&
         std::all_of(path.begin(), path.end(), [](char c) { return c >= 0x21 && c <= 0x7e; });
}

bool IsAccountId(std::string_view id) {
  return id.size() == 12 && id.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string NewId(std::string_view prefix, size_t length, SecureRandom* random) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string id(prefix);
  while (id.size() < length) id += kLetters[random->Below(kLetters.size())];
  return id;
}

std::string NewSecret(SecureRandom* random) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string secret;
  while (secret.size() < 40) secret += kLetters[random->Below(kLetters.size())];
  return secret;
}

const std::vector<BuiltInPolicy>& BuiltInPolicies() {
  static const std::vector<BuiltInPolicy> policies = {
      {"arn:aws:iam::aws:policy/AdministratorAccess", "Provides full access to all services.",
       R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]})"},
      {"arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess", "Provides full access to DynamoDB.",
       R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"dynamodb:*","Resource":"*"}]})"},
      {"arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess",
       "Provides read only access to DynamoDB.",
       R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["dynamodb:BatchGetItem","dynamodb:Describe*","dynamodb:GetItem","dynamodb:GetResourcePolicy","dynamodb:GetRecords","dynamodb:GetShardIterator","dynamodb:List*","dynamodb:PartiQLSelect","dynamodb:Query","dynamodb:Scan"],"Resource":"*"}]})"},
      {"arn:aws:iam::aws:policy/IAMFullAccess", "Provides full access to IAM.",
       R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"iam:*","Resource":"*"}]})"},
  };
  return policies;
}

}  // namespace stator::access
