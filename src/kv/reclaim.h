// Gives the disk back that the keys of a dropped tablet took.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::kv {

// An engine whose deleted keys keep their space until it rewrites its files. Thread-safe.
class Reclaimer {
 public:
  virtual ~Reclaimer() = default;
  // Removes what is stored of a tablet all of whose keys were deleted, and that is never written
  // again. Returns the bytes of whole files that went at once; the rest follows before the call
  // returns. Waits for those who read a state from before the deletion. May be repeated after any
  // error. Returns kUnavailable soon after *stop was set. Blocks, for minutes if the tablet is
  // large.
  virtual Result<uint64_t> Reclaim(Tablet tablet, std::atomic<bool>* stop) = 0;
};

}  // namespace stator::kv
