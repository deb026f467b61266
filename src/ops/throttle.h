// Refusals for want of capacity, in the service's words. Whoever decides that a request is throttled makes the error here.
#pragma once

#include "ops/context.h"
#include "ops/payload.h"
#include "table/descriptor.h"

namespace stator::ops {

// What was exceeded (reference: wire-protocol.md, "Throttling reasons").
enum class ThrottleCause : uint8_t {
  kProvisioned,  // the units that are provisioned for the table or index: ProvisionedThroughputExceededException
  kKeyRange,     // what one partition can do: the same, for on-demand tables ThrottlingException
  kMaxOnDemand,  // the maximum that an on-demand table was given: ThrottlingException
  kAccount,      // a quota of the account: RequestLimitExceeded
};

struct Throttle {
  const table::TableDescriptor& table;
  const table::IndexDescriptor* index = nullptr;  // of `table`; null: the table itself
  bool write = false;
  ThrottleCause cause = ThrottleCause::kProvisioned;
};

// The refusal of a whole request, with a ThrottlingPayload.
Error ThrottleError(const Environment& env, const Throttle& throttle);
// The reason why an action cancels its transaction. Not for kAccount, which refuses the request itself.
CancellationReason ThrottleCancellation(const Throttle& throttle);

}  // namespace stator::ops
