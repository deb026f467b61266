// Runs tasks on a pool of workers, at once or after a delay. Unlike WorkerPool::TryPost it accepts
// every task: it keeps those for which the pool has no room, and tries again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/timer.h"
#include "base/unique_function.h"

namespace stator::table {

// Thread-safe.
class DelayedTasks {
 public:
  explicit DelayedTasks(WorkerPool& workers) : workers_(workers) {}
  ~DelayedTasks() { Stop(); }

  // Runs `task` on a worker after `delay` by the machine's clock. After Stop it does not wait for
  // `delay`, and may run `task` on the calling thread.
  void Post(UniqueFunction<void()> task, std::chrono::microseconds delay = {});
  // Runs the tasks that still wait for their delay on the calling thread, and returns when all
  // tasks have ended. Idempotent. Must not be called from a task.
  void Stop();
  bool stopped() const;

 private:
  // Gives `task` to a worker after `delay`; tries again until the pool has room. After Stop: runs
  // it on the calling thread.
  void GiveAfter(std::chrono::microseconds delay, UniqueFunction<void()> task);
  void Ended();

  WorkerPool& workers_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  size_t running_ GUARDED_BY(mutex_) = 0;  // or in the pool's queue, or waiting
  bool stopped_ GUARDED_BY(mutex_) = false;
  Timer timer_;
};

}  // namespace stator::table
