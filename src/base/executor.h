// Where a continuation runs. An I/O loop is one, a worker pool another.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `task` later on the executor's own thread. Thread-safe; never runs it inline.
  virtual void Post(UniqueFunction<void()> task) = 0;
  // True if the caller already runs on the executor's thread, so that it need not post.
  virtual bool IsCurrent() const { return false; }
  // Makes the executor look at what was posted, if it sleeps. For WakeUps; Post does it by itself.
  virtual void WakeUp() {}
  // Runs what was posted, on this thread in place of its own, if the executor sleeps and can be
  // stood in for; else WakeUp. So that nobody waits for a thread to wake up. The caller holds no
  // lock and is in no task of an executor's.
  virtual void StandIn() { WakeUp(); }
};

// While one lives, executors that were posted to from this thread are woken at its end instead of
// at each Post: many tasks posted in a row cost one wake-up, and the woken thread does not push the
// posting one off its processor in between.
class WakeUps {
 public:
  // kStandIn: at the end this thread stands in for those that sleep (Executor::StandIn); within it
  // others have no effect.
  enum class Way { kWake, kStandIn };
  explicit WakeUps(Way way = Way::kWake) : outer_(current_), way_(way) {
    if (outer_ == nullptr || outer_->way_ == Way::kWake) current_ = this;
  }
  ~WakeUps() {
    if (current_ != this) return;
    current_ = outer_;
    for (Executor* executor : executors_)
      way_ == Way::kStandIn ? executor->StandIn() : executor->WakeUp();
  }
  WakeUps(const WakeUps&) = delete;
  WakeUps& operator=(const WakeUps&) = delete;

  // True if the wake-up of `executor` is put off. For implementations of Post.
  static bool PutOff(Executor* executor) {
    if (current_ == nullptr) return false;
    std::vector<Executor*>& executors = current_->executors_;
    if (std::find(executors.begin(), executors.end(), executor) == executors.end())
      executors.push_back(executor);
    return true;
  }

 private:
  static inline thread_local WakeUps* current_ = nullptr;
  WakeUps* const outer_;
  const Way way_;
  std::vector<Executor*> executors_;
};

// Posts the task that this thread ends with, and stands in for the executor if it sleeps. The
// caller holds no lock.
inline void PostAndStandIn(Executor& executor, UniqueFunction<void()> task) {
  const WakeUps at_once(WakeUps::Way::kStandIn);
  executor.Post(std::move(task));
}

// Runs `task` on the executor's thread: now if this is it, else later.
template <typename F>
void RunOn(Executor& executor, F task) {
  if (executor.IsCurrent()) {
    task();
  } else {
    executor.Post(std::move(task));
  }
}

// A fixed number of threads with a bounded queue, for work that may wait for a disk or a network.
// The thread that fell asleep last is woken first: where there are many for the sake of those that
// wait, few work, and what they use stays in the caches.
class WorkerPool {
 public:
  WorkerPool(int threads, size_t max_queued);
  ~WorkerPool();

  // False, and the task is not taken, when the queue is full or the pool is stopped. Thread-safe.
  bool TryPost(UniqueFunction<void()>& task);
  // Finishes what is queued and joins the threads. Idempotent.
  void Stop();

 private:
  struct Sleeper {
    std::condition_variable_any wake;
    bool woken = false;
  };
  void Run(Sleeper& self);

  const size_t max_queued_;
  Mutex mutex_;
  std::deque<Sleeper> sleepers_;  // one of each thread
  std::vector<Sleeper*> asleep_ GUARDED_BY(mutex_);
  std::deque<UniqueFunction<void()>> queue_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace stator
