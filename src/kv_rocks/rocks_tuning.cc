#include "kv_rocks/rocks_tuning.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "kv_rocks/disk_space.h"
#include "kv_rocks/encrypted_files.h"
#include "kv_rocks/spare_descriptors.h"

namespace stator::kv_rocks {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLogRewriteSeconds = 24 * 3600;

rocksdb::CompressionType BestFastCompression() {
  for (rocksdb::CompressionType type : rocksdb::GetSupportedCompressions()) {
    if (type == rocksdb::kLZ4Compression) return type;
  }
  return rocksdb::kNoCompression;
}

std::shared_ptr<rocksdb::TableFactory> MakeTableFactory(
    const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 8 << 10;
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  // Index and filter blocks count against the budget too.
  table.cache_index_and_filter_blocks = true;
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kFlushedAndSimilar;
  // What was just written stays readable from memory when its memtable goes.
  table.prepopulate_block_cache =
      rocksdb::BlockBasedTableOptions::PrepopulateBlockCache::kFlushOnly;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(table));
}

}  // namespace

Tuning MakeTuning(const RocksOptions& options) {
  const uint64_t budget = std::max(options.memory_budget_bytes, 8 * kMiB);
  // Hot items are best held as items (a block holds eight), ranges as blocks; what is written waits
  // in memtables.
  const uint64_t values = budget / 2;
  const uint64_t blocks = budget - values;
  const uint64_t memtables = budget / 4;
  Tuning tuning;
  tuning.value_cache_bytes = values;

  rocksdb::LRUCacheOptions cache;
  cache.capacity = blocks;
  cache.num_shard_bits = budget >= 64 * kMiB ? 4 : 1;
  cache.high_pri_pool_ratio = 0.2;
  tuning.cache = rocksdb::NewLRUCache(cache);

  rocksdb::DBOptions& db = tuning.db;
  if (options.env == nullptr) tuning.base_env = MakeEnvWithSpares();
  db.env = options.env != nullptr ? options.env : tuning.base_env.get();
  if (options.keys != nullptr) {
    tuning.env = MakeEncryptedEnv(*db.env, options.keys);
    db.env = tuning.env.get();
  }
  tuning.room_env = CompactionRoom::MakeEnv(*db.env);
  db.env = tuning.room_env.get();
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(memtables, tuning.cache);
  db.max_total_wal_size = std::clamp(budget / 2, 32 * kMiB, 512 * kMiB);
  db.max_background_jobs = std::thread::hardware_concurrency() > 4 ? 4 : 2;
  db.max_file_opening_threads = 1;
  db.compaction_readahead_size = 512 << 10;
  db.writable_file_max_buffer_size = 256 << 10;
  db.bytes_per_sync = kMiB;

  // One thread writes, so nothing is gained from machinery for many writers.
  db.allow_concurrent_memtable_write = false;
  db.enable_write_thread_adaptive_yield = false;

  // A torn record at the end of the log is a write that was never acknowledged: it goes, without a
  // flag. Damage before the end is an acknowledged write: kPointInTime would drop it and all that
  // follows without a word, so it is refused. kAbsoluteConsistency would refuse the torn tail as
  // well. The manifest says which older logs there must be, and how long.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.track_and_verify_wals_in_manifest = true;
  db.manual_wal_flush = false;
  db.paranoid_checks = true;
  db.max_bgerror_resume_count = 0;  // the committer resumes, when there is space again
  tuning.errors = std::make_shared<ErrorListener>();
  db.listeners.push_back(tuning.errors);
  tuning.room = std::make_shared<CompactionRoom>(
      options.path, [options] { return DiskSpace(options).Free(); }, options.reserve_free_bytes);
  db.listeners.push_back(tuning.room);

  db.statistics = rocksdb::CreateDBStatistics();
  db.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.info_log_level = rocksdb::WARN_LEVEL;
  db.max_log_file_size = 4 * kMiB;
  db.keep_log_file_num = 2;
  db.max_manifest_file_size = 16 * kMiB;

  rocksdb::ColumnFamilyOptions family;
  // What is rewritten soon is not worth compressing.
  family.compression_per_level = {rocksdb::kNoCompression, rocksdb::kNoCompression,
                                  BestFastCompression()};
  family.level0_file_num_compaction_trigger = 8;
  family.table_factory = MakeTableFactory(tuning.cache);
  family.level_compaction_dynamic_level_bytes = true;
  family.max_write_buffer_number = 3;
  family.memtable_prefix_bloom_size_ratio = 0.02;
  family.memtable_whole_key_filtering = true;
  for (const char* name : kFamilyNames) tuning.families.emplace_back(name, family);

  for (size_t i = 0; i < kFamilies; ++i) {
    rocksdb::ColumnFamilyOptions& mine = tuning.families[i].options;
    const bool large = i == FamilyIndex(kv::Space::kItems) || i == FamilyIndex(kv::Space::kLog);
    mine.write_buffer_size = large ? std::clamp(budget / 4, kMiB, 64 * kMiB) : kMiB;
    mine.arena_block_size = large ? 256 << 10 : 16 << 10;
    // Ranges that were deleted (trimmed streams, expired tokens) keep their space until a
    // compaction meets them, which in a log that rests nothing else begins.
    if (i == FamilyIndex(kv::Space::kLog)) mine.periodic_compaction_seconds = kLogRewriteSeconds;
    if (!large) mine.memtable_prefix_bloom_size_ratio = 0;
    if (i == FamilyIndex(kv::Space::kItems) && options.items_prefix_bytes > 0) {
      tuning.items_prefix_bytes = kTabletBytes + options.items_prefix_bytes;
      // Capped, not fixed: counters have keys shorter than the prefix, and RocksDB does not always
      // ask before it cuts.
      mine.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(tuning.items_prefix_bytes));
    }
  }
  return tuning;
}

Error ReadError(const rocksdb::Status& status) {
  if (status.IsIncomplete()) return Error(ErrorCode::kWouldBlock, "The data is not in memory.");
  if (status.IsCorruption())
    return CorruptionError("The store is damaged: " + status.ToString() + ".");
  return Error(ErrorCode::kUnavailable, "The store cannot be read: " + status.ToString() + ".");
}

uint64_t SizeOfTablet(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, uint32_t tablet) {
  char room[kTabletBytes];
  const PrefixedKey begin(tablet, {});
  const rocksdb::Range range(begin.slice(), ToSlice(PrefixedKey::TabletEnd(tablet, room)));
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  uint64_t bytes = 0;
  return db.GetApproximateSizes(options, family, &range, 1, &bytes).ok() ? bytes : 0;
}

}  // namespace stator::kv_rocks
