#include "kv_rocks/value_cache.h"

#include <algorithm>
#include <memory>

namespace stator::kv_rocks {
namespace {

// A value that would fill a good part of a shard is better left to the block cache.
constexpr uint64_t kLargestShare = 8;
constexpr uint64_t kEntryOverhead = 160;  // node, map slot, allocator

}  // namespace

ValueCache::ValueCache(uint64_t capacity_bytes) : shard_capacity_(capacity_bytes / kShards) {}

ValueCache::~ValueCache() {
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    EvictTo(shard, 0);
  }
}

uint64_t ValueCache::Charge(const Entry& entry) { return entry.key.size() + entry.value.capacity() + kEntryOverhead; }

void ValueCache::Unlink(Shard& shard, Entry* entry) NO_THREAD_SAFETY_ANALYSIS {
  (entry->newer != nullptr ? entry->newer->older : shard.newest) = entry->older;
  (entry->older != nullptr ? entry->older->newer : shard.oldest) = entry->newer;
  entry->newer = entry->older = nullptr;
}

void ValueCache::LinkNewest(Shard& shard, Entry* entry) NO_THREAD_SAFETY_ANALYSIS {
  entry->older = shard.newest;
  if (shard.newest != nullptr) shard.newest->newer = entry;
  shard.newest = entry;
  if (shard.oldest == nullptr) shard.oldest = entry;
}

void ValueCache::Remove(Shard& shard, Entry* entry) NO_THREAD_SAFETY_ANALYSIS {
  Unlink(shard, entry);
  shard.bytes -= Charge(*entry);
  shard.entries.erase(entry->key);
  delete entry;
}

void ValueCache::EvictTo(Shard& shard, uint64_t bytes) NO_THREAD_SAFETY_ANALYSIS {
  while (shard.oldest != nullptr && shard.bytes > bytes) Remove(shard, shard.oldest);
}

void ValueCache::Put(Shard& shard, std::string_view key, std::string_view value) NO_THREAD_SAFETY_ANALYSIS {
  if (key.size() + value.size() + kEntryOverhead > shard_capacity_ / kLargestShare) return;
  if (shard.entries.contains(key)) return;
  auto entry = std::make_unique<Entry>();
  entry->key.assign(key);
  entry->value.assign(value);
  shard.bytes += Charge(*entry);
  shard.entries.emplace(entry->key, entry.get());
  LinkNewest(shard, entry.release());
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
  Entry* entry = it->second;
  value->assign(entry->value);
  if (shard.newest != entry) {
    Unlink(shard, entry);
    LinkNewest(shard, entry);
  }
  hits_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void ValueCache::Insert(std::string_view key, std::string_view value, uint64_t ticket) {
  if (shard_capacity_ == 0) return;
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  MutexLock lock(shard.mutex);
  if (shard.changes != ticket || shard.all_changing) return;
  if (std::find(shard.changing.begin(), shard.changing.end(), hash) != shard.changing.end()) return;
  Put(shard, key, value);
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
  const bool more = std::find(shard.changing.begin(), shard.changing.end(), hash) != shard.changing.end();
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
    total += shard.bytes;
  }
  return total;
}

}  // namespace stator::kv_rocks
