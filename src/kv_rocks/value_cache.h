// Values by key in memory, in front of RocksDB: a hit costs a hash and a copy, where RocksDB looks through memtables, filters,
// an index and a block. Internal to the room.
//
// It never shows a value that was replaced by a durable one:
//  - BeginChange takes a key out before the write that changes it, and keeps it out until EndChange;
//  - a reader that missed may put in what it read from RocksDB only if no change of its shard has ended since it looked, for
//    otherwise what it read may be older than that change.
// So a read that hits sees a value whose successor, if any, is not visible in RocksDB yet.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace stator::kv_rocks {

// Thread-safe. Keys are those of the items' column family, with the tablet's prefix.
class ValueCache {
 public:
  // About so many bytes, keys and bookkeeping included; 0 switches the cache off.
  explicit ValueCache(uint64_t capacity_bytes);
  ~ValueCache();
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;

  // Copies the value out. On a miss, *ticket is what Insert wants.
  bool Find(std::string_view key, std::string* value, uint64_t* ticket);
  // Offers what RocksDB answered to a reader that missed.
  void Insert(std::string_view key, std::string_view value, uint64_t ticket);

  // Around a write of this key. Returns whether the key was cached: only then is its new value worth keeping.
  bool BeginChange(std::string_view key);
  // `value`: what the key has now; null if it is gone, unknown or not worth keeping.
  void EndChange(std::string_view key, const std::string_view* value);
  // Around a write that deletes ranges.
  void BeginChangeAll();
  void EndChangeAll();

  uint64_t bytes() const;
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    Entry* newer = nullptr;
    Entry* older = nullptr;
    std::string key;
    std::string value;
  };
  struct Shard {
    mutable Mutex mutex;
    uint64_t changes GUARDED_BY(mutex) = 0;                 // that have ended
    std::vector<uint64_t> changing GUARDED_BY(mutex);       // hashes of keys between Begin and End
    bool all_changing GUARDED_BY(mutex) = false;
    uint64_t bytes GUARDED_BY(mutex) = 0;
    Entry* newest GUARDED_BY(mutex) = nullptr;
    Entry* oldest GUARDED_BY(mutex) = nullptr;
    std::unordered_map<std::string_view, Entry*> entries GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 64;

  static uint64_t Hash(std::string_view key) { return std::hash<std::string_view>()(key); }
  Shard& ShardOf(uint64_t hash) { return shards_[(hash >> 32) % kShards]; }
  static uint64_t Charge(const Entry& entry);
  static void Unlink(Shard& shard, Entry* entry);
  static void LinkNewest(Shard& shard, Entry* entry);
  static void Remove(Shard& shard, Entry* entry);
  void Put(Shard& shard, std::string_view key, std::string_view value);
  void EvictTo(Shard& shard, uint64_t bytes);

  const uint64_t shard_capacity_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

}  // namespace stator::kv_rocks
