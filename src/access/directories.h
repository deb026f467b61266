// The directories of all accounts as requests see them: each is replaced by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/directory.h"
#include "access/seal.h"
#include "access/verifier.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/string_hash.h"

namespace stator::access {

// Thread-safe; never blocks on I/O. A request goes on with what it found.
class Directories final : public KeySource {
 public:
  // `clock` must outlive the object.
  Directories(std::shared_ptr<const Keyring> keyring, const Clock& clock)
      : keyring_(std::move(keyring)), clock_(clock) {}

  KeyLookup Find(std::string_view key_id, std::string_view token) const override;
  // Returns the directory of an account; null if there is no such account.
  std::shared_ptr<const Directory> Of(std::string_view account) const;
  // Returns those of all accounts, in no order.
  std::vector<std::shared_ptr<const Directory>> All() const;

  // Replaces the directory of an account; null: the account was deleted. Must be called by one
  // thread at a time. The change is not atomic: while it runs, Find may return the old state of
  // some keys and the new state of others.
  void Replace(const std::string& account, std::shared_ptr<const Directory> next);

 private:
  struct Slot {
    std::shared_ptr<const Directory> directory;  // null: there is no such account any more
    uint64_t generation = 0;                     // rises with every change of the account
  };
  struct Key {
    bool active = false;
    std::shared_ptr<const AccessCredential> credential;
  };
  // A session token that was decrypted. It may be used again while its account does not change.
  struct OpenedToken {
    std::string key_id;
    int64_t expires_micros = 0;
    std::shared_ptr<const AccessCredential> credential;
    const Slot* slot = nullptr;
    uint64_t generation = 0;
  };
  template <typename T>
  using ByText = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

  static constexpr size_t kMaxOpenedTokens = 4096;

  KeyLookup FindSession(std::string_view key_id, std::string_view token) const;

  const std::shared_ptr<const Keyring> keyring_;
  const Clock& clock_;
  mutable Mutex mutex_;
  ByText<Slot> accounts_ GUARDED_BY(mutex_);  // slots stay
  ByText<Key> keys_ GUARDED_BY(mutex_);       // of all accounts
  // Two generations, as in DerivedKeys. Only tokens that the master key sealed get here.
  mutable ByText<OpenedToken> young_ GUARDED_BY(mutex_);
  mutable ByText<OpenedToken> old_ GUARDED_BY(mutex_);
};

}  // namespace stator::access
