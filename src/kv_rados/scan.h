// Reading a range of keys from the parts of a tablet, in order. Internal to the room.
#pragma once

#include "kv/engine.h"
#include "kv_rados/range_cache.h"
#include "kv_rados/tablet_map.h"

namespace stator::kv_rados {

// Does Engine::Scan for a range that is not empty. Each operation reads from one part. Keys that
// have the order of their routes are read part after part; others are merged from all parts, where
// equal counters are added up.
Status ScanParts(Cluster& cluster, TabletMap& map, const kv::Range& range, kv::Tier tier,
                 FunctionRef<bool(std::string_view key, std::string_view value)> visit);

// Sends the first operation of such a Scan. `done`, as that of Cluster::ReadLater, gets the result.
// Returns false, and leaves `done` alone, if the part is not known without waiting, or if the Scan
// does not begin with one operation on one part. `until_taken` is kept until a Scan takes the
// result, or the result is dropped. If the operation shows that a cached range has not changed, the
// cached one is used.
bool ReadPartAhead(Cluster& cluster, RangeCache& cache, const kv::Range& range,
                   FunctionRef<std::optional<Place>(std::string_view route)> locate,
                   std::shared_ptr<void> until_taken, kv::Engine::AheadDone& done);

// The sum of what the parts have of a counter, under the highest of their stamps. kCorruption if
// one is no counter.
Result<std::string> AddCounters(std::string_view a, std::string_view b);

}  // namespace stator::kv_rados
