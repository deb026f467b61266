// The load of one second, by place in the hash space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stator::throughput {

struct KeyLoadPoint {
  uint64_t hash = 0;
  double units = 0;  // per second
  std::string key;   // as it was given, cut to the label length
};

struct LoadMap {
  // A range of the hash space from `from` up to the next range's `from`. Ranges ascend and begin at
  // 0. `units` does not include the units of `keys`.
  struct Range {
    uint64_t from = 0;
    double units = 0;
  };
  std::vector<Range> ranges;
  // The keys that take a considerable part of a partition's limit, sorted by hash, each once.
  std::vector<KeyLoadPoint> keys;
  double total = 0;  // units per second; of parts of item collections, too, which no range has
};

}  // namespace stator::throughput
