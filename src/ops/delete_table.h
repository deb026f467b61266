// The part of DeleteTable that happens later.
#pragma once

#include "ops/context.h"

namespace stator::ops {

// Drops the tables that have been DELETING for long enough (Settings::delay_transient_statuses). A
// table with point-in-time recovery is dropped when its last backup is made; begins that backup if
// it is missing. Called at the start and periodically. Blocks.
void FinishDeletes(Environment& env);

}  // namespace stator::ops
