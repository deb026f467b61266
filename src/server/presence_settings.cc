#include "server/presence_settings.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/time_text.h"

namespace stator::server {
namespace {

constexpr int64_t kLeastLinkTimeoutMicros = 20'000, kMostLinkTimeoutMicros = 60'000'000;
constexpr int64_t kLongestDrainMicros = int64_t{3600} * 1'000'000;

CLI::Validator Duration() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::optional<int64_t> micros = ParseDuration(text);
        return micros && *micros >= 0 && *micros <= kLongestDrainMicros
                   ? std::string()
                   : "not a duration of at most 1h: " + text;
      },
      "DURATION");
}

CLI::Validator LinkTimeout() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::optional<int64_t> micros = ParseDuration(text);
        return micros && *micros >= kLeastLinkTimeoutMicros && *micros <= kMostLinkTimeoutMicros
                   ? std::string()
                   : "not a duration from 20ms to 60s: " + text;
      },
      "DURATION");
}

// A name that stands in a record of lines and in the query of a URL.
CLI::Validator Place() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool good = text.size() <= 64 && text.find_first_not_of(
                                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                                                   "uvwxyz0123456789._-") == std::string::npos;
        return good ? std::string() : "\"" + text + "\" is not 1 to 64 of A-Z a-z 0-9 . _ -";
      },
      "NAME");
}

// Returns the port of HOST:PORT or [HOST]:PORT; empty if there is none.
std::string_view PortIn(std::string_view endpoint) {
  const size_t bracket = endpoint.find(']');
  const size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos || (bracket != endpoint.npos && colon < bracket)) return {};
  // More than one colon without brackets: an IPv6 address.
  if (bracket == endpoint.npos && endpoint.find(':') != colon) return {};
  return endpoint.substr(colon + 1);
}

CLI::Validator Endpoint() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::string_view port = PortIn(text);
        const bool good = !AddressOf(text).empty() &&
                          text.find_first_of(" \t\r\n/@?#,\"\\") == std::string::npos &&
                          (text.find(':') == std::string::npos || port.empty() ||
                           (port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos &&
                            std::stoi(std::string(port)) <= 65535 && port != "0"));
        return good ? std::string() : "\"" + text + "\" is not HOST or HOST:PORT";
      },
      "HOST[:PORT]");
}

bool IsAnyAddress(std::string_view host) {
  return host == "0.0.0.0" || host == "::" || host == "*";
}

// Returns this machine's first address that is up and no loopback, IPv4 before IPv6; 127.0.0.1 if
// there is none.
std::string AddressOfThisMachine() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
      if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
      char text[INET6_ADDRSTRLEN];
      const void* address = nullptr;
      if (family == AF_INET) {
        address = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
      } else {
        const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(&ip)) continue;
        address = &ip;
      }
      if (::inet_ntop(family, address, text, sizeof text) != nullptr) return text;
    }
  }
  return "127.0.0.1";
}

}  // namespace

void AddPresenceOptions(CLI::App* app, PresenceSettings* s) {
  app->add_option("--advertise", s->advertise,
                  "address under which others reach this server, which /localnodes and `stator "
                  "cluster status` show; the first of --host if absent")
      ->check(Endpoint())
      ->envname("STATOR_ADVERTISE");
  app->add_option("--datacenter", s->datacenter, "name of the data centre, for /localnodes?dc=")
      ->check(Place())
      ->envname("STATOR_DATACENTER");
  app->add_option("--rack", s->rack, "name of the rack, for /localnodes?rack=")
      ->check(Place())
      ->envname("STATOR_RACK");
  app->add_option_function<std::string>(
         "--link-timeout",
         [s](const std::string& text) { s->link_timeout_micros = *ParseDuration(text); },
         "a server that has not answered for half of this time is handed no writes over, and "
         "changes nothing later than this for those that were")
      ->check(LinkTimeout())
      ->envname("STATOR_LINK_TIMEOUT")
      ->default_str("200ms");
  app->add_option_function<std::string>(
         "--forward-writes", [s](const std::string& text) { s->forward_writes = text == "on"; },
         "on: where the servers of a Ceph pool would compete for a part of a table, one of them "
         "writes it for all; or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->envname("STATOR_FORWARD_WRITES")
      ->default_str("on");
  app->add_option(
         "--link-port", s->link_port,
         "port at which the other servers of the pool connect, on the addresses of --host; "
         "0: any that is free; not with --forward-writes=off")
      ->envname("STATOR_LINK_PORT")
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--drain-time", [s](const std::string& text) { s->drain_micros = *ParseDuration(text); },
         "time between SIGTERM and the stop in which the server still serves, but is not ready and "
         "closes connections after their next reply; a second signal ends it")
      ->check(Duration())
      ->envname("STATOR_DRAIN_TIME")
      ->default_str("0s");
}

std::string AddressOf(std::string_view endpoint) {
  const std::string_view port = PortIn(endpoint);
  std::string_view host = endpoint;
  if (!port.empty()) host = endpoint.substr(0, endpoint.size() - port.size() - 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host == "localhost" ? "127.0.0.1" : std::string(host);
}

std::string AdvertisedEndpoint(const PresenceSettings& settings, std::string host, uint16_t port) {
  std::string port_text = std::to_string(port);
  if (!settings.advertise.empty()) {
    const std::string_view given = PortIn(settings.advertise);
    if (!given.empty()) return settings.advertise;
    host = settings.advertise;
    if (host.starts_with('[')) return host + ":" + port_text;
  }
  if (IsAnyAddress(host)) host = AddressOfThisMachine();
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port_text;
}

}  // namespace stator::server
