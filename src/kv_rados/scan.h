// Reading a range of keys from the parts of a tablet, in order. Internal to the room.
#pragma once

#include "kv/engine.h"
#include "kv_rados/tablet_map.h"

namespace stator::kv_rados {

// As Engine::Scan of a range that is not empty. Each operation reads from one part. Keys that have the order of their routes are read
// part after part; others are merged from all parts, where equal counters are added up.
Status ScanParts(Cluster& cluster, TabletMap& map, const kv::Range& range,
                 FunctionRef<bool(std::string_view key, std::string_view value)> visit);

// The sum of what the parts have of a counter, under the highest of their stamps. kCorruption if one is no counter.
Result<std::string> AddCounters(std::string_view a, std::string_view b);

}  // namespace stator::kv_rados
