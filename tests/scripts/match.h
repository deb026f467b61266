// Compares an answer with what a script expects of it.
//
// "*" is any value. An object has exactly the expected members, unless one of the expected ones is
// "...": "...". Lists have their order, except SS, NS, BS, Tags, AttributeDefinitions, the Items of
// a Scan and the Responses of a BatchGetItem.
// "{{save:NAME}}" is any value, which is remembered.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expand.h"
#include "simdjson.h"

namespace stator::scripts {

// What differs and where, or nothing.
std::optional<std::string> Match(simdjson::dom::element expected, simdjson::dom::element actual,
                                 std::string_view operation, Saved* saved);

}  // namespace stator::scripts
