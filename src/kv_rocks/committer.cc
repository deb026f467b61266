#include "kv_rocks/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/executor.h"
#include "base/log.h"
#include "base/mutex_wait.h"
#include "kv_rocks/log_repair.h"

namespace stator::kv_rocks {
namespace {

constexpr uint64_t kProbeBytes = 4 << 20;  // the file system is asked at least this often
constexpr size_t kKeepBufferBytes = 1 << 20;
// While nothing is written: how often the disk is looked at, so that Health is true, and how often
// while no writes are taken.
constexpr auto kIdleProbe = std::chrono::milliseconds(1000);
constexpr auto kUnhealthyProbe = std::chrono::milliseconds(200);

Error Unavailable(std::string message) {
  return Error(ErrorCode::kUnavailable, std::move(message));
}

size_t BatchBytes(const kv::Batch& batch) {
  size_t bytes = 64;
  for (const kv::Put& put : batch.puts) bytes += put.key.size() + put.value.size() + 16;
  for (const kv::Delete& key : batch.deletes) bytes += key.key.size() + 16;
  for (const kv::DeleteRange& range : batch.range_deletes)
    bytes += range.begin.size() + range.end.size() + 24;
  return bytes + 64 * batch.adds.size();
}

// Whether the batch deletes, and adds nothing that counts: what it puts are records of the change.
bool MakesRoom(const kv::Batch& batch) {
  return (!batch.deletes.empty() || !batch.range_deletes.empty()) &&
         std::none_of(batch.puts.begin(), batch.puts.end(),
                      [](const kv::Put& put) { return put.tablet.space == kv::Space::kItems; });
}

}  // namespace

Committer::Committer(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                     const RocksOptions& options, ValueCache& cache, RewindPoints& points,
                     std::shared_ptr<const ErrorListener> errors,
                     std::shared_ptr<CompactionRoom> room, uint64_t last_stamp, Status read_only)
    : db_(db),
      families_(families),
      options_(options),
      cache_(cache),
      points_(points),
      health_(read_only),
      last_stamp_(last_stamp),
      state_(db, families),
      space_(options_),
      recovery_(db, options.path, errors),
      mark_(read_only.ok() ? std::make_unique<SyncedMark>(options.path) : nullptr),
      read_only_(std::move(read_only)),
      errors_(std::move(errors)),
      room_(std::move(room)),
      published_stamp_(last_stamp),
      thread_([this] { Run(); }) {}

void Committer::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  recovery_.Stop();
}

void Committer::Apply(kv::Batch batch, kv::ApplyDone done) {
  QueuedBatch queued{std::move(batch), std::move(done)};
  queued.bytes = BatchBytes(queued.batch);
  Enqueue(std::move(queued));
}

void Committer::ApplyReturn(kv::Batch batch, Restoring* restoring, kv::ApplyDone done) {
  QueuedBatch queued{std::move(batch), std::move(done)};
  queued.bytes = BatchBytes(queued.batch);
  queued.restoring = restoring;
  Enqueue(std::move(queued));
}

void Committer::Enqueue(QueuedBatch queued) {
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      queue_.Push(std::move(queued));
      // A busy committer looks at the queue by itself.
      if (idle_) wake_.notify_one();
      return;
    }
  }
  queued.done(Unavailable("The store is closing."));
}

Status Committer::Health() const {
  MutexLock lock(mutex_);
  return health_;
}

void Committer::SetHealth(Status health) {
  if (!health.ok()) LogError("store takes no writes", {{"reason", health.error().message()}});
  MutexLock lock(mutex_);
  health_ = std::move(health);
}

void Committer::AddStatistics(std::map<std::string, double>* statistics) const {
  const auto value = [](const std::atomic<uint64_t>& counter) {
    return static_cast<double>(counter.load(std::memory_order_relaxed));
  };
  (*statistics)["kv_commit_groups"] = value(groups_);
  (*statistics)["kv_commit_batches"] = value(batches_);
  (*statistics)["kv_commit_bytes"] = value(bytes_);
  (*statistics)["kv_commit_refusals"] = value(refusals_);
  (*statistics)["kv_last_stamp"] = value(published_stamp_);
  MutexLock lock(mutex_);
  (*statistics)["kv_commit_queued"] = static_cast<double>(queue_.size());
  (*statistics)["kv_writable"] = health_.ok() ? 1 : 0;
}

