// Runs tasks later, on real time even if the product's clock is manual: for delays that a client
// should notice.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <thread>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator {

// Delays tasks, all on one thread, which starts with the first task. Thread-safe.
class Timer {
 public:
  ~Timer() { Stop(); }

  // Posts `task` to `executor` after `micros`. The executor must outlive the timer.
  void After(int64_t micros, Executor& executor, UniqueFunction<void()> task);
  // Drops waiting tasks and all later ones. Idempotent.
  void Stop();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiting {
    Executor* executor;
    UniqueFunction<void()> task;
  };

  void Run();

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::multimap<Time, Waiting> waiting_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator
