// The metrics of throughput, as CloudWatch has them for tables and global indexes
// (docs/metrics.md).
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "ops/context.h"

namespace stator::server {

// Read from the meters at the call; requests pay nothing for it. Families without series are left
// out.
std::vector<prometheus::MetricFamily> ThroughputMetrics(const ops::Environment& environment);

}  // namespace stator::server
