#include "identity/identities.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "access/pattern.h"
#include "access/policy.h"
#include "access/sigv4.h"
#include "base/log.h"

namespace stator::identity {
namespace {

constexpr std::string_view kCheckText = "stator";
constexpr std::string_view kCheckPurpose = "the check of the master key";
constexpr int kMostRounds = 100;

template <typename T>
void Append(std::vector<T>&& from, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = access::LowerAscii(c);
  return lower;
}

// Refuses that an account, or the owner of resources, goes from `before` to `after` of `most` bytes
// that all together may have, of which they have `held`. `sharing` is how many there are.
Status CheckShare(std::string_view what, size_t before, size_t after, size_t held, size_t most,
                  size_t sharing) {
  if (after <= before) return OkStatus();
  const size_t all = held - std::min(held, before) + after;
  if (all > most) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("{} of the store together may have {} bytes, and would have {}", what,
                             most, all));
  }
  const size_t share = most / 2 / std::max<size_t>(sharing, 1);
  if (sharing > 1 && all > most / 2 && after > share) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("{} of the store together have more than half of the {} bytes that "
                             "they may have, so those of one account may have {} bytes, and would "
                             "have {}",
                             what, most, share, after));
  }
  return OkStatus();
}

constexpr std::string_view kPolicyText = "The texts of all policies, white space included,";
constexpr std::string_view kPolicyMemory = "All policies, compiled,";
constexpr std::string_view kRecordMemory = "All users, groups, roles and keys";
constexpr std::string_view kResourceText =
    "The texts of the policies of all tables and streams, white space included,";
constexpr std::string_view kResourceMemory = "The policies of all tables and streams, compiled,";

}  // namespace

Result<std::unique_ptr<Identities>> Identities::Open(kv::Engine& engine, const Clock& clock,
                                                     access::SecureRandom& random,
                                                     Options options) {
  std::shared_ptr<const access::Keyring> keyring = options.keyring;
  if (keyring == nullptr) {
    // Only declared secrets are sealed, and only in memory: a key of this process serves.
    ASSIGN_OR_RETURN(access::Keyring own, access::Keyring::FromKeys({random.Bytes(32)}));
    keyring = std::make_shared<access::Keyring>(std::move(own));
  }
  std::unique_ptr<Identities> identities(
      new Identities(engine, clock, random, std::move(options), std::move(keyring)));
  TRY(identities->TakeDeclared());
  TRY(identities->Load());
  return identities;
}

