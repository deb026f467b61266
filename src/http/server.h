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
#include "base/memory_account.h"
#include "base/result.h"
#include "base/unique_function.h"

namespace stator::http {

class TlsKeeper;

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
  // Returns the client's IP address without its port; empty if it is not known.
  virtual std::string PeerAddress() const { return {}; }
  // Whether the request came over TLS.
  virtual bool IsSecure() const { return false; }
  // The listener that it came to: 0, or 1 + the index in ServerOptions::more.
  virtual int listener() const { return 0; }
  // The loop this exchange belongs to: post to it to come back from another thread.
  virtual Executor& loop() = 0;
  // Sends the reply. May be called once. Does nothing if the client has closed the connection. The
  // reply is written when the loop has handled its present events, together with the replies to the
  // requests that are pipelined behind it. Never calls the handler.
  virtual void Send(Reply reply) = 0;
  // Whether the client has closed the connection, or its side of it, so that it will hardly read a
  // reply. For any thread, for work that can be left.
  virtual bool HasLeft() const { return false; }
  // Counts the bytes that the request holds beside its body, up to its reply. Its calls are for any
  // thread.
  virtual MemoryLease& memory() = 0;
};

using Handler = UniqueFunction<void(std::unique_ptr<Exchange>)>;

// Times that the rate of a slow client is looked at within its timeout.
inline constexpr int kLooksAtRate = 12;
// Connections beyond ServerOptions::max_connections that may wait for their one answer.
inline constexpr int kExtraConnections = 32;

// Sockets to listen on.
struct ListenerOptions {
  std::vector<std::string> hosts = {"127.0.0.1", "::1"};
  uint16_t port = 0;  // 0: any free port, the same on all hosts
  bool secure = false;
};

struct ServerOptions {
  std::vector<std::string> hosts = {"127.0.0.1", "::1"};
  uint16_t port = 8000;  // 0: any free port, the same on all hosts
  bool secure = false;   // TLS is spoken on `port`
  std::vector<ListenerOptions> more = {};
  std::shared_ptr<TlsKeeper> tls = {};  // not null if a listener is secure
  // TLS handshakes under way, over all threads. Beyond it the oldest is closed.
  int max_handshakes = 512;
  int64_t handshake_timeout_micros = 10'000'000;
  int threads = 1;
  size_t max_header_bytes = 16 * 1024;       // request line and headers; beyond it 400
  size_t max_body_bytes = 16 * 1024 * 1024;  // beyond it 413, before the body is read
  // Bytes that requests, and replies that wait for their reader, may hold over all connections
  // (base/memory_account.h). Beyond it 503.
  size_t max_inflight_bytes = 512u << 20;
  // Connections open at once. Of those beyond, kExtraConnections get one answer, others are closed
  // behind a 503 at once, so that they hold no descriptors.
  int max_connections = 20000;
  // Requests for targets with this prefix are served on connections beyond max_connections, too, so
  // that a full server answers health checks. Empty: no such requests.
  std::string always_served_prefix = {};
  int64_t header_timeout_micros =
      30'000'000;  // from the first byte of a request to the end of its headers
  // The period over which a client's speed is checked against min_client_bytes_per_second, for
  // sending a body and for reading a reply. While memory is short, it is a twelfth of this.
  int64_t body_timeout_micros = 60'000'000;
  int64_t write_timeout_micros = 60'000'000;
  int64_t min_client_bytes_per_second = 16 * 1024;
  int64_t idle_timeout_micros = 0;  // keep-alive; 0: none
};

// Texts of the replies that the server gives on its own, for the layer above to choose.
struct Refusals {
  std::string bad_request = "{\"__type\":\"com.amazon.coral.service#SerializationException\"}";
  std::string too_large =
      "{\"__type\":\"com.amazon.coral.service#RequestEntityTooLargeException\",\"message\":"
      "\"Request body is too large\"}";
  std::string overloaded =
      "{\"__type\":\"com.amazon.coral.service#ServiceUnavailableException\",\"message\":\"The "
      "server has as many connections as --max-connections allows, try again\"}";
  std::string out_of_memory =
      "{\"__type\":\"com.amazon.coral.service#ServiceUnavailableException\",\"message\":\"The "
      "server holds as much for requests as --max-inflight-mb allows, try again\"}";
  std::string internal = "{\"__type\":\"com.amazon.coral.service#InternalFailure\"}";
  std::string timeout = "{\"__type\":\"com.amazon.coral.service#RequestTimeoutException\"}";
  std::string slow_body =
      "{\"__type\":\"com.amazon.coral.service#RequestTimeoutException\",\"message\":\"The body "
      "arrived slowly while requests held more than half of what --max-inflight-mb allows, try "
      "again\"}";
  std::string not_tls =
      "{\"__type\":\"com.amazon.coral.service#SerializationException\",\"message\":\"This port "
      "speaks TLS: use https://\"}";
};

// Counts of a server at one moment.
struct ServerState {
  int connections = 0;  // open, without those beyond the limit
  int max_connections = 0;
  int64_t refused_connections = 0;  // since the start, because there were too many
  int64_t inflight_bytes = 0;       // held for requests and replies
  int64_t max_inflight_bytes = 0;
  int64_t refused_requests = 0;  // since the start, for want of memory
  int64_t slow_clients = 0;      // since the start, closed because they sent or took too little
  // TLS handshakes since the start: done, failed (too late ones too), and closed because there were
  // too many.
  int64_t handshakes = 0;
  int64_t failed_handshakes = 0;
  int64_t crowded_out_handshakes = 0;
  int64_t certificate_expires_seconds = 0;  // since the epoch; 0: no TLS
};

class Server {
 public:
  // Binds and listens (so a port in use is an error here), but serves only after Start. The clock
  // dates replies and drives the time-outs (its TicksMicros).
  static Result<std::unique_ptr<Server>> Listen(ServerOptions options, Refusals refusals,
                                                const Clock& clock);
  virtual ~Server() = default;

  // The port in use of a listener (Exchange::listener).
  virtual uint16_t port(size_t listener = 0) const = 0;
  // Starts the I/O threads. `make_handler` is called once per loop, so that a handler may keep
  // state of its loop.
  virtual void Start(FunctionRef<Handler(Executor& loop)> make_handler) = 0;
  // From now on closes each connection after the next reply on it, so that clients connect again,
  // to another server if they know one. Goes on accepting. Idempotent.
  virtual void CloseAfterReplies() = 0;
  // Stops accepting, closes idle connections, and waits at most `deadline_micros` of real time
  // until running requests are answered. Then it closes all connections and joins the threads. Must
  // not be called on a loop's thread. Idempotent; the destructor calls it with 0.
  virtual void Drain(int64_t deadline_micros) = 0;
  // Returns the number of open connections, without those beyond the limit (which only get a 503).
  virtual int connections() const = 0;
  virtual ServerState state() const = 0;
};

}  // namespace stator::http
