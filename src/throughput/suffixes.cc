#include "throughput/suffixes.h"

#include <algorithm>
#include <array>

#include "throughput/key_hash.h"

namespace stator::throughput {
namespace {

// SplitMix64's finaliser. It makes the hashes of imagined sibling keys.
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

SuffixPlan PlanSuffixes(const std::vector<KeyLoadPoint>& keys,
                        const std::vector<PlannedPartition>& partitions) {
  SuffixPlan plan;
  plan.partitions = static_cast<int64_t>(partitions.size());
  if (partitions.empty() || keys.empty() || keys[0].units <= 0) return plan;
  const PlannedPartition& own = partitions[Find(partitions, keys[0].hash)];
  plan.fullest = (own.others + keys[0].units) / own.limit;
  if (plan.fullest < kSuffixFill) return plan;
  plan.values = 0;
  for (const PlannedPartition& p : partitions)
    plan.others_fill |= p.others >= kSuffixFill * p.limit;
  if (plan.others_fill) return plan;
  // `units`: for the keys and for each set of siblings, the units in each partition if each suffix
  // had all units of its key. `full`: the partition that was too full last; it is checked first,
  // because it usually still is.
  constexpr size_t kSets = kSiblingKeys + 1;
  std::vector<std::array<double, kSets>> units(partitions.size());
  std::array<size_t, kSets> full{};
  for (int64_t n = 1; n <= kMostPlannedSuffixes; ++n) {
    for (const KeyLoadPoint& key : keys) {
      const uint64_t hash = HashOfStringKey(SuffixedKey(key.key, n));
      for (size_t k = 0; k < kSets; ++k) {
        const uint64_t place = k == 0 ? hash : Mix(hash + k * 0x9e3779b97f4a7c15);
        units[Find(partitions, place)][k] += key.units;
      }
    }
    if (n == 1) continue;
    const auto part = [&](size_t i, size_t k) {
      return (partitions[i].others + units[i][k] / static_cast<double>(n)) / partitions[i].limit;
    };
    const auto most = [](size_t k) {
      return k <= size_t{kNearSiblings} ? kSuffixFill : kSiblingFill;
    };
    bool fits = true;
    for (size_t k = 0; k < kSets && fits; ++k) fits = part(full[k], k) < most(k);
    double fullest = 0;
    for (size_t k = 0; k < kSets && fits; ++k) {
      for (size_t i = 0; i < partitions.size() && fits; ++i) {
        const double its = part(i, k);
        if (k <= size_t{kNearSiblings}) fullest = std::max(fullest, its);
        fits = its < most(k);
        if (!fits) full[k] = i;
      }
    }
    if (!fits) continue;
    plan.fullest = fullest;
    plan.values = n;
    return plan;
  }
  return plan;
}

std::vector<PlannedPartition> Doubled(const std::vector<PlannedPartition>& partitions,
                                      double limit) {
  std::vector<PlannedPartition> twice;
  twice.reserve(2 * partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const uint64_t start = partitions[i].start;
    const uint64_t end = i + 1 < partitions.size() ? partitions[i + 1].start : UINT64_MAX;
    const uint64_t middle = start + (end - start) / 2 + (i + 1 < partitions.size() ? 0 : 1);
    twice.push_back({start, limit, 0});
    if (middle > start) twice.push_back({middle, limit, 0});  // else it is of one hash
  }
  return twice;
}

void AddOthers(const LoadMap& load, const std::vector<KeyLoadPoint>& keys,
               std::vector<PlannedPartition>* partitions) {
  for (PlannedPartition& p : *partitions) p.others = 0;
  if (load.ranges.empty()) return;
  std::vector<double> rest;
  for (const LoadMap::Range& range : load.ranges) rest.push_back(range.units);
  const auto rest_of = [&](uint64_t hash) -> double& {
    const auto after =
        std::upper_bound(load.ranges.begin(), load.ranges.end(), hash,
                         [](uint64_t h, const LoadMap::Range& range) { return h < range.from; });
    return rest[static_cast<size_t>(after - load.ranges.begin()) - 1];
  };
  const auto same = [](const std::vector<KeyLoadPoint>& list, uint64_t hash) {
    return std::find_if(list.begin(), list.end(),
                        [&](const KeyLoadPoint& key) { return key.hash == hash; });
  };
  for (const KeyLoadPoint& key : keys) {
    const auto known = same(load.keys, key.hash);
    rest_of(key.hash) -= key.units - (known != load.keys.end() ? known->units : 0);
  }
  for (const KeyLoadPoint& key : load.keys) {
    if (same(keys, key.hash) == keys.end())
      (*partitions)[Find(*partitions, key.hash)].others += key.units;
  }
  // Ends as doubles: UINT64_MAX + 1 is one of them.
  constexpr double kSpace = 18446744073709551616.0;
  const auto start = [](const auto& list, size_t i, auto member) {
    return i < list.size() ? static_cast<double>(list[i].*member) : kSpace;
  };
  size_t p = 0;
  for (size_t r = 0; r < load.ranges.size(); ++r) {
    if (rest[r] <= 0) continue;
    const double from = start(load.ranges, r, &LoadMap::Range::from);
    const double to = start(load.ranges, r + 1, &LoadMap::Range::from);
    const double width = std::max(1.0, to - from);
    while (p > 0 && start(*partitions, p, &PlannedPartition::start) > from) --p;
    while (start(*partitions, p + 1, &PlannedPartition::start) <= from &&
           p + 1 < partitions->size())
      ++p;
    for (size_t i = p; i < partitions->size(); ++i) {
      const double begin = std::max(from, start(*partitions, i, &PlannedPartition::start));
      const double end = std::min(to, start(*partitions, i + 1, &PlannedPartition::start));
      if (begin >= to && i > p) break;
      (*partitions)[i].others += rest[r] * std::clamp((end - begin) / width, 0.0, 1.0);
    }
  }
}

}  // namespace stator::throughput
