// `stator cluster`: what there is in a store on a Ceph cluster, without a server; and servers that
// are to be left before they stop.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace stator::server {

struct ClusterCommand {
  enum class Kind { kStatus, kDrain };
  Kind kind = Kind::kStatus;
  std::string ceph_conf;
  std::string pool;
  std::string ceph_user = "admin";
  std::string ceph_namespace;
  bool json = false;         // kStatus
  std::string server;        // kDrain: an id, or the endpoint or address that status shows
  bool undo = false;         // kDrain: the server is to serve again
  bool last = false;         // kDrain: even if no other server is left
  int timeout_seconds = 30;  // kDrain
};

// Adds `stator cluster` with its subcommands; what is given goes to `command`.
CLI::App* AddClusterCommand(CLI::App* app, ClusterCommand* command);

// Status prints a report to standard output and changes nothing in the pool. Drain asks a server to
// drain, waits until it says that it does, and prints what is to be done next. Returns the exit
// code; errors go to standard error.
int Execute(const ClusterCommand& command);

}  // namespace stator::server
