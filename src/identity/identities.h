// The identities of a server (accounts, users, roles and access keys): those that its settings
// declare, and those in its store.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "access/directories.h"
#include "access/directory.h"
#include "access/policy_cache.h"
#include "access/seal.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "identity/declared.h"
#include "identity/identity_store.h"
#include "kv/engine.h"

namespace stator::identity {

// Resolves keys from both, and changes those of the store. Thread-safe.
class Identities final : public access::KeySource {
 public:
  // If the records of a shared store could not be read for this time, requests with any access key
  // are refused.
  static constexpr int64_t kStaleMicros = 5'000'000;

  // The memory that users, groups and roles of all accounts may take together, with their keys and
  // policies. A change beyond one of the bounds is refused. While all accounts take more than half
  // of a bound, so is one by which an account takes more than its share of the other half, so that
  // no account leaves none to the others. A change that takes less than before is never refused.
  struct Bounds {
    size_t policy_text = 64 << 20;  // as Holding counts them
    size_t policy_memory = 320 << 20;
    size_t records = 256 << 20;
    // Both bounds once more, for the policies of tables and streams, which do not count in the
    // others.
    size_t resource_text = 64 << 20;
    size_t resource_memory = 320 << 20;
  };

  struct Options {
    std::string account;
    std::optional<KeyPair> root;
    std::vector<DeclaredAccount> accounts;
    std::vector<DeclaredUser> users;
    // Seals what is stored. Null: the store's records cannot be changed, and there must be none.
    std::shared_ptr<const access::Keyring> keyring;
    bool shared = false;  // other processes may change the store
    Bounds bounds;
    // Called before the first record is stored: makes older servers, which do not know such
    // records, refuse the store.
    std::function<Status()> prepare = [] { return OkStatus(); };
    // Tells the other processes of a change, and waits until they know it.
    std::function<void()> announce = [] {};
  };

  // Reads the store. The engine, the clock (the machine's) and the random source must outlive it.
  // kValidation, with a sentence for people, for wrong declarations, for a missing master key and
  // for another one than the store's.
  static Result<std::unique_ptr<Identities>> Open(kv::Engine& engine, const Clock& clock,
                                                  access::SecureRandom& random, Options options);

  access::KeyLookup Find(std::string_view key_id, std::string_view token) const override {
    return directories_.Find(key_id, token);
  }
  // Returns the directory of an account; null if there is no such account.
  std::shared_ptr<const access::Directory> DirectoryOf(std::string_view account) const {
    return directories_.Of(account);
  }
  // Returns the accounts beside the default one, in the order of their ids.
  std::vector<access::Account> Accounts() const;
  // kAccessDenied for an account beside the default one that there is not, in the store's state of
  // this moment; kUnavailable if it cannot be read. Blocks if the store is shared.
  Status CheckAccount(std::string_view account);
  size_t CountAccounts() const { return accounts_.load(std::memory_order_relaxed); }
  // Those that were deleted: their ids are not given again.
  size_t CountDeletedAccounts() const { return count_deleted_.load(std::memory_order_relaxed); }
  bool IsDeletedAccount(std::string_view account) const;
  // OK, or kUnavailable if what other processes changed is not known any more.
  Status Fresh() const;

  const std::string& account() const { return options_.account; }
  const access::Keyring& keyring() const { return *keyring_; }
  access::SecureRandom& random() const { return random_; }
  const Clock& clock() const { return clock_; }
  // True if the records of the store can be changed.
  bool can_change() const { return options_.keyring != nullptr; }
  // True for an account beside the default one, a user or a key that the server was given.
  bool IsDeclaredAccount(std::string_view account) const;
  bool IsDeclaredUser(std::string_view account, std::string_view name) const;
  bool IsDeclaredKey(std::string_view id) const;

