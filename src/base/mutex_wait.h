// A lock scope that can be left and entered again, for condition variables and for work that must
// run without the lock. Clang checks it as it checks MutexLock.
//
//   UniqueMutexLock lock(mutex_);
//   wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_; });
#pragma once

#include "base/mutex.h"

#define ASSERT_CAPABILITY(x) STATOR_THREAD_ANNOTATION(assert_capability(x))

namespace stator {

// Tells clang that the caller holds `mutex` where it cannot see that: in a function that a template
// calls back. Does nothing.
inline void AssertHeld(const Mutex& mutex) ASSERT_CAPABILITY(mutex) { (void)mutex; }

// Holds `mutex` from its construction to its destruction, but for the time between unlock() and
// lock(). A condition variable (std::condition_variable_any) waits with it. For one thread.
class SCOPED_CAPABILITY UniqueMutexLock {
 public:
  explicit UniqueMutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~UniqueMutexLock() RELEASE() {
    if (held_) mutex_.unlock();
  }
  UniqueMutexLock(const UniqueMutexLock&) = delete;
  UniqueMutexLock& operator=(const UniqueMutexLock&) = delete;

  void lock() ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

}  // namespace stator
