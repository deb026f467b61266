#include "identity/identities.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "access/pattern.h"
#include "access/policy.h"
#include "access/sigv4.h"
#include "base/ascii.h"
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

bool IsDeleted(const access::Records& stored) {
  return !stored.accounts.empty() && stored.accounts.front().deleted();
}

size_t MemoryOf(const Identities::ResourcePolicy& policy) {
  return policy.compiled == nullptr ? 0 : policy.compiled->memory_bytes();
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
    // Without a master key only declared secrets are sealed, and only in memory. So a random key of
    // this process is enough.
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
  // Check the bounds step by step, so that a file that is too large is refused before it takes much
  // memory.
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
  ASSIGN_OR_RETURN(declared_, RecordsOf(options_.account, options_.root, options_.accounts,
                                        options_.users, *keyring_, &random_));
  options_.accounts.clear();
  options_.accounts.shrink_to_fit();
  options_.users.clear();
  options_.users.shrink_to_fit();
  const MutexLock lock(loading_);
  for (const auto& [account, records] : declared_) {
    for (const access::User& user : records.users)
      declared_users_.insert(account + "/" + LowerAscii(user.name));
    for (const access::AccessKey& key : records.keys) declared_keys_.insert(key.id);
  }
  for (const auto& [account, records] : declared_) {
    ASSIGN_OR_RETURN(std::shared_ptr<const access::Directory> directory, Build(account, {}));
    Publish(account, std::move(directory), false);
    if (held_.policy_memory > bounds.policy_memory)
      return refuse("the compiled policies", held_.policy_memory, bounds.policy_memory);
    if (held_.records > bounds.records)
      return refuse("the records and keys", held_.records, bounds.records);
  }
  return OkStatus();
}

