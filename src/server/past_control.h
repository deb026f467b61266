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

// Answers a call with its JSON. kResourceNotFound if there is no such table; kValidation for a body
// that is none of the call, for a table without point-in-time recovery, and for moments outside of
// it. Blocks: for the writes under way, for reads of the disk, and with undo for writes.
// `has_left`, if not null, is asked between items: once it says true, reading ends with
// kUnavailable.
Result<std::string> HandlePast(ops::Environment& environment, std::string_view call,
                               std::string_view table, std::string_view body,
                               const std::function<bool()>& has_left = nullptr);

// Requires what the call needs beside its own action, `action`: the rights of a reader of the item
// or of the table, and with undo those of a writer. Both are checked with the keys of the body, as
// far as it names one item.
Status RequirePast(guard::Check& check, std::string_view call, std::string_view action,
                   std::string_view table, std::string_view body);

}  // namespace stator::server