  // The policy of a table or stream.
  struct ResourcePolicy {
    ResourcePolicyRecord record;
    std::shared_ptr<const access::Policy>
        compiled;  // null: it cannot be read and denies everything
  };
  // False while there never was one.
  bool any_resources() const { return any_resources_.load(std::memory_order_acquire); }
  // Null if there is none.
  std::shared_ptr<const ResourcePolicy> FindResource(std::string_view id) const;
  // Returns the ids of those that did not change from `revision` on.
  std::vector<std::string> ResourcesBefore(int64_t revision) const;
  // Changes one as Change does, with or without a master key: reads and writes that one alone.
  // nullopt: there is none. `owner` returns the account of a table or stream; it is asked if all
  // policies together have more than half of a bound.
  using ChangeResourcePolicy = FunctionRef<Status(std::optional<ResourcePolicyRecord>* record)>;
  using OwnerOf = FunctionRef<std::string(const std::string& id)>;
  Status ChangeResource(const std::string& id, ChangeResourcePolicy change, OwnerOf owner);

  // Changes the records of an account in the store; `change` sees them without the declared ones,
  // and all accounts as they are before the change. When it returns, requests here go by the
  // change, and so do those of other processes. kLimitExceeded beyond the bounds. Reads and writes
  // that account alone. Blocks.
  using ChangeRecords = FunctionRef<Status(access::Records* records)>;
  Status Change(std::string_view account, ChangeRecords change);
  // Takes over what other processes changed. Blocks. To be called every second.
  Status Refresh();

 private:
  Identities(kv::Engine& engine, const Clock& clock, access::SecureRandom& random, Options options,
             std::shared_ptr<const access::Keyring> keyring)
      : engine_(engine),
        clock_(clock),
        random_(random),
        options_(std::move(options)),
        keyring_(std::move(keyring)),
        directories_(keyring_, clock) {}
  // Reads what has changed, and publishes it.
  Status Load();
  Status CheckMasterKey(const StoredContents& stored) const;
  // Makes records of what the server was given, and publishes them.
  Status TakeDeclared();
  // Returns the directory of an account with these stored records; null if there is none.
  Result<std::shared_ptr<const access::Directory>> Build(const std::string& account,
                                                         access::Records stored);
  void Publish(const std::string& account, std::shared_ptr<const access::Directory> next,
               bool deleted) REQUIRES(loading_);
  using ResourcePolicies =
      std::map<std::string, std::shared_ptr<const ResourcePolicy>, std::less<>>;
  void PublishResources(ResourcePolicyRecords records) REQUIRES(loading_);
  void PublishResource(const std::string& id, std::optional<ResourcePolicyRecord> record)
      REQUIRES(loading_);
  std::shared_ptr<const ResourcePolicy> MakeResource(const std::string& id,
                                                     ResourcePolicyRecord record);
  Status CheckBounds(std::string_view account, const access::Holding& after);
  Status CheckResourceBounds(const std::string& id,
                             const std::optional<ResourcePolicyRecord>& record, OwnerOf owner);
  std::string Check();

  kv::Engine& engine_;
  const Clock& clock_;
  access::SecureRandom& random_;
  Options options_;
  const std::shared_ptr<const access::Keyring> keyring_;
  std::map<std::string, access::Records, std::less<>> declared_;  // by account
  std::set<std::string, std::less<>> declared_users_;             // account "/" lower case
  std::set<std::string, std::less<>> declared_keys_;
  access::PolicyCache policies_;
  access::Directories directories_;
  std::atomic<size_t> accounts_{0};
  std::atomic<int64_t> read_ticks_{0};
  std::atomic<bool> any_resources_{false};
  std::atomic<size_t> count_deleted_{0};
  mutable Mutex deleted_mutex_;
  std::set<std::string, std::less<>> deleted_ GUARDED_BY(deleted_mutex_);
  mutable Mutex resources_mutex_;
  ResourcePolicies resources_ GUARDED_BY(resources_mutex_);
  Mutex changing_;  // before loading_
  Mutex loading_;
  uint64_t version_ GUARDED_BY(loading_) = 0;
  bool loaded_ GUARDED_BY(loading_) = false;
  access::Holding held_ GUARDED_BY(loading_);  // by all accounts together
  // By the policies of all resources together.
  size_t resource_text_ GUARDED_BY(loading_) = 0;
  size_t resource_memory_ GUARDED_BY(loading_) = 0;
};

}  // namespace stator::identity
