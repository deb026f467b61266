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

// IsHot: returns true if the hottest key takes most of its partition's demand. HottestUnits:
// returns that key's units per second.
bool IsHot(const Explanation& e);
double HottestUnits(const Explanation& e);
// Plans over how many partitions the hottest key of `e` must be spread. Sets e->spread to the plan
// and e->advice to sentences that go with it. Does nothing if the key is not hot (IsHot).
void PlanForHottest(const SpreadOn& on, Access access, const UnitsOf& units_of, Explanation* e);

// Returns the sentences about a plan, with the reason for its number. If the plan is not made yet
// (partitions = 0), they say that the log will have the number. `units`: the key's units per second
// for which the plan was made; 0: the plan is for another key. The texts `lead` and `things` stand
// around the number ("Spread it over", "suffixes"), `how` behind the names (", random or
// computed").
std::string SpreadText(const SpreadPlan& plan, std::string_view key, double units, Access access,
                       bool on_demand, std::string_view lead, std::string_view things,
                       std::string_view how);

}  // namespace stator::throughput
