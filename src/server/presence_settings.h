// The settings of how clients and other servers find this one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace stator::server {

struct PresenceSettings {
  std::string advertise;  // HOST or HOST:PORT that others reach; empty: the first of --host
  std::string datacenter;
  std::string rack;
  int64_t drain_micros = 0;  // between a signal to stop and the stop
  bool forward_writes = true;
  uint16_t link_port = 0;                 // 0: any that is free
  int64_t link_timeout_micros = 200'000;  // after which a silent server changes nothing for others
};

void AddPresenceOptions(CLI::App* app, PresenceSettings* settings);

// Returns the HOST:PORT under which other machines reach a server that listens on `host`. If `host`
// means all addresses (0.0.0.0), it uses the first address of this machine that is not a loopback.
std::string AdvertisedEndpoint(const PresenceSettings& settings, std::string host, uint16_t port);

// Returns the host of HOST:PORT, without the brackets of an IPv6 address; 127.0.0.1 for localhost.
std::string AddressOf(std::string_view endpoint);

}  // namespace stator::server
