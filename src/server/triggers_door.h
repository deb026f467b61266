// Hands the calls of Lambda's API of event source mappings to their service, on threads that may
// wait for the store.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/web_origin.h"
#include "http/server.h"
#include "server/call_threads.h"
#include "triggers/service.h"

namespace stator::server {

// Thread-safe.
class TriggersDoor {
 public:
  // The service outlives the door. Web pages may call only if they are the server's own, under a
  // name of `hosts`.
  TriggersDoor(triggers::Service& service, HostRules hosts)
      : service_(service), hosts_(std::move(hosts)) {}

  static bool Owns(std::string_view target) { return triggers::Service::Owns(target); }
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Answers with an error in the form of the API.
  static void Refuse(std::unique_ptr<http::Exchange> exchange, const Error& error);
  // Waits for the calls under way; later ones are refused.
  void Stop() { threads_.Stop(); }

 private:
  triggers::Service& service_;
  const HostRules hosts_;
  CallThreads threads_;
};

}  // namespace stator::server
