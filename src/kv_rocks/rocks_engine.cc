#include "kv_rocks/rocks_engine.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "kv/features.h"
#include "kv/pin.h"
#include "kv/reclaim.h"
#include "kv/rewind.h"
#include "kv_rocks/committer.h"
#include "kv_rocks/disk_space.h"
#include "kv_rocks/log_repair.h"
#include "kv_rocks/rewind_points.h"
#include "kv_rocks/rocks_tuning.h"
#include "kv_rocks/store_directory.h"
#include "kv_rocks/store_keys.h"
#include "kv_rocks/synced_mark.h"

namespace stator::kv_rocks {
namespace {

// A range at a snapshot. Each stretch has an iterator of its own, because an iterator keeps
// memtables and files that a snapshot does not.
class PinnedRange final : public kv::PinnedRange {
 public:
  PinnedRange(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const kv::Range& range)
      : db_(db),
        family_(family),
        snapshot_(db),
        stretch_bytes_(range.expected_bytes == 0
                           ? kMostStretchBytes
                           : std::min(range.expected_bytes, kMostStretchBytes)) {
    char room[kTabletBytes];
    next_ = PrefixedKey(range.tablet.id, range.begin).view();
    end_ = range.end.empty() ? PrefixedKey::TabletEnd(range.tablet.id, room)
                             : PrefixedKey(range.tablet.id, range.end).view();
  }

  Result<bool> Next(Visit visit) override {
    TRY(failed_);
    if (next_ >= end_) return false;
    const rocksdb::Slice lower(next_);
    const rocksdb::Slice upper(end_);
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_.snapshot();
    options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    options.total_order_seek = true;
    options.fill_cache = false;  // what clients read stays in memory
    options.readahead_size = std::min(stretch_bytes_, kReadAheadBytes);
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, family_));
    size_t bytes = 0;
    for (it->Seek(lower); it->Valid(); it->Next()) {
      const std::string_view key = ToView(it->key());
      const std::string_view value = ToView(it->value());
      if (bytes >= stretch_bytes_) {
        std::string next(key);
        next_ = std::move(next);
        return true;
      }
      bytes += key.size() + value.size();
      failed_ = visit(key.substr(kTabletBytes), value);
      TRY(failed_);
    }
    if (!it->status().ok()) failed_ = ReadError(it->status());
    TRY(failed_);
    next_ = end_;
    return false;
  }

 private:
  static constexpr size_t kMostStretchBytes = 4 << 20;
  static constexpr size_t kReadAheadBytes = 1 << 20;

  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const family_;
  rocksdb::ManagedSnapshot snapshot_;
  const size_t stretch_bytes_;
  std::string next_;  // this and the next: with the tablet in front
  std::string end_;
  Status failed_ = OkStatus();
};

