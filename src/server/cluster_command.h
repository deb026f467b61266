// `stator cluster status`: what there is in a store on a Ceph cluster, without a server.
#pragma once

#include <string>

namespace stator::server {

struct ClusterCommand {
  std::string ceph_conf;
  std::string pool;
  std::string ceph_user = "admin";
  std::string ceph_namespace;
  bool json = false;
};

// Prints the report to standard output, and changes nothing in the pool. The exit code; errors go
// to standard error.
int Execute(const ClusterCommand& command);

}  // namespace stator::server
