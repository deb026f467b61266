#include "kv_rocks/compaction_room.h"

#include <fmt/format.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace stator::kv_rocks {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOStatus;

// A compaction that failed is tried again when the free space has grown by this step, or by an
// eighth, although its input is larger: its output may be smaller.
constexpr uint64_t kLeastStep = 16 << 20;
// After deletes, for which no space comes before a compaction, it is tried after the first pause,
// and each further pause is twice as long.
constexpr int64_t kFirstPauseMicros = 30'000'000;
constexpr int64_t kLongestPauseMicros = 600'000'000;

// Whether the compaction that this thread runs must fail before it writes.
thread_local bool t_no_room = false;

class Files final : public rocksdb::FileSystemWrapper {
 public:
  explicit Files(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}
  const char* Name() const override { return "stator::CompactionRoom"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (t_no_room) return IOStatus::NoSpace("a compaction waits for space");
    return FileSystemWrapper::NewWritableFile(path, options, file, debug);
  }
};

class RoomEnv final : public rocksdb::EnvWrapper {
 public:
  explicit RoomEnv(rocksdb::Env& base)
      : EnvWrapper(rocksdb::NewCompositeEnv(std::make_shared<Files>(base.GetFileSystem()))) {
    system_clock_ = base.GetSystemClock();
  }
  const char* Name() const override { return "stator::CompactionRoom"; }
};

bool IsAskedFor(const rocksdb::CompactionJobInfo& info) {
  return info.compaction_reason == rocksdb::CompactionReason::kManualCompaction;
}

}  // namespace

std::unique_ptr<rocksdb::Env> CompactionRoom::MakeEnv(rocksdb::Env& base) {
  return std::make_unique<RoomEnv>(base);
}

void CompactionRoom::OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) {
  t_no_room = false;
  if (IsAskedFor(info)) return;
  MutexLock lock(mutex_);
  if (waits_ && !std::exchange(may_try_, false)) {
    t_no_room = true;
    return;
  }
  begun_[info.job_id] = free_();
}

void CompactionRoom::OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) {
  if (std::exchange(t_no_room, false) || IsAskedFor(info)) return;
  MutexLock lock(mutex_);
  const auto begun = begun_.find(info.job_id);
  if (begun == begun_.end()) return;
  const std::optional<uint64_t> had = begun->second;
  begun_.erase(begun);
  if (info.status.ok() && waits_ && info.cf_id == family_) waits_ = false;
  if (!info.status.IsNoSpace() || !had) return;
  pause_ = waits_ ? std::min(2 * pause_, kLongestPauseMicros) : kFirstPauseMicros;
  next_try_ = clock_.TicksMicros() + pause_;
  deleted_ = false;
  family_ = info.cf_id;
  need_ = std::min(info.stats.total_input_bytes + reserve_, *had + std::max(kLeastStep, *had / 8));
  waits_ = true;
  LogWarn("compaction_without_space", {{"free_bytes", *had}, {"needed_bytes", need_}});
}

Status CompactionRoom::Check(rocksdb::DB* db,
                             const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                             std::optional<uint64_t> free) {
  if (!waits_) return OkStatus();
  uint32_t waiting = 0;
  {
    MutexLock lock(mutex_);
    waiting = family_;
  }
  // The failed compaction counts as running until its space is back.
  uint64_t pending = 1;
  uint64_t running = 1;
  using Properties = rocksdb::DB::Properties;
  for (rocksdb::ColumnFamilyHandle* const family : families) {
    if (family->GetID() == waiting)
      db->GetIntProperty(family, Properties::kCompactionPending, &pending);
  }
  db->GetIntProperty(Properties::kNumRunningCompactions, &running);

  MutexLock lock(mutex_);
  if (!free || *free >= need_ || (pending == 0 && running == 0)) waits_ = false;
  if (!waits_) return OkStatus();
  if (clock_.TicksMicros() >= next_try_ && deleted_.exchange(false)) may_try_ = true;
  return Error(ErrorCode::kUnavailable,
               fmt::format("The store in {} takes no writes: a compaction needs about {} MB of "
                           "free space, and {} MB are free. Delete items or tables, or free some "
                           "space; writes are taken again then.",
                           path_, (need_ >> 20) + 1, *free >> 20));
}

}  // namespace stator::kv_rocks
