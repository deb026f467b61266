// What people are told of requests beyond a limit: in the message of the error, in the log, and in
// answers about partitions.
#pragma once

#include <cstdint>
#include <string>

#include "ops/context.h"
#include "table/store.h"
#include "throughput/meter.h"

namespace stator::ops {

// Between two lines of the log about one limit of one table or index.
inline constexpr int64_t kRefusalLogMicros = 10'000'000;

// One or two sentences: which partition and keys, which limit, which keys are hottest, and what
// would fix it first. Of bounded length.
std::string RefusalText(const throughput::Explanation& explanation, throughput::Access access,
                        throughput::Limit limit);
// "a1b2000000000000 to ffffffffffffffff", and where the range is inside an item collection.
std::string RangeText(const throughput::KeyRange& range);

// RefusalText, as it follows the service's words in a message; some milliseconds old.
std::string RefusalDetail(const Environment& env, throughput::Meter& meter,
                          const throughput::Verdict& refusal);
// Writes a line to the log if the last one about the same limit is old enough. It tells of all
// refusals since then, refused or let pass.
void NoteRefusal(const Environment& env, const table::Table& table, throughput::Meter& meter,
                 const throughput::Verdict& refusal);
// That line: of `count` refusals like `refusal`, explained as of now.
void LogRefusals(const table::Table& table, const throughput::Meter& meter,
                 const throughput::Verdict& refusal, int64_t count, int64_t now_micros);

}  // namespace stator::ops
