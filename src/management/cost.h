// GET /_stator/tables/NAME/cost: the price of a month with the load that a table had, for each
// billing mode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "management/sources.h"
#include "ops/context.h"
#include "throughput/prices.h"

namespace stator::management {

// Prices the last `last_micros`, from the history of heat: seconds for ten minutes, minutes for
// twelve hours, hours before. Units that were refused count as asked for; what a write that one
// resource refused asked of the others is estimated by average sizes. kResourceNotFound if there is
// no such table. Waits for the engine, which tells the sizes.
Result<std::string> CostOf(ops::Environment& environment, const Sources& sources,
                           std::string_view table, int64_t last_micros,
                           const throughput::UnitPrices& prices);

}  // namespace stator::management
