// Permits: a batch that names one in Batch::after is refused, like one whose earlier batch has
// failed, if the permit has ended when the batch's turn comes. A permit belongs to no batch, so
// nothing waits for it.
#pragma once

#include <cstdint>
#include <memory>

#include "kv/engine.h"

namespace stator::kv {

// BatchFate::stamp of a permit. No batch has it.
inline constexpr uint64_t kPermitStamp = UINT64_MAX;

// Returns a permit that holds until its `failed` is set. It never holds again.
inline std::shared_ptr<BatchFate> MakePermit() {
  auto permit = std::make_shared<BatchFate>();
  permit->stamp.store(kPermitStamp, std::memory_order_relaxed);
  return permit;
}

inline bool IsPermit(const FatePtr& fate) {
  return fate->stamp.load(std::memory_order_relaxed) == kPermitStamp;
}

}  // namespace stator::kv
