// The metrics of throughput, as CloudWatch has them for tables and global indexes
// (docs/metrics.md).
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "ops/context.h"

namespace stator::server {

// Returns the metric families, read from the meters when called, so requests have no cost for them.
// Leaves out families without series.
std::vector<prometheus::MetricFamily> ThroughputMetrics(const ops::Environment& environment);

}  // namespace stator::server
