// The chores that every server has, whoever wires it up.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/context.h"
#include "server/chores.h"
#include "server/heat_histories.h"
#include "server/metrics.h"
#include "table/expiry_sweeper.h"

namespace stator::server {

// Ends DELETING tables, lets throughput refill and partitions split, scales capacity, keeps
// histories, deletes expired items, lets shards age and stream records go. All must outlive the
// chores' thread.
void AddProductChores(ops::Environment& environment, Metrics& metrics, HeatHistories& heat,
                      int64_t ttl_interval_micros, const table::ExpiryDelay& ttl_delay,
                      Chores* chores);

}  // namespace stator::server
