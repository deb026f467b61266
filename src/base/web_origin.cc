#include "base/web_origin.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/ascii.h"
#include "base/printable.h"

namespace stator {
namespace {

constexpr std::string_view kLocalhost = "localhost";
constexpr size_t kMaxHost = 255;
// Bytes of a header in the text of a refusal.
constexpr size_t kShownBytes = 200;

bool EndsWithIgnoringCase(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         EqualsIgnoringCase(text.substr(text.size() - end.size()), end);
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Four decimal numbers: other spellings of addresses are names here, which are not known.
bool IsIpv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const size_t end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos || end == 0 || end > 3 || !IsDigits(text.substr(0, end)))
      return false;
    int number = 0;
    std::from_chars(text.data(), text.data() + end, number);
    if (number > 255 || (end > 1 && text.front() == '0')) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty();
}

bool ParseIpv6(std::string_view text, in6_addr* address) {
  char zero_ended[INET6_ADDRSTRLEN + 1] = {};
  if (text.empty() || text.size() >= sizeof(zero_ended)) return false;
  text.copy(zero_ended, text.size());
  return inet_pton(AF_INET6, zero_ended, address) == 1;
}

bool IsName(std::string_view text) {
  const auto allowed = [](char c) {
    return (LowerAscii(c) >= 'a' && LowerAscii(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kMaxHost && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), allowed) &&
         text.find("..") == std::string_view::npos;
}

std::string Shown(std::string_view header) {
  return header.empty() ? "(nothing)" : Printable(header.substr(0, kShownBytes));
}

// http or https, and what follows; nothing for another scheme.
std::optional<std::string_view> AuthorityOf(std::string_view origin) {
  for (std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return std::nullopt;
}

}  // namespace

std::optional<Authority> ParseAuthority(std::string_view text) {
  Authority authority;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    in6_addr address;
    if (end == std::string_view::npos || !ParseIpv6(text.substr(1, end - 1), &address))
      return std::nullopt;
    authority.host = text.substr(1, end - 1);
    authority.is_address = true;
    rest = text.substr(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    authority.host = text.substr(0, end);
    authority.is_address = IsIpv4(authority.host);
    if (!IsName(authority.host)) return std::nullopt;
    rest = text.substr(end);
  }
  if (rest.empty()) return authority;
  authority.port = rest.substr(1);
  if (rest.front() != ':' || !IsDigits(authority.port) || authority.port.size() > 5)
    return std::nullopt;
  return authority;
}

bool IsLoopback(const Authority& authority) {
  const std::string_view host = authority.host;
  if (!authority.is_address) {
    return EqualsIgnoringCase(host, kLocalhost) || EndsWithIgnoringCase(host, ".localhost");
  }
  in6_addr address;
  if (host.find(':') == std::string_view::npos) return host.starts_with("127.");
  return ParseIpv6(host, &address) && IN6_IS_ADDR_LOOPBACK(&address);
}

HostRules::HostRules(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::string& name : names_) {
    name = LowerAscii(name);
    any_ = any_ || name == "*";
  }
}

bool HostRules::Allows(std::string_view host) const {
  if (any_) return true;
  const std::optional<Authority> authority = ParseAuthority(host);
  if (!authority) return false;
  const std::string_view name = authority->host;
  if (authority->is_address || IsLoopback(*authority) || name.find('.') == std::string_view::npos) {
    return true;
  }
  return std::any_of(names_.begin(), names_.end(), [name](std::string_view allowed) {
    if (allowed.starts_with('.') && EqualsIgnoringCase(name, allowed.substr(1))) return true;
    return allowed.starts_with('.') ? EndsWithIgnoringCase(name, allowed)
                                    : EqualsIgnoringCase(name, allowed);
  });
}

std::string HostRules::WhyNot(std::string_view name) {
  if (name == "*" || IsName(name.starts_with('.') ? name.substr(1) : name)) return "";
  const std::optional<Authority> authority = ParseAuthority(name);
  if (authority && !authority->port.empty())
    return "\"" + std::string(name) + "\" has a port; a host name is enough";
  return "\"" + std::string(name) + "\" is not a host name, .domain or *";
}

OriginRules::OriginRules(std::vector<std::string> origins) : origins_(std::move(origins)) {
  for (const std::string& origin : origins_) {
    any_ = any_ || origin == "*";
    local_ = local_ || origin == "local";
  }
}

bool OriginRules::Allows(std::string_view origin) const {
  if (origin.empty()) return false;
  if (any_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end()) return true;
  if (!local_) return false;
  const std::optional<std::string_view> text = AuthorityOf(origin);
  const std::optional<Authority> authority = text ? ParseAuthority(*text) : std::nullopt;
  return authority && IsLoopback(*authority);
}

bool IsSameOrigin(std::string_view origin, std::string_view host) {
  const std::optional<std::string_view> text = AuthorityOf(origin);
  return text && !text->empty() && EqualsIgnoringCase(*text, host);
}

std::string WhyForeignPage(const HostRules& hosts, const PageHeaders& headers) {
  if (!hosts.Allows(headers.host)) {
    return "This server does not know itself as " + Shown(headers.host) +
           ": a web page may hide behind that name. Use an address or localhost, or start the "
           "server with --allowed-hosts";
  }
  if (!headers.origin.empty() && !IsSameOrigin(headers.origin, headers.host)) {
    return "This call is not for web pages of other servers: the Origin is " +
           Shown(headers.origin);
  }
  // The header is absent where the server's address is no secure context, and with clients that are
  // no browsers. `none` is a user's own navigation.
  const std::string_view site = headers.sec_fetch_site;
  if (!site.empty() && site != "same-origin" && site != "none")
    return "This call is not for web pages of other servers: Sec-Fetch-Site is " + Shown(site);
  return "";
}

}  // namespace stator
