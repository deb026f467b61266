#include "access/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "access/pattern.h"
#include "base/ascii.h"

namespace stator::access {
namespace {

template <typename Map>
const typename Map::mapped_type* FindIn(const Map& map, std::string_view name) {
  const auto found = map.find(LowerAscii(name));
  return found == map.end() ? nullptr : &found->second;
}

// "2026-01-31T12:00:00Z".
std::string IsoTime(int64_t micros) {
  const std::string basic = FormatSigningTime(micros);
  return fmt::format("{}-{}-{}T{}:{}:{}Z", basic.substr(0, 4), basic.substr(4, 2),
                     basic.substr(6, 2), basic.substr(9, 2), basic.substr(11, 2),
                     basic.substr(13, 2));
}

void CollectKeys(Caller* caller) { caller->keys = caller->policies(false, nullptr).keys(); }

// The policies that every account has, by ARN.
const std::unordered_map<std::string_view, std::shared_ptr<const Policy>>& CompiledBuiltIns() {
  static const auto& all =
      *new std::unordered_map<std::string_view, std::shared_ptr<const Policy>>([] {
        std::unordered_map<std::string_view, std::shared_ptr<const Policy>> compiled;
        for (const BuiltInPolicy& policy : BuiltInPolicies()) {
          compiled.emplace(policy.arn, Policy::Parse(policy.document, PolicyKind::kIdentity,
                                                     std::string(policy.arn))
                                           .value());
        }
        return compiled;
      }());
  return all;
}

// The bytes of a record beside its texts: itself, its place in maps, and what is made of it for
// requests.
constexpr size_t kRecordBytes = 1024;

size_t TextBytes(const Identity& identity) {
  size_t bytes = kRecordBytes + identity.path.size() + identity.boundary.size();
  for (const std::string& arn : identity.attached_policies) bytes += 64 + arn.size();
  // Callers have them too.
  for (const Tag& tag : identity.tags)
    bytes += 2 * (sizeof(Tag) + tag.key.size() + tag.value.size());
  return bytes;
}

}  // namespace

std::string SecretPurpose(std::string_view key_id) {
  return fmt::format("the secret of the access key {}", key_id);
}

std::shared_ptr<const AccessCredential> MakeCredential(std::string secret,
                                                       std::shared_ptr<const Caller> caller) {
  auto credential = std::make_shared<AccessCredential>();
  const Digest digest = Sha256("stator secret" + secret);
  std::memcpy(&credential->generation, digest.data(), sizeof credential->generation);
  credential->secret = std::move(secret);
  credential->caller = std::move(caller);
  return credential;
}

// Compiles the policies of an account, and counts them.
class Directory::Builder {
 public:
  Builder(Directory& directory, PolicyCache& policies)
      : directory_(directory), policies_(policies) {}

  PolicyPtr Compile(std::string_view document, PolicyKind kind, std::string name) {
    const std::string shown = name;
    Result<PolicyPtr> policy = policies_.Compile(document, kind, std::move(name));
    if (!policy.ok()) {
      directory_.problems_.push_back(
          fmt::format("The policy {} cannot be read and denies everything: {}", shown,
                      policy.error().message()));
      return nullptr;
    }
    // Equal documents of an account count once, and their names each.
    directory_.holding_.policy_memory += sizeof(Policy) + 2 * shown.size();
    if (counted_.insert((*policy)->statements().data()).second)
      directory_.holding_.policy_memory += (*policy)->memory_bytes();
    return *std::move(policy);
  }

  std::vector<PolicyPtr> CompileInline(const Identity& identity, const std::string& arn) {
    std::vector<PolicyPtr> compiled;
    compiled.reserve(identity.inline_policies.size());
    for (const InlinePolicy& policy : identity.inline_policies) {
      directory_.holding_.policy_text += policy.document.size();
      compiled.push_back(Compile(policy.document, PolicyKind::kIdentity,
                                 fmt::format("{} of {}", policy.name, arn)));
    }
    return compiled;
  }

