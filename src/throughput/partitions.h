// The partitions of a table: ranges of its hash space. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "throughput/model_settings.h"

namespace stator::throughput {

// Partitions a provisioned table starts with: ceil(RCU/3000 + WCU/1000) unless the settings say
// otherwise, at least 1.
int64_t InitialPartitionsProvisioned(const ModelSettings& settings, int64_t read_units,
                                     int64_t write_units);
// Partitions for on-demand or warm throughput: the larger of the two quotients, at least 1
// (12,000/4,000 is 4).
int64_t InitialPartitionsOnDemand(const ModelSettings& settings, int64_t read_units,
                                  int64_t write_units);

// Returns the number of partitions that `bytes` need, at least 1 (50 GB need 5).
int64_t PartitionsForBytes(int64_t bytes, int64_t partition_bytes);

// A partition owns the hashes from its start to the next one's. Starts are sorted; the first is 0.
// The hash is the upper 64 bits of the 128-bit hash of the partition key.
class PartitionMap {
 public:
  // Returns a map of `count` equal ranges, at least one.
  static PartitionMap Even(int64_t count);
  // Returns the map with these stored starts. For an invalid list, a map of one partition.
  static PartitionMap FromStarts(std::vector<uint64_t> starts);

  // Index of the partition that owns `hash`.
  size_t Find(uint64_t hash) const;
  // The highest hash of a partition.
  uint64_t last(size_t partition) const {
    return partition + 1 < starts_.size() ? starts_[partition + 1] - 1 : UINT64_MAX;
  }
  // Splits the partition that owns `hash` so that `hash` is the first hash of the upper half. Does
  // nothing if that partition begins with `hash` already.
  void Split(uint64_t hash);
  size_t size() const { return starts_.size(); }
  const std::vector<uint64_t>& starts() const { return starts_; }
  bool operator==(const PartitionMap&) const = default;

 private:
  std::vector<uint64_t> starts_ = {0};
};

}  // namespace stator::throughput