class RocksEngine final : public kv::Engine,
                          public kv::FeatureKeeper,
                          public kv::Pinner,
                          public kv::Reclaimer,
                          public kv::Rewinder {
 public:
  RocksEngine(const RocksOptions& options, Tuning tuning, std::unique_ptr<rocksdb::DB> db,
              std::vector<rocksdb::ColumnFamilyHandle*> families, uint64_t last_stamp,
              kv::Features features, Status read_only, std::shared_ptr<rocksdb::FileLock> lock)
      : options_(options),
        lock_(std::move(lock)),
        features_(std::move(features)),
        tuning_(std::move(tuning)),
        families_(std::move(families)),
        db_(std::move(db)),
        cache_(tuning_.value_cache_bytes, tuning_.items_prefix_bytes),
        points_(db_.get(), families_),
        committer_(db_.get(), families_, options, cache_, points_, tuning_.errors, tuning_.room,
                   last_stamp, std::move(read_only)) {}

  ~RocksEngine() override {
    committer_.Stop();
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
    // RocksDB's own destructor would close too, but without saying so when the last sync fails.
    db_->Close().PermitUncheckedError();
  }

  kv::Capabilities capabilities() const override {
    return {.atomic_across_tablets = true, .exclusive = true, .blocking = false, .durable = true};
  }

  kv::FeatureKeeper* feature_keeper() override { return this; }
  kv::Pinner* pinner() override { return this; }
  kv::Reclaimer* reclaimer() override { return this; }
  kv::Rewinder* rewinder() override { return this; }

  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    const PrefixedKey full(tablet.id, key);
    const bool cached = tablet.space == kv::Space::kItems;
    uint64_t ticket = 0;
    if (cached && cache_.Find(full.view(), value, &ticket)) return true;
    rocksdb::PinnableSlice pinned(value);
    const rocksdb::Status status = db_->Get(OptionsOf(tier), Family(tablet), full.slice(), &pinned);
    if (status.ok()) {
      if (pinned.IsPinned()) value->assign(pinned.data(), pinned.size());
      if (cached) cache_.Insert(full.view(), *value, ticket);
      return true;
    }
    if (status.IsNotFound()) return false;
    return ReadError(status);
  }

  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    values->assign(points.size(), std::nullopt);
    if (points.empty()) return OkStatus();
    if (tier != kv::Tier::kAny || points.size() == 1) return GetEach(points, tier, values);
    std::vector<std::string> room(points.size());
    std::vector<rocksdb::Slice> keys;
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    keys.reserve(points.size());
    families.reserve(points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      room[i] = PrefixedKey(points[i].tablet.id, points[i].key).view();
      keys.emplace_back(room[i]);
      families.push_back(Family(points[i].tablet));
    }
    std::vector<rocksdb::PinnableSlice> found(points.size());
    std::vector<rocksdb::Status> statuses(points.size());
    // RocksDB reads all of them at one sequence number, also across column families.
    db_->MultiGet(OptionsOf(tier), points.size(), families.data(), keys.data(), found.data(),
                  statuses.data());
    for (size_t i = 0; i < points.size(); ++i) {
      if (statuses[i].ok()) {
        values->at(i).emplace(found[i].data(), found[i].size());
      } else if (!statuses[i].IsNotFound()) {
        return ReadError(statuses[i]);
      }
    }
    return OkStatus();
  }

  Status VisitTogether(std::span<const kv::Point> points, kv::Tier tier,
                       VisitPoint visit) override {
    rocksdb::ReadOptions options = OptionsOf(tier);
    std::optional<rocksdb::ManagedSnapshot> snapshot;
    if (points.size() > 1) options.snapshot = snapshot.emplace(db_.get()).snapshot();
    for (size_t begin = 0; begin < points.size(); begin += kVisitedAtOnce) {
      const std::span<const kv::Point> some =
          points.subspan(begin, std::min(kVisitedAtOnce, points.size() - begin));
      std::string room[kVisitedAtOnce];
      rocksdb::Slice keys[kVisitedAtOnce];
      rocksdb::ColumnFamilyHandle* families[kVisitedAtOnce];
      rocksdb::PinnableSlice found[kVisitedAtOnce];
      rocksdb::Status statuses[kVisitedAtOnce];
      for (size_t i = 0; i < some.size(); ++i) {
        room[i] = PrefixedKey(some[i].tablet.id, some[i].key).view();
        keys[i] = room[i];
        families[i] = Family(some[i].tablet);
        // From memory one by one: MultiGet would look at the disk for the rest of a batch.
        if (tier != kv::Tier::kAny)
          statuses[i] = db_->Get(options, families[i], keys[i], &found[i]);
      }
      if (tier == kv::Tier::kAny)
        db_->MultiGet(options, some.size(), families, keys, found, statuses);
      for (size_t i = 0; i < some.size(); ++i) {
        if (!statuses[i].ok() && !statuses[i].IsNotFound()) return ReadError(statuses[i]);
        std::optional<std::string_view> value;
        if (statuses[i].ok()) value = ToView(found[i]);
        if (!visit(begin + i, value)) return OkStatus();
      }
    }
    return OkStatus();
  }

  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override {
    if (!range.end.empty() && range.begin >= range.end) return OkStatus();
    char room[kTabletBytes];
    const PrefixedKey begin(range.tablet.id, range.begin);
    const PrefixedKey end(range.tablet.id, range.end);
    const rocksdb::Slice lower = begin.slice();
    const rocksdb::Slice upper =
        range.end.empty() ? ToSlice(PrefixedKey::TabletEnd(range.tablet.id, room)) : end.slice();
    // Within one prefix the filters may rule files out; across prefixes they must not be asked.
    const size_t prefix = tuning_.items_prefix_bytes;
    const bool one_prefix = prefix > 0 && range.tablet.space == kv::Space::kItems &&
                            lower.size() >= prefix && upper.size() >= prefix &&
                            std::memcmp(lower.data(), upper.data(), prefix) == 0;
    std::unique_ptr<CachedRange> seen;  // what may be kept, as long as it is not too large
    uint64_t ticket = 0;
    if (one_prefix) {
      if (const auto cached = cache_.FindRange(ToView(lower), ToView(upper), &ticket)) {
        VisitCached(*cached, ToView(lower), ToView(upper), range.reverse, visit);
        return OkStatus();
      }
      seen = std::make_unique<CachedRange>(ToView(lower), ToView(upper));
    }
    rocksdb::ReadOptions options = OptionsOf(tier);
    options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    // Going back, RocksDB cuts the prefix of the key before the range without asking whether it is
    // that long (a counter of the tablet before is not), so there the bound alone ends the scan.
    options.prefix_same_as_start = one_prefix && !range.reverse;
    options.total_order_seek = !one_prefix;
    // RocksDB 7.8 forgets that it may not wait where an iterator leaves a file with deleted ranges
    // for one that is not in memory: the keys behind would be missing. Its files are seen here as
    // the iterator opens them.
    bool ranges_deleted = false;
    if (tier != kv::Tier::kAny) {
      options.table_filter = [&ranges_deleted](const rocksdb::TableProperties& table) {
        ranges_deleted |= table.num_range_deletions > 0;
        return true;
      };
    }
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, Family(range.tablet)));
    if (range.reverse) {
      // SeekToLast knows no prefix. The bound itself is outside.
      it->SeekForPrev(upper);
      if (it->Valid() && it->key() == upper) it->Prev();
    } else {
      it->Seek(lower);
    }
    while (it->Valid() && !ranges_deleted) {
      const std::string_view key = ToView(it->key());
      const std::string_view value = ToView(it->value());
      if (seen != nullptr) {
        if (cache_.MayKeepRange(seen->bytes() + key.size() + value.size())) {
          seen->Append(key, value);
        } else {
          seen = nullptr;
        }
      }
      if (!visit(key.substr(kTabletBytes), value)) return OkStatus();
      if (range.reverse) {
        it->Prev();
      } else {
        it->Next();
      }
    }
    if (!it->status().ok()) return ReadError(it->status());
    if (ranges_deleted) return ReadError(rocksdb::Status::Incomplete());
    if (seen != nullptr) {
      seen->Finish(range.reverse);
      cache_.InsertRange(ToView(lower), std::move(seen), ticket);
    }
    return OkStatus();
  }

  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    committer_.Apply(std::move(batch), std::move(done));
  }

  Status Health() const override { return committer_.Health(); }

  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    return SizeOfTablet(*db_, Family(tablet), tablet.id);
  }

  std::map<std::string, double> Statistics() const override;
  Status Checkpoint(const std::string& directory) override;

  Result<uint64_t> Reclaim(kv::Tablet tablet, std::atomic<bool>* stop) override;

  Result<std::unique_ptr<kv::PinnedRange>> Pin(const kv::Range& range) override {
    return std::unique_ptr<kv::PinnedRange>(
        std::make_unique<PinnedRange>(db_.get(), Family(range.tablet), range));
  }

  std::unique_ptr<kv::RewindPoint> SetPoint(std::vector<kv::Watched> watched,
                                            std::shared_ptr<kv::RewindBudget> budget) override {
    return points_.Set(committer_, std::move(watched), std::move(budget));
  }

  Status AddFeature(std::string_view name) override;
  kv::Features RequiredFeatures() const override {
    MutexLock lock(features_mutex_);
    return features_;
  }

 private:
  static constexpr size_t kEntriesAhead = 3;
  static constexpr size_t kVisitedAtOnce = 16;
  static constexpr auto kSnapshotPoll = std::chrono::milliseconds(10);
  static void VisitCached(const CachedRange& cached, std::string_view begin, std::string_view end,
                          bool reverse,
                          FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
    const size_t first = cached.LowerBound(begin);
    const size_t last = cached.LowerBound(end);
    const auto nth = [&](size_t i) { return reverse ? last - 1 - i : first + i; };
    const size_t count = last > first ? last - first : 0;
    // What was last looked at long ago has left the processor's caches: who visits entries waits
    // for none of them alone.
    for (size_t i = 0; i < std::min(count, kEntriesAhead); ++i) cached.Prefetch(nth(i));
    for (size_t i = 0; i < count; ++i) {
      if (i + kEntriesAhead < count) cached.Prefetch(nth(i + kEntriesAhead));
      if (!visit(cached.key(nth(i)).substr(kTabletBytes), cached.value(nth(i)))) return;
    }
  }
  static rocksdb::ReadOptions OptionsOf(kv::Tier tier) {
    rocksdb::ReadOptions options;
    if (tier != kv::Tier::kAny) options.read_tier = rocksdb::kBlockCacheTier;
    return options;
  }
  // RocksDB 7.8's MultiGet reads files although it is told kBlockCacheTier, so several Gets on a
  // snapshot stand in for it.
  Status GetEach(std::span<const kv::Point> points, kv::Tier tier,
                 std::vector<std::optional<std::string>>* values) {
    rocksdb::ReadOptions options = OptionsOf(tier);
    std::optional<rocksdb::ManagedSnapshot> snapshot;
    if (points.size() > 1) options.snapshot = snapshot.emplace(db_.get()).snapshot();
    for (size_t i = 0; i < points.size(); ++i) {
      const PrefixedKey full(points[i].tablet.id, points[i].key);
      std::string& value = values->at(i).emplace();
      rocksdb::PinnableSlice pinned(&value);
      const rocksdb::Status status =
          db_->Get(options, Family(points[i].tablet), full.slice(), &pinned);
      if (status.ok()) {
        if (pinned.IsPinned()) value.assign(pinned.data(), pinned.size());
      } else if (status.IsNotFound()) {
        values->at(i).reset();
      } else {
        return ReadError(status);
      }
    }
    return OkStatus();
  }
  rocksdb::ColumnFamilyHandle* Family(kv::Tablet tablet) const {
    return families_[FamilyIndex(tablet.space)];
  }

  const RocksOptions options_;
  const std::shared_ptr<rocksdb::FileLock> lock_;  // null if RocksDB has it
  mutable Mutex features_mutex_;                   // held while FORMAT is written
  kv::Features features_ GUARDED_BY(features_mutex_);
  const Tuning tuning_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  const std::unique_ptr<rocksdb::DB> db_;
  ValueCache cache_;
  std::atomic<uint64_t> reclaimed_bytes_ = 0;  // in files that were dropped whole
  RewindPoints points_;
  Committer committer_;
};

