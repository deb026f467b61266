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

// Two sentences of bounded length: the cause (which key or partition, what was asked for of which
// limit), then the first cure.
std::string RefusalText(const throughput::Explanation& explanation);

// The words around the service's sentence; some milliseconds old.
RefusalWords WordsOf(const Environment& env, throughput::Meter& meter,
                     const throughput::Verdict& refusal);
// Writes the line of the log about `count` refusals, refused or let pass.
void LogRefusals(const table::Table& table, const throughput::Meter& meter,
                 const throughput::Explanation& why, int64_t count);

}  // namespace stator::ops
