// The words that cannot stand bare as attribute names in an expression.
#pragma once

#include <string_view>

namespace stator::expr {

// Case-insensitive.
bool IsReservedWord(std::string_view name);

}  // namespace stator::expr
