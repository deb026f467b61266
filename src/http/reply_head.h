// The status line and the headers of a reply.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/server.h"

namespace stator::http {

// "Server: Server", "X-Content-Type-Options: nosniff" and "Date: ...", formatted once a second. Not
// thread-safe.
class CommonHeaders {
 public:
  // The lines, for a reply given at `now_micros` since the epoch. Valid until the next call.
  std::string_view At(int64_t now_micros);

 private:
  int64_t second_ = INT64_MIN;
  std::string lines_;
};

// "OK" for 200; "Unknown" for what has no name.
std::string_view ReasonPhrase(int status);

// A reply to any request may not carry a body with these.
inline bool HasNoBody(int status) { return status < 200 || status == 204 || status == 304; }

// Appends everything up to and including the empty line. Headers whose value holds a line break are
// left out: they would become headers of their own, or a second reply. The body of `reply` is not
// looked at, only `body_bytes`.
void AppendReplyHead(const Reply& reply, size_t body_bytes, std::string_view common, bool close,
                     std::string* out);

}  // namespace stator::http
