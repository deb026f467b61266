// Tasks for a worker, now or in a while. Unlike WorkerPool::TryPost it takes every task: one for
// which the pool has no room waits here.
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

  // Runs `task` on a worker once `delay` is over by the machine's clock. After Stop: here and now.
  void Post(UniqueFunction<void()> task, std::chrono::microseconds delay = {});
  // Runs what still waits on this thread, takes nothing more, and returns when all tasks have
  // ended. Idempotent. Not from a task.
  void Stop();
  bool stopped() const;

 private:
  // Gives `task` to a worker once `delay` is over, and again until there is room. After Stop: runs
  // it on this thread.
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
