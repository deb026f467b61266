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

// Parses `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`; nothing if the text is another.
std::optional<Authority> ParseAuthority(std::string_view text);

// Whether the host is of this machine only: 127.0.0.0/8, ::1, `localhost` or a name under it. Names
// are compared without regard to case. `localhost.evil.example` and `127.evil.example` are not.
bool IsLoopback(const Authority& authority);

// Names by which a server may be called. Without a setting: addresses, `localhost` and names under
// it, and names without a dot, as containers have them. Immutable, so thread-safe.
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

// Whether a page of this Origin was loaded from the server that Host names: scheme http or https,
// and the same name and port.
bool IsSameOrigin(std::string_view origin, std::string_view host);

// Headers by which a browser says where a request comes from and goes to; empty where absent.
struct PageHeaders {
  std::string_view host;
  std::string_view origin;
  std::string_view sec_fetch_site;
};
// For calls that only pages of this server may make, and clients that are no browsers: the reason
// why a request may be the work of another page, in a sentence for people. Empty if it is not.
std::string WhyForeignPage(const HostRules& hosts, const PageHeaders& headers);

}  // namespace stator
