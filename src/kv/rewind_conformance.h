// The test that every engine with kv::Rewinder passes. Needs no test framework, like conformance.h.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::kv {

// Sets points in the middle of random puts, deletes, adds and range deletes, of whole tablets and
// of a group of keys, and returns to them again and again, with other points, pins and readers
// beside; compares values, stamps, and what the return shows, with a std::map that was copied at
// the point's moment. The engine's tablets must be empty. Returns an error that names the seed at
// the first difference.
Status CheckRewinds(Engine& engine, uint64_t seed, int rounds);

// Checks that a point that keeps much is given up for others.
Status CheckGivingUp(Engine& engine);

}  // namespace stator::kv
