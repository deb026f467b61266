// The members of a request to create or update a mapping. Internal to the room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "simdjson.h"
#include "triggers/mapping.h"

namespace stator::triggers {

// An error with a name of its own, such as ResourceNotFoundException, and its HTTP status.
struct FaultPayload : ErrorPayload {
  FaultPayload(std::string type, int status) : type(std::move(type)), status(status) {}
  std::string type;
  int status;
};
Error Fault(std::string type, int status, std::string message);
// InvalidParameterValueException, 400.
Error InvalidValue(std::string message);
// ResourceNotFoundException, 404.
Error NotFound();

// Members whose absence means that nothing changes are left as they are in `mapping`.
// `for_update`: the stream and the starting position cannot be given. Returns the name of the
// function, if it is given.
struct Members {
  std::optional<std::string> function;
  std::optional<std::string> stream_arn;
  std::optional<std::string> starting_position;
};
Result<Members> ReadMembers(simdjson::dom::object request, bool for_update, Mapping* mapping);

// Returns the function's name, perhaps with ":alias", in a name, a partial ARN or an ARN.
Result<std::string> FunctionNameIn(std::string_view text);

}  // namespace stator::triggers
