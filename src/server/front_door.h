// Hands each HTTP request to the API or to the management calls, on a thread that may do what it
// needs.
#pragma once

#include <memory>

#include "api/service.h"
#include "base/executor.h"
#include "http/server.h"
#include "server/management.h"

namespace stator::server {

// Thread-safe.
class FrontDoor {
 public:
  // `waiting`: engines that wait for a network (kv::Capabilities::blocking), as all do that several
  // processes write, need threads of their own for operations on definitions, which the loops run
  // otherwise, and for requests that have to be handed in again. Both outlive this object.
  FrontDoor(api::Service& service, Management& management, bool waiting);

  // For the requests of one loop, which must have ended before this object does.
  http::Handler HandlerOf(Executor& loop);

  // Ends the threads. When the loops have ended.
  void Stop();

 private:
  void Serve(std::unique_ptr<http::Exchange> exchange, Executor& loop);
  // Runs the request to its end on a thread that may wait.
  void ServeWaiting(std::unique_ptr<http::Exchange> exchange, Executor& loop);

  api::Service& service_;
  Management& management_;
  std::unique_ptr<WorkerPool> waiting_;  // null: nothing waits
};

}  // namespace stator::server
