// ConsumedCapacity of an answer.
#pragma once

#include <optional>
#include <string>

#include "ops/responses.h"
#include "throughput/units.h"

namespace stator::ops {

inline bool WantsCapacity(const std::optional<ReturnConsumedCapacity>& wanted) {
  return wanted && *wanted != ReturnConsumedCapacity::kNone;
}

// `units` drawn from the table alone. Absent for NONE.
inline std::optional<ConsumedCapacity> TableCapacity(
    const std::optional<ReturnConsumedCapacity>& wanted, const std::string& table_name,
    double units) {
  if (!WantsCapacity(wanted)) return std::nullopt;
  ConsumedCapacity capacity;
  capacity.table_name = table_name;
  capacity.capacity_units = units;
  if (*wanted == ReturnConsumedCapacity::kIndexes) capacity.table = Capacity{units};
  return capacity;
}

}  // namespace stator::ops
