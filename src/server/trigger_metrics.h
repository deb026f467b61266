// The metrics of event source mappings (docs/metrics.md).
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "triggers/runner.h"

namespace stator::server {

// Adds the families; none without mappings.
void AddTriggerMetrics(const triggers::Runner& runner,
                       std::vector<prometheus::MetricFamily>* families);

// Adds those of Kinesis destinations, which `runner` delivers to; none without destinations.
void AddKinesisMetrics(const triggers::Runner& runner,
                       std::vector<prometheus::MetricFamily>* families);

}  // namespace stator::server
