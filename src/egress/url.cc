#include "egress/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace stator::egress {
namespace {

constexpr size_t kMaxUrl = 2048;
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

Error Wrong(std::string_view text, std::string_view why) {
  return ValidationError(fmt::format("\"{}\" is no URL that can be called: {}", text, why));
}

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool IsAddressCharacter(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' ||
         c == '.' || c == '%';
}

}  // namespace

std::string Url::authority() const {
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? kHttpsPort : kHttpPort) ? shown : fmt::format("{}:{}", shown, port);
}

std::string Url::origin() const { return (tls ? "https://" : "http://") + authority(); }

Result<Url> ParseUrl(std::string_view text) {
  const std::string_view whole = text;
  if (text.size() > kMaxUrl) return Wrong(text.substr(0, 64), "it is too long");
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
    return Wrong("...", "it has spaces or control characters");
  Url url;
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    text.remove_prefix(8);
    url.tls = true;
    url.port = kHttpsPort;
  } else {
    return Wrong(whole, "it begins with neither http:// nor https://");
  }
  if (text.find('#') != std::string_view::npos) return Wrong(whole, "it has a fragment");
  const size_t path = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, path);
  if (path < text.size())
    url.target = (text[path] == '?' ? "/" : "") + std::string(text.substr(path));
  if (authority.find('@') != std::string_view::npos)
    return Wrong("...", "it has a name or a password in it");
  std::string_view port;
  if (authority.starts_with("[")) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return Wrong(whole, "the address does not end");
    url.host = authority.substr(1, end - 1);
    if (!std::all_of(url.host.begin(), url.host.end(), IsAddressCharacter) ||
        url.host.find(':') == std::string::npos)
      return Wrong(whole, "the brackets hold no address");
    port = authority.substr(end + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    if (!std::all_of(url.host.begin(), url.host.end(), IsHostCharacter))
      return Wrong(whole, "the host is no name");
    port = authority.substr(colon);
  }
  if (url.host.empty()) return Wrong(whole, "it names no host");
  if (port.empty()) return url;
  int number = 0;
  const auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
  if (port[0] != ':' || error != std::errc() || end != port.data() + port.size() || number < 1 ||
      number > 65'535)
    return Wrong(whole, "the port is no number from 1 to 65535");
  url.port = static_cast<uint16_t>(number);
  return url;
}

}  // namespace stator::egress
