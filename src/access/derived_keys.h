// A bounded cache of signing keys, by key id, day, region and service.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "access/crypto.h"
#include "base/mutex.h"
#include "base/string_hash.h"

namespace stator::access {

// Thread-safe. Each call takes one of kShards mutexes for a lookup.
class DerivedKeys {
 public:
  // Holds at most about `capacity` keys.
  explicit DerivedKeys(size_t capacity = 16384);

  // Finds the signing key of "keyid/date/region/service". A key that was derived from the secret of
  // another generation is not found.
  bool Find(std::string_view scope, uint64_t generation, Digest* key);
  // Remembers a signing key. Callers insert it only after it verified a signature, or for the dummy
  // key, so that a stranger cannot fill the cache.
  void Insert(std::string_view scope, uint64_t generation, const Digest& key);

  // Returns the number of keys held.
  size_t size() const;

 private:
  static constexpr size_t kShards = 16;

  struct Entry {
    uint64_t generation = 0;
    Digest key{};
  };
  using Map = std::unordered_map<std::string, Entry, StringHash, std::equal_to<>>;
  // Two generations: a key that is used moves to `young`, and when `young` is full it replaces
  // `old`.
  struct Shard {
    mutable Mutex mutex;
    Map young GUARDED_BY(mutex);
    Map old GUARDED_BY(mutex);
  };

  Shard& ShardOf(std::string_view scope) { return shards_[StringHash()(scope) % kShards]; }
  void Put(Shard& shard, std::string_view scope, const Entry& entry) REQUIRES(shard.mutex);

  const size_t young_limit_;
  std::array<Shard, kShards> shards_;
};

}  // namespace stator::access
