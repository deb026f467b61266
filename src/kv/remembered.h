// Reads with Tier::kGuarded that have no answer.
#pragma once

#include "base/error.h"

namespace stator::kv {

// Whether the error of a read with Tier::kGuarded only says that Tier::kAny has to be asked:
// nothing is known of the key, or what is known is replaced too often.
inline bool IsNotRemembered(const Error& error) {
  return error.code() == ErrorCode::kWouldBlock || error.code() == ErrorCode::kGuardFailed;
}

}  // namespace stator::kv
