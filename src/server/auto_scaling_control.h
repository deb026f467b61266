// Auto scaling from outside (docs/throughput.md):
//
//   GET    /_stator/tables/NAME/auto-scaling   what holds for the table and its global indexes, and
//                                              what was scaled lately
//   PUT    /_stator/tables/NAME/auto-scaling   sets the table's own rules, all of them:
//                                              {"read":{"min":5,"max":400},"write":{...},
//                                               "indexes":{"NAME":{"read":{...}}}}
//   DELETE /_stator/tables/NAME/auto-scaling   leaves what stator.toml says
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/auto_scaler.h"
#include "ops/context.h"
#include "ops/fault_rule.h"

namespace stator::server {

// Runs a call (GET, PUT or DELETE) and returns the rules that hold afterwards, as JSON.
// kResourceNotFound for a missing table; kValidation with the fault of the body. Waits for the
// disk, except for GET.
Result<std::string> HandleAutoScaling(ops::Environment& env, const std::string& table,
                                      std::string_view method, std::string_view body);

// One [[auto-scaling]] of stator.toml: `table` (a name or *), perhaps `index`, `access` (read or
// write) and the settings of a rule, as text. kValidation.
Status AddAutoScaling(const std::vector<ops::FaultSetting>& settings,
                      ops::AutoScaler::Defaults* defaults);

}  // namespace stator::server
