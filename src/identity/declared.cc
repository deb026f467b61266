#include "identity/declared.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "access/policy.h"

namespace stator::identity {
namespace {

using access::Policy;
using access::PolicyKind;

constexpr size_t kShortestKeyId = 16;
constexpr size_t kLongestKeyId = 128;
constexpr size_t kLongestSecret = 256;
constexpr size_t kMaxTagKey = 128;
constexpr size_t kMaxTagValue = 256;

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return text;
}

// A unique id that follows from the account and the name.
std::string IdOf(std::string_view prefix, std::string_view account, const std::string& name) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const access::Digest digest =
      access::Sha256(fmt::format("declared {} {}/{}", prefix, account, Lower(name)));
  std::string id(prefix);
  for (size_t i = 0; id.size() < 21; ++i) id.push_back(kDigits[digest[i] % kDigits.size()]);
  return id;
}

Error Wrong(const DeclaredUser& user, std::string_view what) {
  return ValidationError(fmt::format("user \"{}\": {}", user.name, what));
}

bool IsBuiltIn(std::string_view arn) {
  const auto& policies = access::BuiltInPolicies();
  return std::any_of(policies.begin(), policies.end(),
                     [arn](const access::BuiltInPolicy& policy) { return policy.arn == arn; });
}

}  // namespace

Status CheckKeyPair(const KeyPair& pair) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (pair.id.size() < kShortestKeyId || pair.id.size() > kLongestKeyId ||
      !std::all_of(pair.id.begin(), pair.id.end(), fits)) {
    return ValidationError(
        fmt::format("the access key id \"{}\" is not {} to {} letters, digits and underscores",
                    pair.id, kShortestKeyId, kLongestKeyId));
  }
  if (pair.id.starts_with("ASIA")) {
    return ValidationError(fmt::format(
        "the access key id \"{}\" begins with ASIA, as only temporary keys do", pair.id));
  }
  if (pair.secret.empty() || pair.secret.size() > kLongestSecret) {
    return ValidationError(fmt::format("the secret of the access key {} is not 1 to {} characters",
                                       pair.id, kLongestSecret));
  }
  return OkStatus();
}

Status CheckUser(const DeclaredUser& user) {
  if (!access::IsIdentityName(user.name, access::kMaxUserName))
    return Wrong(user, "the name is not 1 to 64 letters, digits and _+=,.@-");
  if (!access::IsPath(user.path)) return Wrong(user, "the path does not begin and end with /");
  for (const KeyPair& pair : user.keys) {
    const Status fits = CheckKeyPair(pair);
    if (!fits.ok()) return Wrong(user, fits.error().message());
  }
  for (const access::InlinePolicy& policy : user.policies) {
    const auto parsed = Policy::Parse(policy.document, PolicyKind::kIdentity, policy.name);
    if (!parsed.ok())
      return Wrong(user, fmt::format("policy {}: {}", policy.name, parsed.error().message()));
  }
  for (const std::string& arn : user.attached_policies) {
    if (!IsBuiltIn(arn)) return Wrong(user, fmt::format("there is no policy {}", arn));
  }
  if (user.tags.size() > access::kMaxTags)
    return Wrong(user, fmt::format("more than {} tags", access::kMaxTags));
  for (const access::Tag& tag : user.tags) {
    if (tag.key.empty() || tag.key.size() > kMaxTagKey || tag.value.size() > kMaxTagValue)
      return Wrong(user, fmt::format("the tag \"{}\" is empty or too long", tag.key));
  }
  return OkStatus();
}

Result<access::Records> RecordsOf(std::string_view account, const std::optional<KeyPair>& root,
                                  const std::vector<DeclaredUser>& users,
                                  const access::Keyring& keyring, access::SecureRandom* random) {
  access::Records records;
  access::Account own;
  own.id = account;
  records.accounts.push_back(std::move(own));
  std::set<std::string> ids;
  const auto add_key = [&](const KeyPair& pair, const std::string& user) -> Status {
    const Status fits = CheckKeyPair(pair);
    if (!fits.ok()) return fits;
    if (!ids.insert(pair.id).second)
      return ValidationError(fmt::format("the access key id {} occurs twice", pair.id));
    access::AccessKey key;
    key.id = pair.id;
    key.account = account;
    key.user = user;
    key.sealed_secret = keyring.Seal(pair.secret, access::SecretPurpose(pair.id), random);
    records.keys.push_back(std::move(key));
    return OkStatus();
  };
  if (root) {
    const Status added = add_key(*root, "");
    if (!added.ok()) return added.error();
  }
  std::set<std::string> names;
  for (const DeclaredUser& declared : users) {
    const Status fits = CheckUser(declared);
    if (!fits.ok()) return fits.error();
    if (!names.insert(Lower(declared.name)).second)
      return ValidationError(fmt::format("the user \"{}\" occurs twice", declared.name));
    access::User user;
    user.account = account;
    user.name = declared.name;
    user.path = declared.path;
    user.id = IdOf("AIDA", account, declared.name);
    user.inline_policies = declared.policies;
    user.attached_policies = declared.attached_policies;
    user.tags = declared.tags;
    for (const KeyPair& pair : declared.keys) {
      const Status added = add_key(pair, declared.name);
      if (!added.ok()) return added.error();
    }
    records.users.push_back(std::move(user));
  }
  return records;
}

}  // namespace stator::identity
