#include "server/tls_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/time_text.h"

namespace stator::server {
namespace {

constexpr int64_t kShortestHandshakeTimeout = 100'000;

}  // namespace

void AddTlsOptions(CLI::App* app, TlsSettings* s) {
  app->add_option("--tls-cert", s->paths.certificate,
                  "PEM file of the server's certificate, with those between it and its CA behind "
                  "it: --port speaks TLS, or --tls-port if it is given")
      ->envname("STATOR_TLS_CERT");
  app->add_option("--tls-key", s->paths.key, "PEM file of the certificate's private key")
      ->envname("STATOR_TLS_KEY");
  app->add_option("--tls-client-ca", s->paths.client_ca,
                  "PEM file of CAs: clients must show a certificate that one of them has signed")
      ->envname("STATOR_TLS_CLIENT_CA");
  app->add_option_function<uint16_t>(
         "--tls-port", [s](uint16_t port) { s->port = port; },
         "port that speaks TLS, while --port stays plain; 0 takes any free one")
      ->check(CLI::Range(0, 65535))
      ->envname("STATOR_TLS_PORT");
  app->add_option("--tls-max-handshakes", s->max_handshakes,
                  "TLS handshakes under way at once; beyond it the oldest is closed")
      ->check(CLI::Range(1, 1 << 20))
      ->envname("STATOR_TLS_MAX_HANDSHAKES")
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--tls-handshake-timeout",
         [s](const std::string& text) { s->handshake_timeout_micros = *ParseDuration(text); },
         "a TLS handshake that takes longer is closed: seconds, or like 500ms")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const std::optional<int64_t> micros = ParseDuration(text);
            return micros && *micros >= kShortestHandshakeTimeout
                       ? std::string()
                       : fmt::format("not a duration of at least {}ms: {}",
                                     kShortestHandshakeTimeout / 1000, text);
          },
          "DURATION"))
      ->envname("STATOR_TLS_HANDSHAKE_TIMEOUT")
      ->default_str("10s");
}

std::optional<std::string> CheckTls(const CLI::App& serve, const TlsSettings& settings,
                                    uint16_t main_port) {
  if (settings.paths.certificate.empty() != settings.paths.key.empty())
    return "--tls-cert and --tls-key belong together";
  if (!settings.on()) {
    for (const char* option :
         {"--tls-client-ca", "--tls-port", "--tls-max-handshakes", "--tls-handshake-timeout"}) {
      if (serve.count(option) > 0) return fmt::format("{} needs --tls-cert and --tls-key", option);
    }
  }
  if (settings.port && *settings.port != 0 && *settings.port == main_port)
    return "--tls-port is the same as --port: leave it out, and --port speaks TLS";
  return std::nullopt;
}

}  // namespace stator::server