std::map<std::string, double> RocksEngine::Statistics() const {
  std::map<std::string, double> statistics;
  committer_.AddStatistics(&statistics);
  statistics["kv_reclaimed_bytes"] = static_cast<double>(reclaimed_bytes_.load());
  statistics["kv_value_cache_bytes"] = static_cast<double>(cache_.bytes());
  statistics["kv_value_cache_hits"] = static_cast<double>(cache_.hits());
  statistics["kv_value_cache_misses"] = static_cast<double>(cache_.misses());
  statistics["kv_range_cache_hits"] = static_cast<double>(cache_.range_hits());
  statistics["kv_range_cache_misses"] = static_cast<double>(cache_.range_misses());
  statistics["kv_cache_bytes"] = static_cast<double>(tuning_.cache->GetUsage());
  statistics["kv_cache_pinned_bytes"] = static_cast<double>(tuning_.cache->GetPinnedUsage());
  statistics["kv_cache_capacity_bytes"] = static_cast<double>(tuning_.cache->GetCapacity());

  using Properties = rocksdb::DB::Properties;
  const std::pair<const char*, const std::string*> properties[] = {
      {"kv_memtable_bytes", &Properties::kCurSizeAllMemTables},
      {"kv_live_file_bytes", &Properties::kLiveSstFilesSize},
      {"kv_file_bytes", &Properties::kTotalSstFilesSize},
      {"kv_compaction_pending_bytes", &Properties::kEstimatePendingCompactionBytes},
      {"kv_keys", &Properties::kEstimateNumKeys},
  };
  for (const auto& [name, property] : properties) {
    uint64_t sum = 0;
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      uint64_t value = 0;
      if (db_->GetIntProperty(family, *property, &value)) sum += value;
    }
    statistics[name] = static_cast<double>(sum);
  }

  const std::pair<const char*, rocksdb::Tickers> tickers[] = {
      {"kv_cache_hits", rocksdb::BLOCK_CACHE_HIT},
      {"kv_cache_misses", rocksdb::BLOCK_CACHE_MISS},
      {"kv_memtable_hits", rocksdb::MEMTABLE_HIT},
      {"kv_bloom_useful", rocksdb::BLOOM_FILTER_USEFUL},
      {"kv_log_bytes", rocksdb::WAL_FILE_BYTES},
      {"kv_log_syncs", rocksdb::WAL_FILE_SYNCED},
      {"kv_stall_micros", rocksdb::STALL_MICROS},
      {"kv_flush_bytes", rocksdb::FLUSH_WRITE_BYTES},
      {"kv_compaction_bytes", rocksdb::COMPACT_WRITE_BYTES},
  };
  for (const auto& [name, ticker] : tickers) {
    statistics[name] = static_cast<double>(tuning_.db.statistics->getTickerCount(ticker));
  }
  return statistics;
}

