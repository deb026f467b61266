// Sends one HTTP request to a server, for commands that ask one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::server {

struct PlainReply {
  int status = 0;  // 0: the answer is no HTTP/1.1
  std::string body;
};

// Sends `request`, which must ask for `Connection: close`, and returns the answer. kUnavailable if
// there is none within the time. Blocks.
// `tls`: over TLS, without a look at the certificate: not for requests that hold secrets.
Result<PlainReply> AskPlain(const std::string& host, uint16_t port, std::string_view request,
                            int timeout_seconds, bool tls = false);

}  // namespace stator::server
