// The parameters of a request as the audit log shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simdjson.h"

namespace stator::api {

// Returns the parameters of an operation as a JSON object with CloudTrail's spelling (tableName).
// It holds members of the operation's schema only. Items and keys are lists of their attributes'
// names, values of expressions the names of their placeholders; other attribute values, tokens and
// literals in statements and expressions are left out. {"omitted":true,...} beyond
// audit::kMaxParameterBytes.
std::string AuditParameters(std::string_view operation, simdjson::dom::element body);

// Returns the names and ARNs of the tables, streams and other resources that the parameters name,
// without repetitions: at most `most`.
std::vector<std::string> AuditSubjects(std::string_view operation, simdjson::dom::element body,
                                       size_t most);

}  // namespace stator::api
