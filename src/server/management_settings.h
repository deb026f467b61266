// The settings of where management calls are served.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stator::server {

struct ManagementSettings {
  bool on = true;                  // false: no management calls and no metrics, only health
  std::vector<std::string> hosts;  // of the listener of its own; empty: both loopbacks
  std::optional<uint16_t> port;    // absent: management shares the ports of the API
};

void AddManagementOptions(CLI::App* app, ManagementSettings* settings);

// Returns a sentence if the settings that were given contradict each other.
std::optional<std::string> CheckManagement(const CLI::App& serve,
                                           const ManagementSettings& settings, uint16_t main_port,
                                           std::optional<uint16_t> tls_port);

}  // namespace stator::server
