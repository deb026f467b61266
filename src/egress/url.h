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

// Returns the URL in `text`. kValidation, with a sentence for people, for another scheme, a missing
// host, a port that is none, a name and password, a fragment, control characters or spaces.
Result<Url> ParseUrl(std::string_view text);

}  // namespace stator::egress
