// The random and the concurrent cases of the conformance suite. See kv/conformance.h.
#pragma once

#include "kv/conformance.h"

namespace stator::kv {

Status RandomOneByOne(const ConformanceOptions& options);  // each batch against the model
Status RandomPipelined(
    const ConformanceOptions& options);  // bursts without waiting, so that engines form groups
Status RandomReopened(
    const ConformanceOptions& options);  // bursts, and the store opened again between them
Status RandomFaults(const ConformanceOptions&
                        options);  // under a FaultEngine; unknown outcomes resolved by reading
Status ReadsOfOneState(
    const ConformanceOptions& options);  // MultiGet and Scan under concurrent writers
Status ConcurrentWriters(
    const ConformanceOptions& options);  // guarded increments and adds from several threads

}  // namespace stator::kv
