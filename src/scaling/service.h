// The API of Application Auto Scaling (AWS JSON 1.1), for the namespace `dynamodb`.
#pragma once

#include <string>
#include <string_view>

#include "access/sigv4.h"
#include "audit/trail.h"
#include "base/result.h"
#include "guard/gate.h"
#include "ops/context.h"

namespace stator::scaling {

struct Reply {
  int status = 200;
  std::string body;  // JSON
};

// Thread-safe.
class Service {
 public:
  static constexpr size_t kMostBodyBytes = 64 << 10;

  // `gate` verifies and authorizes calls. If it is null and `require_auth` is true, a call needs
  // only a well-formed signature. `audit` gets records of calls; it may be null. All must outlive
  // the service.
  Service(ops::Environment& environment, guard::Gate* gate, audit::Trail* audit, bool require_auth)
      : environment_(environment), gate_(gate), audit_(audit), require_auth_(require_auth) {}

  // Returns true if the X-Amz-Target of a request belongs to this API.
  static bool Owns(std::string_view amz_target) { return amz_target.starts_with(kPrefix); }

  // Performs a call. Blocks on the store.
  Reply Run(std::string_view amz_target, const access::HttpRequestView& http,
            const guard::Peer* peer);
  // Returns the reply to a call that is not run.
  static Reply RenderError(const Error& error);

 private:
  static constexpr std::string_view kPrefix = "AnyScaleFrontendService.";

  // Adds the caller and the decisions to the record.
  Result<std::string> Perform(std::string_view operation, const access::HttpRequestView& http,
                              const guard::Peer* peer, audit::Record* record);

  ops::Environment& environment_;
  guard::Gate* const gate_;
  audit::Trail* const audit_;
  const bool require_auth_;
};

}  // namespace stator::scaling
