#include "identity/identities.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/policy.h"
#include "access/sigv4.h"
#include "base/log.h"

namespace stator::identity {
namespace {

constexpr std::string_view kCheckText = "stator";
constexpr std::string_view kCheckPurpose = "the check of the master key";

template <typename T>
void Append(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

size_t InlineBytes(const access::Identity& identity) {
  size_t bytes = 0;
  for (const access::InlinePolicy& policy : identity.inline_policies)
    bytes += policy.document.size();
  return bytes;
}

size_t PolicyBytes(const Contents& contents) {
  size_t bytes = 0;
  for (const access::User& user : contents.records.users) bytes += InlineBytes(user);
  for (const access::Group& group : contents.records.groups) bytes += InlineBytes(group);
  for (const access::Role& role : contents.records.roles)
    bytes += InlineBytes(role) + role.trust_policy.size();
  for (const access::ManagedPolicy& policy : contents.records.policies) {
    for (const access::PolicyVersion& version : policy.versions) bytes += version.document.size();
  }
  for (const auto& [id, policy] : contents.resources) bytes += policy.text.size();
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Identities>> Identities::Open(kv::Engine& engine, const Clock& clock,
                                                     access::SecureRandom& random,
                                                     Options options) {
  std::unique_ptr<Identities> identities(new Identities(engine, clock, random, std::move(options)));
  const Options& given = identities->options_;
  identities->keyring_ = given.keyring;
  if (identities->keyring_ == nullptr) {
    // Only declared secrets are sealed, and only in memory: a key of this process serves.
    ASSIGN_OR_RETURN(access::Keyring own, access::Keyring::FromKeys({random.Bytes(32)}));
    identities->keyring_ = std::make_shared<access::Keyring>(std::move(own));
  }
  ASSIGN_OR_RETURN(identities->declared_, RecordsOf(given.account, given.root, given.users,
                                                    *identities->keyring_, &random));
  TRY(identities->Load());
  return identities;
}

Status Identities::CheckMasterKey(const StoredContents& stored) const {
  if (stored.check.empty()) return OkStatus();
  if (options_.keyring == nullptr) {
    return ValidationError(
        "the store has users whose secrets a master key seals: give it with --master-key-file");
  }
  const Result<std::string> text = keyring_->Unseal(stored.check, kCheckPurpose);
  if (!text.ok()) {
    return ValidationError("the master key is not the one that sealed the secrets of this store: " +
                           text.error().message());
  }
  return OkStatus();
}

Status Identities::Load() {
  const MutexLock lock(loading_);
  const int64_t ticks = clock_.TicksMicros();
  if (loaded_) {
    ASSIGN_OR_RETURN(const uint64_t version, ReadVersion(engine_));
    if (version == version_) {
      read_ticks_.store(ticks, std::memory_order_relaxed);
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(StoredContents contents, ReadContents(engine_));
  TRY(CheckMasterKey(contents));
  access::Records all = declared_;
  access::Records& stored = contents.contents.records;
  // A declared user stands before a stored one of the same name.
  std::erase_if(stored.users, [this](const access::User& user) {
    return user.account == options_.account && IsDeclaredUser(user.name);
  });
  std::erase_if(stored.keys, [this](const access::AccessKey& key) {
    return IsDeclaredKey(key.id) ||
           (key.account == options_.account && !key.user.empty() && IsDeclaredUser(key.user));
  });
  for (const access::Account& account : stored.accounts) {
    // Its tables stand under their account, and would be out of reach.
    if (account.id == options_.account) {
      return ValidationError(
          "--account names an account that this store has beside its default one: give the one "
          "that the store was made with");
    }
    all.accounts.push_back(account);
  }
  Append(stored.users, &all.users);
  Append(stored.groups, &all.groups);
  Append(stored.roles, &all.roles);
  Append(stored.keys, &all.keys);
  Append(stored.policies, &all.policies);
  Append(stored.providers, &all.providers);
  auto directory =
      std::make_shared<access::Directory>(std::move(all), keyring_, clock_, live_.snapshot().get());
  for (const std::string& problem : directory->problems())
    LogWarn("identity_not_usable", {{"problem", problem}});
  live_.Replace(std::move(directory));
  PublishResources(contents.contents.resources);
  version_ = contents.version;
  loaded_ = true;
  read_ticks_.store(ticks, std::memory_order_relaxed);
  return OkStatus();
}

Status Identities::Fresh() const {
  if (!options_.shared) return OkStatus();
  const int64_t age = clock_.TicksMicros() - read_ticks_.load(std::memory_order_relaxed);
  if (age <= kStaleMicros) return OkStatus();
  return Error(ErrorCode::kUnavailable,
               "the users and policies of the store could not be read for 5 seconds");
}

bool Identities::IsDeclaredUser(std::string_view name) const {
  return std::any_of(
      declared_.users.begin(), declared_.users.end(),
      [name](const access::User& user) { return access::EqualsIgnoringCase(user.name, name); });
}

bool Identities::IsDeclaredKey(std::string_view id) const {
  return std::any_of(declared_.keys.begin(), declared_.keys.end(),
                     [id](const access::AccessKey& key) { return key.id == id; });
}

void Identities::PublishResources(const ResourcePolicyRecords& records) {
  const std::shared_ptr<const ResourcePolicies> before = resource_policies();
  auto next = std::make_shared<ResourcePolicies>();
  bool any = false;
  for (const auto& [id, record] : records) {
    ResourcePolicy& policy = (*next)[id];
    policy.record = record;
    if (record.text.empty()) continue;
    any = true;
    if (before != nullptr) {
      const auto old = before->find(id);
      if (old != before->end() && old->second.record == record) {
        policy.compiled = old->second.compiled;
        continue;
      }
    }
    Result<std::shared_ptr<const access::Policy>> compiled =
        access::Policy::Parse(record.text, access::PolicyKind::kResource, "resource policy");
    if (compiled.ok()) {
      policy.compiled = *std::move(compiled);
    } else {
      LogWarn("resource_policy_not_usable",
              {{"resource", id}, {"error", compiled.error().message()}});
    }
  }
  {
    const MutexLock lock(resources_mutex_);
    resources_ = std::move(next);
  }
  any_resources_.store(any || !records.empty(), std::memory_order_release);
}

Status Identities::ChangeContents(identity::ChangeContents change) {
  TRY(options_.prepare());
  const std::string check =
      can_change() ? keyring_->Seal(kCheckText, kCheckPurpose, &random_) : std::string();
  const auto bounded = [&](Contents* contents) -> Status {
    const size_t before = PolicyBytes(*contents);
    TRY(change(contents));
    const size_t after = PolicyBytes(*contents);
    if (after <= std::max(before, options_.most_policy_bytes)) return OkStatus();
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("All policies of the store together may have {} bytes, white space "
                             "included, and would have {}",
                             options_.most_policy_bytes, after));
  };
  TRY(ChangeStored(engine_, options_.account, check, bounded));
  TRY(Load());
  options_.announce();
  return OkStatus();
}

Status Identities::Change(ChangeRecords change) {
  if (!can_change()) {
    return ValidationError(
        "this server has no master key, which seals the secrets of users: give it one with "
        "--master-key-file");
  }
  return ChangeContents([&](Contents* contents) { return change(&contents->records); });
}

Status Identities::ChangeResources(ChangeResourcePolicies change) {
  return ChangeContents([&](Contents* contents) { return change(&contents->resources); });
}

Status Identities::Refresh() { return Load(); }

}  // namespace stator::identity
