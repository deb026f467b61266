// Reads as of a moment: the header X-Stator-As-Of of GetItem, BatchGetItem, Query and Scan.
//
// They read a table with point-in-time recovery as it was, from its change log
// (table/logged_moment.h), between EarliestRestorableDateTime and LatestRestorableDateTime.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "ops/context.h"
#include "table/logged_moment.h"

namespace stator::ops {

inline constexpr std::string_view kAsOfHeader = "X-Stator-As-Of";

// Parses the moment in a header or an argument and returns it in whole milliseconds. The text is
// one that ParseTime takes, or a number of milliseconds with at least 12 digits. kValidation, whose
// text names `what`.
Result<int64_t> ParseMoment(std::string_view what, std::string_view text);

// Returns true if the operation can read the past. Other operations with this header are refused
// with RefuseAsOf.
bool ReadsPast(std::string_view operation);
Error RefuseAsOf(std::string_view operation);

// Returns the last microsecond of the moment. Errors, under the names that restores have: the table
// has no point-in-time recovery, or the moment is not within what can be restored. `what` names
// the moment.
Result<int64_t> LastMicrosOf(const Environment& env, const table::Table& table,
                             std::string_view what, int64_t millis);

// Waits until the changes up to the moment are durable, and opens the table as it was then.
// Answers inline or on any thread.
using MomentDone = UniqueFunction<void(Result<std::shared_ptr<const table::LoggedMoment>> moment)>;
void OpenMoment(Environment& env, table::TablePtr table, std::string_view what, int64_t millis,
                MomentDone done);

// Opens the table at Context::as_of_millis, which must be set, and answers on the loop's thread.
// `index`: of the table, or null; indexes have no history and are refused.
using PastDone = UniqueFunction<void(Result<std::shared_ptr<const table::Past>> past)>;
void OpenPast(Context& ctx, table::TablePtr table, const table::IndexDescriptor* index,
              PastDone done);

}  // namespace stator::ops
