// The one thread that writes: it takes a group of the batches that are queued, makes one RocksDB
// write of them, and calls their `done`s. Internal to the room.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kv_rocks/compaction_room.h"
#include "kv_rocks/disk_space.h"
#include "kv_rocks/group_state.h"
#include "kv_rocks/recovery.h"
#include "kv_rocks/rewind_points.h"
#include "kv_rocks/rocks_tuning.h"
#include "kv_rocks/synced_mark.h"
#include "kv_rocks/value_cache.h"
#include "kv_rocks/write_queue.h"

namespace stator::kv_rocks {

// Thread-safe. The database, its handles, the cache and the points must outlive it. `read_only`:
// why the database takes no writes, or OK.
class Committer {
 public:
  Committer(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families,
            const RocksOptions& options, ValueCache& cache, RewindPoints& points,
            std::shared_ptr<const ErrorListener> errors, std::shared_ptr<CompactionRoom> room,
            uint64_t last_stamp, Status read_only);
  ~Committer() { Stop(); }

  // As Engine::Apply.
  void Apply(kv::Batch batch, kv::ApplyDone done);
  // As Apply, after everything that was queued before, with what `restoring` adds. It must live
  // until `done` is called.
  void ApplyReturn(kv::Batch batch, Restoring* restoring, kv::ApplyDone done);
  // As Engine::Health.
  Status Health() const;
  void AddStatistics(std::map<std::string, double>* statistics) const;
  // Commits what is queued, then joins the thread. Later calls of Apply are refused. Idempotent.
  void Stop();

 private:
  void Run();
  void Enqueue(QueuedBatch queued);
  void Commit(std::vector<QueuedBatch> group);
  void CommitGroup(std::span<QueuedBatch> group);
  Result<uint64_t> CommitReturn(QueuedBatch& queued);
  Status CheckSpaceFor(uint64_t bytes);
  Status WriteGroup(uint64_t last_stamp);
  void BeginCacheChanges(const std::vector<const kv::Batch*>& accepted);
  void EndCacheChanges(const std::vector<const kv::Batch*>& accepted, bool written);
  Status CheckWritable();
  bool MayMakeRoom(const kv::Batch& batch);
  Status CheckFreeSpace();
  void SetHealth(Status health);

  rocksdb::DB* const db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  const RocksOptions options_;
  ValueCache& cache_;
  RewindPoints& points_;
  SystemClock clock_;

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  WriteQueue queue_ GUARDED_BY(mutex_);
  bool idle_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Status health_ GUARDED_BY(mutex_);

  // Only the committer's thread touches these.
  uint64_t last_stamp_;
  GroupState state_;
  const DiskSpace space_;
  Recovery recovery_;
  std::unique_ptr<SyncedMark> mark_;  // null if the database takes no writes
  rocksdb::WriteBatch writes_;
  std::vector<bool> was_cached_;            // by put of the group, in order
  std::vector<uint64_t> changed_prefixes_;  // of the group, each once
  Status read_only_;                        // not OK, for good, after a failed write to the log
  const std::shared_ptr<const ErrorListener> errors_;
  const std::shared_ptr<CompactionRoom> room_;
  Status full_;
  Status stopped_;                // a flush or compaction failed
  Status narrow_;                 // a compaction waits for space
  std::optional<uint64_t> free_;  // at the last probe
  int64_t probed_at_ = INT64_MIN / 2;
  uint64_t bytes_since_probe_ = 0;

  std::atomic<uint64_t> groups_ = 0;
  std::atomic<uint64_t> batches_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> refusals_ = 0;
  std::atomic<uint64_t> published_stamp_;
  std::thread thread_;
};

}  // namespace stator::kv_rocks