 private:
  Directory& directory_;
  PolicyCache& policies_;
  std::unordered_set<const Statement*> counted_;
};

Directory::Directory(std::string account, Records records, const Keyring& keyring,
                     PolicyCache& policies)
    : account_(std::move(account)), records_(std::move(records)) {
  Builder builder(*this, policies);
  for (const ManagedPolicy& policy : records_.policies) {
    const std::string arn = ArnOf(policy);
    const std::string* document = policy.document();
    for (const PolicyVersion& version : policy.versions)
      holding_.policy_text += version.document.size();
    managed_[arn] =
        builder.Compile(document == nullptr ? "" : *document, PolicyKind::kIdentity, arn);
    holding_.records += kRecordBytes + policy.description.size();
    for (const Tag& tag : policy.tags)
      holding_.records += sizeof(Tag) + tag.key.size() + tag.value.size();
  }
  for (const Group& group : records_.groups) {
    groups_[LowerAscii(group.name)] = {&group, builder.CompileInline(group, ArnOf(group))};
    holding_.records += TextBytes(group);
  }
  for (const Role& role : records_.roles) {
    const std::string arn = ArnOf(role);
    holding_.policy_text += role.trust_policy.size();
    roles_[LowerAscii(role.name)] = {&role, builder.CompileInline(role, arn),
                                     builder.Compile(role.trust_policy, PolicyKind::kTrust,
                                                     fmt::format("trust policy of {}", arn))};
    holding_.records += TextBytes(role) + role.description.size();
  }
  for (const User& user : records_.users) {
    users_[LowerAscii(user.name)] = {&user,
                                     MakeUser(user, builder.CompileInline(user, ArnOf(user)))};
    holding_.records += TextBytes(user);
    for (const std::string& group : user.groups) holding_.records += 64 + group.size();
  }
  for (const OidcProvider& provider : records_.providers) {
    holding_.records += kRecordBytes;
    for (const auto* texts : {&provider.client_ids, &provider.thumbprints}) {
      for (const std::string& text : *texts) holding_.records += sizeof(text) + text.size();
    }
  }
  if (!records_.accounts.empty() && !records_.accounts.front().deleted()) {
    auto root = std::make_shared<Caller>();
    root->kind = Principal::Kind::kRoot;
    root->account = root->id = root->user_id = account_;
    root->arn = RootArn(account_);
    root_ = std::move(root);
  }
  keys_.reserve(records_.keys.size());
  holding_.records += records_.keys.size() * kRecordBytes;
  for (const AccessKey& key : records_.keys) {
    std::shared_ptr<const Caller> caller = CallerOf(key.user);
    if (caller == nullptr) {
      problems_.push_back(fmt::format("The access key {} belongs to {}/{}, which does not exist.",
                                      key.id, key.account, key.user));
      continue;
    }
    Result<std::string> secret = keyring.Unseal(key.sealed_secret, SecretPurpose(key.id));
    if (!secret.ok()) {
      problems_.push_back(
          fmt::format("The access key {} cannot be used: {}", key.id, secret.error().message()));
      continue;
    }
    keys_.push_back({key.id, key.active, MakeCredential(*std::move(secret), std::move(caller))});
  }
}

void Directory::AddAttached(const Identity& identity, Caller* caller) const {
  for (const std::string& arn : identity.attached_policies)
    caller->identity.push_back(FindPolicy(arn));
}

void Directory::SetBoundary(const Identity& identity, Caller* caller) const {
  if (identity.boundary.empty()) return;
  caller->has_boundary = true;
  caller->boundary = FindPolicy(identity.boundary);
}

std::shared_ptr<const Caller> Directory::MakeUser(const User& user,
                                                  std::vector<PolicyPtr> own) const {
  auto caller = std::make_shared<Caller>();
  caller->kind = Principal::Kind::kUser;
  caller->account = user.account;
  caller->arn = ArnOf(user);
  caller->id = caller->user_id = user.id;
  caller->tags = user.tags;
  caller->identity = std::move(own);
  AddAttached(user, caller.get());
  for (const std::string& name : user.groups) {
    if (const GroupEntry* const entry = FindIn(groups_, name); entry != nullptr) {
      caller->identity.insert(caller->identity.end(), entry->policies.begin(),
                              entry->policies.end());
      AddAttached(*entry->group, caller.get());
    } else {
      // Its policies may have denied something.
      caller->identity.push_back(nullptr);
    }
  }
  caller->identity.shrink_to_fit();
  SetBoundary(user, caller.get());
  CollectKeys(caller.get());
  return caller;
}

const Directory::RoleEntry* Directory::EntryOf(std::string_view role) const {
  return FindIn(roles_, role);
}

std::shared_ptr<const Caller> Directory::CallerOf(std::string_view user) const {
  if (user.empty()) return root_;
  const UserEntry* const found = FindIn(users_, user);
  return found == nullptr ? nullptr : found->caller;
}

std::shared_ptr<const Caller> Directory::CallerOf(const Session& session) const {
  if (session.account != account_) return nullptr;
  auto caller = std::make_shared<Caller>();
  if (session.kind == Session::Kind::kRole) {
    const RoleEntry* const entry = EntryOf(session.issuer);
    if (entry == nullptr || entry->role->id != session.issuer_id ||
        session.issued_micros < entry->role->revoked_before_micros)
      return nullptr;
    const Role& role = *entry->role;
    caller->kind = Principal::Kind::kRoleSession;
    caller->arn = SessionArn(role, session.name);
    caller->issuer_arn = ArnOf(role);
    caller->user_id = fmt::format("{}:{}", role.id, session.name);
    caller->tags = role.tags;
    caller->identity = entry->policies;
    AddAttached(role, caller.get());
    SetBoundary(role, caller.get());
  } else {
    const std::shared_ptr<const Caller> issuer = CallerOf(session.issuer);
    if (issuer == nullptr || issuer->id != session.issuer_id) return nullptr;
    *caller = *issuer;
    if (session.kind == Session::Kind::kFederatedUser) {
      caller->kind = Principal::Kind::kFederatedUser;
      caller->issuer_arn = issuer->arn;
      caller->arn = fmt::format("arn:aws:sts::{}:federated-user/{}", session.account, session.name);
      caller->user_id = fmt::format("{}:{}", session.account, session.name);
    }
  }
  caller->account = session.account;
  caller->id = session.issuer_id;
  // Tags of the session go before those of the role.
  for (const Tag& tag : session.tags) {
    std::erase_if(caller->tags,
                  [&tag](const Tag& old) { return EqualsIgnoringCase(old.key, tag.key); });
    caller->tags.push_back(tag);
  }
  // A federated user without a policy has no rights of its own.
  caller->has_session = session.has_policies || session.kind == Session::Kind::kFederatedUser;
  for (const std::string& document : session.policies) {
    Result<std::shared_ptr<const Policy>> policy =
        Policy::Parse(document, PolicyKind::kIdentity, "session policy");
    caller->session.push_back(policy.ok() ? *std::move(policy) : nullptr);
  }
  caller->issued_micros = session.issued_micros;
  caller->expires_micros = session.expires_micros;
  caller->issue_time = IsoTime(session.issued_micros);
  caller->source_identity = session.source_identity;
  caller->federated_provider = session.federated_provider;
  if (session.web.size() >= 2) {
    caller->web = std::make_shared<WebClaims>(
        session.federated_provider, session.web[0], session.web[1],
        std::vector<std::string>(session.web.begin() + 2, session.web.end()));
  }
  CollectKeys(caller.get());
  return caller;
}

const User* Directory::FindUser(std::string_view name) const {
  const UserEntry* const found = FindIn(users_, name);
  return found == nullptr ? nullptr : found->user;
}
const Group* Directory::FindGroup(std::string_view name) const {
  const GroupEntry* const found = FindIn(groups_, name);
  return found == nullptr ? nullptr : found->group;
}
const Role* Directory::FindRole(std::string_view name) const {
  const RoleEntry* const found = EntryOf(name);
  return found == nullptr ? nullptr : found->role;
}

std::shared_ptr<const Policy> Directory::TrustPolicyOf(const Role& role) const {
  const RoleEntry* const found = EntryOf(role.name);
  return found == nullptr ? nullptr : found->trust;
}

std::shared_ptr<const Policy> Directory::FindPolicy(std::string_view arn) const {
  if (const auto found = managed_.find(arn); found != managed_.end()) return found->second;
  const auto built_in = CompiledBuiltIns().find(arn);
  return built_in == CompiledBuiltIns().end() ? nullptr : built_in->second;
}

}  // namespace stator::access
