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
  // Up to the next range's `from`; ascending, the first is 0. `units`: without those of `keys`.
  struct Range {
    uint64_t from = 0;
    double units = 0;
  };
  std::vector<Range> ranges;
  // Those that have a part of a partition's limit that matters, by hash; each once.
  std::vector<KeyLoadPoint> keys;
  double total = 0;  // units per second; of parts of item collections, too, which no range has
};

}  // namespace stator::throughput
