// What streams need from time to time.
#pragma once

#include "base/result.h"

namespace stator::table {

class Store;

// Records go once the oldest has been kept this much longer than it has to be: few range deletes,
// each of many records.
inline constexpr int64_t kTrimStepMicros = 5 * int64_t{60'000'000};

// Succeeds shards that have grown old, trims records that may no longer be read, and removes
// streams that were disabled a day ago: all by the store's clock. Waits for the disk: not for a
// loop's or an engine's thread. To be called every few seconds. What fails is tried again with the
// next call; the first error is returned.
Status MaintainStreams(Store& store, int64_t trim_step_micros = kTrimStepMicros);

// Removes all streams that are not enabled, with their records.
Status RemoveDisabledStreams(Store& store);

}  // namespace stator::table
