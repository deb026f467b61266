// Tasks for a worker, now or in a while. Unlike WorkerPool::TryPost it takes every task: one for
// which the pool has no room waits here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <thread>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator::table {

// Thread-safe. Its thread starts with the first task that has to wait.
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
  using Time = std::chrono::steady_clock::time_point;
  void Run();
  void Ended();

  WorkerPool& workers_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::multimap<Time, UniqueFunction<void()>> waiting_ GUARDED_BY(mutex_);  // by when they are due
  size_t running_ GUARDED_BY(mutex_) = 0;  // or in the pool's queue, or waiting
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator::table
