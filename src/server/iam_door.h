// Hands the calls of IAM and STS to their service, on threads that may wait for the store.
#pragma once

#include <memory>
#include <utility>

#include "base/executor.h"
#include "base/web_origin.h"
#include "http/server.h"
#include "iam/service.h"

namespace stator::server {

// Thread-safe.
class IamDoor {
 public:
  // The service outlives the door. Web pages may call only if they are the server's own, under a
  // name of `hosts`.
  IamDoor(iam::Service& service, HostRules hosts) : service_(service), hosts_(std::move(hosts)) {}

  static bool Owns(const http::Request& request);
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Waits for the calls under way; later ones are refused.
  void Stop() {
    service_.StopFetching();
    token_threads_.Stop();
    threads_.Stop();
  }

 private:
  // A call on its way to a thread.
  struct Pending;
  void Post(std::shared_ptr<Pending> pending);

  iam::Service& service_;
  const HostRules hosts_;
  WorkerPool threads_{2, 256};
  // For calls that a token vouches for: strangers can keep no other thread busy.
  WorkerPool token_threads_{1, 256};
};

}  // namespace stator::server
