// Runs the calls of one API other than DynamoDB's (event source mappings, Auto Scaling) on threads
// that may wait for the store.
#pragma once

#include <functional>
#include <memory>

#include "access/sigv4.h"
#include "base/executor.h"
#include "base/web_origin.h"
#include "guard/gate.h"
#include "http/server.h"

namespace stator::server {

// Returns true for a request of a web page that is not the server's own, under a name of `hosts`.
bool IsOfAnotherPage(const http::Request& request, const HostRules& hosts);
inline constexpr const char* kOfAnotherPage = "This call is not for web pages of other servers.";

// Thread-safe.
class CallThreads {
 public:
  // Makes the reply to a request; the views and the peer are valid during the call.
  using Run = std::function<http::Reply(const access::HttpRequestView&, const guard::Peer&)>;

  // Answers with what `run` returns, on one of the threads; at once with `overloaded` if too many
  // calls wait.
  void Answer(std::unique_ptr<http::Exchange> exchange, Run run, http::Reply overloaded);
  // Waits for the calls under way; later ones are refused.
  void Stop() { threads_.Stop(); }

 private:
  WorkerPool threads_{2, 256};
};

}  // namespace stator::server
