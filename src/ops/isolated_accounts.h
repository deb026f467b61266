// Accounts of their own for access keys without verified signatures (--isolate=access-key): made at
// a key's first request, dropped by a call or when they have been idle for long.
//
// Such an account is no record of IAM: it is the account in the names of its tables
// (table/table_name.h), and an entry here while a key of it is known.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/mutex_wait.h"
#include "base/result.h"
#include "base/string_hash.h"
#include "base/unique_function.h"
#include "ops/context.h"

namespace stator::ops {

// Thread-safe.
class IsolatedAccounts {
 public:
  // Bytes of a key id; a longer one is refused.
  static constexpr size_t kMostKeyBytes = 128;

  struct Options {
    size_t most = 5'000;                    // accounts at once
    int64_t idle_micros = 3'600'000'000;    // after which an account is dropped; 0: never
    int64_t most_wait_micros = 10'000'000;  // of Drop, for requests under way and for backups
  };
  struct View {
    std::string account;
    std::string
        key_id;  // empty: the account is of an earlier process, and its key did not come yet
    int64_t created_micros = 0;
    int64_t used_micros = 0;
    size_t running = 0;  // requests under way
  };
  struct Totals {
    size_t accounts = 0;
    uint64_t dropped = 0;  // since the start
    uint64_t refused = 0;  // requests that would have made one account too many
  };

 private:
  struct Entry {
    View view;
    bool closed = false;  // no request begins: it is being dropped, or is to be quiet
    const char* why = "";
  };

 public:
  // A request under way in an account, which is not dropped meanwhile. Empty: in the default one.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)),
          entry_(std::exchange(other.entry_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      if (this == &other) return *this;
      End();
      owner_ = std::exchange(other.owner_, nullptr);
      entry_ = std::exchange(other.entry_, nullptr);
      return *this;
    }
    ~Use() { End(); }
    // Returns the account, as Context::account has it.
    const std::string& account() const;
    void End();

   private:
    friend class IsolatedAccounts;
    Use(IsolatedAccounts* owner, Entry* entry) : owner_(owner), entry_(entry) {}
    IsolatedAccounts* owner_ = nullptr;
    Entry* entry_ = nullptr;
  };

  // The environment must outlive the object.
  IsolatedAccounts(Environment& environment, Options options)
      : environment_(environment), options_(options) {}

  const Options& options() const { return options_; }

  // Returns the number of a key's account: the same on every server. A key id of twelve digits is
  // its account's number.
  static std::string AccountOfKey(std::string_view key_id);

  // Takes over the accounts that an earlier process has left in the store, idle from now on. To be
  // called once, before requests. kValidation if the default account's number is one of theirs.
  Status Adopt();

  // Begins a request of a key, whose account is made if it is the first one. The key of the default
  // account's number is of the default account, and so is an empty key: of a request without a
  // signature. kUnrecognizedClient for a key id that is too long; kLimitExceeded if there are as
  // many accounts as may be, or if another key has the number; kUnavailable while the account is
  // being dropped.
  Result<Use> Enter(std::string_view key_id);

  // Returns at most `most` accounts behind `after`, by number.
  std::vector<View> List(std::string_view after, size_t most) const;
  Totals totals() const;

  // Drops an account with its tables, streams, backups and tokens; returns how many tables it had.
  // Requests of the account are refused meanwhile. kResourceNotFound if there is none;
  // kUnavailable if requests are under way, or backups in use, for longer than most_wait_micros:
  // the account is kept, perhaps without its tables. Blocks.
  Result<size_t> Drop(std::string_view account);
  // Calls `work` while no request of the account runs and none begins; waits for those under way as
  // Drop does. kResourceNotFound if there is no such account; kUnavailable as Drop. Blocks.
  Status WhileQuiet(std::string_view account, FunctionRef<Status()> work);
  // Makes the account of a key unless it is there already. Errors as Enter.
  Status Ensure(std::string_view key_id);
  // Calls `forget` with the number of each account that is dropped. Before requests.
  void OnDrop(std::function<void(const std::string& account)> forget) {
    forget_ = std::move(forget);
  }
  // Drops some of the accounts that were idle for idle_micros, by the product's clock. Returns
  // whether there are more. Blocks.
  bool DropIdle();
  // Ends the waits of Drop. Idempotent.
  void Stop();

 private:
  void Leave(Entry* entry);
  Entry* Find(std::string_view account) REQUIRES(mutex_);
  Entry* Make(std::string account) REQUIRES(mutex_);
  bool IsIdle(const Entry& entry, int64_t now) const;
  // Refuses new requests of the account, and waits for those under way. `why` is the reason, for
  // messages. After an error the account is open again.
  Status Close(Entry* entry, const char* why, UniqueMutexLock& lock) REQUIRES(mutex_);
  // Drops an account and returns the number of its tables. With `idle_only` it does not wait for
  // backups, and returns nullopt if the account is not idle any more.
  Result<std::optional<size_t>> DropIf(std::string_view account, bool idle_only);
  // Deletes all data of an account from the store. Waits for its running backups for at most
  // `most_wait_micros`.
  Result<size_t> Empty(const std::string& account, int64_t most_wait_micros);
  Status DeleteBackups(const std::string& account, int64_t most_wait_micros);
  bool stopped() const;

  Environment& environment_;
  const Options options_;
  std::function<void(const std::string& account)> forget_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Entry, std::less<>> entries_ GUARDED_BY(mutex_);  // by account
  std::unordered_map<std::string, Entry*, StringHash, std::equal_to<>> by_key_ GUARDED_BY(mutex_);
  uint64_t dropped_ GUARDED_BY(mutex_) = 0;
  uint64_t refused_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::ops
