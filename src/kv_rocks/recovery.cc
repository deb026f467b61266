#include "kv_rocks/recovery.h"

#include <fmt/format.h>
#include <rocksdb/convenience.h>

#include <system_error>
#include <utility>

namespace stator::kv_rocks {
namespace {

constexpr int64_t kIntervalMicros = 100'000;
constexpr auto kMostWait = std::chrono::milliseconds(50);

}  // namespace

void ErrorListener::OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                                      rocksdb::Status* error) {
  if (error->severity() >= rocksdb::Status::Severity::kHardError) holds_back_ = true;
  // A new log could not be begun, or the log has what the memtable has not.
  if (reason == rocksdb::BackgroundErrorReason::kMemTable) log_failed_ = true;
}

// Only the error handler's answers have a severity. Errors of the log's file have none, whatever
// the error handler makes of them afterwards.
bool ErrorListener::Refused(const rocksdb::Status& status) const {
  if (log_failed_) return false;
  if (status.IsIncomplete()) return true;  // writes wait for a compaction, which has failed
  return status.severity() == rocksdb::Status::Severity::kSoftError ||
         status.severity() == rocksdb::Status::Severity::kHardError;
}

// RocksDB's own way on from a full disk begins compactions while it waits for them to end.
void ErrorListener::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                                         bool* automatic) {
  error.PermitUncheckedError();
  *automatic = false;
}

void ErrorListener::OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) {
  if (info.new_bg_error.ok()) holds_back_ = false;
}

Recovery::Recovery(rocksdb::DB* db, std::string path, std::shared_ptr<const ErrorListener> listener)
    : db_(db), path_(std::move(path)), listener_(std::move(listener)) {}

void Recovery::Stop() {
  if (!resuming_.valid()) return;
  rocksdb::CancelAllBackgroundWork(db_, /*wait=*/false);
  resuming_.get().PermitUncheckedError();
}

Status Recovery::Resume() {
  if (resuming_.valid()) return last_ = Await(std::chrono::milliseconds(0));
  const uint64_t errors = Property(rocksdb::DB::Properties::kBackgroundErrors);
  if (errors == seen_ && !listener_->holds_back()) return last_ = OkStatus();
  const int64_t now = clock_.TicksMicros();
  if (now - tried_at_ < kIntervalMicros) return last_.ok() ? Stopped() : last_;
  tried_at_ = now;
  // RocksDB's Resume waits for flushes and compactions, and a compaction that finds too little
  // space while it does is begun again each second, for good. Before, none begins.
  if (listener_->holds_back() && (Property(rocksdb::DB::Properties::kNumRunningFlushes) > 0 ||
                                  Property(rocksdb::DB::Properties::kNumRunningCompactions) > 0))
    return last_ = Stopped();
  resuming_after_ = errors;
  try {
    // On a thread of its own: it flushes, and writes must be answered meanwhile.
    resuming_ = std::async(std::launch::async, [db = db_] { return db->Resume(); });
  } catch (const std::system_error&) {
    return last_ = Stopped("the system has no thread to resume with");
  }
  return last_ = Await(kMostWait);
}

Status Recovery::Await(std::chrono::milliseconds most) {
  if (resuming_.wait_for(most) != std::future_status::ready) return Stopped();
  const rocksdb::Status status = resuming_.get();
  if (!status.ok()) return Stopped(status.ToString());
  seen_ = resuming_after_;
  return OkStatus();
}

uint64_t Recovery::Property(const std::string& name) const {
  uint64_t value = 0;
  db_->GetIntProperty(name, &value);
  return value;
}

Status Recovery::Stopped(const std::string& why) const {
  return Error(ErrorCode::kUnavailable,
               fmt::format("The store in {} takes no writes: {}.", path_, why));
}

}  // namespace stator::kv_rocks
