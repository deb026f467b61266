// The plan for a hot key, beside what the same second asked of the partitions for other keys.
// Callers hold the resource's mutex. Counters are those that requests keep anyway.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/load_map.h"
#include "throughput/partition_layout.h"
#include "throughput/resource.h"

namespace stator::throughput {

// A resource that a plan is made for.
struct SpreadOn {
  const ModelSettings& settings;
  const ResourceDefinition& definition;
  const Layout& layout;
};

struct Spread {
  SpreadPlan plan;
  bool others_fill = false;  // more units are planned because other keys fill a partition alone
  bool least_that_splits = false;  // less capacity would make fewer partitions than the plan needs
  size_t as_hot = 0;  // the number of keys in plan.also that are; those behind them take room
};

// Returns what a partition was asked for, in units per second.
using UnitsOf = std::function<double(const Partition&)>;
// Keys have their part of a partition's units by what was seen in the last two windows.
LoadMap MapLoad(const SpreadOn& on, Access access, const UnitsOf& units_of);
// `key.units` are those that it takes; where `load` knows more of it, that counts.
Spread PlanSpreadBeside(const SpreadOn& on, Access access, const KeyLoadPoint& key, LoadMap load);

// Whether the hottest key has most of the partition, and how many units per second that is.
bool IsHot(const Explanation& e);
double HottestUnits(const Explanation& e);
// Plans for the hottest key of `e`: sets `spread`, and `advice` to what is to be said beside it.
// Nothing if it is not hot.
void PlanForHottest(const SpreadOn& on, Access access, const UnitsOf& units_of, Explanation* e);

// The sentences that tell of a plan, with the reason of its number; of a plan that is not made yet
// (partitions = 0) that the number follows. `units` per second are the key's that the number is
// for: another second has another one. 0: it is that of another key. `lead` and `things` are around
// the number ("Spread it over", "suffixes"), `how` is behind the names (", random or computed").
std::string SpreadText(const SpreadPlan& plan, std::string_view key, double units, Access access,
                       bool on_demand, std::string_view lead, std::string_view things,
                       std::string_view how);

}  // namespace stator::throughput
