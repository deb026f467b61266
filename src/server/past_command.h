// The commands `stator at`, `difference`, `history`, `undo` and `forget`: they send the management
// calls on a table's past (past_control.h) to a server.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace stator::server {

struct PastCommand {
  std::string call;  // the subcommand, which is the name of the management call too
  std::string endpoint_url = "http://localhost:8000";
  std::string region = "us-east-1";
  std::string authorities_file;  // of an https:// endpoint; empty: the system's
  std::string table;
  std::string key;  // a JSON object, as the API has it; empty: none
  std::string at;   // moments as they were given; empty: not given
  std::string from;
  std::string to;
  bool apply = false;
  bool json = false;
};

// Adds the subcommands; what is given goes to `command`.
void AddPastCommands(CLI::App* app, PastCommand* command);

// Asks page after page and prints what comes to standard output. Returns the exit code: 1 for an
// error, which goes to standard error, for an item that was not there, and for an undo that left
// items alone. Calls are signed with the key of AWS_ACCESS_KEY_ID if that is set.
int Execute(const PastCommand& command);

}  // namespace stator::server
