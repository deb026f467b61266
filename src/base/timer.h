// Runs tasks later, by the machine's clock even if the product's is manual: for delays that a
// client should notice, and for pauses before work is tried again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator {

// Delays tasks, all on one thread, which starts with the first task. Thread-safe.
class Timer {
 public:
  using Tasks = std::vector<UniqueFunction<void()>>;

  ~Timer() { Stop(); }

  // Runs `task` on the timer's thread after `micros`. The task must not block, and may call After.
  // Returns false and leaves `task` untouched after Stop, and if the system makes no thread now.
  bool After(int64_t micros, UniqueFunction<void()>&& task);
  // Posts `task` to `executor` after `micros`, at once if the system makes no thread now; drops it
  // after Stop. The executor must outlive the timer.
  void After(int64_t micros, Executor& executor, UniqueFunction<void()> task);
  // Removes the tasks that wait and returns them, the first due first.
  Tasks TakeAll();
  // Waits for the task that runs, and returns those that waited, the first due first. Takes no more
  // tasks. Idempotent. Must not be called from a task.
  Tasks Stop();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void Run();
  bool stopped() const;

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::multimap<Time, UniqueFunction<void()>> waiting_ GUARDED_BY(mutex_);  // by when they are due
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator
