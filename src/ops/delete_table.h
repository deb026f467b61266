// The part of DeleteTable that happens later.
#pragma once

#include "ops/context.h"

namespace stator::ops {

// Drops the tables whose DELETING has lasted long enough (Settings::delay_transient_statuses), and
// goes on with the backups of those with point-in-time recovery; for a periodic job, and for the
// start.
void FinishDeletes(Environment& env);

}  // namespace stator::ops
