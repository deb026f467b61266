// URLs of servers that Stator calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::egress {

struct Url {
  bool tls = false;
  std::string host;  // a name or an address, without the brackets of IPv6
  uint16_t port = 80;
  std::string target = "/";  // path and query

  // Returns "host:port" as the Host header has it: without the scheme's own port.
  std::string authority() const;
  // Returns "http://host:port", without the target.
  std::string origin() const;
};

// Parses an http:// or https:// URL. kValidation, with a message for the user, if the URL has
// another scheme, is too long, has no valid host, has a port outside 1 to 65535, or contains a user
// name or password, a fragment, spaces or control characters.
Result<Url> ParseUrl(std::string_view text);

}  // namespace stator::egress
