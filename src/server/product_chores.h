// The chores (periodic jobs) that every server has.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/context.h"
#include "server/chores.h"
#include "server/heat_histories.h"
#include "server/metrics.h"
#include "table/expiry_sweeper.h"

namespace stator::server {

// Adds to `chores` the jobs that drop DELETING tables, advance the throughput model (which splits
// partitions), scale capacity, store heat histories, delete expired items, rotate shards and trim
// stream records. All arguments must outlive the chores' thread.
void AddProductChores(ops::Environment& environment, Metrics& metrics, HeatHistories& heat,
                      int64_t ttl_interval_micros, const table::ExpiryDelay& ttl_delay,
                      Chores* chores);

}  // namespace stator::server
