#include "throughput/heavy_hitters.h"

#include <algorithm>

#include "base/fnv.h"
#include "base/heap_bytes.h"

namespace stator::throughput {
namespace {

// Sort keys have no hash of their own here; FNV-1a over them is enough to tell the keys of one
// sketch apart.
uint64_t ItemId(uint64_t hash, std::string_view sort) { return Fnv1a(sort, hash ^ kFnvBasis); }

}  // namespace

void HeavyHitters::Add(const KeyPoint& point, double weight) {
  total_ += weight;
  if (of_ == Of::kCollections) {
    AddKey(point.hash, point.hash, point.partition, {}, weight, 0);
  } else {
    AddKey(ItemId(point.hash, point.sort), point.hash, point.partition, point.sort, weight, 0);
  }
}

void HeavyHitters::AddKey(uint64_t id, uint64_t hash, std::string_view partition,
                          std::string_view sort, double weight, double overestimate) {
  if (counters_ == 0) return;
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  if (found != ids_.end()) {
    HeavyKey& key = keys_[static_cast<size_t>(found - ids_.begin())];
    key.weight += weight;
    key.overestimate += overestimate;
    return;
  }
  HeavyKey key{id,
               hash,
               std::string(partition.substr(0, label_bytes_)),
               std::string(sort.substr(0, label_bytes_)),
               weight,
               overestimate};
  if (keys_.size() < counters_) {
    ids_.push_back(id);
    keys_.push_back(std::move(key));
    return;
  }
  // The lightest key gives its place up and leaves its weight as the newcomer's possible error.
  const auto lightest =
      std::min_element(keys_.begin(), keys_.end(),
                       [](const HeavyKey& a, const HeavyKey& b) { return a.weight < b.weight; });
  key.weight += lightest->weight;
  key.overestimate += lightest->weight;
  ids_[static_cast<size_t>(lightest - keys_.begin())] = id;
  *lightest = std::move(key);
}

void HeavyHitters::Merge(const HeavyHitters& other) {
  total_ += other.total_;
  for (const HeavyKey& key : other.Top(other.size())) {
    AddKey(key.id, key.hash, key.partition, key.sort, key.weight, key.overestimate);
  }
}

void HeavyHitters::Clear() {
  ids_.clear();
  keys_.clear();
  total_ = 0;
}

size_t HeavyHitters::Bytes() const {
  size_t bytes = ids_.capacity() * sizeof(uint64_t) + keys_.capacity() * sizeof(HeavyKey);
  for (const HeavyKey& key : keys_) bytes += HeapBytes(key.partition) + HeapBytes(key.sort);
  return bytes;
}

std::vector<HeavyKey> HeavyHitters::Top(size_t limit) const {
  std::vector<HeavyKey> top = keys_;
  std::sort(top.begin(), top.end(), [](const HeavyKey& a, const HeavyKey& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  });
  if (top.size() > limit) top.resize(limit);
  return top;
}

}  // namespace stator::throughput
