// The settings of TLS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "http/tls.h"

namespace CLI {
class App;
}

namespace stator::server {

struct TlsSettings {
  http::TlsPaths paths;          // no certificate: TLS is off
  std::optional<uint16_t> port;  // of TLS, beside the plain --port; absent: --port speaks TLS
  int max_handshakes = 512;
  int64_t handshake_timeout_micros = 10'000'000;

  bool on() const { return !paths.certificate.empty(); }
};

void AddTlsOptions(CLI::App* app, TlsSettings* settings);

// Returns a sentence if the settings that were given contradict each other. `main_port`: that of
// --port.
std::optional<std::string> CheckTls(const CLI::App& serve, const TlsSettings& settings,
                                    uint16_t main_port);

}  // namespace stator::server
