// Facts that the handlers ask the process for.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "throughput/heat_history.h"

namespace stator::management {

// Counts of all requests since the process began.
struct RequestTotals {
  int64_t served = 0;
  int64_t user_errors =
      0;                   // without throttled requests and failed conditions, as CloudWatch has it
  int64_t conditions = 0;  // failed, in writes and transactions
  int64_t throttled = 0;
  int64_t system_errors = 0;
  // The latencies of served requests: counts[i] took at most bounds[i] seconds, and more than
  // bounds[i - 1]; the last count is of longer ones.
  std::vector<double> bounds;
  std::vector<int64_t> counts;

  int64_t all() const { return served + user_errors + conditions + throttled + system_errors; }
};

// Counts of one operation on one table, without failed conditions; `table` is empty for
// operations on none.
struct OperationTotals {
  std::string operation;
  std::string table;
  RequestTotals totals;
};

// Thread-safe; they may wait for the engine.
struct Sources {
  std::function<RequestTotals()> requests;
  // The heat of the table or index with this tablet.
  std::function<throughput::HeatMap(uint32_t tablet, throughput::HeatHistory::Window window)> heat;
  // Why the store takes no writes; empty: it does.
  std::function<std::string()> not_ready;
  bool manual_clock = false;
};

}  // namespace stator::management