void Committer::Run() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    idle_ = true;
    const auto has_work = [this]() REQUIRES(mutex_) { return stopping_ || !queue_.empty(); };
    const bool woken = wake_.wait_for(lock, health_.ok() ? kIdleProbe : kUnhealthyProbe, has_work);
    idle_ = false;
    if (!woken) {
      lock.unlock();
      probed_at_ = INT64_MIN / 2;
      (void)CheckWritable();
      if (read_only_.ok() && free_) space_.KeepBallast(*free_);
      lock.lock();
      continue;
    }
    if (queue_.empty()) return;
    // The first batch after a pause is seldom alone: the thread that queued it is going through its
    // other connections. On a machine with a core to spare this costs nothing, on one without it
    // lets them join the group and its fsync.
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
    std::vector<QueuedBatch> group = queue_.TakeGroup();
    lock.unlock();
    Commit(std::move(group));
    lock.lock();
  }
}

// Returns are groups of their own.
void Committer::Commit(std::vector<QueuedBatch> group) {
  std::span<QueuedBatch> left = group;
  while (!left.empty()) {
    const auto found = std::find_if(left.begin(), left.end(), [](const QueuedBatch& queued) {
      return queued.restoring != nullptr;
    });
    const size_t before = static_cast<size_t>(found - left.begin());
    if (before > 0) CommitGroup(left.first(before));
    left = left.subspan(before);
    if (left.empty()) return;
    Result<uint64_t> returned = CommitReturn(left.front());
    if (!returned.ok()) refusals_.fetch_add(1, std::memory_order_relaxed);
    left.front().done(std::move(returned));
    left = left.subspan(1);
  }
}

void Committer::CommitGroup(std::span<QueuedBatch> group) {
  const auto refuse = [this](QueuedBatch& queued, Error error) {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    queued.done(std::move(error));
    queued.done = nullptr;
  };

  Status writable = CheckWritable();
  state_.StartGroup(false);
  std::vector<const kv::Batch*> accepted;
  accepted.reserve(group.size());
  uint64_t stamp = last_stamp_;
  for (QueuedBatch& queued : group) {
    // A refusal is told at once: what was computed from the refused batch is told apart by its
    // `after`.
    if (!read_only_.ok()) {
      refuse(queued, read_only_.error());
    } else if (kv::IsVoid(queued.batch)) {
      refuse(queued, kv::VoidBatchError());
    } else if (queued.batch.empty()) {
      queued.stamp = stamp;
    } else if (!writable.ok() && !MayMakeRoom(queued.batch)) {
      refuse(queued,
             MakesRoom(queued.batch) && !stopped_.ok() ? stopped_.error() : writable.error());
    } else if (Status check = state_.Check(queued.batch, accepted); !check.ok()) {
      refuse(queued, std::move(check).error());
    } else {
      queued.stamp = ++stamp;
      if (queued.batch.fate != nullptr)
        queued.batch.fate->stamp.store(stamp, std::memory_order_release);
      state_.Join(&queued.batch, stamp, &writes_);
      if (points_.any()) points_.Note(queued.batch);
      accepted.push_back(&queued.batch);
      bytes_since_probe_ += queued.bytes;
      bytes_.fetch_add(queued.bytes, std::memory_order_relaxed);
    }
  }

  Status written;
  if (!accepted.empty()) {
    BeginCacheChanges(accepted);
    written = WriteGroup(stamp);
    EndCacheChanges(accepted, written.ok());
    if (points_.any()) points_.EndGroup();
    groups_.fetch_add(1, std::memory_order_relaxed);
    batches_.fetch_add(accepted.size(), std::memory_order_relaxed);
  }
  const WakeUps once;
  for (QueuedBatch& queued : group) {
    if (!queued.done) continue;
    if (!written.ok()) {
      queued.done(written.error());
    } else if (queued.batch.empty() && kv::IsVoid(queued.batch)) {
      queued.done(kv::VoidBatchError());
    } else {
      queued.done(queued.stamp);
    }
  }
}

