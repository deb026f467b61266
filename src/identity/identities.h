// The identities of a server: those that it is given when it starts, and those of its store.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/directory.h"
#include "access/seal.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "identity/declared.h"
#include "identity/identity_store.h"
#include "identity/live_directory.h"
#include "kv/engine.h"

namespace stator::identity {

// Resolves keys from both, and changes those of the store. Thread-safe.
class Identities final : public access::KeySource {
 public:
  // A shared store whose records were not read for this time serves no key.
  static constexpr int64_t kStaleMicros = 5'000'000;

  struct Options {
    std::string account;
    std::optional<KeyPair> root;
    std::vector<DeclaredUser> users;
    // Seals what is stored. Null: the store's records cannot be changed, and there must be none.
    std::shared_ptr<const access::Keyring> keyring;
    bool shared = false;  // other processes may change the store
    // Bytes of all stored policies together, as sent: those of users, groups and roles, managed
    // ones in all versions, and those of tables and streams.
    size_t most_policy_bytes = 64 << 20;
    // Makes the store safe for records of access control, before the first of them.
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
    return live_.Find(key_id, token);
  }
  std::shared_ptr<const access::Directory> snapshot() const { return live_.snapshot(); }
  // OK, or kUnavailable if what other processes changed is not known any more.
  Status Fresh() const;

  const std::string& account() const { return options_.account; }
  const access::Keyring& keyring() const { return *keyring_; }
  access::SecureRandom& random() const { return random_; }
  const Clock& clock() const { return clock_; }
  // True if the records of the store can be changed.
  bool can_change() const { return options_.keyring != nullptr; }
  // True for a user of the default account, or a key, that the server was given.
  bool IsDeclaredUser(std::string_view name) const;
  bool IsDeclaredKey(std::string_view id) const;

  // The policies of tables and streams.
  struct ResourcePolicy {
    ResourcePolicyRecord record;
    std::shared_ptr<const access::Policy>
        compiled;  // null: it cannot be read and denies everything
  };
  using ResourcePolicies = std::map<std::string, ResourcePolicy, std::less<>>;
  // Null while there is none.
  std::shared_ptr<const ResourcePolicies> resource_policies() const {
    if (!any_resources_.load(std::memory_order_acquire)) return nullptr;
    const MutexLock lock(resources_mutex_);
    return resources_;
  }
  // Changes them as Change does, with or without a master key.
  using ChangeResourcePolicies = FunctionRef<Status(ResourcePolicyRecords* records)>;
  Status ChangeResources(ChangeResourcePolicies change);

  // Changes the records of the store; `change` sees them without the declared ones. When it
  // returns, requests here go by the change, and so do those of other processes. kLimitExceeded if
  // the policies would grow beyond Options::most_policy_bytes. Blocks.
  using ChangeRecords = FunctionRef<Status(access::Records* records)>;
  Status Change(ChangeRecords change);
  // Takes over what other processes changed. Blocks. To be called every second.
  Status Refresh();

 private:
  Identities(kv::Engine& engine, const Clock& clock, access::SecureRandom& random, Options options)
      : engine_(engine), clock_(clock), random_(random), options_(std::move(options)) {}
  // Reads and publishes.
  Status Load();
  Status CheckMasterKey(const StoredContents& stored) const;
  void PublishResources(const ResourcePolicyRecords& records);
  Status ChangeContents(identity::ChangeContents change);

  kv::Engine& engine_;
  const Clock& clock_;
  access::SecureRandom& random_;
  const Options options_;
  std::shared_ptr<const access::Keyring> keyring_;
  access::Records declared_;
  LiveDirectory live_{nullptr};
  std::atomic<int64_t> read_ticks_{0};
  std::atomic<bool> any_resources_{false};
  mutable Mutex resources_mutex_;
  std::shared_ptr<const ResourcePolicies> resources_ GUARDED_BY(resources_mutex_);
  Mutex loading_;
  uint64_t version_ GUARDED_BY(loading_) = 0;
  bool loaded_ GUARDED_BY(loading_) = false;
};

}  // namespace stator::identity
