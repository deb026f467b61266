// An HTTP/1.1 server: sockets, parsing, limits, keep-alive and pipelining. It knows nothing of
// DynamoDB.
//
// A few I/O threads own an event loop and their connections each. A request is handed to the
// handler on the loop that read it, whole, when its body is complete; the reply may be given at
// once or later, from that loop's thread. One request of a connection is in the handler's hands at
// a time, so replies to pipelined requests come in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "base/unique_function.h"

namespace stator::http {

struct Header {
  std::string_view name;   // as sent
  std::string_view value;  // without surrounding white space
};

// Valid until the reply is given. After `body` at least kBodyPadding further bytes may be read
// (their content is undefined).
inline constexpr size_t kBodyPadding = 64;
struct Request {
  std::string_view method;
  std::string_view target;  // path and query as sent
  std::vector<Header> headers;
  std::string_view body;

  // The first header of that name (case-insensitive), or an empty view.
  std::string_view header(std::string_view name) const;
};

struct Reply {
  int status = 200;
  std::vector<std::pair<std::string_view, std::string>>
      headers;  // names must be literals; Content-Length, Date, Connection and Server are added
  std::string body;
  bool close = false;  // close the connection behind it
};

// One request and its reply. Owned by the handler once it is called; if it is destroyed without a
// reply, the server answers 500. All calls in tasks of the loop (on its thread, or on one that
// stands in for it), its destruction too; the server must outlive it. (Once Drain has returned the
// loops' threads are gone, and what is left may be destroyed on any one thread.)
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  // The loop this exchange belongs to: post to it to come back from another thread.
  virtual Executor& loop() = 0;
  // Gives the reply. At most once. If the client has gone, nothing happens. It is written when the
  // loop has gone through the events it is working on, together with the replies to the requests
  // pipelined behind it. Never calls the handler.
  virtual void Send(Reply reply) = 0;
};

using Handler = UniqueFunction<void(std::unique_ptr<Exchange>)>;

struct ServerOptions {
  std::vector<std::string> hosts = {"127.0.0.1", "::1"};
  uint16_t port = 8000;  // 0: any free port, the same on all hosts
  int threads = 1;
  size_t max_header_bytes = 16 * 1024;       // request line and headers; beyond it 400
  size_t max_body_bytes = 16 * 1024 * 1024;  // beyond it 413, before the body is read
  size_t max_inflight_bytes =
      512u << 20;  // bodies being read or served, over all connections; beyond it 503
  int max_connections = 20000;
  int64_t header_timeout_micros =
      30'000'000;  // from the first byte of a request to the end of its headers
  int64_t body_timeout_micros = 60'000'000;  // from the end of the headers to the end of the body
  int64_t idle_timeout_micros = 0;           // keep-alive; 0: none
  int64_t write_timeout_micros =
      60'000'000;  // how long a client may take nothing of a reply that waits for it
};

// Texts of the replies that the server gives on its own, for the layer above to choose.
struct Refusals {
  std::string bad_request = "{\"__type\":\"com.amazon.coral.service#SerializationException\"}";
  std::string too_large =
      "{\"__type\":\"com.amazon.coral.service#RequestEntityTooLargeException\",\"message\":"
      "\"Request body is too large\"}";
  std::string overloaded =
      "{\"__type\":\"com.amazon.coral.service#ServiceUnavailableException\",\"message\":\"The "
      "server is overloaded, try again\"}";
  std::string internal = "{\"__type\":\"com.amazon.coral.service#InternalFailure\"}";
  std::string timeout = "{\"__type\":\"com.amazon.coral.service#RequestTimeoutException\"}";
};

class Server {
 public:
  // Binds and listens (so a port in use is an error here), but serves only after Start. The clock
  // dates replies and drives the time-outs (its TicksMicros).
  static Result<std::unique_ptr<Server>> Listen(ServerOptions options, Refusals refusals,
                                                const Clock& clock);
  virtual ~Server() = default;

  // The port in use.
  virtual uint16_t port() const = 0;
  // Starts the I/O threads. `make_handler` is called once per loop, so that a handler may keep
  // state of its loop.
  virtual void Start(FunctionRef<Handler(Executor& loop)> make_handler) = 0;
  // Stops accepting, closes idle connections, waits for requests begun, at most deadline_micros of
  // real time from now, then closes all and joins the threads. Not from a loop's thread.
  // Idempotent; the destructor drains with a deadline of 0.
  virtual void Drain(int64_t deadline_micros) = 0;
  // Connections open now.
  virtual int connections() const = 0;
};

}  // namespace stator::http
