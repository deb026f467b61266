// Rules on the Origin and the Host of a request, which decide what web pages may talk to a server.
//
// A browser tells truly in Origin which page sends a request, and in Host by which name it found
// the server. A page of evil.example cannot claim another Origin. It can let its own name point at
// 127.0.0.1 (DNS rebinding) and is then of one origin with the server, but Host still says
// evil.example. So a request of one origin with its server counts only under a known name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stator {

// A host and the port behind it, as Host and Origin have them. Views into the text.
struct Authority {
  std::string_view host;  // an IPv6 address without its brackets
  std::string_view port;  // digits; empty if there is none
  bool is_address = false;
};

// Parses `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`; nullopt for any other text.
std::optional<Authority> ParseAuthority(std::string_view text);

// Returns true if the host is this machine's loopback: 127.0.0.0/8, ::1, `localhost` or a name
// under it. Case does not matter. False for `localhost.evil.example` and `127.evil.example`.
bool IsLoopback(const Authority& authority);

// The host names under which a server may be called (protection from DNS rebinding). Without a
// setting: addresses, `localhost` and names under it, and names without a dot, as containers have
// them. Immutable, so thread-safe.
class HostRules {
 public:
  HostRules() = default;
  // `names` are allowed besides: `db.example.com`; `.example.com` with all names under it; `*`.
  explicit HostRules(std::vector<std::string> names);

  // Whether the value of a Host header, port included, names one of them.
  bool Allows(std::string_view host) const;
  // Says why a name is not for the constructor; empty if it is.
  static std::string WhyNot(std::string_view name);

 private:
  std::vector<std::string> names_;  // in lower case
  bool any_ = false;
};

// Origins whose pages may call from elsewhere (CORS). Immutable, so thread-safe.
class OriginRules {
 public:
  // Each of `origins` is `local` (any page on loopback, over http or https, on any port), `*` (any
  // page), or one origin exactly as browsers send it. If `origins` is empty, no page of another
  // origin may call.
  explicit OriginRules(std::vector<std::string> origins);

  bool any() const { return any_; }
  bool Allows(std::string_view origin) const;

 private:
  std::vector<std::string> origins_;
  bool any_ = false;
  bool local_ = false;
};

// Returns true if a page of this Origin was loaded from the server that Host names: the scheme is
// http or https, and name and port are the same.
bool IsSameOrigin(std::string_view origin, std::string_view host);

// The headers in which a browser names source and target of a request. Empty if absent.
struct PageHeaders {
  std::string_view host;
  std::string_view origin;
  std::string_view sec_fetch_site;
};
// For calls that only this server's own pages and clients other than browsers may make: returns the
// reason, in a sentence for people, why a request may come from a page of another site. Empty if it
// does not.
std::string WhyForeignPage(const HostRules& hosts, const PageHeaders& headers);

}  // namespace stator
