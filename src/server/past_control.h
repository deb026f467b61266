// The management calls on a table's past, under /_stator/tables/NAME/past/: docs/past.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "guard/check.h"
#include "ops/context.h"

namespace stator::server {

// at, difference, history, undo, forget: the last part of the path.
inline constexpr std::string_view kPastCalls[] = {"at", "difference", "history", "undo", "forget"};

// Runs a call and returns its JSON. kResourceNotFound if there is no such table; kValidation for an
// invalid body, for a table without point-in-time recovery, and for moments that its log does not
// cover. Blocks until running writes are done and the disk is read; undo also waits for its own
// writes. `has_left`, if not null, is called between items; when it returns true, reading ends with
// kUnavailable.
Result<std::string> HandlePast(ops::Environment& environment, std::string_view call,
                               std::string_view table, std::string_view body,
                               const std::function<bool()>& has_left = nullptr);

// Requires the rights that the call needs besides its own action, `action`: those to read the item
// or the table, and with undo those to write. Both are checked with the keys of the body, as far as
// it names one item.
Status RequirePast(guard::Check& check, std::string_view call, std::string_view action,
                   std::string_view table, std::string_view body);

}  // namespace stator::server