Status Identities::CheckMasterKey(const StoredContents& stored) const {
  if (stored.check.empty()) return OkStatus();
  if (options_.keyring == nullptr) {
    return ValidationError(
        "the store has users whose secrets a master key seals: give it with --master-key-file "
        "or --master-key-command");
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
  // The store was made with another default account. The tables of this account are stored under
  // its id, and would not be found if it were the default one.
  if (is_default && !stored.accounts.empty()) {
    return ValidationError(
        "--account names an account that this store has beside its default one: give the one "
        "that the store was made with");
  }
  if (IsDeleted(stored)) return std::shared_ptr<const access::Directory>();
  // A declared key stands before a stored one of the same id, and a declared user before a stored
  // one of the same name.
  std::erase_if(stored.keys, [&](const access::AccessKey& key) {
    return IsDeclaredKey(key.id) || (!key.user.empty() && IsDeclaredUser(account, key.user));
  });
  access::Records all;
  if (const auto declared = declared_.find(account); declared != declared_.end()) {
    std::erase_if(stored.users,
                  [&](const access::User& user) { return IsDeclaredUser(account, user.name); });
    all = declared->second;
    if (!stored.accounts.empty())
      all.accounts.front().created_micros = stored.accounts.front().created_micros;
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

void Identities::Publish(const std::string& account, std::shared_ptr<const access::Directory> next,
                         bool deleted) {
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
  if (!deleted) return;
  const MutexLock lock(deleted_mutex_);
  deleted_.insert(account);
  count_deleted_.store(deleted_.size(), std::memory_order_relaxed);
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
      for (const std::string& part : changes.parts) {
        if (part != kResources && !ResourceIn(part)) accounts.insert(part);
      }
    }
    for (const std::string& account : accounts) {
      const auto found = stored.accounts.find(account);
      std::shared_ptr<const access::Directory> next;
      const bool deleted = found != stored.accounts.end() && IsDeleted(found->second);
      if (!loaded_ && deleted && IsDeclaredAccount(account)) {
        return ValidationError(
            fmt::format("account {} of stator.toml was deleted from this store, and its id is not "
                        "given again: give it another one",
                        account));
      }
      if (found != stored.accounts.end() || declared_.contains(account)) {
        ASSIGN_OR_RETURN(next,
                         Build(account, found == stored.accounts.end() ? access::Records()
                                                                       : std::move(found->second)));
      }
      Publish(account, std::move(next), deleted);
    }
    if (all || changes.parts.contains(kResources)) {
      PublishResources(std::move(stored.resources));
    } else {
      for (const std::string& part : changes.parts) {
        const std::optional<std::string_view> id = ResourceIn(part);
        if (!id) continue;
        std::optional<ResourcePolicyRecord> record;
        if (const auto found = stored.resources.find(*id); found != stored.resources.end())
          record = std::move(found->second);
        PublishResource(std::string(*id), std::move(record));
      }
    }
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

bool Identities::IsDeclaredAccount(std::string_view account) const {
  return account != options_.account && declared_.contains(account);
}

bool Identities::IsDeclaredUser(std::string_view account, std::string_view name) const {
  return !declared_users_.empty() &&
         declared_users_.contains(std::string(account) + "/" + LowerAscii(name));
}

bool Identities::IsDeclaredKey(std::string_view id) const { return declared_keys_.contains(id); }

bool Identities::IsDeletedAccount(std::string_view account) const {
  const MutexLock lock(deleted_mutex_);
  return deleted_.contains(account);
}

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

std::shared_ptr<const Identities::ResourcePolicy> Identities::FindResource(
    std::string_view id) const {
  if (!any_resources()) return nullptr;
  const MutexLock lock(resources_mutex_);
  const auto found = resources_.find(id);
  return found == resources_.end() ? nullptr : found->second;
}

std::vector<std::string> Identities::ResourcesBefore(int64_t revision) const {
  std::vector<std::string> ids;
  const MutexLock lock(resources_mutex_);
  for (const auto& [id, policy] : resources_) {
    if (policy->record.revision < revision) ids.push_back(id);
  }
  return ids;
}

std::shared_ptr<const Identities::ResourcePolicy> Identities::MakeResource(
    const std::string& id, ResourcePolicyRecord record) {
  std::shared_ptr<const ResourcePolicy> before = FindResource(id);
  if (before != nullptr && before->record == record) return before;
  auto policy = std::make_shared<ResourcePolicy>();
  policy->record = std::move(record);
  if (policy->record.text.empty()) return policy;
  Result<std::shared_ptr<const access::Policy>> compiled =
      policies_.Compile(policy->record.text, access::PolicyKind::kResource, "resource policy");
  if (compiled.ok()) {
    policy->compiled = *std::move(compiled);
  } else {
    LogWarn("resource_policy_not_usable",
            {{"resource", id}, {"error", compiled.error().message()}});
  }
  return policy;
}

void Identities::PublishResources(ResourcePolicyRecords records) {
  ResourcePolicies next;
  resource_text_ = 0;
  resource_memory_ = 0;
  for (auto& [id, record] : records) {
    const auto& policy = next[id] = MakeResource(id, std::move(record));
    resource_text_ += policy->record.text.size();
    resource_memory_ += MemoryOf(*policy);
  }
  const bool any = !next.empty();
  {
    const MutexLock lock(resources_mutex_);
    resources_.swap(next);
  }
  any_resources_.store(any, std::memory_order_release);
}

void Identities::PublishResource(const std::string& id,
                                 std::optional<ResourcePolicyRecord> record) {
  if (const std::shared_ptr<const ResourcePolicy> before = FindResource(id); before != nullptr) {
    resource_text_ -= before->record.text.size();
    resource_memory_ -= MemoryOf(*before);
  }
  std::shared_ptr<const ResourcePolicy> next;
  if (record) next = MakeResource(id, *std::move(record));
  {
    const MutexLock lock(resources_mutex_);
    if (next == nullptr) {
      resources_.erase(id);
      return;
    }
    resource_text_ += next->record.text.size();
    resource_memory_ += MemoryOf(*next);
    resources_.insert_or_assign(id, std::move(next));
  }
  any_resources_.store(true, std::memory_order_release);
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
    bool deleted = false;
    ASSIGN_OR_RETURN(
        const Applied applied,
        ChangeStored(engine_, id, Check(), [&](access::Records* records, kv::Batch*) -> Status {
          // Load all accounts, so that they are known at this version. If they change meanwhile,
          // the batch fails and this runs again.
          TRY(Load());
          // Store the record of a declared account, so that the account still exists when it is not
          // declared any more.
          if (IsDeclaredAccount(id) && records->accounts.empty()) {
            records->accounts = declared_.find(id)->second.accounts;
            records->accounts.front().created_micros = clock_.NowMicros();
          }
          TRY(change(records));
          deleted = IsDeleted(*records);
          ASSIGN_OR_RETURN(next, Build(id, *records));
          return next == nullptr ? OkStatus() : CheckBounds(id, next->holding());
        }));
    {
      const MutexLock lock(loading_);
      if (applied.after != applied.before && version_ == applied.before) {
        Publish(id, next, deleted);
        version_ = applied.after;
      }
    }
    // Reads the version, and the changes of others that came meanwhile.
    TRY(Load());
  }
  options_.announce();
  return OkStatus();
}

Status Identities::ChangeResource(const std::string& id, ChangeResourcePolicy change,
                                  OwnerOf owner) {
  TRY(options_.prepare());
  {
    const MutexLock changing(changing_);
    // Where it stands: --account may have been another one then.
    std::string account = options_.account;
    if (const auto known = FindResource(id); known != nullptr) account = known->record.account;
    std::optional<ResourcePolicyRecord> next;
    ASSIGN_OR_RETURN(
        const Applied applied,
        ChangeStoredResource(engine_, account, id, Check(),
                             [&](std::optional<ResourcePolicyRecord>* record) -> Status {
                               TRY(Load());
                               TRY(change(record));
                               if (*record) (*record)->account = account;
                               TRY(CheckResourceBounds(id, *record, owner));
                               next = *record;
                               return OkStatus();
                             }));
    {
      const MutexLock lock(loading_);
      if (applied.after != applied.before && version_ == applied.before) {
        PublishResource(id, std::move(next));
        version_ = applied.after;
      }
    }
    // Reads the version, and the changes of others that came meanwhile.
    TRY(Load());
  }
  options_.announce();
  return OkStatus();
}

Status Identities::CheckResourceBounds(const std::string& id,
                                       const std::optional<ResourcePolicyRecord>& record,
                                       OwnerOf owner) {
  if (!record || record->text.empty()) return OkStatus();
  const std::shared_ptr<const ResourcePolicy> before = FindResource(id);
  const std::shared_ptr<const ResourcePolicy> after = MakeResource(id, *record);
  if (after == before) return OkStatus();
  const size_t text = after->record.text.size();
  const size_t memory = MemoryOf(*after);
  const size_t text_before = before == nullptr ? 0 : before->record.text.size();
  const size_t memory_before = before == nullptr ? 0 : MemoryOf(*before);
  size_t all_text = 0;
  size_t all_memory = 0;
  {
    const MutexLock lock(loading_);
    all_text = resource_text_;
    all_memory = resource_memory_;
  }
  const Bounds& bounds = options_.bounds;
  // Without a look at whose the others are.
  if (all_text - text_before + text <= bounds.resource_text / 2 &&
      all_memory - memory_before + memory <= bounds.resource_memory / 2)
    return OkStatus();
  ResourcePolicies all;
  {
    const MutexLock lock(resources_mutex_);
    all = resources_;
  }
  const std::string account = owner(id);
  std::set<std::string, std::less<>> owners{account};
  size_t own_text = 0;
  size_t own_memory = 0;
  for (const auto& [other, policy] : all) {
    if (policy->record.text.empty()) continue;
    std::string name = owner(other);
    if (name == account) {
      own_text += policy->record.text.size();
      own_memory += MemoryOf(*policy);
    }
    owners.insert(std::move(name));
  }
  const size_t sharing = std::max(owners.size(), 1 + CountAccounts());
  TRY(CheckShare(kResourceText, own_text, own_text - text_before + text, all_text,
                 bounds.resource_text, sharing));
  return CheckShare(kResourceMemory, own_memory, own_memory - memory_before + memory, all_memory,
                    bounds.resource_memory, sharing);
}

Status Identities::Refresh() { return Load(); }

}  // namespace stator::identity
