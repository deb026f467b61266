// GET /_stator/tables/NAME/partitions: what the throughput model knows of a table and of each of
// its global indexes (docs/throughput.md has the members).
#pragma once

#include <string>
#include <string_view>

#include "ops/context.h"
#include "server/heat_histories.h"

namespace stator::server {

// JSON. kResourceNotFound if there is no such table.
Result<std::string> PartitionReport(ops::Environment& environment, const HeatHistories& heat,
                                    std::string_view table, bool manual_clock);

}  // namespace stator::server
