// UpdateTable for the server's own changes.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "ops/requests.h"
#include "ops/responses.h"

namespace stator::ops {

// UpdateTable as of a moment of the clock that may be past: work that is made up for counts as if
// it had been done in time. `done` is called on `loop`.
void UpdateTableAt(Environment& env, Executor& loop, UpdateTableRequest request, int64_t at_micros,
                   Callback<UpdateTableResponse> done);

}  // namespace stator::ops
