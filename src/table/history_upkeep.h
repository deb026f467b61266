// The upkeep of change logs.
#pragma once

#include "base/result.h"

namespace stator::table {

class Store;

// Makes sure that every version of Stator that opens the store knows change logs; to be called
// before a table gets one. kUnavailable: the feature could not be stored. Blocks; costs nothing
// once the store has it.
Status RequireChangeLogs(Store& store);

// Deletes the days of change logs that are before the earliest moment that can be restored, unless
// a table that is being restored may need them. Blocks. To be called every few seconds; what fails
// is tried again with the next call, and the first error is returned.
Status MaintainChangeLogs(Store& store);

}  // namespace stator::table
