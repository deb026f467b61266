// Where the token ledger is (token_ledger.h).
#pragma once

#include "kv/engine.h"

namespace stator::table {

inline constexpr kv::Tablet kLedgerTablet = {kv::Space::kLog, 0};

}  // namespace stator::table
