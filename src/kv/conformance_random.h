// The random and the concurrent cases of the conformance suite. See kv/conformance.h.
#pragma once

#include "kv/conformance.h"

namespace stator::kv {

// Compares the engine with the model after each batch.
Status RandomOneByOne(const ConformanceOptions& options);
// Sends bursts of batches without waiting, so that engines form groups.
Status RandomPipelined(const ConformanceOptions& options);
// Sends bursts of batches and reopens the store between them.
Status RandomReopened(const ConformanceOptions& options);
// Runs under a FaultEngine and resolves unknown outcomes by reading.
Status RandomFaults(const ConformanceOptions& options);
// Runs MultiGet and Scan under concurrent writers.
Status ReadsOfOneState(const ConformanceOptions& options);
// Increments values under guards, and counters by adds, from several threads.
Status ConcurrentWriters(const ConformanceOptions& options);

}  // namespace stator::kv
