#include "access/derived_keys.h"

#include <algorithm>

namespace stator::access {

DerivedKeys::DerivedKeys(size_t capacity)
    : young_limit_(std::max<size_t>(1, capacity / (2 * kShards))) {}

void DerivedKeys::Put(Shard& shard, std::string_view scope, const Entry& entry) {
  if (shard.young.size() >= young_limit_) {
    shard.old = std::move(shard.young);
    shard.young.clear();
  }
  shard.young.insert_or_assign(std::string(scope), entry);
}

bool DerivedKeys::Find(std::string_view scope, uint64_t generation, Digest* key) {
  Shard& shard = ShardOf(scope);
  const MutexLock lock(shard.mutex);
  if (const auto found = shard.young.find(scope); found != shard.young.end()) {
    if (found->second.generation != generation) return false;
    *key = found->second.key;
    return true;
  }
  const auto found = shard.old.find(scope);
  if (found == shard.old.end() || found->second.generation != generation) return false;
  const Entry entry = found->second;
  shard.old.erase(found);
  Put(shard, scope, entry);
  *key = entry.key;
  return true;
}

void DerivedKeys::Insert(std::string_view scope, uint64_t generation, const Digest& key) {
  Shard& shard = ShardOf(scope);
  const MutexLock lock(shard.mutex);
  Put(shard, scope, {generation, key});
}

size_t DerivedKeys::size() const {
  size_t count = 0;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    count += shard.young.size() + shard.old.size();
  }
  return count;
}

}  // namespace stator::access
