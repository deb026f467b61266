// Compares an answer with the expectation of a script.
//
// "*" is any value. An object has exactly the expected members, unless one of the expected ones is
// "...": "...". Lists have their order, except SS, NS, BS, Tags, AttributeDefinitions, the Items of
// a Scan and the Responses of a BatchGetItem. "{{save:NAME}}" is any value, and saves it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expand.h"
#include "simdjson.h"

namespace stator::scripts {

// Returns the first difference and its place, or nullopt.
std::optional<std::string> Match(simdjson::dom::element expected, simdjson::dom::element actual,
                                 std::string_view operation, Saved* saved);

}  // namespace stator::scripts
