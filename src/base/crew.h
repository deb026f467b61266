// Runs each task at once, on an idle thread or on a new one. For tasks that may hang in a network
// call. The caller must bound the number of running tasks.
#pragma once

#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator {

// Thread-safe.
class Crew {
 public:
  ~Crew() { Stop(); }
  // Runs `task` on another thread; if the system refuses a new one, when one of the others is free.
  // Returns false and drops the task after Stop, or if there is no thread at all.
  bool Run(UniqueFunction<void()> task);
  // Waits for the tasks under way. Idempotent.
  void Stop();

 private:
  void Loop();

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<UniqueFunction<void()>> queue_ GUARDED_BY(mutex_);
  size_t idle_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace stator
