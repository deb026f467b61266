#include "access/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "access/pattern.h"

namespace stator::access {
namespace {

std::string NameKey(std::string_view account, std::string_view name) {
  std::string key = fmt::format("{}/{}", account, name);
  for (char& c : key) c = LowerAscii(c);
  return key;
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

// "2026-01-31T12:00:00Z".
std::string IsoTime(int64_t micros) {
  const std::string basic = FormatSigningTime(micros);
  return fmt::format("{}-{}-{}T{}:{}:{}Z", basic.substr(0, 4), basic.substr(4, 2),
                     basic.substr(6, 2), basic.substr(9, 2), basic.substr(11, 2),
                     basic.substr(13, 2));
}

void CollectKeys(Caller* caller) { caller->keys = caller->policies(false, nullptr).keys(); }

}  // namespace

std::string SecretPurpose(std::string_view key_id) {
  return fmt::format("the secret of the access key {}", key_id);
}

std::shared_ptr<const Policy> Directory::Compile(std::string_view document, PolicyKind kind,
                                                 std::string name, const Directory* before) {
  const auto of_kind = static_cast<size_t>(kind);
  std::shared_ptr<const Policy>& known = compiled_[of_kind][document];
  if (known == nullptr && before != nullptr) {
    const auto found = before->compiled_[of_kind].find(document);
    if (found != before->compiled_[of_kind].end()) known = found->second;
  }
  if (known != nullptr) return known->name() == name ? known : known->Named(std::move(name));
  Result<std::shared_ptr<const Policy>> policy = Policy::Parse(document, kind, name);
  if (policy.ok()) return known = *std::move(policy);
  problems_.push_back(fmt::format("The policy {} cannot be read and denies everything: {}", name,
                                  policy.error().message()));
  return nullptr;
}

void Directory::CompilePolicies(const Directory* before) {
  for (const BuiltInPolicy& policy : BuiltInPolicies()) {
    managed_.emplace(policy.arn, Compile(policy.document, PolicyKind::kIdentity,
                                         std::string(policy.arn), before));
  }
  for (const ManagedPolicy& policy : records_.policies) {
    const std::string arn = ArnOf(policy);
    const std::string* document = policy.document();
    managed_[arn] =
        Compile(document == nullptr ? "" : *document, PolicyKind::kIdentity, arn, before);
  }
  const auto compile_inline = [&](const Identity& identity, const std::string& arn) {
    auto& compiled = inline_[identity.id];
    for (const InlinePolicy& policy : identity.inline_policies) {
      compiled.push_back(Compile(policy.document, PolicyKind::kIdentity,
                                 fmt::format("{} of {}", policy.name, arn), before));
    }
  };
  for (const User& user : records_.users) compile_inline(user, ArnOf(user));
  for (const Group& group : records_.groups) compile_inline(group, ArnOf(group));
  for (const Role& role : records_.roles) {
    const std::string arn = ArnOf(role);
    compile_inline(role, arn);
    trust_[role.id] = Compile(role.trust_policy, PolicyKind::kTrust,
                              fmt::format("trust policy of {}", arn), before);
  }
}

Directory::Directory(Records records, std::shared_ptr<const Keyring> keyring, const Clock& clock,
                     const Directory* before)
    : records_(std::move(records)), keyring_(std::move(keyring)), clock_(clock) {
  CompilePolicies(before);
  for (const User& user : records_.users) users_[NameKey(user.account, user.name)] = &user;
  for (const Group& group : records_.groups) groups_[NameKey(group.account, group.name)] = &group;
  for (const Role& role : records_.roles) roles_[NameKey(role.account, role.name)] = &role;
  for (const User& user : records_.users) callers_[user.id] = MakeUser(user);
  for (const Account& account : records_.accounts) {
    if (account.deleted()) continue;
    auto root = std::make_shared<Caller>();
    root->kind = Principal::Kind::kRoot;
    root->account = root->id = root->user_id = account.id;
    root->arn = RootArn(account.id);
    callers_[account.id] = std::move(root);
  }
  for (const AccessKey& key : records_.keys) {
    std::shared_ptr<const Caller> caller = CallerOf(key.account, key.user);
    if (caller == nullptr) {
      problems_.push_back(fmt::format("The access key {} belongs to {}/{}, which does not exist.",
                                      key.id, key.account, key.user));
      continue;
    }
    Result<std::string> secret = keyring_->Unseal(key.sealed_secret, SecretPurpose(key.id));
    if (!secret.ok()) {
      problems_.push_back(
          fmt::format("The access key {} cannot be used: {}", key.id, secret.error().message()));
      continue;
    }
    keys_[key.id] = {key.active, MakeCredential(*std::move(secret), std::move(caller))};
  }
}

void Directory::AddPoliciesOf(const Identity& identity, Caller* caller) const {
  if (const auto found = inline_.find(identity.id); found != inline_.end()) {
    caller->identity.insert(caller->identity.end(), found->second.begin(), found->second.end());
  }
  for (const std::string& arn : identity.attached_policies)
    caller->identity.push_back(FindPolicy(arn));
}

void Directory::SetBoundary(const Identity& identity, Caller* caller) const {
  if (identity.boundary.empty()) return;
  caller->has_boundary = true;
  caller->boundary = FindPolicy(identity.boundary);
}

std::shared_ptr<const Caller> Directory::MakeUser(const User& user) const {
  auto caller = std::make_shared<Caller>();
  caller->kind = Principal::Kind::kUser;
  caller->account = user.account;
  caller->arn = ArnOf(user);
  caller->id = caller->user_id = user.id;
  caller->tags = user.tags;
  AddPoliciesOf(user, caller.get());
  for (const std::string& name : user.groups) {
    const Group* group = FindGroup(user.account, name);
    if (group != nullptr) {
      AddPoliciesOf(*group, caller.get());
    } else {
      // Its policies may have denied something.
      caller->identity.push_back(nullptr);
    }
  }
  SetBoundary(user, caller.get());
  CollectKeys(caller.get());
  return caller;
}

std::shared_ptr<const Caller> Directory::CallerOf(std::string_view account,
                                                  std::string_view user) const {
  const User* found = user.empty() ? nullptr : FindUser(account, user);
  if (!user.empty() && found == nullptr) return nullptr;
  const auto caller = callers_.find(found == nullptr ? account : std::string_view(found->id));
  return caller == callers_.end() ? nullptr : caller->second;
}

std::shared_ptr<const Caller> Directory::CallerOf(const Session& session) const {
  auto caller = std::make_shared<Caller>();
  if (session.kind == Session::Kind::kRole) {
    const Role* role = FindRole(session.account, session.issuer);
    if (role == nullptr || role->id != session.issuer_id ||
        session.issued_micros < role->revoked_before_micros)
      return nullptr;
    caller->kind = Principal::Kind::kRoleSession;
    caller->arn = SessionArn(*role, session.name);
    caller->issuer_arn = ArnOf(*role);
    caller->user_id = fmt::format("{}:{}", role->id, session.name);
    caller->tags = role->tags;
    AddPoliciesOf(*role, caller.get());
    SetBoundary(*role, caller.get());
  } else {
    const std::shared_ptr<const Caller> issuer = CallerOf(session.account, session.issuer);
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

KeyLookup Directory::Find(std::string_view key_id, std::string_view token) const {
  if (key_id.starts_with("ASIA")) return FindSession(key_id, token);
  const auto found = keys_.find(key_id);
  if (found == keys_.end()) return {};
  return {found->second.active ? KeyState::kActive : KeyState::kInactive,
          token.empty() ? TokenState::kFits : TokenState::kInvalid, found->second.credential};
}

KeyLookup Directory::FindSession(std::string_view key_id, std::string_view token) const {
  const KeyLookup invalid{KeyState::kUnknown, TokenState::kInvalid, nullptr};
  if (token.empty()) return invalid;
  OpenedToken opened;
  {
    const MutexLock lock(mutex_);
    if (const auto young = young_.find(token); young != young_.end()) {
      opened = young->second;
    } else if (const auto old = old_.find(token); old != old_.end()) {
      opened = old->second;
    }
  }
  if (opened.credential == nullptr) {
    Result<Session> session = OpenSession(token, *keyring_);
    if (!session.ok()) return invalid;
    std::shared_ptr<const Caller> caller = CallerOf(*session);
    if (caller == nullptr) return invalid;
    opened.key_id = session->key_id;
    opened.expires_micros = session->expires_micros;
    opened.credential = MakeCredential(std::move(session->secret), std::move(caller));
    const MutexLock lock(mutex_);
    if (young_.size() >= kMaxOpenedTokens / 2) {
      old_ = std::move(young_);
      young_.clear();
    }
    young_.insert_or_assign(std::string(token), opened);
  }
  if (opened.key_id != key_id) return invalid;
  const bool expired = clock_.NowMicros() >= opened.expires_micros;
  return {KeyState::kActive, expired ? TokenState::kExpired : TokenState::kFits,
          std::move(opened.credential)};
}

const User* Directory::FindUser(std::string_view account, std::string_view name) const {
  const auto found = users_.find(NameKey(account, name));
  return found == users_.end() ? nullptr : found->second;
}
const Group* Directory::FindGroup(std::string_view account, std::string_view name) const {
  const auto found = groups_.find(NameKey(account, name));
  return found == groups_.end() ? nullptr : found->second;
}
const Role* Directory::FindRole(std::string_view account, std::string_view name) const {
  const auto found = roles_.find(NameKey(account, name));
  return found == roles_.end() ? nullptr : found->second;
}

std::shared_ptr<const Policy> Directory::TrustPolicyOf(const Role& role) const {
  const auto found = trust_.find(role.id);
  return found == trust_.end() ? nullptr : found->second;
}

std::shared_ptr<const Policy> Directory::FindPolicy(std::string_view arn) const {
  const auto found = managed_.find(arn);
  return found == managed_.end() ? nullptr : found->second;
}

}  // namespace stator::access
