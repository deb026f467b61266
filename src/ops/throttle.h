// Makes the errors of throttled requests, in the service's words. All code that decides that a
// request is throttled (the model and the fault dial) uses them.
#pragma once

#include <string>

#include "ops/payload.h"
#include "ops/refusal_words.h"
#include "table/descriptor.h"
#include "throughput/throttle.h"

namespace stator::ops {

struct Environment;

struct Throttle {
  const table::TableDescriptor& table;
  const table::IndexDescriptor* index = nullptr;  // of `table`; null: the table itself
  throughput::Access access = throughput::Access::kRead;
  throughput::Limit limit = throughput::Limit::kProvisioned;
  RefusalWords words = {};  // around the service's own sentence; empty: nothing
};

// The refusal of a whole request, with a ThrottlingPayload.
Error ThrottleError(const Environment& env, const Throttle& throttle);
// The reason why an action cancels its transaction. Not for Limit::kAccount, which refuses the
// request itself.
CancellationReason ThrottleCancellation(const Throttle& throttle);

}  // namespace stator::ops
