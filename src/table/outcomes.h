// Waits for a number of writes.
#pragma once

#include <condition_variable>
#include <cstddef>

#include "base/mutex.h"
#include "base/result.h"

namespace stator::table {

// Thread-safe. To be shared with the callbacks, of which the last may still be in Add when Wait
// returns.
class Outcomes {
 public:
  explicit Outcomes(size_t count) : left_(count) {}
  void Add(Status status) {
    MutexLock lock(mutex_);
    if (!status.ok() && outcome_.ok()) outcome_ = std::move(status);
    if (--left_ == 0) wake_.notify_all();
  }
  // Waits until all announced writes have ended. Returns the first error, or OK.
  Status Wait() {
    MutexLock lock(mutex_);
    while (left_ > 0) wake_.wait(mutex_);
    return outcome_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any wake_;
  size_t left_ GUARDED_BY(mutex_);
  Status outcome_ GUARDED_BY(mutex_);
};

}  // namespace stator::table
