// The record of one request on its way through the service. Internal to the room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/registry.h"
#include "api/service.h"
#include "audit/trail.h"
#include "guard/check.h"
#include "ops/context.h"

namespace stator::api {

// Not thread-safe.
class AuditDraft {
 public:
  using Headers = std::vector<std::pair<std::string_view, std::string>>;

  // Returns the draft of a request; null if the trail of `options` does not want to know of it. The
  // draft copies what it needs of the request.
  static std::unique_ptr<AuditDraft> Begin(const ServiceOptions& options,
                                           const ops::Environment& environment,
                                           const Operation& operation, const Incoming& request);
  // Returns the draft of a request that `check` has denied, and that had none.
  static std::unique_ptr<AuditDraft> OfDenial(const ServiceOptions& options,
                                              const ops::Environment& environment,
                                              const Operation& operation,
                                              const guard::Check& check);

  // Takes the caller and the parameters of a request that was verified, and listens to decisions
  // about it. The draft must outlive the check.
  void Join(guard::Check* check, simdjson::dom::element body);
  // OK if the request may go on: a change needs a slot of the trail. kUnavailable.
  Status Permit();
  // True if the answer must wait for the record.
  bool is_change() const { return slot_.has_value(); }
  void NoteError(const Error& error);
  // Hands the record over. `error`: the exception's name, empty on success. `headers` are those of
  // the reply. `written` is called as by Trail::WriteChange, for a change only.
  void Finish(std::string_view error, const Headers& headers, UniqueFunction<void()> written);

 private:
  AuditDraft(const ServiceOptions& options, const ops::Environment& environment,
             const Operation& operation, const access::HttpRequestView& http,
             const guard::Peer* peer);
  void TakeCaller(const guard::Check& check);

  audit::Trail& trail_;
  const ops::Environment& environment_;
  const bool change_;
  const bool enforces_;
  std::optional<audit::Trail::Slot> slot_;
  std::vector<std::string> subjects_;
  audit::Record record_;
};

}  // namespace stator::api
