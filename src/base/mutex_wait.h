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

// Locks `mutex` in the constructor and unlocks it in the destructor. In between, unlock() and
// lock() may be called, and std::condition_variable_any can wait with it. To be used by one thread.
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
