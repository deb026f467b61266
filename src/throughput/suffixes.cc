#include "throughput/suffixes.h"

#include <algorithm>
#include <array>

#include "throughput/key_hash.h"

namespace stator::throughput {
namespace {

// SplitMix64's finaliser: what a sibling of the key would hash to.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

size_t Find(const std::vector<PlannedPartition>& partitions, uint64_t hash) {
  const auto after =
      std::upper_bound(partitions.begin(), partitions.end(), hash,
                       [](uint64_t h, const PlannedPartition& p) { return h < p.start; });
  return static_cast<size_t>(after - partitions.begin()) - 1;
}

}  // namespace

std::string SuffixedKey(std::string_view key, int64_t n) {
  return std::string(key).append(".").append(std::to_string(n));
}

SuffixPlan PlanSuffixes(std::string_view key, double units_per_second,
                        const std::vector<PlannedPartition>& partitions) {
  SuffixPlan plan;
  plan.partitions = static_cast<int64_t>(partitions.size());
  if (partitions.empty() || units_per_second <= 0) return plan;
  const double own = partitions[Find(partitions, HashOfStringKey(key))].limit;
  plan.fullest = units_per_second / own;
  if (plan.fullest < kSuffixFill) return plan;
  // Keys of each partition, for the key and for each sibling; and the most of any partition, as a
  // part of its limit. Counts only grow, so that only the partition that got a key can be new.
  constexpr size_t kKeys = kSiblingKeys + 1;
  std::vector<std::array<int32_t, kKeys>> keys(partitions.size());
  double fullest = 0;
  for (int64_t n = 1; n <= kMostPlannedSuffixes; ++n) {
    const uint64_t hash = HashOfStringKey(SuffixedKey(key, n));
    for (size_t k = 0; k < kKeys; ++k) {
      const uint64_t place = k == 0 ? hash : Mix(hash + k * 0x9e3779b97f4a7c15);
      const size_t at = Find(partitions, place);
      fullest = std::max(fullest, ++keys[at][k] / partitions[at].limit);
    }
    plan.fullest = fullest * units_per_second / static_cast<double>(n);
    plan.values = n;
    if (n > 1 && plan.fullest < kSuffixFill) return plan;
  }
  plan.values = 0;
  return plan;
}

std::vector<PlannedPartition> Doubled(const std::vector<PlannedPartition>& partitions,
                                      double limit) {
  std::vector<PlannedPartition> twice;
  twice.reserve(2 * partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const uint64_t start = partitions[i].start;
    const uint64_t end = i + 1 < partitions.size() ? partitions[i + 1].start : UINT64_MAX;
    twice.push_back({start, limit});
    twice.push_back({start + (end - start) / 2 + (i + 1 < partitions.size() ? 0 : 1), limit});
  }
  return twice;
}

}  // namespace stator::throughput
