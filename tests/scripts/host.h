// Where scripts run: Stator in this process, on an engine of its own, behind HTTP or not.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stator::scripts {

struct Question {
  std::string method = "POST";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

struct Answer {
  int status = 0;  // 0: there was none
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

class Host {
 public:
  virtual ~Host() = default;
  virtual Answer Ask(const Question& question) = 0;
  // Ends the server and starts it again on the same data.
  virtual Status Reopen() = 0;
  // Moves the clock by a duration as ParseDuration takes it, and returns when the chores that are
  // due then are done.
  virtual Status Advance(std::string_view duration) = 0;
  // What no answer shows but must hold all the same.
  virtual Status Check() { return OkStatus(); }
};

// `where` is memory, rocksdb, http (memory behind the project's HTTP server) shared (three servers
// on one store in memory) or rados (three on one in the cluster of STATOR_CEPH_CONF). The store is
// empty.
Result<std::unique_ptr<Host>> OpenHost(std::string_view where);

}  // namespace stator::scripts
