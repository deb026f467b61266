// The test that every engine with kv::Pinner passes. Needs no test framework, like conformance.h.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::kv {

// Pins a tablet again and again in the middle of random writes, deletes and range deletes, reads
// the pinned ranges step by step between later writes, and compares each with a std::map that was
// copied at its moment. Returns an error that names the seed at the first difference.
Status CheckPins(Engine& engine, uint64_t seed, int rounds);

}  // namespace stator::kv
