// Makes, counts and drops accounts of access keys.
#include "ops/isolated_accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "access/crypto.h"
#include "base/log.h"
#include "base/memory_account.h"
#include "base/printable.h"
#include "base/pump.h"
#include "ops/transaction.h"
#include "table/forget_tokens.h"
#include "table/store.h"
#include "table/table_name.h"
#include "transfer/backups.h"

namespace stator::ops {
namespace {

// Accounts that one call of DropIdle drops: a fraction of a second.
constexpr size_t kDropsAtOnce = 16;
constexpr auto kPoll = std::chrono::milliseconds(5);

bool IsNumber(std::string_view text) {
  return text.size() == table::kAccountDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Error Overload(std::string message) {
  return Error(ErrorCode::kUnavailable, std::move(message), std::make_shared<OverloadPayload>());
}

// Runs start(done), where done takes a Status on any thread, and waits for it.
template <typename Start>
Status Await(Start start) {
  Pump pump;
  std::optional<Status> outcome;
  start([&](Status status) {
    pump.Post([&outcome, status = std::move(status)]() mutable { outcome = std::move(status); });
  });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return *std::move(outcome);
}

// Drops all at once, and waits for them.
Status DropTables(table::Store& store, const std::vector<table::TablePtr>& tables) {
  Pump pump;
  size_t left = tables.size();
  Status outcome;
  for (const table::TablePtr& table : tables) {
    store.Drop(
        table->descriptor.name, [](const table::TableDescriptor&) { return OkStatus(); },
        [&pump, &left, &outcome](Result<table::TablePtr> dropped) {
          const bool gone = dropped.ok() || dropped.error().code() == ErrorCode::kResourceNotFound;
          Status status = gone ? OkStatus() : Status(dropped.error());
          pump.Post([&left, &outcome, status = std::move(status)]() mutable {
            --left;
            if (outcome.ok()) outcome = std::move(status);
          });
        });
  }
  pump.RunUntil([&left] { return left == 0; });
  return outcome;
}

}  // namespace

const std::string& IsolatedAccounts::Use::account() const {
  static const std::string kDefault;
  return entry_ == nullptr ? kDefault : entry_->view.account;
}

void IsolatedAccounts::Use::End() {
  if (entry_ == nullptr) return;
  owner_->Leave(std::exchange(entry_, nullptr));
}

std::string IsolatedAccounts::AccountOfKey(std::string_view key_id) {
  if (IsNumber(key_id)) return std::string(key_id);
  constexpr uint64_t kNumbers = 1'000'000'000'000;
  const access::Digest digest = access::Sha256(key_id);
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof bits; ++i) bits = bits << 8 | digest[i];
  return fmt::format("{:012}", bits % kNumbers);
}

Status IsolatedAccounts::Adopt() {
  std::set<std::string> found;
  const auto note = [&found](std::string_view store_name) {
    if (table::IsOfOtherAccount(store_name)) found.emplace(table::AccountIn(store_name));
  };
  for (const table::TablePtr& table : environment_.store.List()) note(table->descriptor.name);
  for (const stream::StreamPtr& stream : environment_.store.ListStreams()) note(stream->table_name);
  if (environment_.backups != nullptr) {
    for (const transfer::BackupPtr& backup : environment_.backups->List())
      note(backup->manifest.table.name);
  }
  if (found.contains(environment_.settings.account)) {
    return ValidationError(
        fmt::format("--account={} is the account of an access key, which has tables in this store: "
                    "start with another account",
                    environment_.settings.account));
  }
  const MutexLock lock(mutex_);
  for (const std::string& account : found) Make(account);
  return OkStatus();
}

IsolatedAccounts::Entry* IsolatedAccounts::Find(std::string_view account) {
  const auto found = entries_.find(account);
  return found == entries_.end() ? nullptr : &found->second;
}

IsolatedAccounts::Entry* IsolatedAccounts::Make(std::string account) {
  Entry& entry = entries_[account];
  entry.view.account = std::move(account);
  entry.view.created_micros = entry.view.used_micros = environment_.clock.NowMicros();
  return &entry;
}

Result<IsolatedAccounts::Use> IsolatedAccounts::Enter(std::string_view key_id) {
  if (key_id.empty() || key_id == environment_.settings.account) return Use();
  if (key_id.size() > kMostKeyBytes) {
    return Error(ErrorCode::kUnrecognizedClient,
                 fmt::format("The access key id is longer than {} bytes", kMostKeyBytes));
  }
  const int64_t now = environment_.clock.NowMicros();
  const MutexLock lock(mutex_);
  Entry* entry = nullptr;
  if (const auto found = by_key_.find(key_id); found != by_key_.end()) {
    entry = found->second;
  } else {
    std::string account = AccountOfKey(key_id);
    entry = Find(account);
    // Two of 5,000 keys have one number by chance on one of 80,000 servers.
    if (account == environment_.settings.account ||
        (entry != nullptr && !entry->view.key_id.empty())) {
      return Error(
          ErrorCode::kLimitExceeded,
          fmt::format("The access key {} would have the account {}, which is another's: use "
                      "another access key",
                      Printable(key_id), account));
    }
    if (entry == nullptr && entries_.size() >= options_.most) {
      ++refused_;
      return Error(
          ErrorCode::kLimitExceeded,
          fmt::format("There are {} isolated accounts, as many as --isolate-accounts allows: drop "
                      "one with DELETE /_stator/accounts/KEY, or wait until one has been idle for "
                      "the time of --isolate-idle",
                      entries_.size()));
    }
    if (entry == nullptr) entry = Make(std::move(account));
    entry->view.key_id = key_id;
    by_key_.emplace(key_id, entry);
  }
  if (entry->closed) {
    return Overload(
        fmt::format("The account {} is being {}: try again", entry->view.account, entry->why));
  }
  ++entry->view.running;
  entry->view.used_micros = now;
  return Use(this, entry);
}

void IsolatedAccounts::Leave(Entry* entry) {
  const int64_t now = environment_.clock.NowMicros();
  const MutexLock lock(mutex_);
  entry->view.used_micros = std::max(entry->view.used_micros, now);
  if (--entry->view.running == 0 && entry->closed) wake_.notify_all();
}

std::vector<IsolatedAccounts::View> IsolatedAccounts::List(std::string_view after,
                                                           size_t most) const {
  const MutexLock lock(mutex_);
  std::vector<View> views;
  views.reserve(std::min(most, entries_.size()));
  for (auto at = entries_.upper_bound(after); at != entries_.end() && views.size() < most; ++at)
    views.push_back(at->second.view);
  return views;
}

IsolatedAccounts::Totals IsolatedAccounts::totals() const {
  const MutexLock lock(mutex_);
  return {entries_.size(), dropped_, refused_};
}

Result<size_t> IsolatedAccounts::Drop(std::string_view account) {
  ASSIGN_OR_RETURN(const std::optional<size_t> tables, DropIf(account, /*idle_only=*/false));
  return *tables;
}

bool IsolatedAccounts::IsIdle(const Entry& entry, int64_t now) const {
  return !entry.closed && entry.view.running == 0 &&
         now - entry.view.used_micros >= options_.idle_micros;
}

Status IsolatedAccounts::Close(Entry* entry, const char* why, UniqueMutexLock& lock) {
  if (entry->closed) {
    return Overload(
        fmt::format("The account {} is being {} already", entry->view.account, entry->why));
  }
  entry->closed = true;
  entry->why = why;
  const auto quiet = [this, entry]()
                         REQUIRES(mutex_) { return entry->view.running == 0 || stopped_; };
  wake_.wait_for(lock, std::chrono::microseconds(options_.most_wait_micros), quiet);
  if (entry->view.running == 0) return OkStatus();
  entry->closed = false;
  return Overload(fmt::format("The account {} has {} requests under way: try again",
                              entry->view.account, entry->view.running));
}

Status IsolatedAccounts::WhileQuiet(std::string_view account, FunctionRef<Status()> work) {
  const int64_t now = environment_.clock.NowMicros();
  Entry* entry = nullptr;
  {
    UniqueMutexLock lock(mutex_);
    entry = Find(account);
    if (entry == nullptr) {
      return Error(ErrorCode::kResourceNotFound,
                   fmt::format("There is no isolated account {}", Printable(account)));
    }
    TRY(Close(entry, "saved or restored", lock));
  }
  Status done = work();
  const MutexLock lock(mutex_);
  entry->closed = false;
  entry->view.used_micros = std::max(entry->view.used_micros, now);
  return done;
}

Status IsolatedAccounts::Ensure(std::string_view key_id) {
  {
    const MutexLock lock(mutex_);
    if (Find(AccountOfKey(key_id)) != nullptr) return OkStatus();
  }
  const Result<Use> use = Enter(key_id);
  return use.ok() ? OkStatus() : Status(use.error());
}

Result<std::optional<size_t>> IsolatedAccounts::DropIf(std::string_view account, bool idle_only) {
  const int64_t now = environment_.clock.NowMicros();
  Entry* entry = nullptr;
  {
    UniqueMutexLock lock(mutex_);
    entry = Find(account);
    if (idle_only && (entry == nullptr || !IsIdle(*entry, now))) return std::optional<size_t>();
    if (entry == nullptr) {
      return Error(ErrorCode::kResourceNotFound,
                   fmt::format("There is no isolated account {}", Printable(account)));
    }
    TRY(Close(entry, "dropped", lock));
  }
  // The entry stays while it is closed: this thread alone erases it.
  const std::string name = entry->view.account;
  const Result<size_t> tables = Empty(name, idle_only ? 0 : options_.most_wait_micros);
  if (tables.ok() && forget_) forget_(name);
  const MutexLock lock(mutex_);
  entry->closed = false;
  if (!tables.ok()) return tables.error();
  ++dropped_;
  if (!entry->view.key_id.empty()) by_key_.erase(entry->view.key_id);
  entries_.erase(name);
  return std::optional<size_t>(*tables);
}

bool IsolatedAccounts::DropIdle() {
  if (options_.idle_micros == 0) return false;
  const int64_t now = environment_.clock.NowMicros();
  std::vector<std::string> idle;
  bool more = false;
  {
    const MutexLock lock(mutex_);
    for (auto& [account, entry] : entries_) {
      // A date in the future is from before the machine's date was set back.
      if (entry.view.used_micros > now) entry.view.used_micros = now;
      if (!IsIdle(entry, now)) continue;
      more = idle.size() == kDropsAtOnce;
      if (more) break;
      idle.push_back(account);
    }
  }
  for (const std::string& account : idle) {
    const Result<std::optional<size_t>> dropped = DropIf(account, /*idle_only=*/true);
    if (dropped.ok()) {
      if (*dropped)
        LogInfo("isolated_account_dropped", {{"account", account}, {"tables", **dropped}});
      continue;
    }
    more = false;  // a store that refuses is asked again in a minute
    LogWarn("isolated_account_not_dropped",
            {{"account", account}, {"error", dropped.error().message()}});
  }
  return more;
}

Result<size_t> IsolatedAccounts::Empty(const std::string& account, int64_t most_wait_micros) {
  table::Store& store = environment_.store;
  const std::vector<table::TablePtr> tables = store.ListOf(account);
  TRY(DropTables(store, tables));
  for (const stream::StreamPtr& stream : store.ListStreamsOf(account)) {
    if (stream->enabled()) continue;
    TRY(Await([&](auto done) { store.RemoveStream(stream, done); }));
  }
  // Tables first: one that is being restored uses a backup, until it is gone.
  TRY(DeleteBackups(account, most_wait_micros));
  TRY(table::ForgetTokens(store, TokenPrefixOf(account)));
  return tables.size();
}

Status IsolatedAccounts::DeleteBackups(const std::string& account, int64_t most_wait_micros) {
  transfer::Backups* const backups = environment_.backups;
  if (backups == nullptr) return OkStatus();
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    bool in_use = false;
    for (const transfer::BackupPtr& backup : backups->List()) {
      if (table::AccountIn(backup->manifest.table.name) != account) continue;
      const Result<transfer::BackupPtr> deleted = backups->Delete(backup->manifest.id);
      if (deleted.ok() || deleted.error().code() == ErrorCode::kResourceNotFound) continue;
      if (deleted.error().code() != ErrorCode::kResourceInUse) return deleted.error();
      in_use = true;
    }
    if (!in_use) return OkStatus();
    if (stopped() ||
        std::chrono::steady_clock::now() - start >= std::chrono::microseconds(most_wait_micros)) {
      return Overload(fmt::format(
          "The account {} has backups that are being made or used: try again", account));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void IsolatedAccounts::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

bool IsolatedAccounts::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace stator::ops
