// The way on after a flush or compaction that failed, for want of space, say: RocksDB takes no
// writes then until it is told to resume. Internal to the room.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace stator::kv_rocks {

// Hears of RocksDB's errors. Thread-safe.
class ErrorListener final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status error,
                            bool* automatic) override;
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override;
  // Whether an error holds back flushes and compactions, besides writes.
  bool holds_back() const { return holds_back_; }
  // Whether the write with this status, not OK, was refused for an earlier error of a flush or
  // compaction, before it touched the log or the memtables.
  bool Refused(const rocksdb::Status& status) const;

 private:
  std::atomic<bool> holds_back_ = false;
  std::atomic<bool> log_failed_ = false;
};

// Not thread-safe. The database must outlive it.
class Recovery {
 public:
  Recovery(rocksdb::DB* db, std::string path, std::shared_ptr<const ErrorListener> listener);
  ~Recovery() { Stop(); }

  // OK if no flush or compaction has failed, or RocksDB has resumed since; else why writes must
  // wait. Returns within some 50 ms.
  Status Resume();
  // Answers like Resume for a write that the error has refused, before RocksDB counts the error.
  Status Refusal() { return last_ = Stopped(); }
  // Ends what Resume has begun, and the work of the database with it. Idempotent.
  void Stop();

 private:
  Status Await(std::chrono::milliseconds most);
  uint64_t Property(const std::string& name) const;
  Status Stopped(const std::string& why = "a flush or compaction failed") const;

  rocksdb::DB* const db_;
  const std::string path_;
  const std::shared_ptr<const ErrorListener> listener_;
  SystemClock clock_;
  uint64_t seen_ = 0;  // errors that RocksDB has resumed after
  int64_t tried_at_ = INT64_MIN / 2;
  Status last_;  // the last answer
  std::future<rocksdb::Status> resuming_;
  uint64_t resuming_after_ = 0;
};

}  // namespace stator::kv_rocks
