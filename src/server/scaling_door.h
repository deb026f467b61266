// Hands the calls of Application Auto Scaling to their service, on threads that may wait for the
// store.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/web_origin.h"
#include "http/server.h"
#include "scaling/service.h"
#include "server/call_threads.h"

namespace stator::server {

// Thread-safe.
class ScalingDoor {
 public:
  // The service outlives the door. Web pages may call only if they are the server's own, under a
  // name of `hosts`.
  ScalingDoor(scaling::Service& service, HostRules hosts)
      : service_(service), hosts_(std::move(hosts)) {}

  static bool Owns(std::string_view amz_target) { return scaling::Service::Owns(amz_target); }
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Answers with an error in the form of the API.
  static void Refuse(std::unique_ptr<http::Exchange> exchange, const Error& error);
  // Waits for the calls under way; later ones are refused.
  void Stop() { threads_.Stop(); }

 private:
  scaling::Service& service_;
  const HostRules hosts_;
  CallThreads threads_;
};

}  // namespace stator::server