Status RocksEngine::Checkpoint(const std::string& directory) {
  // It flushes the memtables. A flush that finds the disk full would end the taking of writes.
  TRY(committer_.Health());
  uint64_t memtables = 0;
  for (rocksdb::ColumnFamilyHandle* const family : families_) {
    uint64_t bytes = 0;
    db_->GetIntProperty(family, rocksdb::DB::Properties::kCurSizeAllMemTables, &bytes);
    memtables += bytes;
  }
  const std::optional<uint64_t> free = DiskSpace(options_).Free();
  if (free && *free < options_.reserve_free_bytes + memtables) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("Cannot copy the store to {}: its file system has {} MB free, and {} "
                    "MB are needed. Free some space.",
                    directory, *free >> 20, (options_.reserve_free_bytes + memtables) >> 20));
  }
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) status = checkpoint->CreateCheckpoint(directory);
  if (!status.ok()) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("Cannot copy the store to {}: {}.", directory, status.ToString()));
  }
  // Last, so that an unfinished copy is no store.
  return WriteFormat(directory, RequiredFeatures());
}

std::vector<std::string_view> KnownFeatures(const RocksOptions& options) {
  if (options.known_features) return *options.known_features;
  const auto known = kv::KnownFeatures();
  return {known.begin(), known.end()};
}

