// `stator mcp`: tools for agents in front of a server, by the Model Context Protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace stator::server {

struct McpCommand {
  std::string endpoint;               // empty: of the environment, else http://127.0.0.1:8000
  std::string management_endpoint;    // empty: the same
  std::string ca_file;                // empty: the system's authorities
  std::optional<uint16_t> http_port;  // absent: standard input and output
  std::string token_file;             // with http_port; empty: no token
  bool allow_writes = false;
};

// Adds `stator mcp`; what is given goes to `command`.
CLI::App* AddMcpCommand(CLI::App* app, McpCommand* command);

// Serves until standard input ends, or, over HTTP, until SIGTERM or SIGINT. Returns the exit code;
// errors and log lines go to standard error.
int Execute(const McpCommand& command);

}  // namespace stator::server
