// The table of management calls: which handler answers which method and path.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"

namespace stator::management {

// One call as its handler sees it. Views of the request.
struct Call {
  std::string_view method;
  std::string_view path;
  std::string_view query;  // behind the ?
  std::string_view name;   // what stands for NAME in the row's path; empty: the row has none
  std::string_view body;
  std::string_view accept;
  // Whether the client has gone (http::Exchange::HasLeft); null for calls on the loop.
  std::function<bool()> has_left = nullptr;
};

struct Route {
  std::string_view method;
  // "/_stator/tables/NAME/place"; NAME is any one segment. A literal, as the next.
  std::string_view path;
  std::string_view does;  // one line for people
  enum class Runs {
    kHere,     // on the loop: it neither waits nor works long
    kReading,  // on a thread for reports, which no change of the server holds up
    kSlowly,   // on a thread that may wait for writes, for the cluster or for the clock
    kPast,     // on a thread for calls that read the past, and wait for writes
    kPlaying,  // on the one thread for calls that compute for seconds; few of them may wait
  };
  Runs runs = Runs::kHere;
  std::function<http::Reply(const Call&)> handler;  // null: the dispatcher knows what to do
};

// Not thread-safe while rows are added; then read by any number of threads.
class Routes {
 public:
  // A row may not have the method and path of another.
  void Add(Route route) { rows_.push_back(std::move(route)); }

  struct Found {
    const Route* route = nullptr;
    std::string_view name;  // a view of the path
    std::string allowed;    // of a path that has rows, but none of the method: "GET, PUT"
  };
  Found Find(std::string_view method, std::string_view path) const;

  // Returns the JSON {"calls":[{"method","path","does"}, ...]}, in the order of paths.
  std::string Index() const;

 private:
  std::vector<Route> rows_;
};

// The call that a request is, without the name.
Call CallOf(const http::Request& request);

}  // namespace stator::management