// RocksDB keeps deleted keys until it compacts the files that have them, which it does for size
// alone. Files with nothing but keys of the tablet are dropped without being read; what stands in
// files beside others' keys is compacted.
Result<uint64_t> RocksEngine::Reclaim(kv::Tablet tablet, std::atomic<bool>* stop) {
  const auto failed = [this](const rocksdb::Status& status) {
    return Error(ErrorCode::kUnavailable, fmt::format("The store in {} cannot give space back: {}.",
                                                      options_.path, status.ToString()));
  };
  char end_room[kTabletBytes];
  const PrefixedKey first(tablet.id, {});
  const rocksdb::Slice begin = first.slice();
  const rocksdb::Slice end = ToSlice(PrefixedKey::TabletEnd(tablet.id, end_room));
  rocksdb::ColumnFamilyHandle* const family = Family(tablet);
  if (points_.MayReturn(tablet))
    return Error(ErrorCode::kResourceInUse, "A snapshot may return to what the tablet held.");

  // Dropping a file may drop a tombstone and leave, in a file below, what it hid. A new one is
  // above all files that can be dropped.
  kv::Batch batch;
  batch.range_deletes.push_back({tablet, "", ""});
  if (const Result<uint64_t> deleted = kv::ApplyAndWait(*this, std::move(batch)); !deleted.ok())
    return deleted.error();

  // A snapshot does not keep files from being dropped, as an iterator does. Those of points, which
  // may live for days, have no need of this tablet.
  const uint64_t deleted_at = db_->GetLatestSequenceNumber();
  for (uint64_t oldest = 0;
       db_->GetIntProperty(rocksdb::DB::Properties::kOldestSnapshotSequence, &oldest) &&
       oldest != 0 && oldest < deleted_at && !points_.HoldAllSnapshots();) {
    if (*stop) return Error(ErrorCode::kUnavailable, "The store is closing.");
    std::this_thread::sleep_for(kSnapshotPoll);
  }

  const auto size_of_files = [&]() -> uint64_t {
    const rocksdb::Range range(begin, end);
    rocksdb::SizeApproximationOptions options;
    options.include_memtables = false;
    uint64_t bytes = 0;
    return db_->GetApproximateSizes(options, family, &range, 1, &bytes).ok() ? bytes : 0;
  };
  const uint64_t before = size_of_files();
  rocksdb::Status status = rocksdb::DeleteFilesInRange(db_.get(), family, &begin, &end, false);
  if (!status.ok()) return failed(status);
  const uint64_t after = size_of_files();
  const uint64_t freed = before - std::min(after, before);
  reclaimed_bytes_.fetch_add(freed, std::memory_order_relaxed);

  // A compaction writes the memtable first, and then what others have in the files it reads. On a
  // full disk there may be room for that all the same, and what it gives back is the way out: files
  // of the first level are never dropped. Without room it would take the space that deletes need.
  if (Status health = committer_.Health(); !health.ok()) {
    uint64_t memtables = 0;
    db_->GetIntProperty(family, rocksdb::DB::Properties::kCurSizeAllMemTables, &memtables);
    uint64_t read = 0;
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (file.column_family_name == family->GetName() &&
          rocksdb::Slice(file.largestkey).compare(begin) >= 0 &&
          rocksdb::Slice(file.smallestkey).compare(end) < 0)
        read += file.size;
    }
    const uint64_t kept = read - std::min(after, read);
    if (DiskSpace(options_).Free() < memtables + kept + kLeastFreeBytes)
      return std::move(health).error();
  }
  rocksdb::CompactRangeOptions compaction;
  compaction.exclusive_manual_compaction = false;
  compaction.canceled = stop;
  status = db_->CompactRange(compaction, family, &begin, &end);
  // For the snapshot of a point the compaction has kept all of it, in files that can go now.
  if (status.ok() && points_.any())
    status = rocksdb::DeleteFilesInRange(db_.get(), family, &begin, &end, false);
  if (!status.ok()) return failed(status);
  return freed;
}

