// Takes snapshots of accounts, and returns to them.
#include "ops/account_snapshots.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "ops/transaction.h"
#include "table/table_name.h"

namespace stator::ops {
namespace {

Error NoSuchSnapshot(const std::string& name) {
  return Error(ErrorCode::kResourceNotFound,
               fmt::format("There is no snapshot {}", Printable(name)));
}

}  // namespace

Result<std::string> AccountSnapshots::AccountOf(std::string_view key_id) const {
  if (key_id.empty() || key_id == environment_.settings.account) return std::string();
  if (isolated_ == nullptr) {
    return ValidationError(fmt::format(
        "Only the default account, {}, has snapshots here: access keys have accounts of "
        "their own with --isolate=access-key",
        environment_.settings.account));
  }
  if (key_id.size() > IsolatedAccounts::kMostKeyBytes) {
    return ValidationError(
        fmt::format("The access key id is longer than {} bytes", IsolatedAccounts::kMostKeyBytes));
  }
  return IsolatedAccounts::AccountOfKey(key_id);
}

AccountSnapshots::View AccountSnapshots::ViewOf(const std::string& name, const Snapshot& snapshot) {
  View view;
  view.name = name;
  view.created_micros = snapshot.created_micros;
  view.tables = snapshot.state->tables();
  view.bytes = snapshot.state->bytes();
  view.given_up = snapshot.state->given_up();
  return view;
}

Status AccountSnapshots::Quietly(const std::string& account, FunctionRef<Status()> work) {
  return account.empty() ? work() : isolated_->WhileQuiet(account, work);
}

AccountSnapshots::SnapshotPtr AccountSnapshots::Find(const std::string& account,
                                                     const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto of_account = accounts_.find(account);
  if (of_account == accounts_.end()) return nullptr;
  const auto found = of_account->second.find(name);
  return found == of_account->second.end() ? nullptr : found->second;
}

Result<AccountSnapshots::View> AccountSnapshots::Take(std::string_view key_id,
                                                      const std::string& name) {
  ASSIGN_OR_RETURN(const std::string account, AccountOf(key_id));
  if (name.empty() || name.size() > kMostNameBytes) {
    return ValidationError(
        fmt::format("The name of a snapshot has from 1 to {} bytes", kMostNameBytes));
  }
  if (!account.empty()) TRY(isolated_->Ensure(key_id));
  const auto snapshot = std::make_shared<Snapshot>();
  SnapshotPtr before;  // goes when nothing is locked
  TRY(Quietly(account, [&]() -> Status {
    {
      const MutexLock lock(mutex_);
      const auto of_account = accounts_.find(account);
      if (of_account != accounts_.end() && !of_account->second.contains(name) &&
          of_account->second.size() >= options_.most_of_account) {
        return Error(ErrorCode::kLimitExceeded,
                     fmt::format("The account has {} snapshots, as many as may be: delete one, or "
                                 "take one under a name that is there",
                                 of_account->second.size()));
      }
    }
    table::SavedState::Options options;
    options.account = account;
    options.account_of_token = &AccountOfToken;
    options.budget = budget_;
    options.most_wait_micros = options_.most_wait_micros;
    ASSIGN_OR_RETURN(snapshot->state,
                     table::SavedState::Take(environment_.store, std::move(options)));
    snapshot->created_micros = environment_.clock.NowMicros();
    const MutexLock lock(mutex_);
    before = std::exchange(accounts_[account][name], snapshot);
    return OkStatus();
  }));
  return ViewOf(name, *snapshot);
}

Result<table::SavedState::Returned> AccountSnapshots::Return(std::string_view key_id,
                                                             const std::string& name) {
  ASSIGN_OR_RETURN(const std::string account, AccountOf(key_id));
  table::SavedState::Returned returned;
  if (Find(account, name) == nullptr) return NoSuchSnapshot(name);
  TRY(Quietly(account, [&]() -> Status {
    const SnapshotPtr snapshot = Find(account, name);
    if (snapshot == nullptr) return NoSuchSnapshot(name);
    if (snapshot->state->given_up()) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("The snapshot {} was given up: all snapshots together keep at most "
                               "{} MB of what was changed since, and on disk a return writes at "
                               "most {} MB. Take it anew",
                               Printable(name), options_.most_bytes >> 20,
                               table::SavedState::kMostWritten >> 20));
    }
    ASSIGN_OR_RETURN(returned, snapshot->state->Return());
    return OkStatus();
  }));
  return returned;
}

Status AccountSnapshots::Forget(std::string_view key_id, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string account, AccountOf(key_id));
  SnapshotPtr gone;
  const MutexLock lock(mutex_);
  const auto of_account = accounts_.find(account);
  if (of_account == accounts_.end()) return NoSuchSnapshot(name);
  const auto found = of_account->second.find(name);
  if (found == of_account->second.end()) return NoSuchSnapshot(name);
  gone = std::move(found->second);
  of_account->second.erase(found);
  if (of_account->second.empty()) accounts_.erase(of_account);
  return OkStatus();
}

void AccountSnapshots::ForgetAll(const std::string& account) {
  ByName gone;
  const MutexLock lock(mutex_);
  const auto of_account = accounts_.find(account);
  if (of_account == accounts_.end()) return;
  gone = std::move(of_account->second);
  accounts_.erase(of_account);
}

Result<std::vector<AccountSnapshots::View>> AccountSnapshots::List(std::string_view key_id) const {
  ASSIGN_OR_RETURN(const std::string account, AccountOf(key_id));
  std::vector<View> views;
  const MutexLock lock(mutex_);
  if (const auto of_account = accounts_.find(account); of_account != accounts_.end()) {
    for (const auto& [name, snapshot] : of_account->second)
      views.push_back(ViewOf(name, *snapshot));
  }
  return views;
}

AccountSnapshots::Totals AccountSnapshots::totals() const {
  Totals totals;
  totals.bytes = budget_->held();
  const MutexLock lock(mutex_);
  for (const auto& [account, snapshots] : accounts_) totals.snapshots += snapshots.size();
  return totals;
}

}  // namespace stator::ops
