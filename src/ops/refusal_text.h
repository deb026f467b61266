// What people are told of requests beyond a limit: in the message of the error, in the log, and in
// answers about partitions.
#pragma once

#include <cstdint>
#include <string>

#include "ops/context.h"
#include "ops/refusal_words.h"
#include "table/store.h"
#include "throughput/meter.h"

namespace stator::ops {

// Between two lines of the log about one limit of one table or index.
inline constexpr int64_t kRefusalLogMicros = 10'000'000;

// Two sentences of bounded length: the cause (which key or partition, what was asked for of which
// limit), then the first cure.
std::string RefusalText(const throughput::Explanation& explanation);

// The words around the service's sentence; some milliseconds old.
RefusalWords WordsOf(const Environment& env, throughput::Meter& meter,
                     const throughput::Verdict& refusal);
// Writes a line to the log if the last one about the same limit is old enough. It tells of all
// refusals since then, refused or let pass.
void NoteRefusal(const Environment& env, const table::Table& table, throughput::Meter& meter,
                 const throughput::Verdict& refusal);
// That line: of `count` refusals like `refusal`, explained as of now.
void LogRefusals(const table::Table& table, const throughput::Meter& meter,
                 const throughput::Verdict& refusal, int64_t count, int64_t now_micros);

}  // namespace stator::ops
