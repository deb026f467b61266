// A snapshot of all records of access control, ready for requests: policies are compiled, secrets
// unsealed. A change makes a new snapshot.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/caller.h"
#include "access/identity.h"
#include "access/seal.h"
#include "access/session.h"
#include "access/verifier.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/string_hash.h"

namespace stator::access {

struct Records {
  std::vector<Account> accounts;
  std::vector<User> users;
  std::vector<Group> groups;
  std::vector<Role> roles;
  std::vector<AccessKey> keys;
  std::vector<ManagedPolicy> policies;
  std::vector<OidcProvider> providers;
};

// Returns what seals the secret of a key, for Keyring::Seal.
std::string SecretPurpose(std::string_view key_id);

// Immutable but for a bounded cache of opened session tokens. Thread-safe; never blocks on I/O.
class Directory final : public KeySource {
 public:
  // `clock` must outlive the directory. Records that cannot be used do not fail the whole: a key
  // whose secret cannot be unsealed is unknown, a policy that cannot be read denies everything to
  // whom it is attached; problems() names both.
  // Policies with the text of one that `before` has share what was compiled for it; null: there is
  // no such directory.
  Directory(Records records, std::shared_ptr<const Keyring> keyring, const Clock& clock,
            const Directory* before = nullptr);

  KeyLookup Find(std::string_view key_id, std::string_view token) const override;

  // Names are compared without regard to case. nullptr if there is none.
  const User* FindUser(std::string_view account, std::string_view name) const;
  const Group* FindGroup(std::string_view account, std::string_view name) const;
  const Role* FindRole(std::string_view account, std::string_view name) const;
  // Returns the compiled trust policy of a role; nullptr if it cannot be read.
  std::shared_ptr<const Policy> TrustPolicyOf(const Role& role) const;
  // Returns the policy in force of an ARN, built-in ones too; nullptr if there is none.
  std::shared_ptr<const Policy> FindPolicy(std::string_view arn) const;
  // Returns the principal of a session; nullptr if its issuer is gone or its sessions are revoked.
  std::shared_ptr<const Caller> CallerOf(const Session& session) const;
  // Returns the principal of a user, or with `user` empty of an account's root; nullptr if there is
  // none.
  std::shared_ptr<const Caller> CallerOf(std::string_view account, std::string_view user) const;

  const Records& records() const { return records_; }
  // Returns the records that could not be used, in words for a log.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Key {
    bool active = false;
    std::shared_ptr<const AccessCredential> credential;
  };
  // A token that was opened.
  struct OpenedToken {
    std::string key_id;
    int64_t expires_micros = 0;
    std::shared_ptr<const AccessCredential> credential;
  };
  template <typename T>
  using ByText = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

  static constexpr size_t kMaxOpenedTokens = 4096;

  // `document` is part of records_, or static.
  std::shared_ptr<const Policy> Compile(std::string_view document, PolicyKind kind,
                                        std::string name, const Directory* before);
  void CompilePolicies(const Directory* before);
  void AddPoliciesOf(const Identity& identity, Caller* caller) const;
  void SetBoundary(const Identity& identity, Caller* caller) const;
  std::shared_ptr<const Caller> MakeUser(const User& user) const;
  KeyLookup FindSession(std::string_view key_id, std::string_view token) const;

  const Records records_;
  const std::shared_ptr<const Keyring> keyring_;
  const Clock& clock_;
  std::vector<std::string> problems_;
  // By document, and by PolicyKind. Thousands of users with one policy share it, and a change of
  // one policy does not compile the others again.
  std::unordered_map<std::string_view, std::shared_ptr<const Policy>> compiled_[3];
  ByText<std::shared_ptr<const Policy>> managed_;              // by ARN
  ByText<std::vector<std::shared_ptr<const Policy>>> inline_;  // by id of user, group or role
  ByText<std::shared_ptr<const Policy>> trust_;                // by id of role
  ByText<const User*> users_;                                  // by "account/lower-case name"
  ByText<const Group*> groups_;
  ByText<const Role*> roles_;
  ByText<std::shared_ptr<const Caller>> callers_;  // of users by id, of root by account
  ByText<Key> keys_;

  mutable Mutex mutex_;
  // Two generations, as in DerivedKeys. Only tokens that the master key sealed get here.
  mutable ByText<OpenedToken> young_ GUARDED_BY(mutex_);
  mutable ByText<OpenedToken> old_ GUARDED_BY(mutex_);
};

}  // namespace stator::access