Status RocksEngine::AddFeature(std::string_view name) {
  if (!kv::CheckFeatures("", {std::string(name)}, KnownFeatures(options_)).ok())
    return InternalError(fmt::format("The feature {} is not in kv/features.cc.", name));
  MutexLock lock(features_mutex_);
  if (features_.find(name) != features_.end()) return OkStatus();
  kv::Features features = features_;
  features.emplace(name);
  TRY(WriteFormat(options_.path, features));
  features_ = std::move(features);
  return OkStatus();
}

Error OpenError(const RocksOptions& options, const rocksdb::Status& status) {
  const std::string text = status.ToString();
  if (status.IsIOError() && text.find("LOCK") != std::string::npos) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("Another process has the store in {} open. Stop it, or name another directory.",
                    options.path));
  }
  if (status.IsCorruption()) {
    return CorruptionError(
        fmt::format("The store in {} is damaged and was not opened: {}. Restore it from a backup.",
                    options.path, text));
  }
  return Error(ErrorCode::kUnavailable,
               fmt::format("Cannot open the store in {}: {}.", options.path, text));
}

// A new store is made in two steps because RocksDB writes and rereads its OPTIONS file after every
// family that DB::Open creates, but once after CreateColumnFamilies: half the time of a first
// start. A crash between the steps is mended by create_missing_column_families.
rocksdb::Status OpenOrCreate(const Tuning& tuning, const std::string& path,
                             std::vector<rocksdb::ColumnFamilyHandle*>* families,
                             rocksdb::DB** opened) {
  std::error_code error;
  if (std::filesystem::exists(path + "/CURRENT", error) || error) {
    return rocksdb::DB::Open(tuning.db, path, tuning.families, families, opened);
  }
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(tuning.db, path, {tuning.families[0]}, families, &db);
  if (!status.ok()) return status;
  std::vector<rocksdb::ColumnFamilyHandle*> made;
  status = db->CreateColumnFamilies({tuning.families.begin() + 1, tuning.families.end()}, &made);
  families->insert(families->end(), made.begin(), made.end());
  if (status.ok()) {
    *opened = db;
    return status;
  }
  for (rocksdb::ColumnFamilyHandle* family : *families) db->DestroyColumnFamilyHandle(family);
  families->clear();
  delete db;
  return status;
}

