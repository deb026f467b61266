// Errors of reads with Tier::kGuarded.
#pragma once

#include "base/error.h"

namespace stator::kv {

// Returns true if the error of a read with Tier::kGuarded only means that the caller has to read
// with Tier::kAny: the cache does not know the key, or cannot be trusted for it.
inline bool IsNotRemembered(const Error& error) {
  return error.code() == ErrorCode::kWouldBlock || error.code() == ErrorCode::kGuardFailed;
}

}  // namespace stator::kv
