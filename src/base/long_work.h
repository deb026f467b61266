// Computation that takes long, on the threads of a pool that mostly waits.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator {

// Runs tasks on a few threads of a WorkerPool at a time, in their order; the pool's other threads
// stay free for reads that wait. Thread-safe. The pool outlives it and is stopped first.
class LongWork {
 public:
  explicit LongWork(WorkerPool& pool, size_t at_once = 2, size_t max_queued = 4096)
      : pool_(pool), at_once_(at_once), max_queued_(max_queued) {}

  // Queues a task. Returns false and leaves `task` untouched if the queue is full or the pool takes
  // nothing.
  bool TryPost(UniqueFunction<void()>& task);

 private:
  void RunQueued();

  WorkerPool& pool_;
  const size_t at_once_;
  const size_t max_queued_;
  Mutex mutex_;
  std::deque<UniqueFunction<void()>> queue_ GUARDED_BY(mutex_);
  size_t running_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stator