Result<uint64_t> ReadLastStamp(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  std::string value;
  const rocksdb::Status status =
      db->Get(rocksdb::ReadOptions(), family, ToSlice(kLastStampKey), &value);
  if (status.IsNotFound()) return uint64_t{0};
  if (!status.ok()) return ReadError(status);
  if (value.size() != sizeof(uint64_t))
    return CorruptionError("The store is damaged: its last stamp has a wrong length.");
  return kv::LoadLittle64(value.data());
}

// An open database, closed with the object.
struct OpenDb {
  OpenDb() = default;
  OpenDb(OpenDb&& other) noexcept
      : db(std::move(other.db)),
        families(std::exchange(other.families, {})),
        last_stamp(other.last_stamp) {}
  ~OpenDb() {
    if (db == nullptr) return;
    for (rocksdb::ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
    db->Close().PermitUncheckedError();
  }
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  uint64_t last_stamp = 0;
};

// Opens the database without changing a file: its logs are read into memory.
Result<OpenDb> OpenToRead(const RocksOptions& options, const Tuning& tuning) {
  OpenDb open;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(
      tuning.db, options.path, tuning.families, &open.families, &opened);
  if (!status.ok()) return OpenError(options, status);
  open.db.reset(opened);
  ASSIGN_OR_RETURN(open.last_stamp, ReadLastStamp(opened, open.families[0]));
  return open;
}

Result<OpenDb> OpenToWrite(const RocksOptions& options, const Tuning& tuning) {
  OpenDb open;
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = OpenOrCreate(tuning, options.path, &open.families, &opened);
  // At most once for the newest log and once for the manifest.
  for (int repairs = 0; status.IsCorruption() && repairs < 2; ++repairs) {
    ASSIGN_OR_RETURN(const bool repaired, CutTornTail(options.path, options.sync, status.ToString(),
                                                      options.keys.get()));
    if (!repaired) break;
    status = OpenOrCreate(tuning, options.path, &open.families, &opened);
  }
  if (!status.ok()) return OpenError(options, status);
  open.db.reset(opened);
  ASSIGN_OR_RETURN(open.last_stamp, ReadLastStamp(opened, open.families[0]));
  return open;
}

Status StoreLastStamp(const OpenDb& open, uint64_t last_stamp) {
  char stamp[sizeof(uint64_t)];
  kv::StoreLittle64(stamp, last_stamp);
  rocksdb::WriteBatch batch;
  batch.Put(open.families[0], ToSlice(kLastStampKey), rocksdb::Slice(stamp, sizeof stamp));
  batch.PutLogData(kEndMark);
  rocksdb::WriteOptions how;
  how.sync = true;
  const rocksdb::Status status = open.db->Write(how, &batch);
  if (status.ok()) return OkStatus();
  return Error(ErrorCode::kUnavailable,
               fmt::format("The log of the store cannot be written: {}.", status.ToString()));
}

Error LostWrites(const RocksOptions& options, const SyncedMark::Content& mark,
                 uint64_t last_stamp) {
  return CorruptionError(fmt::format(
      "The store in {} has lost the last {} writes that were acknowledged: its log ends at write "
      "{}, and write {} was synced. A file of the log (*.log) is missing or was cut. Bring it "
      "back, "
      "or restore the directory from a backup; to go on without these writes start once with "
      "--accept-lost-writes.",
      options.path, mark.stamp - last_stamp, last_stamp, mark.stamp));
}

// Keeps other processes out, as RocksDB does in a store that it writes.
Result<std::shared_ptr<rocksdb::FileLock>> LockStore(const RocksOptions& options) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status status = env->LockFile(options.path + "/LOCK", &lock);
  if (!status.ok()) return OpenError(options, status);
  return std::shared_ptr<rocksdb::FileLock>(
      lock, [env](rocksdb::FileLock* held) { env->UnlockFile(held).PermitUncheckedError(); });
}

