// Contributor Insights: whether the keys of a table or a global index are to be shown.
//
// The sketches of the hottest keys are kept in any case, for the explanations of throttles;
// enabling decides whether GET /_stator/tables/NAME/contributor-insights shows them.
#pragma once

#include <optional>

#include "ops/context.h"
#include "ops/responses.h"
#include "table/descriptor.h"

namespace stator::ops {

// nullopt: never enabled.
ContributorInsightsStatus StatusOf(const std::optional<table::ContributorInsights>& insights,
                                   const Environment& env);

}  // namespace stator::ops
