// std::mutex with clang's thread-safety annotations. Members guarded by a mutex carry GUARDED_BY.
#pragma once

#include <mutex>

#if defined(__clang__)
#define STATOR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define STATOR_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(x) STATOR_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY STATOR_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(x) STATOR_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) STATOR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) STATOR_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) STATOR_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) STATOR_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define EXCLUDES(...) STATOR_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS STATOR_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace stator {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace stator
