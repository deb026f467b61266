// A request from a socket, as access control sees it.
#pragma once

#include <string>
#include <vector>

#include "access/sigv4.h"
#include "guard/gate.h"
#include "http/server.h"

namespace stator::server {

// The client of an exchange, which must outlive it.
class ExchangePeer final : public guard::Peer {
 public:
  explicit ExchangePeer(const http::Exchange& exchange) : exchange_(exchange) {}
  std::string Address() const override { return exchange_.PeerAddress(); }
  bool IsSecure() const override { return exchange_.IsSecure(); }

 private:
  const http::Exchange& exchange_;
};

// Returns the header lines of a request, as views of it.
inline std::vector<access::HeaderLine> LinesOf(const http::Request& request) {
  std::vector<access::HeaderLine> lines;
  lines.reserve(request.headers.size());
  for (const http::Header& header : request.headers) lines.push_back({header.name, header.value});
  return lines;
}

}  // namespace stator::server
