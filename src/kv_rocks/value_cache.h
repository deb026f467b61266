// Values by key in memory, in front of RocksDB: a hit costs a hash and a copy, where RocksDB looks
// through memtables, filters, an index and a block. Internal to the room.
//
// It never shows a value that was replaced by a durable one:
//  - BeginChange takes a key out before the write that changes it, and keeps it out until
//    EndChange;
//  - a reader that missed may put in what it read from RocksDB only if no change of its shard has
//    ended since it looked, for otherwise what it read may be older than that change.
// So a read that hits sees a value whose successor, if any, is not visible in RocksDB yet.
//
// It keeps whole ranges as well, as long as they lie within one prefix, under the same two rules
// for all keys of the prefix: a range that hits is what one iterator saw, and no change to it is
// visible yet.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lru_list.h"
#include "base/mutex.h"
#include "base/prefetch.h"

namespace stator::kv_rocks {

// What a scan of [begin, end) found: all keys and values, in order, one behind the other.
class CachedRange {
 public:
  CachedRange(std::string_view begin, std::string_view end) : begin_(begin), end_(end) {}

  void Append(std::string_view key, std::string_view value) {
    slots_.push_back({bytes_.size(), key.size(), value.size()});
    bytes_.append(key).append(value);
  }
  // After the last entry: gives back room, and puts right what a scan in reverse met the other way
  // round.
  void Finish(bool reverse);

  bool Covers(std::string_view begin, std::string_view end) const {
    return begin_ <= begin && end <= end_;
  }
  size_t size() const { return slots_.size(); }
  std::string_view key(size_t i) const {
    return {bytes_.data() + slots_[i].at, slots_[i].key_bytes};
  }
  std::string_view value(size_t i) const {
    return {bytes_.data() + slots_[i].at + slots_[i].key_bytes, slots_[i].value_bytes};
  }
  // Of an entry that will be read soon.
  void Prefetch(size_t i) const {
    stator::Prefetch(bytes_.data() + slots_[i].at, slots_[i].key_bytes + slots_[i].value_bytes);
  }
  // The first entry whose key is not less than `bound`; size() if there is none.
  size_t LowerBound(std::string_view bound) const;
  // Of keys and values.
  size_t bytes() const { return bytes_.size(); }
  // What it takes in memory.
  uint64_t Charge() const;

 private:
  struct Slot {
    size_t at;
    size_t key_bytes;
    size_t value_bytes;
  };
  std::string begin_;
  std::string end_;
  std::string bytes_;
  std::vector<Slot> slots_;
};

// Thread-safe. Keys are those of the items' column family, with the tablet's prefix.
class ValueCache {
 public:
  // About so many bytes, keys and bookkeeping included; 0 switches the cache off.
  // `prefix_bytes`: what the keys of a range that is kept share at least; 0: no ranges are kept.
  ValueCache(uint64_t capacity_bytes, size_t prefix_bytes);
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;

  // Copies the value out. On a miss, *ticket is what Insert wants.
  bool Find(std::string_view key, std::string* value, uint64_t* ticket);
  // Offers what RocksDB answered to a reader that missed.
  void Insert(std::string_view key, std::string_view value, uint64_t ticket);

  // A range that covers [begin, end), which lie within one prefix; null on a miss. *ticket is what
  // InsertRange wants.
  std::shared_ptr<const CachedRange> FindRange(std::string_view begin, std::string_view end,
                                               uint64_t* ticket);
  // Offers a range of the prefix that `begin` has. It takes the place of what there was of that
  // prefix.
  void InsertRange(std::string_view begin, std::shared_ptr<const CachedRange> range,
                   uint64_t ticket);
  // Whether a range of so many bytes is worth collecting.
  bool MayKeepRange(uint64_t bytes) const { return prefix_bytes_ > 0 && bytes <= max_range_bytes_; }

  // Around a write of this key. Returns whether the key was cached: only then is its new value
  // worth keeping.
  bool BeginChange(std::string_view key);
  // `value`: what the key has now; null if it is gone, unknown or not worth keeping.
  void EndChange(std::string_view key, const std::string_view* value);
  // The same for the ranges that a write changes; `prefixes` are what PrefixOf says, each once.
  void BeginRangeChanges(std::span<const uint64_t> prefixes);
  void EndRangeChanges(std::span<const uint64_t> prefixes);
  // Names the prefix of a key; nullopt if no range holds the key.
  std::optional<uint64_t> PrefixOf(std::string_view key) const {
    if (shard_capacity_ == 0 || prefix_bytes_ == 0 || key.size() < prefix_bytes_)
      return std::nullopt;
    return Hash(key.substr(0, prefix_bytes_));
  }
  // Around a write that deletes ranges.
  void BeginChangeAll();
  void EndChangeAll();

  uint64_t bytes() const;
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  uint64_t range_hits() const { return range_hits_.load(std::memory_order_relaxed); }
  uint64_t range_misses() const { return range_misses_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::string key;
    std::string value;
    uint64_t prefix = 0;                                 // of `range`
    std::shared_ptr<const CachedRange> range = nullptr;  // if this is set, key and value are not
  };
  using Handle = LruList<Entry>::Handle;
  struct Shard {
    mutable Mutex mutex;
    uint64_t changes GUARDED_BY(mutex) = 0;            // that have ended
    std::vector<uint64_t> changing GUARDED_BY(mutex);  // hashes of keys between Begin and End
    bool all_changing GUARDED_BY(mutex) = false;
    LruList<Entry> lru GUARDED_BY(mutex);
    std::unordered_map<std::string_view, Handle> entries GUARDED_BY(mutex);
    std::unordered_map<uint64_t, Handle> ranges GUARDED_BY(mutex);  // by PrefixOf
  };
  static constexpr size_t kShards = 64;

  static uint64_t Hash(std::string_view key) { return std::hash<std::string_view>()(key); }
  Shard& ShardOf(uint64_t hash) { return shards_[(hash >> 32) % kShards]; }
  static void Remove(Shard& shard, Handle entry) REQUIRES(shard.mutex);
  static bool MayInsert(const Shard& shard, uint64_t hash, uint64_t ticket) REQUIRES(shard.mutex);
  void Put(Shard& shard, std::string_view key, std::string_view value) REQUIRES(shard.mutex);
  void EvictTo(Shard& shard, uint64_t bytes) REQUIRES(shard.mutex);

  const uint64_t shard_capacity_;
  const size_t prefix_bytes_;
  const uint64_t max_range_bytes_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> range_hits_{0};
  std::atomic<uint64_t> range_misses_{0};
};

}  // namespace stator::kv_rocks
