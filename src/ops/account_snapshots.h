// Snapshots of accounts: states of their tables under a name, to which a call returns (docs:
// parallel-tests.md). Of isolated accounts (isolated_accounts.h) and of the default account; not on
// a pool. The process forgets them at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "ops/context.h"
#include "ops/isolated_accounts.h"
#include "table/saved_state.h"

namespace stator::ops {

// Thread-safe.
class AccountSnapshots {
 public:
  // Bytes of a snapshot's name.
  static constexpr size_t kMostNameBytes = 128;

  struct Options {
    size_t most_of_account = 16;
    size_t most_bytes = 256 << 20;          // of what all snapshots keep in memory
    int64_t most_wait_micros = 10'000'000;  // for writes under way
  };
  struct View {
    std::string name;
    int64_t created_micros = 0;
    size_t tables = 0;
    size_t bytes = 0;
    bool given_up = false;
  };
  struct Totals {
    size_t snapshots = 0;
    size_t bytes = 0;
  };

  // `isolated`: null: there is the default account alone. All must outlive the object.
  AccountSnapshots(Environment& environment, IsolatedAccounts* isolated, Options options)
      : environment_(environment),
        isolated_(isolated),
        options_(options),
        budget_(std::make_shared<table::SavedState::Budget>(options.most_bytes)) {}

  const Options& options() const { return options_; }

  // Returns an account, as Context::account has it, of an access key or a number; kValidation for
  // any but the default's without isolated accounts.
  Result<std::string> AccountOf(std::string_view key_id) const;

  // Remembers the account's state under a name, in place of an earlier one of this name. The
  // account of a key that has none yet is made, and is empty. Requests of an isolated account end
  // first, or are refused (kUnavailable); in the default account writes go on. kLimitExceeded if
  // there are as many as may be; else as table::SavedState::Take. Blocks.
  Result<View> Take(std::string_view key_id, const std::string& name);
  // Returns to a state. kResourceNotFound without a snapshot of the name; kUnavailable if it was
  // given up, or with an overload as Take. Blocks.
  Result<table::SavedState::Returned> Return(std::string_view key_id, const std::string& name);
  // Forgets a snapshot; kResourceNotFound if there is none.
  Status Forget(std::string_view key_id, const std::string& name);
  // Forgets all snapshots of an account, which is one of isolated accounts.
  void ForgetAll(const std::string& account);
  Result<std::vector<View>> List(std::string_view key_id) const;
  Totals totals() const;

 private:
  struct Snapshot {
    int64_t created_micros = 0;
    std::unique_ptr<table::SavedState> state;
  };
  using SnapshotPtr = std::shared_ptr<Snapshot>;
  using ByName = std::map<std::string, SnapshotPtr, std::less<>>;

  static View ViewOf(const std::string& name, const Snapshot& snapshot);
  // Calls `work` while the account is quiet, if it is an isolated one.
  Status Quietly(const std::string& account, FunctionRef<Status()> work);
  // Returns the account's snapshot, or null.
  SnapshotPtr Find(const std::string& account, const std::string& name) const;

  Environment& environment_;
  IsolatedAccounts* const isolated_;
  const Options options_;
  const std::shared_ptr<table::SavedState::Budget> budget_;
  mutable Mutex mutex_;
  std::map<std::string, ByName, std::less<>> accounts_ GUARDED_BY(mutex_);  // none is empty
};

}  // namespace stator::ops
