// The heaviest keys of a stream in bounded memory: SpaceSaving (Metwally, Agrawal, El Abbadi,
// 2005). With k counters every key that has more than 1/k of the total weight is in it, and no
// count is too low; each says by how much it may be too high.
//
// Not thread-safe. Deterministic: equal streams give equal contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/key_point.h"

namespace stator::throughput {

struct HeavyKey {
  uint64_t id = 0;          // the hash of the partition key, or of both keys
  uint64_t hash = 0;        // of the partition key
  std::string partition;    // as it was given, cut to the label length; may be empty
  std::string sort;         // empty where whole item collections are counted
  double weight = 0;        // never too low
  double overestimate = 0;  // by how much `weight` may be too high
  double least() const { return weight - overestimate; }  // never too high
  // Whether more of the weight is the key's own than may be that of keys before it in its place:
  // else it is not known to be a heavy one.
  bool IsKnown() const { return least() > 0 && least() >= overestimate; }
};

class HeavyHitters {
 public:
  // What counts as a key: the whole item collection, or the single item.
  enum class Of : uint8_t { kCollections, kItems };

  HeavyHitters(Of of, size_t counters, size_t label_bytes)
      : of_(of), counters_(counters), label_bytes_(label_bytes) {}

  void Add(const KeyPoint& point, double weight);
  // Adds what another sketch of the same kind has seen.
  void Merge(const HeavyHitters& other);
  void Clear();
  // Heaviest first, at most `limit`.
  std::vector<HeavyKey> Top(size_t limit) const;
  // Weight of all that was added.
  double total() const { return total_; }
  size_t size() const { return ids_.size(); }
  // Bytes in memory beside the object itself.
  size_t Bytes() const;

 private:
  void AddKey(uint64_t id, uint64_t hash, std::string_view partition, std::string_view sort,
              double weight, double overestimate);

  Of of_;
  size_t counters_;
  size_t label_bytes_;
  std::vector<uint64_t> ids_;  // apart from the rest: a look-up reads only these
  std::vector<HeavyKey> keys_;
  double total_ = 0;
};

}  // namespace stator::throughput
