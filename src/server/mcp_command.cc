#include "server/mcp_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>

#include "api_client/credentials.h"
#include "api_client/endpoint.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "egress/client.h"
#include "egress/url.h"
#include "mcp/endpoint.h"
#include "mcp/http_door.h"
#include "mcp/protocol.h"
#include "mcp/stdio.h"
#include "server/version.h"

namespace stator::server {
namespace {

constexpr size_t kMostToken = 4096;

int Complain(std::string_view text) {
  fmt::print(stderr, "{}\n", PrintableLines(text));
  return 1;
}

Result<mcp::EndpointSettings> SettingsOf(const McpCommand& command, std::string* key_source) {
  const api_client::Variables variables = api_client::ProcessEnvironment();
  mcp::EndpointSettings settings;
  ASSIGN_OR_RETURN(settings.api, api_client::ParseEndpoint(
                                     api_client::EndpointText(command.endpoint, variables)));
  settings.management = settings.api;
  if (!command.management_endpoint.empty()) {
    ASSIGN_OR_RETURN(settings.management, api_client::ParseEndpoint(command.management_endpoint));
  }
  if (settings.api.tls || settings.management.tls) {
    ASSIGN_OR_RETURN(settings.trust, egress::TlsTrust::Load(command.ca_file));
  }
  ASSIGN_OR_RETURN(api_client::Credentials credentials, api_client::FindCredentials(variables));
  settings.key = std::move(credentials.key);
  settings.region = std::move(credentials.region);
  settings.allow_writes = command.allow_writes;
  *key_source = std::move(credentials.source);
  return settings;
}

Result<std::string> ReadToken(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream in(path);
  std::string token;
  if (!std::getline(in, token)) return ValidationError(path + ": there is no token in it");
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.empty() || token.size() > kMostToken)
    return ValidationError(path + ": the token is empty or too long");
  return token;
}

int ServeHttp(const McpCommand& command, const mcp::Protocol& protocol, const Clock& clock) {
  // Before any thread exists, so that the signals come to this one only.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Result<std::string> token = ReadToken(command.token_file);
  if (!token.ok()) return Complain(token.error().message());
  const bool has_token = !token->empty();
  Result<std::unique_ptr<mcp::HttpDoor>> door =
      mcp::HttpDoor::Listen({*command.http_port, *std::move(token)}, protocol, clock);
  if (!door.ok()) return Complain(door.error().message());
  (*door)->Start();
  LogInfo("mcp_listening", {{"url", fmt::format("http://127.0.0.1:{}/mcp", (*door)->port())},
                            {"token", has_token ? "asked for" : "none"}});
  int signal = 0;
  sigwait(&signals, &signal);
  (*door)->Stop();
  return 0;
}

}  // namespace

CLI::App* AddMcpCommand(CLI::App* app, McpCommand* command) {
  CLI::App* mcp = app->add_subcommand(
      "mcp", "serve tools for agents (Model Context Protocol) that work on a server (docs/mcp.md)");
  mcp->add_option("--endpoint", command->endpoint,
                  "URL of the server; else AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, "
                  "http://127.0.0.1:8000");
  mcp->add_option("--management-endpoint", command->management_endpoint,
                  "URL of its management calls, where they have a port of their own");
  mcp->add_option("--ca-file", command->ca_file,
                  "PEM file of the authority that signs its certificate; else those of the system")
      ->envname("AWS_CA_BUNDLE");
  mcp->add_flag("--allow-writes", command->allow_writes,
                "offer tools that change items, tables, faults and the clock; else read-only");
  CLI::Option* http =
      mcp->add_option_function<std::string>(
             "--http-port",
             [command](const std::string& text) {
               uint16_t port = 0;
               std::from_chars(text.data(), text.data() + text.size(), port);
               command->http_port = port;
             },
             "speak HTTP on this port of both loopbacks, at /mcp, instead of standard input and "
             "output; 0 takes any free one")
          ->check(CLI::Validator(
              [](const std::string& text) {
                uint16_t port = 0;
                const auto [end, error] =
                    std::from_chars(text.data(), text.data() + text.size(), port);
                return error == std::errc() && end == text.data() + text.size()
                           ? std::string()
                           : fmt::format("{} is not a whole number from 0 to 65535", text);
              },
              "PORT"));
  mcp->add_option("--token-file", command->token_file,
                  "file with a token that clients over HTTP must send: Authorization: Bearer")
      ->needs(http);
  mcp->footer(
      "Requests are signed with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the key of "
      "AWS_PROFILE.");
  return mcp;
}

int Execute(const McpCommand& command) {
  std::string key_source;
  const Result<mcp::EndpointSettings> settings = SettingsOf(command, &key_source);
  if (!settings.ok()) return Complain(settings.error().message());
  signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  const std::string_view version = VersionText();
  const mcp::Protocol protocol(*settings, clock, std::string(version.substr(0, version.find(' '))));
  LogInfo("mcp_ready", {{"endpoint", settings->api.origin()},
                        {"key", key_source},
                        {"region", settings->region},
                        {"writes", settings->allow_writes ? "allowed" : "refused"}});
  if (command.http_port) return ServeHttp(command, protocol, clock);
  mcp::ServeLines(STDIN_FILENO, STDOUT_FILENO, protocol);
  return 0;
}

}  // namespace stator::server
