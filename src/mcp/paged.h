// Reads of several items, cut to what an answer may hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "mcp/json.h"
#include "mcp/tools.h"

namespace stator::mcp {

struct PageNames {
  std::string_view from;  // of the server's answer: where it goes on
  std::string_view to;    // as the tool's caller knows it
};

// Calls `read` with `limit`. Where the items are more than kMostAnswerBytes of JSON, it reads again
// with a smaller limit, down to 1, so that the server itself says where to go on. A single item
// that is still too long is answered with the sizes of its attributes. `extra`: members of the
// answer, as JSON text behind a comma, or empty.
Result<ToolAnswer> ReadPage(int64_t limit, const PageNames& names, std::string_view extra,
                            FunctionRef<Result<std::string>(int64_t limit)> read);

// Returns an object with the size of each attribute of an item, in bytes of JSON.
std::string SizesOf(Json item);

}  // namespace stator::mcp
