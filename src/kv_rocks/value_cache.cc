#include "kv_rocks/value_cache.h"

#include <algorithm>
#include <memory>

namespace stator::kv_rocks {
namespace {

// A value that would fill a good part of a shard is better left to the block cache.
constexpr uint64_t kLargestShare = 8;
constexpr uint64_t kEntryOverhead = 200;  // node, map slot, allocator
// Larger ranges are better read block by block than held twice.
constexpr uint64_t kMaxRangeBytes = 64 << 10;

}  // namespace

void CachedRange::Finish(bool reverse) {
  if (reverse) std::reverse(slots_.begin(), slots_.end());
  bytes_.shrink_to_fit();
  slots_.shrink_to_fit();
}

size_t CachedRange::LowerBound(std::string_view bound) const {
  // Mostly the whole range is asked for again: then no key need be looked at.
  if (bound <= begin_) return 0;
  if (bound >= end_) return size();
  size_t low = 0;
  size_t high = size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (key(middle) < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint64_t CachedRange::Charge() const {
  return sizeof *this + begin_.size() + end_.size() + bytes_.capacity() +
         slots_.capacity() * sizeof(Slot);
}

ValueCache::ValueCache(uint64_t capacity_bytes, size_t prefix_bytes)
    : shard_capacity_(capacity_bytes / kShards),
      prefix_bytes_(prefix_bytes),
      max_range_bytes_(std::min(kMaxRangeBytes, shard_capacity_ / kLargestShare)) {}

void ValueCache::Remove(Shard& shard, Handle entry) {
  if (entry->range != nullptr) {
    shard.ranges.erase(entry->prefix);
  } else {
    shard.entries.erase(entry->key);
  }
  shard.lru.Remove(entry);
}

void ValueCache::EvictTo(Shard& shard, uint64_t bytes) {
  while (shard.lru.charge() > bytes) Remove(shard, shard.lru.oldest());
}

void ValueCache::Put(Shard& shard, std::string_view key, std::string_view value) {
  if (key.size() + value.size() + kEntryOverhead > shard_capacity_ / kLargestShare) return;
  if (shard.entries.contains(key)) return;
  Entry made{std::string(key), std::string(value)};
  const uint64_t charge = made.key.size() + made.value.capacity() + kEntryOverhead;
  const Handle entry = shard.lru.Add(std::move(made), charge);
  shard.entries.emplace(entry->key, entry);
  EvictTo(shard, shard_capacity_);
}

bool ValueCache::Find(std::string_view key, std::string* value, uint64_t* ticket) {
  if (shard_capacity_ == 0) return false;
  Shard& shard = ShardOf(Hash(key));
  MutexLock lock(shard.mutex);
  const auto it = shard.entries.find(key);
  if (it == shard.entries.end()) {
    *ticket = shard.changes;
    misses_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  value->assign(it->second->value);
  shard.lru.Use(it->second);
  hits_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// False if what a reader with this ticket saw may be older than a change of `hash`.
bool ValueCache::MayInsert(const Shard& shard, uint64_t hash, uint64_t ticket) {
  return shard.changes == ticket && !shard.all_changing &&
         std::find(shard.changing.begin(), shard.changing.end(), hash) == shard.changing.end();
}

void ValueCache::Insert(std::string_view key, std::string_view value, uint64_t ticket) {
  if (shard_capacity_ == 0) return;
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  MutexLock lock(shard.mutex);
  if (MayInsert(shard, hash, ticket)) Put(shard, key, value);
}

std::shared_ptr<const CachedRange> ValueCache::FindRange(std::string_view begin,
                                                         std::string_view end, uint64_t* ticket) {
  const std::optional<uint64_t> prefix = PrefixOf(begin);
  if (!prefix) return nullptr;
  Shard& shard = ShardOf(*prefix);
  MutexLock lock(shard.mutex);
  const auto it = shard.ranges.find(*prefix);
  if (it == shard.ranges.end() || !it->second->range->Covers(begin, end)) {
    *ticket = shard.changes;
    range_misses_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  shard.lru.Use(it->second);
  range_hits_.fetch_add(1, std::memory_order_relaxed);
  return it->second->range;
}

void ValueCache::InsertRange(std::string_view begin, std::shared_ptr<const CachedRange> range,
                             uint64_t ticket) {
  const std::optional<uint64_t> prefix = PrefixOf(begin);
  const uint64_t charge = range->Charge();
  if (!prefix || !MayKeepRange(charge)) return;
  Shard& shard = ShardOf(*prefix);
  MutexLock lock(shard.mutex);
  if (!MayInsert(shard, *prefix, ticket)) return;
  if (const auto it = shard.ranges.find(*prefix); it != shard.ranges.end())
    Remove(shard, it->second);
  shard.ranges.emplace(*prefix, shard.lru.Add({.prefix = *prefix, .range = std::move(range)},
                                              charge + kEntryOverhead));
  EvictTo(shard, shard_capacity_);
}

void ValueCache::BeginRangeChanges(std::span<const uint64_t> prefixes) {
  for (const uint64_t prefix : prefixes) {
    Shard& shard = ShardOf(prefix);
    MutexLock lock(shard.mutex);
    shard.changing.push_back(prefix);
    if (const auto it = shard.ranges.find(prefix); it != shard.ranges.end())
      Remove(shard, it->second);
  }
}

void ValueCache::EndRangeChanges(std::span<const uint64_t> prefixes) {
  for (const uint64_t prefix : prefixes) {
    Shard& shard = ShardOf(prefix);
    MutexLock lock(shard.mutex);
    ++shard.changes;
    shard.changing.erase(std::find(shard.changing.begin(), shard.changing.end(), prefix));
  }
}

bool ValueCache::BeginChange(std::string_view key) {
  if (shard_capacity_ == 0) return false;
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  MutexLock lock(shard.mutex);
  shard.changing.push_back(hash);
  const auto it = shard.entries.find(key);
  if (it == shard.entries.end()) return false;
  Remove(shard, it->second);
  return true;
}

void ValueCache::EndChange(std::string_view key, const std::string_view* value) {
  if (shard_capacity_ == 0) return;
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  MutexLock lock(shard.mutex);
  ++shard.changes;
  // One of several changes of the key in one group ends here; the key stays out until the last has.
  shard.changing.erase(std::find(shard.changing.begin(), shard.changing.end(), hash));
  const bool more =
      std::find(shard.changing.begin(), shard.changing.end(), hash) != shard.changing.end();
  if (value != nullptr && !more) Put(shard, key, *value);
}

void ValueCache::BeginChangeAll() {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    shard.all_changing = true;
    EvictTo(shard, 0);
  }
}

void ValueCache::EndChangeAll() {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    shard.all_changing = false;
    ++shard.changes;
    EvictTo(shard, 0);
  }
}

uint64_t ValueCache::bytes() const {
  uint64_t total = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    total += shard.lru.charge();
  }
  return total;
}

}  // namespace stator::kv_rocks
