// Hands each HTTP request to the API, to the management calls or to the console, on a thread that
// may do what it needs.
#pragma once

#include <memory>
#include <optional>

#include "api/service.h"
#include "base/executor.h"
#include "console/pages.h"
#include "guard/gate.h"
#include "http/server.h"
#include "ops/context.h"
#include "server/iam_door.h"
#include "server/management.h"
#include "server/presence.h"
#include "server/request_threads.h"
#include "server/scaling_door.h"
#include "server/triggers_door.h"

namespace stator::server {

// Thread-safe.
class FrontDoor {
 public:
  // Where the management calls, /metrics and /health/ are served, and the console, which asks them.
  // The listener of their own serves the API too if the console is on, for the console calls it.
  struct ManagementPlace {
    static constexpr int kEveryListener = -1;
    bool on = true;  // false: /health/ only
    int listener = kEveryListener;
  };
  // `waiting`: engines that wait for a network (kv::Capabilities::blocking), as all do that several
  // processes write, need threads of their own for operations on definitions, which the loops run
  // otherwise, and for requests that have to be handed in again. Requests with long bodies have
  // threads of their own in any case. `gate` guards management calls; null: they are open. `iam`
  // takes the calls of IAM and STS; null: there are none. `console`: whether it is served.
  // `audit` takes records of management calls; it may be null. `scaling` takes the calls of
  // Application Auto Scaling, `triggers` those of event source mappings, `presence` answers
  // /localnodes; null: there are none. `isolated`: an access key has an account of its own
  // (ops/isolated_accounts.h), which has no auto scaling and no mappings. All outlive this object.
  FrontDoor(api::Service& service, Management& management, const ops::Environment& environment,
            guard::Gate* gate, IamDoor* iam, audit::Trail* audit, bool waiting, bool console,
            ManagementPlace place, ScalingDoor* scaling = nullptr, TriggersDoor* triggers = nullptr,
            const Presence* presence = nullptr, bool isolated = false);
  FrontDoor(api::Service& service, Management& management, const ops::Environment& environment,
            guard::Gate* gate, IamDoor* iam, audit::Trail* audit, bool waiting)
      : FrontDoor(service, management, environment, gate, iam, audit, waiting, true,
                  ManagementPlace()) {}

  // For the requests of one loop, which must have ended before this object does.
  http::Handler HandlerOf(Executor& loop);

  // Ends the threads. When the loops have ended.
  void Stop();

 private:
  void Serve(std::unique_ptr<http::Exchange> exchange, Executor& loop);
  // Returns the account of an isolated key; empty for the default account.
  std::string IsolatedAccount(const http::Exchange& exchange) const;
  // Whether the listener of this request has what ManagementPlace says.
  bool HasManagement(const http::Exchange& exchange) const {
    return place_.listener == ManagementPlace::kEveryListener ||
           place_.listener == exchange.listener();
  }
  // Runs the request's steps on threads that may wait.
  void ServeWaiting(std::unique_ptr<http::Exchange> exchange, Executor& loop) {
    ServeOn(*waiting_, /*may_wait=*/true, std::move(exchange), loop);
  }
  // Runs the request's steps on `threads`; `may_wait` as in api::Incoming.
  void ServeOn(RequestThreads& threads, bool may_wait, std::unique_ptr<http::Exchange> exchange,
               Executor& loop);
  class Answer;
  // One step: decodes the request and hands it in.
  void HandIn(const std::shared_ptr<RequestThreads::Steps>& steps, std::shared_ptr<Answer> answer,
              bool may_wait);

  api::Service& service_;
  Management& management_;
  const ops::Environment& environment_;
  guard::Gate* const gate_;
  IamDoor* const iam_;
  audit::Trail* const audit_;
  const bool console_;
  const ManagementPlace place_;
  ScalingDoor* const scaling_;
  TriggersDoor* const triggers_;
  const Presence* const presence_;
  const bool isolated_;
  const console::Pages pages_;
  const console::Pages no_pages_{false};
  std::unique_ptr<RequestThreads> waiting_;  // null: nothing waits
  RequestThreads moderate_;                  // for requests with long bodies of at most 1 MB
  RequestThreads long_;                      // for longer ones, and for packed ones
};

}  // namespace stator::server
