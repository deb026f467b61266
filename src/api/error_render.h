// Errors as clients see them: HTTP status and JSON body.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace stator::api {

struct RenderedError {
  int status = 500;
  std::string_view name;  // the exception's name without prefix, a literal: for metrics and logs
  std::string body;
};

// Renders any error. What a client cannot have caused (kInternal, kUnavailable, corruption, a kv
// code that escaped) becomes InternalServerError with one sentence on what is wrong. Logging it is
// for the caller, who knows the operation.
RenderedError RenderError(const Error& error);
// Whether that takes more than about a millisecond: the reasons of a cancelled transaction may show
// a hundred items.
bool TakesLongToRender(const Error& error);

// True if `code` says that the server, not the request, is at fault.
bool IsServerFault(ErrorCode code);

}  // namespace stator::api
