// Work of an operation that waits for a disk, and its answer.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/executor.h"
#include "base/memory_account.h"
#include "ops/context.h"

namespace stator::ops {

// The refusal of work for which no thread is free.
inline Error TooManyWait(std::string message) {
  return Error(ErrorCode::kUnavailable, std::move(message), std::make_shared<OverloadPayload>());
}

// Runs `work` on a thread of `pool`, which may wait, and answers on the loop's thread. Answers an
// overload (IsOverload) if too much work waits already.
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
  (*shared)(TooManyWait("The server is overloaded: too many such requests wait, try again"));
}

}  // namespace stator::ops
