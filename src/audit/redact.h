// Takes item data out of texts that may hold it.
#pragma once

#include <string>
#include <string_view>

namespace stator::audit {

// Returns a PartiQL statement, or an expression, without its literals: quoted text and numbers
// become ***, comments go, runs of white space become one space. Text in double quotes stays where
// a name of a table or index must stand. Unquoted words stay, for they are names.
std::string WithoutLiterals(std::string_view text);

}  // namespace stator::audit
