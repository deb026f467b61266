// Reading items without stalling the loop: from memory here and now, from the disk on a worker.
#pragma once

#include <string>

#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

// Refusal of a read for which no worker is free.
inline Error Overloaded() { return Error(ErrorCode::kUnavailable, "The server is overloaded: too many reads wait for the disk"); }

// Runs `read(tier)` with Tier::kMemory on this thread; if that would block, again with Tier::kAny on a worker. Then runs
// `finish(Result)` on the loop's thread. `read` returns a Result<T>.
template <typename Read, typename Finish>
void ReadThenFinish(Context& ctx, Read read, Finish finish) {
  auto result = read(kv::Tier::kMemory);
  if (result.ok() || result.error().code() != ErrorCode::kWouldBlock) {
    finish(std::move(result));
    return;
  }
  Executor& loop = ctx.loop;
  // `finish` must survive a refusal of the pool.
  auto shared = std::make_shared<std::pair<Read, Finish>>(std::move(read), std::move(finish));
  UniqueFunction<void()> cold = [shared, &loop] {
    auto outcome = std::make_shared<decltype(result)>(shared->first(kv::Tier::kAny));
    loop.Post([shared, outcome] { shared->second(std::move(*outcome)); });
  };
  if (!ctx.env.workers.TryPost(cold)) shared->second(Overloaded());
}

}  // namespace stator::ops
