// The API from a whole HTTP request to a whole HTTP reply. It knows no sockets: the server, or a
// test, passes requests in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/auth.h"
#include "api/document_turns.h"
#include "api/forwarding.h"
#include "api/registry.h"
#include "audit/trail.h"
#include "base/executor.h"
#include "base/log_limited.h"
#include "base/memory_account.h"
#include "base/unique_function.h"
#include "base/web_origin.h"
#include "guard/gate.h"
#include "ops/context.h"

namespace stator::ops {
class IsolatedAccounts;  // ops/isolated_accounts.h
}

namespace stator::api {

// The headers the API looks at. Values are views into the request.
struct RequestHeaders {
  std::string_view target;  // X-Amz-Target
  std::string_view authorization;
  std::string_view x_amz_date;
  std::string_view date;
  std::string_view as_of;  // X-Stator-As-Of
  std::string_view content_type;
  std::string_view content_encoding;
  std::string_view accept_encoding;
  std::string_view host;
  std::string_view origin;
  std::string_view access_control_request_headers;
  std::string_view access_control_request_method;

  // Takes a header of the request, in any order; what the API does not know is ignored. Of several
  // with one name the first counts.
  void Add(std::string_view name, std::string_view value);
};

// Bodies that take a loop's thread a millisecond and more to decode and check: for a thread of
// their own.
inline constexpr size_t kLongBodyBytes = 128 << 10;

// One HTTP request. Its views need to be valid only until Handle returns.
inline constexpr size_t kBodyPadding = 64;
struct Incoming {
  std::string_view method;
  std::string_view target;  // path and query as sent
  RequestHeaders headers;
  std::string_view body;  // followed by at least kBodyPadding readable bytes of any content
  // All header lines as received, and the client's address: set if Service::guarded().
  std::span<const access::HeaderLine> lines = {};
  const guard::Peer* peer = nullptr;
  // Returns true if another thread than a loop's must decode the request: its body is long, or is
  // compressed and may become 1000 times as long.
  bool is_long() const { return body.size() > kLongBodyBytes || !headers.content_encoding.empty(); }
  MemoryLease* memory = nullptr;  // of the request until its reply; null: nothing is counted
  // The thread that hands it in belongs to an I/O loop: what may take longer than about a
  // millisecond asks to be handed in again (Outgoing::again) by another thread.
  bool in_loop = false;
  bool may_wait = false;  // the thread that hands it in, and the loop, may wait for the engine
};

struct Outgoing {
  int status = 200;
  std::vector<std::pair<std::string_view, std::string>>
      headers;  // names are literals; no Content-Length, no Date
  std::string body;
  // If true, no reply must be sent; the request must be handed in once more on a thread that may
  // wait. Either its error may be out of date because other processes change the catalog, or the
  // request takes long.
  bool again = false;
};

// The outcome of one request. Views are valid during the call only.
struct RequestRecord {
  std::string_view operation;  // empty if the request named none that exists
  std::string_view
      table;  // as the client named it; empty if the operation has none or its type was wrong
  std::string_view error;  // the exception's name; empty on success
  int status = 200;
  bool write = false;
  int64_t latency_micros = 0;  // from Handle to the reply
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
  int64_t items = 0;  // items in the reply
};

// Told of every API request (not of health probes and preflights), on the thread of its loop. Must
// be quick and thread-safe.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void OnRequest(const RequestRecord& record) = 0;
};

struct ServiceOptions {
  // Origins whose pages may call (base/web_origin.h).
  OriginRules origins{{"local"}};
  // Names of this server under which its own pages may call.
  HostRules hosts;
  size_t max_body_bytes = 16u << 20;  // of the body, before and after decompression
  size_t compress_above_bytes =
      4096;  // replies longer than this are compressed if the client takes it
  // Verifies signatures and authorizes requests; must outlive the service. Null: the Authenticator
  // checks each request, and what it accepts may do everything.
  guard::Gate* gate = nullptr;
  // The audit log. It gets a record of each request on definitions, of each denial, and of other
  // requests if it asks for them. Used only with a `gate`; must outlive the service. Null: no audit
  // log.
  audit::Trail* audit = nullptr;
  // Gives each access key its own account (--isolate); must outlive the service. Null: all requests
  // belong to the default account. Not allowed with a gate, which finds the accounts of keys
  // itself.
  ops::IsolatedAccounts* isolated = nullptr;
};

// Thread-safe. Outlives every request it has in hand.
class Service {
 public:
  // `observer` and `tap` may be null. Environment, observer and tap outlive the service.
  Service(ops::Environment& environment, Registry registry,
          std::unique_ptr<Authenticator> authenticator, ServiceOptions options = {},
          RequestObserver* observer = nullptr, RequestTap* tap = nullptr);
  ~Service();

  // Asks `forwarding`, which outlives the service, about single-item writes. Before requests.
  void SetForwarding(Forwarding* forwarding) { forwarding_ = forwarding; }

  // Returns true if signatures are verified: then each request needs its raw header lines and its
  // peer.
  bool guarded() const { return options_.gate != nullptr; }

  // Returns true if the operation of this X-Amz-Target may block on an engine that is `blocking`.
  // Then Handle must be called on a thread that may block and has its own loop.
  bool MayWait(std::string_view target) const;

  // Calls `done` at most once, on the loop's thread, inline where nothing had to be waited for.
  // `done` is destroyed uncalled, in a turn of the loop, if the process ran out of memory or an
  // operation broke its contract and dropped its callback: the client is owed
  // InternalServerError.
  void Handle(const Incoming& request, Executor& loop, UniqueFunction<void(Outgoing)> done);

  // Runs a write that another process has decoded, permitted and recorded, and has handed over.
  // `target` is its X-Amz-Target. `body` is followed by kBodyPadding readable bytes and is not
  // needed after the return. Nothing is applied once `permit` (kv/permit.h) has ended. Call it on
  // the loop's thread, on which `done` is called.
  void HandleForwarded(std::string_view target, std::string_view body,
                       std::shared_ptr<const kv::BatchFate> permit, Executor& loop,
                       ForwardedDone done);

 private:
  class Call;
  struct Frame;

  void HandleOrThrow(const Incoming& request, Executor& loop, UniqueFunction<void(Outgoing)> done);
  Frame FrameFor(const RequestHeaders& headers) const;
  bool IsLong(const Frame& frame, size_t body_bytes) const;
  // The headers and the encoding that every reply shares.
  Outgoing Wrap(const Frame& frame, int status, std::string body) const;
  Outgoing AnswerOther(const Incoming& request, const Frame& frame);
  // The answer to a page that may not call.
  Outgoing RefuseOrigin(const Incoming& request, Frame frame);
  // Finds the operation. *text is the text of the body, whose bytes are kept in *decompressed if
  // they had to be.
  Result<const Operation*> Admit(const Incoming& request, std::string* decompressed,
                                 int64_t* document_bytes, DocumentTurns::Turn* turn,
                                 simdjson::dom::element* body, std::string_view* text);

  ops::Environment& environment_;
  const Registry registry_;
  const std::unique_ptr<Authenticator> authenticator_;
  const ServiceOptions options_;
  RequestObserver* const observer_;
  RequestTap* const tap_;
  Forwarding* forwarding_ = nullptr;  // null: every write is run here
  DocumentTurns turns_;
  LogLimiter failure_log_;  // one kind for each operation and error
};

}  // namespace stator::api
