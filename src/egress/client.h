// A client of one HTTP/1.1 server, over plain TCP or TLS.
//
// Every call is bounded in time and in bytes. Redirects are answers like others: the client does
// not follow them, so a server cannot lead it anywhere else. Proxies of the environment are not
// used.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "egress/url.h"

namespace stator::egress {

struct Limits {
  int64_t connect_micros = 5'000'000;
  int64_t total_micros = 60'000'000;  // of one call, connecting included
  size_t header_bytes = 32 << 10;
  size_t body_bytes = 7 << 20;
};

// The body of a request, as the caller holds it: it is not copied. Called by the thread that calls
// Client::Call.
class Body {
 public:
  using Take = FunctionRef<Status(std::string_view piece)>;
  virtual ~Body() = default;
  virtual size_t size() const = 0;
  // Hands over its pieces in order. Ends with the first error, and returns it.
  virtual Status Visit(Take take) const = 0;
  // Hears that all of it is sent. The caller may free the pieces from then on.
  virtual void OnSent() {}
  // Returns true if the pieces are still there, for a request that must be sent again. They stay
  // until the next OnSent.
  virtual bool OnAgain() { return true; }
};

// Decides how much of the body of a reply the caller keeps. Called by the thread that calls
// Client::Call.
class Keeper {
 public:
  virtual ~Keeper() = default;
  // Returns the maximum number of body bytes that are kept. The client counts further bytes and
  // drops them.
  virtual size_t most() const = 0;
  // Returns true if there is memory for a body of `bytes`. Asked again and again, until the call's
  // time is over; the server waits meanwhile.
  virtual bool MayKeep(size_t bytes) = 0;
};

// The authorities that sign the certificates of servers. Immutable, shared by clients.
class TlsTrust {
 public:
  // The system's authorities, or those in `authorities_file` if it is not empty. kValidation if the
  // file has none.
  static Result<std::shared_ptr<const TlsTrust>> Load(const std::string& authorities_file);
  ~TlsTrust();
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;
  void* native() const { return context_; }  // an SSL_CTX

 private:
  explicit TlsTrust(void* context) : context_(context) {}
  void* const context_;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 0;
  Headers headers;
  std::string body;

  // Returns the first header of that name, in any case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

// Why a call has no reply.
enum class Failure {
  kConnect,    // no connection: nothing was sent
  kTls,        // the certificate is not trusted, or the handshake failed: nothing was sent
  kTimeout,    // the request was sent, at least in part, and no whole reply came in time
  kBroken,     // the connection ended before the whole reply
  kNonsense,   // the reply is no HTTP
  kTooLong,    // the reply is longer than Limits allow
  kNoRoom,     // the keeper had no memory for the reply in time
  kCancelled,  // Cancel was called
};
std::string_view NameOf(Failure failure);

// The payload of every error of Client::Call, whose code is kUnavailable.
struct FailurePayload : ErrorPayload {
  explicit FailurePayload(Failure failure) : failure(failure) {}
  Failure failure;
};
// Returns the failure of an error of Client::Call.
Failure FailureOf(const Error& error);

// Keeps its connection between calls. For one thread at a time, but for Cancel.
class Client {
 public:
  // `clock` measures timeouts; it must outlive the client. `trust` may be null without TLS.
  Client(Url server, Limits limits, std::shared_ptr<const TlsTrust> trust, const Clock& clock);
  ~Client();

  // Sends a request and returns the reply, whatever its status. Host, Content-Length and User-Agent
  // are added. A connection that the server has closed since the last call is opened again; then
  // the server may get the request twice. Blocks.
  Result<Reply> Call(std::string_view method, std::string_view target, const Headers& headers,
                     std::string_view body);
  // Sends a body in pieces. `keeper` may be null: all is kept.
  Result<Reply> Call(std::string_view method, std::string_view target, const Headers& headers,
                     Body& body, Keeper* keeper);
  // Ends the call under way, and fails later ones. Thread-safe.
  void Cancel();
  const Url& server() const { return server_; }

 private:
  struct Parts;
  Result<Reply> Exchange(std::string_view head, Body& body, Keeper* keeper, int64_t deadline,
                         bool* any_byte);
  // Waits until the keeper has memory for a body of `bytes`.
  Status AwaitRoom(Keeper* keeper, size_t bytes, int64_t deadline);

  const Url server_;
  const Limits limits_;
  const std::shared_ptr<const TlsTrust> trust_;
  const Clock& clock_;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace stator::egress
