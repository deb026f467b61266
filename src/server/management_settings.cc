#include "server/management_settings.h"

#include <CLI/CLI.hpp>

namespace stator::server {

void AddManagementOptions(CLI::App* app, ManagementSettings* s) {
  app->add_option_function<std::string>(
         "--management", [s](const std::string& text) { s->on = text == "on"; },
         "on, or off: no management calls, metrics and console, only /health/")
      ->check(CLI::IsMember({"on", "off"}))
      ->envname("STATOR_MANAGEMENT")
      ->default_str("on");
  app->add_option_function<uint16_t>(
         "--management-port", [s](uint16_t port) { s->port = port; },
         "port of management calls, /metrics, /health/ and the console, which then are on no "
         "other; plain HTTP; 0 takes any free one")
      ->check(CLI::Range(0, 65535))
      ->envname("STATOR_MANAGEMENT_PORT");
  app->add_option("--management-host", s->hosts,
                  "address of --management-port, may be repeated or comma-separated; both "
                  "loopbacks if absent")
      ->delimiter(',')
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "an address is empty" : ""; }, ""))
      ->envname("STATOR_MANAGEMENT_HOST");
}

std::optional<std::string> CheckManagement(const CLI::App& serve,
                                           const ManagementSettings& settings, uint16_t main_port,
                                           std::optional<uint16_t> tls_port) {
  if (!settings.port) {
    if (serve.count("--management-host") > 0) return "--management-host needs --management-port";
    return std::nullopt;
  }
  if (!settings.on) return "--management-port contradicts --management=off";
  if (*settings.port != 0 && (*settings.port == main_port || settings.port == tls_port))
    return "--management-port is a port of the API: leave it out, and they share it";
  return std::nullopt;
}

}  // namespace stator::server