// Looks for lost writes before RocksDB changes a file, so that a log that turns up can still be
// brought back. Reads the logs twice only where they end before the mark, which they do when their
// writes are in tables already.
Status CheckLog(const RocksOptions& options, const std::optional<SyncedMark::Content>& mark) {
  if (!mark || !mark->synced || options.accept_lost_writes) return OkStatus();
  if (LastStampInLogs(options.path, options.keys.get()) >= mark->stamp) return OkStatus();
  const Tuning tuning = MakeTuning(options);  // the database uses it
  const Result<OpenDb> looked = OpenToRead(options, tuning);
  // Whatever is wrong with it, OpenToWrite repairs or names it.
  if (!looked.ok() || looked->last_stamp >= mark->stamp) return OkStatus();
  return LostWrites(options, *mark, looked->last_stamp);
}

// OK, or why the store cannot be opened to be written: RocksDB aborts the process if the disk is
// full when it opens a store.
Status CheckRoom(const RocksOptions& options) {
  const DiskSpace space(options);
  const uint64_t need = DiskSpace::NeedOfStart(options.path);
  std::optional<uint64_t> free = space.Free();
  if (free && *free < need && space.GiveUpBallast()) free = space.Free();
  if (!free || *free >= need) return OkStatus();
  return Error(
      ErrorCode::kUnavailable,
      fmt::format("The disk is full: the file system of {} has {} MB free, and the store needs {} "
                  "MB to be opened for writing. Free some space, then restart the server.",
                  options.path, *free >> 20, (need >> 20) + 1));
}

}  // namespace

Result<std::unique_ptr<kv::Engine>> OpenRocks(const RocksOptions& options) {
  ASSIGN_OR_RETURN(kv::Features features, PrepareDirectory(options.path, KnownFeatures(options)));
  ASSIGN_OR_RETURN(std::shared_ptr<rocksdb::FileLock> lock, LockStore(options));
  TRY(SettleKeys(options, &features));
  const std::optional<SyncedMark::Content> mark = SyncedMark::Read(options.path);
  TRY(CheckLog(options, mark));
  Tuning tuning = MakeTuning(options);
  Status read_only = CheckRoom(options);
  // Only a store that is there can be read.
  std::error_code error;
  if (!read_only.ok() && !std::filesystem::exists(options.path + "/CURRENT", error))
    return std::move(read_only).error();
  // RocksDB locks a store that it writes itself.
  if (read_only.ok()) lock.reset();
  ASSIGN_OR_RETURN(OpenDb open,
                   read_only.ok() ? OpenToWrite(options, tuning) : OpenToRead(options, tuning));
  uint64_t last_stamp = open.last_stamp;
  if (mark && last_stamp < mark->stamp) {
    if (mark->synced && !options.accept_lost_writes) return LostWrites(options, *mark, last_stamp);
    LogWarn(mark->synced ? "lost_writes_accepted" : "lost_writes",
            {{"writes", mark->stamp - last_stamp}, {"last_stamp", last_stamp}});
    // Their stamps are not used again, and the next start finds what the mark says.
    last_stamp = mark->stamp;
    if (read_only.ok()) TRY(StoreLastStamp(open, last_stamp));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> families = std::exchange(open.families, {});
  return std::unique_ptr<kv::Engine>(std::make_unique<RocksEngine>(
      options, std::move(tuning), std::move(open.db), std::move(families), last_stamp,
      std::move(features), std::move(read_only), std::move(lock)));
}

}  // namespace stator::kv_rocks
