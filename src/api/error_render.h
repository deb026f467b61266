// Errors as clients see them: HTTP status and JSON body.
#pragma once

#include <cstdint>
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
// Rendering items of more JSON than that is for a worker: it takes up to about a millisecond.
inline constexpr int64_t kShortErrorBytes = 128 << 10;
// Returns about how many bytes the items that the body shows have as JSON, rather more than less
// for the one item of a failed condition. The reasons of a cancelled transaction may show a hundred
// items: beyond kShortErrorBytes they count as they are stored.
int64_t RenderedBytes(const Error& error);

// True if `code` says that the server, not the request, is at fault.
bool IsServerFault(ErrorCode code);

}  // namespace stator::api
