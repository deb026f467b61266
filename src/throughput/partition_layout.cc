#include "throughput/partition_layout.h"

#include <algorithm>
#include <utility>

namespace stator::throughput {

Layout::Layout(std::vector<KeyBound> bounds, std::vector<std::shared_ptr<Partition>> partitions)
    : bounds_(std::move(bounds)), partitions_(std::move(partitions)) {
  for (const KeyBound& bound : bounds_) hashes_.push_back(bound.hash);
}

size_t Layout::Find(const KeyPoint& point) const {
  const auto after = std::upper_bound(hashes_.begin(), hashes_.end(), point.hash);
  size_t index = static_cast<size_t>(after - hashes_.begin()) - 1;  // the first bound is hash 0
  if (bounds_[index].sort.empty() || hashes_[index] != point.hash) return index;
  // Bounds inside this item collection.
  const auto first = std::lower_bound(hashes_.begin(), after, point.hash) - hashes_.begin();
  const auto owner = std::upper_bound(
      bounds_.begin() + first, bounds_.begin() + static_cast<std::ptrdiff_t>(index) + 1, point,
      [](const KeyPoint& p, const KeyBound& bound) { return bound.IsAfter(p); });
  return static_cast<size_t>(owner - bounds_.begin()) - 1;
}

KeyRange Layout::RangeOf(size_t index) const {
  KeyRange range{bounds_[index], {}, index + 1 == bounds_.size()};
  if (!range.to_end) range.to = bounds_[index + 1];
  return range;
}

void Layout::Split(size_t index, const KeyBound& bound, std::shared_ptr<Partition> left,
                   std::shared_ptr<Partition> right) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  partitions_[index] = std::move(left);
  partitions_.insert(partitions_.begin() + at + 1, std::move(right));
  bounds_.insert(bounds_.begin() + at + 1, bound);
  hashes_.insert(hashes_.begin() + at + 1, bound.hash);
}

}  // namespace stator::throughput
