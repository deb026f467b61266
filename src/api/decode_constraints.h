// The constraints of schema.h: whether a value holds them, and what the service says when values do
// not.
//
// Decoding only asks whether a value is within its bounds. If any was not, the body is walked a
// second time along the tables, in model order, to write the answer; good requests never pay for
// that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/schema.h"
#include "base/error.h"
#include "simdjson.h"

namespace stator::api {

// True if `text` is within the bounds of a kString type.
bool TextHolds(const Type& type, std::string_view text);
// True if a number, or the number of elements of a list or map, is within the bounds.
inline bool CountHolds(const Type& type, int64_t count) {
  return count >= type.min && count <= type.max;
}

// Whether a JSON number, without its fraction, is one that the type can hold.
bool FitsInteger(simdjson::dom::element number, Kind kind);
// A JSON number as an integer: fractions are cut off, what does not fit is the nearest that does.
int64_t ToInteger(simdjson::dom::element number, Kind kind);

// The answer to a body whose types fit the tables but some of whose values do not; nullopt if all
// do after all (a bad value may have been followed by a good one under the same name).
std::optional<Error> DescribeViolations(const OperationSchema& schema, simdjson::dom::object body);

}  // namespace stator::api
