// The patterns that texts of requests have to satisfy.
#pragma once

#include <string_view>

#include "api/schema.h"

namespace stator::api {

// Returns the regular expression as the service prints it.
std::string_view PatternText(Pattern pattern);
bool Matches(Pattern pattern, std::string_view text);

}  // namespace stator::api
