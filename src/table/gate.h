// Lets operations on a table pass until it is closed, and tells when the last of them has left.
#pragma once

#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator::table {

// Thread-safe.
class Gate {
 public:
  // False if the gate is closed; otherwise the caller must Leave.
  bool Enter() {
    MutexLock lock(mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    UniqueFunction<void()> drained;
    {
      MutexLock lock(mutex_);
      if (--inside_ > 0 || !closed_) return;
      drained = std::move(drained_);
    }
    if (drained) drained();
  }
  // Refuses newcomers from now on; `drained` runs once nobody is inside, inline if that is already so. Close again only
  // after Open.
  void Close(UniqueFunction<void()> drained) {
    {
      MutexLock lock(mutex_);
      closed_ = true;
      if (inside_ > 0) {
        drained_ = std::move(drained);
        return;
      }
    }
    drained();
  }
  void Open() {
    MutexLock lock(mutex_);
    closed_ = false;
  }

 private:
  Mutex mutex_;
  int inside_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
  UniqueFunction<void()> drained_ GUARDED_BY(mutex_);
};

}  // namespace stator::table
