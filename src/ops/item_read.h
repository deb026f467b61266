// Reading items without stalling the loop: from memory here and now, from the disk on a worker.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/memory_account.h"
#include "base/out_of_memory.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

// Refusal of a read for which no worker is free.
inline Error Overloaded(bool computes) {
  return Error(ErrorCode::kUnavailable,
               computes ? "The server is overloaded: too many long requests wait, try again"
                        : "The server is overloaded: too many reads wait for the disk, try again",
               std::make_shared<OverloadPayload>());
}

// A read that has waited this long for a worker is refused: all workers wait for something that
// does not answer, and the client is about to give up.
inline constexpr int64_t kLongestReadQueueMicros = 10'000'000;

// Runs `read(Tier::kAny)` on a worker, then `finish(Result)` on the loop's thread. `computes`: set
// if the read mostly computes instead of waiting for the disk.
template <typename Read, typename Finish>
void ReadOnWorker(Context& ctx, std::optional<LongWork::Length> computes, Read read,
                  Finish finish) {
  using Outcome = decltype(read(kv::Tier::kAny));
  Executor& loop = ctx.loop;
  // `finish` must survive a refusal of the pool.
  auto shared = std::make_shared<std::pair<Read, Finish>>(std::move(read), std::move(finish));
  const Clock& clock = ctx.env.clock;
  UniqueFunction<void()> cold = [shared, &loop, &clock, computes,
                                 posted = clock.TicksMicros()]() mutable {
    const bool late = clock.TicksMicros() - posted > kLongestReadQueueMicros;
    auto outcome = std::make_shared<std::optional<Outcome>>();
    if (late) {
      outcome->emplace(Overloaded(computes.has_value()));
    } else if (!RunOrOutOfMemory("a read", [&] { *outcome = shared->first(kv::Tier::kAny); })) {
      outcome->emplace(InternalError("Out of memory while reading"));
    }
    // Nothing of the request stays on this thread: it must end in its loop's turn.
    const MustNotFail region("an answer goes to its loop");
    PostAndStandIn(loop,
                   [shared = std::move(shared), outcome] { shared->second(std::move(**outcome)); });
  };
  const bool posted =
      computes ? ctx.env.long_work.TryPost(cold, *computes) : ctx.env.workers.TryPost(cold);
  if (!posted) shared->second(Overloaded(computes.has_value()));
}

template <typename Read, typename Finish>
void ReadOnWorker(Context& ctx, Read read, Finish finish) {
  ReadOnWorker(ctx, std::nullopt, std::move(read), std::move(finish));
}

// Runs `read(tier)` with Tier::kMemory on this thread; if that would block, again with Tier::kAny
// on a worker. Then runs `finish(Result)` on the loop's thread. `read` returns a Result<T>.
template <typename Read, typename Finish>
void ReadThenFinish(Context& ctx, Read read, Finish finish) {
  auto result = read(kv::Tier::kMemory);
  if (result.ok() || result.error().code() != ErrorCode::kWouldBlock)
    return finish(std::move(result));
  ReadOnWorker(ctx, std::move(read), std::move(finish));
}

// Like the function above, but no thread waits if the engine is behind a network: then
// `later(take)` must arrange that `take(Result)` is called with the result, on any thread.
template <typename Read, typename Later, typename Finish>
void ReadThenFinish(Context& ctx, Read read, Later later, Finish finish) {
  auto result = read(kv::Tier::kMemory);
  using Outcome = decltype(result);
  if (result.ok() || result.error().code() != ErrorCode::kWouldBlock)
    return finish(std::move(result));
  if (!ctx.env.store.engine().capabilities().blocking)
    return ReadOnWorker(ctx, std::move(read), std::move(finish));
  later([&loop = ctx.loop, finish = std::move(finish)](Outcome outcome) mutable {
    loop.Post([finish = std::move(finish), outcome = std::move(outcome)]() mutable {
      finish(std::move(outcome));
    });
  });
}

}  // namespace stator::ops
