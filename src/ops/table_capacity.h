// What requests may make of the capacity of a table or of a global index: provisioned units, the
// maxima of on-demand, warm throughput, the billing mode, and why not.
//
// Capacity is that of a table::TableDescriptor or of a table::IndexThroughput, whose members have
// the same names. `index` is the name of the index that it is of, for texts; empty: the table.
// Nothing is changed where an error is answered, but for the descriptor of a change that is given
// up with it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/descriptor.h"
#include "throughput/capacity_changes.h"
#include "throughput/resource.h"

namespace stator::ops {

// kValidation for units that no table or index may have.
Status CheckUnits(const Settings& settings, const ProvisionedThroughput& units,
                  std::string_view index);

template <typename Capacity>
throughput::DecreaseHistory DecreasesOf(const Capacity& c) {
  return {c.last_decrease_micros, c.decreases_day, c.decreases_today};
}

// Sets provisioned units and remembers when they went up or down. kValidation if they are what they
// were, kLimitExceeded for one decrease too many on this day.
template <typename Capacity>
Status ChangeUnits(const Settings& settings, const ProvisionedThroughput& units,
                   std::string_view index, int64_t now_micros, Capacity* capacity);

// The units of a table or index that is new or was on demand until now: no increase and no
// decrease.
template <typename Capacity>
void StartUnits(const ProvisionedThroughput& units, Capacity* capacity) {
  capacity->read_units = units.read_capacity_units;
  capacity->write_units = units.write_capacity_units;
}

// OnDemandThroughput: absent leaves a maximum as it is, -1 removes it. kValidation when the table
// is not on demand, and outside of 1 to the quota.
template <typename Capacity>
Status ChangeMaxima(const Settings& settings, const OnDemandThroughput& maxima, bool on_demand,
                    std::string_view index, Capacity* capacity);

// WarmThroughput. kValidation if it is less than what is ready, or more than the quota.
template <typename Capacity>
Status RaiseWarm(const Settings& settings, const WarmThroughput& wanted, bool on_demand,
                 std::string_view index, Capacity* capacity);

// Returns the units for which the capacity is ready at once: WarmThroughput of DescribeTable.
template <typename Capacity>
throughput::Rates WarmUnits(const Settings& settings, const Capacity& capacity, bool on_demand);

// Returns the partitions of a new table or index with this capacity.
template <typename Capacity>
throughput::PartitionMap FirstPartitions(const Settings& settings, const Capacity& capacity,
                                         bool on_demand);

// Switches a provisioned table with its indexes to on demand. They stay ready for the highest units
// that they had (warm throughput). kLimitExceeded if there were too many switches within 24 hours.
Status SwitchToOnDemand(const Settings& settings, int64_t now_micros,
                        table::TableDescriptor* descriptor);
// Switches an on-demand table with its indexes to provisioned, with the units of StartUnits. They
// stay ready for what on-demand served (warm throughput); their maxima are removed.
void SwitchToProvisioned(const Settings& settings, table::TableDescriptor* descriptor);

// Returns kValidation if `next` would raise the provisioned units of all tables and indexes above
// the account's quota. Call it while no other catalog change runs.
Status CheckAccountQuota(const Environment& env, const table::TableDescriptor& next);

}  // namespace stator::ops
