#include "identity/declared.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "access/policy.h"
#include "base/ascii.h"

namespace stator::identity {
namespace {

using access::Policy;
using access::PolicyKind;

constexpr size_t kShortestKeyId = 16;
constexpr size_t kLongestKeyId = 128;
constexpr size_t kLongestSecret = 256;
constexpr size_t kMaxTagKey = 128;
constexpr size_t kMaxTagValue = 256;

// A unique id that follows from the account and the name.
std::string IdOf(std::string_view prefix, std::string_view account, const std::string& name) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const access::Digest digest =
      access::Sha256(fmt::format("declared {} {}/{}", prefix, account, LowerAscii(name)));
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

Status CheckAccount(const DeclaredAccount& account) {
  const auto wrong = [&account](std::string_view what) {
    return ValidationError(fmt::format("account \"{}\": {}", account.id, what));
  };
  if (!access::IsAccountId(account.id)) return wrong("the id is not twelve digits");
  if (!account.name.empty() && !access::IsIdentityName(account.name, access::kMaxAccountName))
    return wrong("the name is not 1 to 63 letters, digits and _+=,.@-");
  if (!account.root) return OkStatus();
  const Status fits = CheckKeyPair(*account.root);
  return fits.ok() ? fits : Status(wrong(fits.error().message()));
}

Result<DeclaredRecords> RecordsOf(const std::string& account, const std::optional<KeyPair>& root,
                                  const std::vector<DeclaredAccount>& accounts,
                                  const std::vector<DeclaredUser>& users,
                                  const access::Keyring& keyring, access::SecureRandom* random) {
  DeclaredRecords all;
  std::set<std::string> ids;
  const auto add_key = [&](const KeyPair& pair, const std::string& owner,
                           const std::string& user) -> Status {
    const Status fits = CheckKeyPair(pair);
    if (!fits.ok()) return fits;
    if (!ids.insert(pair.id).second)
      return ValidationError(fmt::format("the access key id {} occurs twice", pair.id));
    access::AccessKey key;
    key.id = pair.id;
    key.account = owner;
    key.user = user;
    key.sealed_secret = keyring.Seal(pair.secret, access::SecretPurpose(pair.id), random);
    all[owner].keys.push_back(std::move(key));
    return OkStatus();
  };
  const auto add_account = [&](const DeclaredAccount& declared) -> Status {
    access::Account own;
    own.id = declared.id;
    own.alias = declared.name;
    all[declared.id].accounts.push_back(std::move(own));
    return declared.root ? add_key(*declared.root, declared.id, "") : OkStatus();
  };
  TRY(add_account({account, "", root}));
  for (const DeclaredAccount& declared : accounts) {
    TRY(CheckAccount(declared));
    if (declared.id == account) {
      return ValidationError(fmt::format(
          "account \"{}\": it is the default one, which need not be declared", account));
    }
    if (all.contains(declared.id))
      return ValidationError(fmt::format("the account \"{}\" occurs twice", declared.id));
    TRY(add_account(declared));
  }
  std::set<std::string> names;
  for (const DeclaredUser& declared : users) {
    TRY(CheckUser(declared));
    const std::string& owner = declared.account.empty() ? account : declared.account;
    if (!all.contains(owner))
      return Wrong(declared, fmt::format("there is no [[accounts]] with the id \"{}\"", owner));
    if (!names.insert(owner + "/" + LowerAscii(declared.name)).second)
      return ValidationError(fmt::format("the user \"{}\" occurs twice", declared.name));
    access::User user;
    user.account = owner;
    user.name = declared.name;
    user.path = declared.path;
    user.id = IdOf("AIDA", owner, declared.name);
    user.inline_policies = declared.policies;
    user.attached_policies = declared.attached_policies;
    user.tags = declared.tags;
    for (const KeyPair& pair : declared.keys) TRY(add_key(pair, owner, declared.name));
    all[owner].users.push_back(std::move(user));
  }
  return all;
}

}  // namespace stator::identity
