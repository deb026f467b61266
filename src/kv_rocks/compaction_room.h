// Holds back compactions that the disk has no room for: RocksDB would fill the disk, give the space
// back and begin again a second later, for good. Internal to the room.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"

namespace stator::kv_rocks {

// From a compaction that failed for want of space until there is space for it, or none is needed,
// compactions that RocksDB begins by itself fail before they write, and Check says why writes wait.
// Those that are asked for (what a dropped table leaves) run. Thread-safe.
class CompactionRoom final : public rocksdb::EventListener {
 public:
  using FreeBytes = std::function<std::optional<uint64_t>()>;
  // `free` says what the disk has free, of which `reserve` is no compaction's.
  CompactionRoom(std::string path, FreeBytes free, uint64_t reserve)
      : path_(std::move(path)), free_(std::move(free)), reserve_(reserve) {}

  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;

  // Whether a compaction waits for space.
  bool waits() const { return waits_; }
  // OK, or why writes wait; with `free` bytes free now.
  Status Check(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families,
               std::optional<uint64_t> free);
  // Something was deleted: the compaction may need less than it did. Now and then one is tried.
  void NoteDelete() { deleted_ = true; }

  // Returns an environment whose files are those of `base`, but for the compactions that fail.
  static std::unique_ptr<rocksdb::Env> MakeEnv(rocksdb::Env& base);

 private:
  const std::string path_;
  const FreeBytes free_;
  const uint64_t reserve_;
  SystemClock clock_;
  std::atomic<bool> waits_ = false;
  std::atomic<bool> deleted_ = false;

  Mutex mutex_;
  std::map<int, std::optional<uint64_t>> begun_ GUARDED_BY(mutex_);  // free bytes, by job
  uint32_t family_ GUARDED_BY(mutex_) = 0;
  uint64_t need_ GUARDED_BY(mutex_) = 0;
  bool may_try_ GUARDED_BY(mutex_) = false;
  int64_t next_try_ GUARDED_BY(mutex_) = 0;
  int64_t pause_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stator::kv_rocks
