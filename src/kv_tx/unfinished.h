// Counts the unfinished transactions of a tablet, for operators of a store.
#pragma once

#include <cstdint>

#include "kv/engine.h"

namespace stator::kv_tx {

struct Unfinished {
  // Units of transactions in this tablet that are not rolled forward or back yet.
  uint64_t units = 0;
  uint64_t committed = 0;  // records of committed transactions that are still needed
  uint64_t aborted = 0;    // records of transactions that another process aborted; kept for a day
  // When the oldest of the units was prepared, in microseconds since the epoch; 0 if there is none.
  int64_t oldest_micros = 0;
};

// Counts the unfinished transactions in a tablet. `inner` is the engine below the transactions.
// Blocks. Errors: kUnavailable, kCorruption.
Result<Unfinished> CountUnfinished(kv::Engine& inner, kv::Tablet tablet);

}  // namespace stator::kv_tx
