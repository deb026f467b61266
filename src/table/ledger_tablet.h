// Where the token ledger is (token_ledger.h).
#pragma once

#include <string_view>

#include "kv/engine.h"

namespace stator::table {

inline constexpr kv::Tablet kLedgerTablet = {kv::Space::kLog, 0};

// Returns the token in an entry's key.
inline std::string_view TokenInLedgerKey(std::string_view key) {
  constexpr size_t kPeriodBytes = 8;
  return key.substr(key.size() < kPeriodBytes ? key.size() : kPeriodBytes);
}

}  // namespace stator::table
