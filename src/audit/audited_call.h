// A call of a management API and its record.
#pragma once

#include <optional>
#include <utility>

#include "access/sigv4.h"
#include "audit/record.h"
#include "audit/trail.h"
#include "base/result.h"
#include "guard/gate.h"

namespace stator::audit {

// Notes what a request says of its caller: the key that it claims, its address, its user agent.
// `peer` may be null.
void NoteCaller(const access::HttpRequestView& http, const guard::Peer* peer, Record* record);

// Returns what `perform(&record)` returns for a call on the request `http`, and writes the record:
// that of a change into a slot that is reserved before, and waits until it is on the disk. Returns
// the reservation's error, and performs nothing, if there is no slot. `record` has source, name and
// whether it is a read; `name_of(error)` is an error's name in this API. Blocks.
template <typename Perform, typename NameOf>
auto RunAudited(Trail& trail, const access::HttpRequestView& http, const guard::Peer* peer,
                Record record, Perform perform, NameOf name_of) -> decltype(perform(&record)) {
  record.at_micros = trail.clock().NowMicros();
  NoteCaller(http, peer, &record);
  std::optional<Trail::Slot> slot;
  if (!record.read_only) {
    Result<Trail::Slot> reserved = trail.Reserve();
    if (!reserved.ok()) return reserved.error();
    slot.emplace(*std::move(reserved));
  }
  auto result = perform(&record);
  if (!result.ok()) {
    record.error_code = name_of(result.error());
    if (result.error().code() == ErrorCode::kAccessDenied)
      record.error_message = result.error().message();
  }
  if (slot) {
    trail.WriteChangeAndWait(*std::move(slot), std::move(record));
  } else {
    trail.Write(std::move(record));
  }
  return result;
}

}  // namespace stator::audit
