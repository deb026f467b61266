// How many suffixes a hot partition key needs, found by hashing them. Pure.
//
// A random or computed suffix makes N keys of one: "2026-11-22.1" to "2026-11-22.N". Each falls on
// a partition by its hash, so N keys load the partitions unevenly, and the fullest one decides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stator::throughput {

// With the planned suffixes the fullest partition stays below this part of its limit. [A]: room for
// the accidents of random arrival.
inline constexpr double kSuffixFill = 0.8;
// A plan with more suffixes needs more partitions instead. [A]: a reader of all suffixes sends as
// many queries; the guidance's example has 200.
inline constexpr int64_t kMostPlannedSuffixes = 400;
// The plan holds for this many keys in place of the hot one, too. [A]: tomorrow's date is hot
// tomorrow, and an application may write "#7" where the plan has ".7".
inline constexpr int kSiblingKeys = 7;

// "KEY.N", the form of Amazon's example; N counts from 1.
std::string SuffixedKey(std::string_view key, int64_t n);

struct PlannedPartition {
  uint64_t start = 0;  // hash at which it begins; ascending, the first is 0
  double limit = 0;    // units per second that it serves
};

struct SuffixPlan {
  int64_t values = 1;      // suffixes; 1: the key needs none; 0: no number up to the limit does
  int64_t partitions = 1;  // that the plan needs
  double fullest = 0;      // part of its limit that the fullest partition then has
};

// The least number of suffixes for `units_per_second` of `key` on these partitions. values = 0
// where kMostPlannedSuffixes are too few: the partitions are.
SuffixPlan PlanSuffixes(std::string_view key, double units_per_second,
                        const std::vector<PlannedPartition>& partitions);

// Each partition cut in the middle of its hashes, with `limit` for every half.
std::vector<PlannedPartition> Doubled(const std::vector<PlannedPartition>& partitions,
                                      double limit);

}  // namespace stator::throughput
