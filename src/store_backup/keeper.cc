#include "store_backup/keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "base/time_text.h"

namespace stator::store_backup {
namespace {

// After a failure the next attempt of a schedule comes no later.
constexpr int64_t kRetryMicros = 60'000'000;

}  // namespace

Summary SummaryOf(const Backup& backup) {
  return {backup.id,      backup.as_of_micros, backup.until_micros, backup.files.size(),
          backup.bytes(), backup.new_files,    backup.new_bytes,    backup.key_id};
}

Keeper::Keeper(kv::Engine& engine, const Clock& clock, KeeperOptions options)
    : engine_(engine), clock_(clock), options_(std::move(options)) {}

void Keeper::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Keeper::Stop() {
  stop_ = true;
  {
    const MutexLock lock(mutex_);
    wake_.notify_all();
  }
  options_.place->Cancel();
  if (thread_.joinable()) thread_.join();
}

bool Keeper::Begin() {
  const MutexLock lock(mutex_);
  if (wanted_ || running_) return false;
  wanted_ = true;
  wake_.notify_all();
  return true;
}

std::optional<int64_t> Keeper::NextMicros() const {
  if (options_.every_micros == 0 || !learned_) return std::nullopt;
  int64_t next = 0;
  // A backup of the future, which a manual clock may have left, puts nothing off.
  if (view_.last && view_.last->as_of_micros <= clock_.NowMicros())
    next = view_.last->as_of_micros + options_.every_micros;
  if (view_.failure)
    next = std::max(next, tried_micros_ + std::min(options_.every_micros, kRetryMicros));
  return next;
}

bool Keeper::Look() {
  const MutexLock lock(mutex_);
  if (stop_) return false;
  if (wanted_ || running_) return true;
  if (options_.every_micros > 0 && !learned_) return true;
  const std::optional<int64_t> next = NextMicros();
  if (!next || *next > clock_.NowMicros()) return false;
  wanted_ = true;
  wake_.notify_all();
  return true;
}

Keeper::View Keeper::view() const {
  const MutexLock lock(mutex_);
  View view = view_;
  view.running = running_ || wanted_;
  view.total_bytes = total_bytes_.load(std::memory_order_relaxed);
  view.done_bytes = done_bytes_.load(std::memory_order_relaxed);
  view.next_micros = NextMicros();
  return view;
}

Result<std::vector<Summary>> Keeper::List(std::vector<std::string>* damaged) {
  if (listing_.exchange(true)) {
    return Error(ErrorCode::kUnavailable,
                 "The backups of the store are being listed for another caller: try again.");
  }
  const struct Ending {  // also if it runs out of memory
    std::atomic<bool>& listing;
    ~Ending() { listing = false; }
  } ending{listing_};
  std::vector<Summary> list;
  TRY(VisitBackups(*options_.place, kMostListed, damaged,
                   [&](const Backup& each) { list.push_back(SummaryOf(each)); }));
  return list;
}

void Keeper::Fail(const std::string& what, const Error& error) {
  const std::string text = fmt::format("{}: {}", what, error.message());
  LogWarn("store_backup_failed", {{"error", text}});
  {
    const MutexLock lock(mutex_);
    view_.failure = text;
    view_.failure_micros = clock_.NowMicros();
    tried_micros_ = view_.failure_micros;
    ++view_.failed;
  }
  if (options_.tell) options_.tell("store_backup_failed", text);
}

void Keeper::LearnLast() {
  const Result<Backup> newest = NewestBackup(*options_.place);
  if (newest.ok()) {
    const MutexLock lock(mutex_);
    view_.last = SummaryOf(*newest);
  } else if (newest.error().code() != ErrorCode::kResourceNotFound && !stop_) {
    Fail("The place of the store's backups cannot be read", newest.error());
  }
  const MutexLock lock(mutex_);
  learned_ = true;
}

void Keeper::Make() {
  total_bytes_ = 0;
  done_bytes_ = 0;
  const SystemClock machine;
  const int64_t began = machine.TicksMicros();
  MakeOptions options;
  options.version = options_.version;
  options.key_id = options_.key_id;
  options.flow.bytes_per_second = options_.bytes_per_second;
  options.flow.stop = &stop_;
  options.flow.moved = [this](uint64_t bytes) { done_bytes_ += bytes; };
  options.total = [this](uint64_t bytes) { total_bytes_ = bytes; };
  const Result<Backup> made =
      MakeBackup(engine_, options_.data_dir, *options_.place, clock_, options);
  if (!made.ok()) {
    leavings_ = true;
    return Fail("The backup of the store failed", made.error());
  }
  const double seconds = static_cast<double>(machine.TicksMicros() - began) / 1e6;
  const Summary summary = SummaryOf(*made);
  LogInfo("store_backup", {{"id", summary.id},
                           {"place", options_.place->name()},
                           {"bytes", summary.bytes},
                           {"new_bytes", summary.new_bytes},
                           {"new_files", summary.new_files},
                           {"seconds", seconds}});
  {
    const MutexLock lock(mutex_);
    view_.last = summary;
    view_.last_seconds = seconds;
    view_.failure.reset();
    ++view_.made;
  }
  if (options_.tell) {
    options_.tell("store_backup",
                  fmt::format("The backup {} of the store was made: as of {}, {} bytes, {} of them "
                              "new",
                              summary.id, FormatTime(summary.as_of_micros), summary.bytes,
                              summary.new_bytes));
  }
  // The backup is there whatever becomes of the old ones.
  if (stop_ || (options_.keep == 0 && !leavings_)) return;
  if (const Status begun = options_.place->Begin(); !begun.ok())
    return Fail("Old backups of the store were not removed", begun.error());
  const Result<Removed> removed = RemoveOld(*options_.place, options_.keep);
  options_.place->End();
  if (!removed.ok()) return Fail("Old backups of the store were not removed", removed.error());
  leavings_ = false;
  if (removed->backups + removed->objects > 0) {
    LogInfo(
        "store_backups_removed",
        {{"backups", removed->backups}, {"objects", removed->objects}, {"bytes", removed->bytes}});
  }
}

void Keeper::Run() {
  LearnLast();
  UniqueMutexLock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this]() REQUIRES(mutex_) { return stop_ || wanted_; });
    if (stop_) return;
    wanted_ = false;
    running_ = true;
    lock.unlock();
    Make();
    lock.lock();
    running_ = false;
  }
}

}  // namespace stator::store_backup
