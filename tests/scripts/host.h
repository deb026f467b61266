// The host of a script: Stator in this process on its own engine, with or without HTTP.
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
  // Stops the server and starts it again on the same data.
  virtual Status Reopen() = 0;
  // Moves the clock by a duration as ParseDuration accepts it. Returns when the chores that are due
  // by then are done.
  virtual Status Advance(std::string_view duration) = 0;
  // Checks invariants that no answer shows.
  virtual Status Check() { return OkStatus(); }
};

// Returns a host with an empty store. `where` is memory, rocksdb, http (memory behind the project's
// HTTP server), shared (three servers on one store in memory) or rados (three servers on one store
// in the cluster of STATOR_CEPH_CONF).
Result<std::unique_ptr<Host>> OpenHost(std::string_view where);

}  // namespace stator::scripts