Status Identities::TakeDeclared() {
  // In steps, so that a file that is too large is refused before much is made of it.
  const Bounds& bounds = options_.bounds;
  size_t text = 0;
  for (const DeclaredUser& user : options_.users) {
    for (const access::InlinePolicy& policy : user.policies) text += policy.document.size();
  }
  const auto refuse = [](std::string_view what, size_t have, size_t most) {
    return ValidationError(
        fmt::format("{} of the users of stator.toml have {} bytes, more than the {} that those of "
                    "all users may have: declare fewer users, or smaller policies",
                    what, have, most));
  };
  if (text > bounds.policy_text) return refuse("the policies", text, bounds.policy_text);
  ASSIGN_OR_RETURN(declared_,
                   RecordsOf(options_.account, options_.root, options_.users, *keyring_, &random_));
  options_.users.clear();
  options_.users.shrink_to_fit();
  for (const access::User& user : declared_.users) declared_users_.insert(Lower(user.name));
  for (const access::AccessKey& key : declared_.keys) declared_keys_.insert(key.id);
  const MutexLock lock(loading_);
  ASSIGN_OR_RETURN(std::shared_ptr<const access::Directory> directory, Build(options_.account, {}));
  const access::Holding& holding = directory->holding();
  if (holding.policy_memory > bounds.policy_memory)
    return refuse("the compiled policies", holding.policy_memory, bounds.policy_memory);
  if (holding.records > bounds.records)
    return refuse("the records and keys", holding.records, bounds.records);
  Publish(options_.account, std::move(directory));
  return OkStatus();
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

Result<std::shared_ptr<const access::Directory>> Identities::Build(const std::string& account,
                                                                   access::Records stored) {
  const bool is_default = account == options_.account;
  // Its tables stand under their account, and would be out of reach.
  if (is_default && !stored.accounts.empty()) {
    return ValidationError(
        "--account names an account that this store has beside its default one: give the one "
        "that the store was made with");
  }
  if (!stored.accounts.empty() && stored.accounts.front().deleted())
    return std::shared_ptr<const access::Directory>();
  // A declared key stands before a stored one of the same id, and a declared user before a stored
  // one of the same name.
  std::erase_if(stored.keys, [&](const access::AccessKey& key) {
    return IsDeclaredKey(key.id) || (is_default && !key.user.empty() && IsDeclaredUser(key.user));
  });
  access::Records all;
  if (is_default) {
    std::erase_if(stored.users,
                  [this](const access::User& user) { return IsDeclaredUser(user.name); });
    all = declared_;
    Append(std::move(stored.users), &all.users);
    Append(std::move(stored.keys), &all.keys);
    all.groups = std::move(stored.groups);
    all.roles = std::move(stored.roles);
    all.policies = std::move(stored.policies);
    all.providers = std::move(stored.providers);
  } else {
    all = std::move(stored);
  }
  return std::shared_ptr<const access::Directory>(
      std::make_shared<access::Directory>(account, std::move(all), *keyring_, policies_));
}

void Identities::Publish(const std::string& account,
                         std::shared_ptr<const access::Directory> next) {
  const std::shared_ptr<const access::Directory> last = directories_.Of(account);
  const auto counts = [this](const std::shared_ptr<const access::Directory>& directory) {
    return directory != nullptr && directory->account() != options_.account &&
           !directory->records().accounts.empty();
  };
  if (last != nullptr) held_ -= last->holding();
  if (next != nullptr) {
    held_ += next->holding();
    for (const std::string& problem : next->problems())
      LogWarn("identity_not_usable", {{"problem", problem}});
  }
  if (counts(next) && !counts(last)) accounts_.fetch_add(1, std::memory_order_relaxed);
  if (counts(last) && !counts(next)) accounts_.fetch_sub(1, std::memory_order_relaxed);
  directories_.Replace(account, std::move(next));
}

Status Identities::Load() {
  const MutexLock lock(loading_);
  for (int round = 0; round < kMostRounds; ++round) {
    const int64_t ticks = clock_.TicksMicros();
    ASSIGN_OR_RETURN(const Changes changes, ReadChanges(engine_, version_));
    if (loaded_ && changes.version == version_) {
      read_ticks_.store(ticks, std::memory_order_relaxed);
      return OkStatus();
    }
    const bool all = !loaded_ || changes.all;
    ASSIGN_OR_RETURN(StoredContents stored, ReadContents(engine_, all ? nullptr : &changes.parts));
    // A change that came meanwhile may be in other parts.
    if (!all && stored.version != changes.version) continue;
    TRY(CheckMasterKey(stored));
    std::set<std::string, std::less<>> accounts;
    if (all) {
      accounts.insert(options_.account);
      for (const auto& known : directories_.All()) accounts.insert(known->account());
      for (const auto& [account, records] : stored.accounts) accounts.insert(account);
    } else {
      accounts = changes.parts;
      accounts.erase(std::string(kResources));
    }
    for (const std::string& account : accounts) {
      const auto found = stored.accounts.find(account);
      std::shared_ptr<const access::Directory> next;
      if (found != stored.accounts.end() || account == options_.account) {
        ASSIGN_OR_RETURN(next,
                         Build(account, found == stored.accounts.end() ? access::Records()
                                                                       : std::move(found->second)));
      }
      Publish(account, std::move(next));
    }
    if (all || changes.parts.contains(kResources)) PublishResources(stored.resources);
    version_ = stored.version;
    loaded_ = true;
    read_ticks_.store(ticks, std::memory_order_relaxed);
    return OkStatus();
  }
  return Error(ErrorCode::kUnavailable, "the records of access control change all the time");
}

Status Identities::Fresh() const {
  if (!options_.shared) return OkStatus();
  const int64_t age = clock_.TicksMicros() - read_ticks_.load(std::memory_order_relaxed);
  if (age <= kStaleMicros) return OkStatus();
  return Error(ErrorCode::kUnavailable,
               "the users and policies of the store could not be read for 5 seconds");
}

bool Identities::IsDeclaredUser(std::string_view name) const {
  return !declared_users_.empty() && declared_users_.contains(Lower(name));
}

bool Identities::IsDeclaredKey(std::string_view id) const { return declared_keys_.contains(id); }

Status Identities::CheckAccount(std::string_view account) {
  if (options_.shared) TRY(Load());
  if (account == options_.account || directories_.Of(account) != nullptr) return OkStatus();
  return Error(ErrorCode::kAccessDenied, "The account does not exist.");
}

std::vector<access::Account> Identities::Accounts() const {
  std::vector<access::Account> accounts;
  for (const std::shared_ptr<const access::Directory>& directory : directories_.All()) {
    if (directory->account() != options_.account && !directory->records().accounts.empty())
      accounts.push_back(directory->records().accounts.front());
  }
  std::sort(accounts.begin(), accounts.end(),
            [](const access::Account& a, const access::Account& b) { return a.id < b.id; });
  return accounts;
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
        policies_.Compile(record.text, access::PolicyKind::kResource, "resource policy");
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

std::string Identities::Check() {
  return can_change() ? keyring_->Seal(kCheckText, kCheckPurpose, &random_) : std::string();
}

Status Identities::CheckBounds(std::string_view account, const access::Holding& after) {
  const std::shared_ptr<const access::Directory> known = directories_.Of(account);
  const access::Holding before = known == nullptr ? access::Holding() : known->holding();
  const size_t sharing = 1 + CountAccounts();
  const Bounds& bounds = options_.bounds;
  const MutexLock lock(loading_);
  TRY(CheckShare(kPolicyText, before.policy_text, after.policy_text, held_.policy_text,
                 bounds.policy_text, sharing));
  TRY(CheckShare(kPolicyMemory, before.policy_memory, after.policy_memory, held_.policy_memory,
                 bounds.policy_memory, sharing));
  return CheckShare(kRecordMemory, before.records, after.records, held_.records, bounds.records,
                    sharing);
}

Status Identities::Change(std::string_view account, ChangeRecords change) {
  if (!can_change()) {
    return ValidationError(
        "this server has no master key, which seals the secrets of users: give it one with "
        "--master-key-file");
  }
  TRY(options_.prepare());
  const std::string id(account);
  {
    const MutexLock changing(changing_);
    std::shared_ptr<const access::Directory> next;
    ASSIGN_OR_RETURN(
        const Applied applied,
        ChangeStored(engine_, id, Check(), [&](access::Records* records, kv::Batch*) -> Status {
          // So that all accounts are known as they are at this version: if they change
          // meanwhile, the batch fails and this runs again.
          TRY(Load());
          TRY(change(records));
          ASSIGN_OR_RETURN(next, Build(id, *records));
          return next == nullptr ? OkStatus() : CheckBounds(id, next->holding());
        }));
    {
      const MutexLock lock(loading_);
      if (applied.after != applied.before && version_ == applied.before) {
        Publish(id, next);
        version_ = applied.after;
      }
    }
    // Reads the version, and the changes of others that came meanwhile.
    TRY(Load());
  }
  options_.announce();
  return OkStatus();
}

Status Identities::ChangeResources(ChangeResourcePolicies change, OwnerOf owner) {
  TRY(options_.prepare());
  {
    const MutexLock changing(changing_);
    ResourcePolicyRecords next;
    ASSIGN_OR_RETURN(const Applied applied,
                     ChangeStoredResources(engine_, options_.account, Check(),
                                           [&](ResourcePolicyRecords* records) -> Status {
                                             TRY(Load());
                                             const ResourcePolicyRecords before = *records;
                                             TRY(change(records));
                                             TRY(CheckResourceBounds(before, *records, owner));
                                             next = *records;
                                             return OkStatus();
                                           }));
    {
      const MutexLock lock(loading_);
      if (applied.after != applied.before && version_ == applied.before) {
        PublishResources(next);
        version_ = applied.after;
      }
    }
    // Reads the version, and the changes of others that came meanwhile.
    TRY(Load());
  }
  options_.announce();
  return OkStatus();
}

Status Identities::CheckResourceBounds(const ResourcePolicyRecords& before,
                                       const ResourcePolicyRecords& after, OwnerOf owner) {
  // The owner of what grows, and what that owner and all have.
  const auto grown = std::find_if(after.begin(), after.end(), [&](const auto& entry) {
    const auto old = before.find(entry.first);
    return !entry.second.text.empty() && (old == before.end() || !(old->second == entry.second));
  });
  if (grown == after.end()) return OkStatus();
  const std::string account = owner(grown->first);
  const auto known = resource_policies();
  size_t held[2] = {}, own_before[2] = {}, own_after[2] = {};
  std::set<std::string, std::less<>> owners{account};
  const auto add = [&](const std::string& id, const ResourcePolicyRecord& record, size_t* own,
                       size_t* all) {
    if (record.text.empty()) return;
    size_t memory = 0;
    if (known != nullptr) {
      const auto found = known->find(id);
      if (found != known->end() && found->second.record == record)
        memory = found->second.compiled == nullptr ? 0 : found->second.compiled->memory_bytes();
    }
    if (memory == 0) {
      const auto compiled =
          policies_.Compile(record.text, access::PolicyKind::kResource, "resource policy");
      if (compiled.ok()) memory = (*compiled)->memory_bytes();
    }
    std::string name = owner(id);
    if (name == account) {
      own[0] += record.text.size();
      own[1] += memory;
    }
    if (all == nullptr) return;
    owners.insert(std::move(name));
    all[0] += record.text.size();
    all[1] += memory;
  };
  for (const auto& [id, record] : before) add(id, record, own_before, held);
  for (const auto& [id, record] : after) add(id, record, own_after, nullptr);
  const size_t sharing = std::max(owners.size(), 1 + CountAccounts());
  TRY(CheckShare(kResourceText, own_before[0], own_after[0], held[0], options_.bounds.resource_text,
                 sharing));
  return CheckShare(kResourceMemory, own_before[1], own_after[1], held[1],
                    options_.bounds.resource_memory, sharing);
}

Status Identities::Refresh() { return Load(); }

}  // namespace stator::identity
