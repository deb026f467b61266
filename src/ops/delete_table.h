// The part of DeleteTable that happens later.
#pragma once

#include "ops/context.h"

namespace stator::ops {

// Drops the tables whose DELETING has lasted long enough (Settings::delay_transient_statuses); for
// a periodic job.
void FinishDeletes(Environment& env);

}  // namespace stator::ops
