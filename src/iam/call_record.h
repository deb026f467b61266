// A call as the audit log shows it. Internal to the room.
#pragma once

#include <string>
#include <string_view>

#include "access/catalogue.h"
#include "access/verifier.h"
#include "audit/record.h"
#include "base/clock.h"
#include "guard/gate.h"
#include "iam/service.h"

namespace stator::iam {

// Returns the audit record of a call that begins now, without its outcome. The recorded parameters
// are names, paths, policies and tags, but no secrets, tokens or values of simulations.
audit::Record RecordOf(const Prepared& call, const access::HttpRequestView& http,
                       const guard::Peer* peer, access::ActionId action, const Clock& clock);

// True for a call that changes identities or makes credentials.
bool IsChange(access::ActionId action);

// Adds the ids of keys in the inside of a Result element.
void AddMadeIds(std::string_view result, audit::Record* record);

}  // namespace stator::iam
