// Contributor Insights: the setting that shows the hottest keys of a table or a global index.
//
// The sketches of the hottest keys are kept in any case, for the explanations of throttles;
// enabling decides whether GET /_stator/tables/NAME/contributor-insights shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/context.h"
#include "ops/responses.h"
#include "table/descriptor.h"

namespace stator::ops {

// nullopt: never enabled.
ContributorInsightsStatus StatusOf(const std::optional<table::ContributorInsights>& insights,
                                   const Environment& env);

// What CloudWatch would be asked for, in the service's order.
struct ContributorRule {
  std::string name;
  bool throttled = false;  // keys by what was refused, not by what was asked for
  bool sort_keys = false;  // contributors are partition and sort keys, not partition keys alone
};
// Returns the rules of a table's or global index's Contributor Insights; none if it is disabled.
std::vector<ContributorRule> RulesOf(const table::TableDescriptor& table,
                                     const table::ContributorInsights& insights, bool has_sort_key);

}  // namespace stator::ops
