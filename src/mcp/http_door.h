// The protocol over HTTP ("Streamable HTTP"), on loopback: POST /mcp, one message and one answer.
// There are no sessions and no streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "base/web_origin.h"
#include "http/server.h"
#include "mcp/protocol.h"

namespace stator::mcp {

class HttpDoor {
 public:
  struct Options {
    uint16_t port = 0;  // 0: any free one
    // Clients must send it as a bearer token; empty: none is asked for.
    std::string token;
    // Bytes of all messages together, parsed: room for two of the longest, and short ones.
    size_t most_inflight_bytes = 160 << 20;
    // Runs on the thread of simulations before each of them. For tests.
    std::function<void()> before_play = nullptr;
  };
  // Listens on both loopback addresses; returns an error if the port is in use. Serves only after
  // Start. `protocol` and `clock` must outlive the door.
  static Result<std::unique_ptr<HttpDoor>> Listen(Options options, const Protocol& protocol,
                                                  const Clock& clock);
  ~HttpDoor();
  uint16_t port() const { return server_->port(); }
  void Start();
  // Stops the door: answers running requests, for at most some seconds. Idempotent.
  void Stop();

 private:
  // Threads share it, but only the one that has the message reads it.
  using ExchangePtr = std::shared_ptr<std::unique_ptr<http::Exchange>>;

  HttpDoor(Options options, const Protocol& protocol);
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Answers a message, on a thread for that; without `may_play` one that plays goes to the thread
  // of simulations.
  void Work(ExchangePtr exchange, bool may_play);
  // The reply to what is no message, or nothing: then it may be one.
  std::unique_ptr<http::Reply> Refusal(const http::Request& request) const;

  const Options options_;
  const Protocol& protocol_;
  const HostRules hosts_;
  WorkerPool threads_;
  WorkerPool plays_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace stator::mcp
