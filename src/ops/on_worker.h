// Work of an operation that waits for a disk, and its answer.
#pragma once

#include <memory>
#include <utility>

#include "base/executor.h"
#include "ops/context.h"

namespace stator::ops {

// Runs `work` on a thread of `pool`, which may wait, and answers on the loop's thread. Answers
// kInternal if too much work waits already.
template <typename Response>
void OnWorker(Context& ctx, WorkerPool& pool, UniqueFunction<Result<Response>()> work,
              Callback<Response> done) {
  Executor& loop = ctx.loop;
  auto shared = std::make_shared<Callback<Response>>(std::move(done));
  UniqueFunction<void()> task = [&loop, shared, work = std::move(work)]() mutable {
    Result<Response> answer = work();
    RunOn(loop, [shared = std::move(shared), answer = std::move(answer)]() mutable {
      (*shared)(std::move(answer));
    });
  };
  if (pool.TryPost(task)) return;
  (*shared)(InternalError("The server is overloaded: too many such requests wait, try again"));
}

}  // namespace stator::ops
