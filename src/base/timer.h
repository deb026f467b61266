// Runs tasks later, on the real clock, whatever the product's own clock says: for waits that a
// client shall feel.
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

// Thread-safe. One thread for all that waits; it starts with the first task.
class Timer {
 public:
  ~Timer() { Stop(); }

  // Posts `task` to `executor`, which must outlive the timer, in `micros` from now.
  void After(int64_t micros, Executor& executor, UniqueFunction<void()> task);
  // Drops what still waits, and whatever comes later. Idempotent.
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
