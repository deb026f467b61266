// What transactions have left in a tablet, for people who look after a store.
#pragma once

#include <cstdint>

#include "kv/engine.h"

namespace stator::kv_tx {

struct Unfinished {
  uint64_t units =
      0;  // shares of transactions in this tablet that are not rolled forward or back yet
  uint64_t committed = 0;  // records of decisions that are still needed
  uint64_t aborted = 0;    // records that somebody was aborted; they stay for a day
  int64_t oldest_micros =
      0;  // when the oldest of the units was prepared, since the epoch; 0: there are none
};

// `inner` is the engine below the transactions. Waits. kUnavailable, kCorruption.
Result<Unfinished> CountUnfinished(kv::Engine& inner, kv::Tablet tablet);

}  // namespace stator::kv_tx
