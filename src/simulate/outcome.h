// What a simulation has seen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulate/scenario.h"
#include "throughput/resource.h"

namespace stator::simulate {

// The duration is cut into columns of equal length, but for the last: what a chart can show.
inline constexpr size_t kMostColumns = 120;

struct TrafficOutcome {
  std::string name;
  throughput::Access access = throughput::Access::kRead;
  int64_t requests = 0;  // sent, or for uploads offered, in which each is sent until it passes
  int64_t served = 0;
  int64_t cached = 0;                        // of those served: by the cache
  std::map<std::string, int64_t> throttled;  // by reason code
  std::optional<double> finished_seconds;    // uploads: when the last item was written
  bool is_upload = false;
  int64_t throttled_total() const;
};

// Units per second, unless told otherwise.
struct Column {
  throughput::Rates capacity;  // provisioned on average; 0 on demand
  throughput::Rates consumed;
  throughput::Rates refused;
  int64_t partitions = 0;  // at the end
};

// One final partition over time: each cell is of the partition that owned its keys then.
struct Row {
  uint64_t partition = 0;  // 0: not known
  throughput::KeyRange range;
  std::vector<float> heat;     // part of the limit in force that was consumed
  std::vector<float> refused;  // part of what was asked for
  // The key that more than half of a cell's requests went to; empty: none. No vector: not known.
  std::vector<std::string> hottest = {};
};

// A split, where its halves meet.
struct SplitMark {
  size_t column = 0;
  size_t row = 0;  // the first one of the right half
  throughput::SplitReason reason = throughput::SplitReason::kThroughput;
};

struct Trouble {
  throughput::Explanation explanation;
  double at_seconds = 0;  // of the explanation: when it was worst
  int64_t requests = 0;   // refused for this reason in all
};

struct HotKey {
  std::string name;
  double share = 0;  // of the heat of the table, at least
};

struct ResourceOutcome {
  std::string name;
  std::string table;  // the index's; the table's own name for a table
  bool is_index = false;
  throughput::Billing billing = throughput::Billing::kProvisioned;  // at the end
  size_t partitions_before = 0;
  size_t partitions_after = 0;
  std::vector<throughput::PartitionView> partitions;
  std::map<std::string, int64_t> splits;  // by reason
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<SplitMark> marks;
  std::vector<Trouble> troubles;  // worst first
  std::vector<HotKey> hottest;
  throughput::Rates consumed;  // units in all
  throughput::Rates peak;      // highest column
  throughput::Rates lowest_capacity;
  throughput::Rates highest_capacity;
  throughput::Rates average_capacity;
  int64_t bytes = 0;
  int64_t expired = 0;  // items that time to live has deleted
  int64_t capacity_changes = 0;
  int64_t refused_decreases =
      0;  // changes that the service's limit of decreases would have refused
};

struct Outcome {
  double column_seconds = 0;
  std::vector<TrafficOutcome> traffic;
  std::vector<ResourceOutcome> resources;  // each table, then its indexes
};

// What a resource costs a month at the scenario's prices, if this is how the month goes.
struct MonthlyPrice {
  double capacity = 0;
  double reserved = 0;  // the same as reserved capacity; 0 on demand
  double storage = 0;
};
MonthlyPrice PriceOf(const Scenario& scenario, const ResourceOutcome& resource);

}  // namespace stator::simulate
