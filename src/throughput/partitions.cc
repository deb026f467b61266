#include "throughput/partitions.h"

#include <algorithm>
#include <cmath>

namespace stator::throughput {

int64_t InitialPartitionsProvisioned(const ModelSettings& s, int64_t read_units,
                                     int64_t write_units) {
  // Over the common denominator: products of whole numbers are exact, so that no rounding decides
  // about a partition.
  const double numerator = static_cast<double>(read_units) * s.partition_write_units +
                           static_cast<double>(write_units) * s.partition_read_units;
  const double partitions =
      std::ceil(numerator / (s.partition_read_units * s.partition_write_units));
  return std::max<int64_t>(1, static_cast<int64_t>(partitions));
}

int64_t InitialPartitionsOnDemand(const ModelSettings& s, int64_t read_units, int64_t write_units) {
  const double by_reads = std::ceil(static_cast<double>(read_units) / s.partition_read_units);
  const double by_writes = std::ceil(static_cast<double>(write_units) / s.partition_write_units);
  return std::max<int64_t>(1, static_cast<int64_t>(std::max(by_reads, by_writes)));
}

int64_t PartitionsForBytes(int64_t bytes, int64_t partition_bytes) {
  return std::max<int64_t>(1, (bytes + partition_bytes - 1) / partition_bytes);
}

PartitionMap PartitionMap::Even(int64_t count) {
  PartitionMap map;
  map.starts_.clear();
  count = std::max<int64_t>(1, count);
  for (int64_t i = 0; i < count; ++i) {
    const unsigned __int128 space = static_cast<unsigned __int128>(1) << 64;
    map.starts_.push_back(
        static_cast<uint64_t>(space * static_cast<uint64_t>(i) / static_cast<uint64_t>(count)));
  }
  return map;
}

PartitionMap PartitionMap::FromStarts(std::vector<uint64_t> starts) {
  PartitionMap map;
  const bool valid =
      !starts.empty() && starts.front() == 0 &&
      std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) == starts.end();
  if (valid) map.starts_ = std::move(starts);
  return map;
}

size_t PartitionMap::Find(uint64_t hash) const {
  return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), hash) -
                             starts_.begin()) -
         1;
}

void PartitionMap::Split(uint64_t hash) {
  const size_t owner = Find(hash);
  if (starts_[owner] == hash) return;
  starts_.insert(starts_.begin() + static_cast<std::ptrdiff_t>(owner) + 1, hash);
}

}  // namespace stator::throughput
