// Removes entries of the token ledger (token_ledger.h) before they expire.
#pragma once

#include <string_view>

#include "base/result.h"
#include "table/store.h"

namespace stator::table {

// Removes the entries of all tokens that begin with `prefix`, which is not empty, so that a request
// that repeats one is run. No request with such a token may be under way. Blocks. Errors of the
// engine.
Status ForgetTokens(Store& store, std::string_view prefix);

}  // namespace stator::table
