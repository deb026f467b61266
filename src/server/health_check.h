// `stator healthcheck`: asks a server whether it is ready, for containers and scripts that have no
// HTTP client.
#pragma once

#include <cstdint>
#include <string>

namespace stator::server {

struct HealthCheck {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;
  int timeout_seconds = 2;
  bool tls = false;
};

// Sends GET /health/ready and prints the answer: to stdout if the server is ready, else to stderr.
// Returns 0 if it is ready; 1 if it is not, does not answer in time, or is not running.
int Execute(const HealthCheck& check);

}  // namespace stator::server
