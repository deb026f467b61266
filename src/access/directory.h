// The records of one account, ready for requests: policies are compiled, secrets unsealed. A change
// of the account makes a new directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/caller.h"
#include "access/identity.h"
#include "access/policy_cache.h"
#include "access/seal.h"
#include "access/session.h"
#include "access/verifier.h"
#include "base/string_hash.h"

namespace stator::access {

// Those of one account; or of several, where it is said.
struct Records {
  std::vector<Account> accounts;  // of one account: its own, or none
  std::vector<User> users;
  std::vector<Group> groups;
  std::vector<Role> roles;
  std::vector<AccessKey> keys;
  std::vector<ManagedPolicy> policies;
  std::vector<OidcProvider> providers;
};

// The memory of a server that an account takes.
struct Holding {
  size_t policy_text = 0;    // bytes of all policies as they were sent, in all versions
  size_t policy_memory = 0;  // bytes of the policies in force once they are compiled
  size_t records = 0;        // bytes of identities and keys, without policies
  Holding& operator+=(const Holding& other) {
    policy_text += other.policy_text;
    policy_memory += other.policy_memory;
    records += other.records;
    return *this;
  }
  Holding& operator-=(const Holding& other) {
    policy_text -= other.policy_text;
    policy_memory -= other.policy_memory;
    records -= other.records;
    return *this;
  }
  friend bool operator==(const Holding&, const Holding&) = default;
};

// Returns what seals the secret of a key, for Keyring::Seal.
std::string SecretPurpose(std::string_view key_id);
std::shared_ptr<const AccessCredential> MakeCredential(std::string secret,
                                                       std::shared_ptr<const Caller> caller);

// Immutable; thread-safe; never blocks on I/O.
class Directory final {
 public:
  struct Key {
    std::string_view id;
    bool active = false;
    std::shared_ptr<const AccessCredential> credential;
  };

  // The records must be those of `account`. Records that cannot be used do not fail the whole: a
  // key whose secret cannot be unsealed is unknown, a policy that cannot be read denies everything
  // to whom it is attached; problems() names both. `policies` compiles; it is not kept.
  Directory(std::string account, Records records, const Keyring& keyring, PolicyCache& policies);

  // Names are compared without regard to case. nullptr if there is none.
  const User* FindUser(std::string_view name) const;
  const Group* FindGroup(std::string_view name) const;
  const Role* FindRole(std::string_view name) const;
  // Returns the compiled trust policy of a role; nullptr if it cannot be read.
  std::shared_ptr<const Policy> TrustPolicyOf(const Role& role) const;
  // Returns the policy in force of an ARN, built-in ones too; nullptr if there is none.
  std::shared_ptr<const Policy> FindPolicy(std::string_view arn) const;
  // Returns the principal of a session of this account; nullptr if its issuer is gone or its
  // sessions are revoked.
  std::shared_ptr<const Caller> CallerOf(const Session& session) const;
  // Returns the principal of a user, or with `user` empty of the account's root; nullptr if there
  // is none.
  std::shared_ptr<const Caller> CallerOf(std::string_view user) const;

  const std::string& account() const { return account_; }
  const Records& records() const { return records_; }
  // The keys that can be used.
  const std::vector<Key>& keys() const { return keys_; }
  const Holding& holding() const { return holding_; }
  // Returns the records that could not be used, in words for a log.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  using PolicyPtr = std::shared_ptr<const Policy>;
  struct UserEntry {
    const User* user = nullptr;
    std::shared_ptr<const Caller> caller;
  };
  struct GroupEntry {
    const Group* group = nullptr;
    std::vector<PolicyPtr> policies;  // inline ones
  };
  struct RoleEntry {
    const Role* role = nullptr;
    std::vector<PolicyPtr> policies;
    PolicyPtr trust;
  };
  template <typename T>
  using ByName = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

  class Builder;

  void AddAttached(const Identity& identity, Caller* caller) const;
  void SetBoundary(const Identity& identity, Caller* caller) const;
  std::shared_ptr<const Caller> MakeUser(const User& user, std::vector<PolicyPtr> own) const;
  const RoleEntry* EntryOf(std::string_view role) const;

  const std::string account_;
  const Records records_;
  std::vector<std::string> problems_;
  Holding holding_;
  ByName<PolicyPtr> managed_;  // by ARN, without built-in ones
  ByName<UserEntry> users_;    // by name in lower case, as the next ones
  ByName<GroupEntry> groups_;
  ByName<RoleEntry> roles_;
  std::shared_ptr<const Caller> root_;
  std::vector<Key> keys_;
};

}  // namespace stator::access
