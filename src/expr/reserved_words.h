// The reserved words: an expression may use them as attribute names only through
// ExpressionAttributeNames (#n).
#pragma once

#include <string_view>

namespace stator::expr {

// Case-insensitive.
bool IsReservedWord(std::string_view name);

}  // namespace stator::expr