Result<uint64_t> Committer::CommitReturn(QueuedBatch& queued) {
  kv::Batch& batch = queued.batch;
  TRY(CheckWritable());
  if (kv::IsVoid(batch)) return kv::VoidBatchError();
  state_.StartGroup(false);
  TRY(state_.Check(batch, {}));
  ASSIGN_OR_RETURN(kv::Batch * back, queued.restoring->Prepare());
  if (batch.empty() && back->empty()) return last_stamp_;
  const uint64_t bytes = queued.bytes + BatchBytes(*back);
  TRY(CheckSpaceFor(bytes));

  queued.restoring->Begin();
  const uint64_t stamp = last_stamp_ + 1;
  if (batch.fate != nullptr) batch.fate->stamp.store(stamp, std::memory_order_release);
  state_.Join(&batch, stamp, &writes_);
  state_.JoinAsIs(*back, &writes_);
  points_.Note(batch);
  points_.Note(*back);
  const std::vector<const kv::Batch*> accepted = {&batch, back};
  BeginCacheChanges(accepted);
  const Status written = WriteGroup(stamp);
  EndCacheChanges(accepted, written.ok());
  points_.EndGroup();
  queued.restoring->End(written.ok());
  bytes_since_probe_ += bytes;
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  groups_.fetch_add(1, std::memory_order_relaxed);
  batches_.fetch_add(1, std::memory_order_relaxed);
  TRY(written);
  return stamp;
}

// Calls fn(key) with the RocksDB key of everything in the batch that the cache may hold and that is
// no put.
template <typename Fn>
void ForEachOtherCachedKey(const kv::Batch& batch, Fn fn) {
  for (const kv::Delete& gone : batch.deletes) {
    if (gone.tablet.space == kv::Space::kItems) fn(PrefixedKey(gone.tablet.id, gone.key).view());
  }
  for (const kv::Add& add : batch.adds) {
    if (add.tablet.space == kv::Space::kItems) fn(PrefixedKey(add.tablet.id, add.key).view());
  }
}

// Whether ranges of what the cache holds go.
bool DeletesCachedRanges(const kv::Batch& batch) {
  return std::any_of(
      batch.range_deletes.begin(), batch.range_deletes.end(),
      [](const kv::DeleteRange& range) { return range.tablet.space == kv::Space::kItems; });
}

void Committer::BeginCacheChanges(const std::vector<const kv::Batch*>& accepted) {
  was_cached_.clear();
  changed_prefixes_.clear();
  const auto begin_change = [this](std::string_view key) {
    const std::optional<uint64_t> prefix = cache_.PrefixOf(key);
    if (prefix && (changed_prefixes_.empty() || changed_prefixes_.back() != *prefix))
      changed_prefixes_.push_back(*prefix);
    return cache_.BeginChange(key);
  };
  for (const kv::Batch* batch : accepted) {
    if (DeletesCachedRanges(*batch)) cache_.BeginChangeAll();
    for (const kv::Put& put : batch->puts) {
      const bool ours = put.tablet.space == kv::Space::kItems;
      was_cached_.push_back(ours && begin_change(PrefixedKey(put.tablet.id, put.key).view()));
    }
    ForEachOtherCachedKey(*batch, begin_change);
  }
  std::sort(changed_prefixes_.begin(), changed_prefixes_.end());
  changed_prefixes_.erase(std::unique(changed_prefixes_.begin(), changed_prefixes_.end()),
                          changed_prefixes_.end());
  cache_.BeginRangeChanges(changed_prefixes_);
}

void Committer::EndCacheChanges(const std::vector<const kv::Batch*>& accepted, bool written) {
  // A value is put back only where it is the group's last word on its key; when a range went,
  // nothing is.
  bool ranges = false;
  for (const kv::Batch* batch : accepted) ranges |= DeletesCachedRanges(*batch);
  size_t i = 0;
  for (const kv::Batch* batch : accepted) {
    for (const kv::Put& put : batch->puts) {
      const bool keep = was_cached_[i++] && written && !ranges;
      if (put.tablet.space != kv::Space::kItems) continue;
      const std::string_view value = put.value;
      cache_.EndChange(PrefixedKey(put.tablet.id, put.key).view(), keep ? &value : nullptr);
    }
    ForEachOtherCachedKey(*batch, [this](std::string_view key) { cache_.EndChange(key, nullptr); });
  }
  cache_.EndRangeChanges(changed_prefixes_);
  if (ranges) cache_.EndChangeAll();
}

