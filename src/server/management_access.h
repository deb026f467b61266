// Access control of management calls: maps each call to the action that the caller must be allowed.
#pragma once

#include <memory>
#include <optional>

#include "audit/trail.h"
#include "guard/gate.h"
#include "http/server.h"
#include "ops/context.h"

namespace stator::server {

// Returns the refusal of a management call, or nullopt if the caller may make it. Calls are signed
// for the service "stator"; the caller needs the action of the call (docs/management.md). Health is
// open. A call that has no action is for the root user alone.
//
// With an audit log (`audit` may be null) *exchange is replaced by one that hands the record over
// when it is answered. A change is refused if it could not be recorded.
std::optional<http::Reply> RefuseManagement(guard::Gate& gate, const ops::Environment& environment,
                                            audit::Trail* audit,
                                            std::unique_ptr<http::Exchange>* exchange);

}  // namespace stator::server
