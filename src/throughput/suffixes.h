// Finds how many suffixes a hot partition key needs, by hashing them. Pure.
//
// A random or computed suffix makes N keys of one: "2026-11-22.1" to "2026-11-22.N". Each falls on
// a partition by its hash, so N keys load the partitions unevenly, and the fullest one decides. The
// other keys of the table share the partitions: what they asked for counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/load_map.h"

namespace stator::throughput {

// With the planned suffixes the fullest partition stays below this part of its limit. [A]: room for
// the accidents of random arrival.
inline constexpr double kSuffixFill = 0.8;
// A plan with more suffixes needs more partitions instead. [A]: a reader of all suffixes sends as
// many queries; the guidance's example has 200.
inline constexpr int64_t kMostPlannedSuffixes = 400;
// The plan holds for this many keys in place of the hot one, too. [A]: tomorrow's date is hot
// tomorrow, and an application may write "#7" where the plan has ".7". Of kNearSiblings partitions
// stay below kSuffixFill, of the others below kSiblingFill. With 7 siblings one other key in 22
// overfilled a partition when many were tried, with 63 one in 550.
inline constexpr int kNearSiblings = 7;
inline constexpr double kSiblingFill = 0.9;
inline constexpr int kSiblingKeys = 63;

// "KEY.N", the form of Amazon's example; N counts from 1.
std::string SuffixedKey(std::string_view key, int64_t n);

struct PlannedPartition {
  uint64_t start = 0;  // hash at which it begins; ascending, the first is 0
  double limit = 0;    // units per second that it serves
  double others = 0;   // units per second of the keys that get no suffix
};

struct SuffixPlan {
  int64_t values = 1;        // suffixes; 1: the key needs none; 0: no number up to the limit does
  int64_t partitions = 1;    // that the plan needs
  double fullest = 0;        // part of its limit that the fullest partition then has
  bool others_fill = false;  // values is 0 because the other keys fill a partition alone
};

// The least number of suffixes, the same for each of `keys`, with which all partitions stay below
// kSuffixFill of their limits. keys[0] is the one that is asked about; where it needs none, the
// others are not looked at. values = 0 where kMostPlannedSuffixes are too few: the partitions are.
SuffixPlan PlanSuffixes(const std::vector<KeyLoadPoint>& keys,
                        const std::vector<PlannedPartition>& partitions);

// Each partition cut in the middle of its hashes, with `limit` for every half, and no other keys.
std::vector<PlannedPartition> Doubled(const std::vector<PlannedPartition>& partitions,
                                      double limit);

// Puts `load` on the partitions as their `others`. A key has its place; what else a range has is
// spread evenly over its hashes. Left out are `keys`, with the units that they have there.
void AddOthers(const LoadMap& load, const std::vector<KeyLoadPoint>& keys,
               std::vector<PlannedPartition>* partitions);

}  // namespace stator::throughput