Status Committer::WriteGroup(uint64_t last_stamp) {
  state_.FinishGroup(&writes_);
  char stamp[sizeof(uint64_t)];
  kv::StoreLittle64(stamp, last_stamp);
  writes_.Put(families_[0], ToSlice(kLastStampKey), rocksdb::Slice(stamp, sizeof stamp));
  writes_.PutLogData(kEndMark);

  rocksdb::WriteOptions how;
  how.sync = options_.sync;
  const rocksdb::Status status = db_->Write(how, &writes_);
  if (writes_.GetDataSize() > kKeepBufferBytes) {
    writes_ = rocksdb::WriteBatch();
  } else {
    writes_.Clear();
  }
  if (status.ok()) {
    last_stamp_ = last_stamp;
    published_stamp_.store(last_stamp_, std::memory_order_relaxed);
    mark_->Write({last_stamp_, options_.sync});
    return OkStatus();
  }
  // A flush or compaction has failed since CheckWritable. Nothing of the group is anywhere, and its
  // stamps are free: later batches that build on it are void.
  if (errors_->Refused(status)) {
    state_.StartGroup(true);
    stopped_ = recovery_.Refusal();
    SetHealth(stopped_);
    return stopped_;
  }
  last_stamp_ = last_stamp;  // the outcome is unknown, so the stamps are used
  // The log may end in the middle of the group, and after a failed fsync nobody knows what the disk
  // holds: a later success would prove nothing. Only a new start reads the truth.
  state_.StartGroup(true);
  read_only_ =
      Unavailable(fmt::format("The store in {} is read-only because a write to its log failed "
                              "({}). Look after the disk, then restart the server.",
                              options_.path, status.ToString()));
  SetHealth(read_only_);
  return Error(
      ErrorCode::kOutcomeUnknown,
      fmt::format(
          "A write to the log of the store failed: {}. It may or may not be there after a restart.",
          status.ToString()));
}

Status Committer::CheckWritable() {
  if (!read_only_.ok()) return read_only_;
  Status status = CheckFreeSpace();
  if (status.ok() || free_ >= kLeastFreeBytes) {
    narrow_ = room_->Check(db_, families_, free_);
    // While a compaction waits for space, its error stays: for that RocksDB takes writes, and holds
    // none back for the sake of compactions.
    stopped_ = narrow_.ok() || errors_->holds_back() ? recovery_.Resume() : OkStatus();
    if (status.ok()) status = stopped_;
    if (status.ok()) status = narrow_;
  }
  if (status.ok() != Health().ok()) {
    if (status.ok()) LogInfo("store takes writes again");
    SetHealth(status);
  } else if (!status.ok()) {
    MutexLock lock(mutex_);
    health_ = status;  // the reason may be another one by now
  }
  return status;
}

// One large write could use up the space that the last probe found.
Status Committer::CheckSpaceFor(uint64_t bytes) {
  if (bytes < kProbeBytes) return OkStatus();
  free_ = space_.Free();
  if (!free_ || *free_ >= options_.reserve_free_bytes + bytes) return OkStatus();
  return Unavailable(fmt::format(
      "The disk is full: the return writes {} MB at once, and the file "
      "system of {} has {} MB free, of which Stator keeps {} MB in "
      "reserve. Free some space.",
      (bytes >> 20) + 1, options_.path, *free_ >> 20, options_.reserve_free_bytes >> 20));
}

// Whether the batch may go into the space that is kept from others. The ballast goes when that is
// used up too.
bool Committer::MayMakeRoom(const kv::Batch& batch) {
  if (!read_only_.ok() || (full_.ok() && narrow_.ok()) || !stopped_.ok() || !MakesRoom(batch))
    return false;
  const uint64_t bytes = BatchBytes(batch);
  // The last look may be old, and much may have come back since.
  if (free_ < kLeastFreeBytes + bytes) free_ = space_.Free();
  if (free_ < kLeastFreeBytes + bytes && space_.GiveUpBallast()) free_ = space_.Free();
  if (free_ < kLeastFreeBytes + bytes) return false;
  *free_ -= bytes;  // until the next probe
  room_->NoteDelete();
  return true;
}

// A full disk found by the log is an unknown outcome and the end of writing; found here it is a
// refusal that passes.
Status Committer::CheckFreeSpace() {
  const int64_t now = clock_.TicksMicros();
  if (now - probed_at_ < options_.free_bytes_interval_micros && bytes_since_probe_ < kProbeBytes)
    return full_;
  probed_at_ = now;
  bytes_since_probe_ = 0;
  free_ = space_.Free();
  full_ = OkStatus();
  if (free_ && *free_ < options_.reserve_free_bytes) {
    full_ =
        Unavailable(fmt::format("The disk is full: the file system of {} has {} MB free and Stator "
                                "keeps {} MB in reserve. Delete items or tables, or free some "
                                "space; writes are taken again then.",
                                options_.path, *free_ >> 20, options_.reserve_free_bytes >> 20));
  }
  return full_;
}

}  // namespace stator::kv_rocks
