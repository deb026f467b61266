// Runs continuations. An I/O loop is an Executor, and so is a worker pool.
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
  // Returns true if the caller runs on the executor's thread, so that it need not post.
  virtual bool IsCurrent() const { return false; }
  // Wakes the executor if it sleeps, so that it runs the posted tasks. For WakeUps; Post wakes by
  // itself.
  virtual void WakeUp() {}
  // If the executor sleeps and allows it, runs the posted tasks on the calling thread in place of
  // the executor's own; else calls WakeUp. This saves the wait for a thread to wake up. The caller
  // must hold no lock and must not run inside a task of an executor.
  virtual void StandIn() { WakeUp(); }
};

// While a WakeUps lives, executors that this thread posts to are woken at its end instead of at
// each Post. Many posts in a row then cost one wake-up, and the woken thread does not preempt the
// posting one in between.
class WakeUps {
 public:
  // kStandIn: at the end this thread stands in for the executors that sleep (Executor::StandIn).
  // Inside such a WakeUps, further ones have no effect.
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

  // Returns true if the wake-up of `executor` is put off. For implementations of Post.
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

// Posts a task as the last action of this thread, and stands in for the executor if it sleeps. The
// caller must hold no lock.
inline void PostAndStandIn(Executor& executor, UniqueFunction<void()> task) {
  const WakeUps at_once(WakeUps::Way::kStandIn);
  executor.Post(std::move(task));
}

// Runs `task` on the executor's thread: at once if the caller is on it, else later.
template <typename F>
void RunOn(Executor& executor, F task) {
  if (executor.IsCurrent()) {
    task();
  } else {
    executor.Post(std::move(task));
  }
}

// A fixed number of threads with a bounded queue, for work that may wait for a disk or a network.
// The thread that fell asleep last is woken first: if most of the threads wait, a few do the work,
// and their data stays in the caches.
class WorkerPool {
 public:
  WorkerPool(int threads, size_t max_queued);
  ~WorkerPool();

  // Queues a task. Returns false and leaves `task` untouched if the queue is full or the pool is
  // stopped. Thread-safe.
  bool TryPost(UniqueFunction<void()>& task);
  // Runs all queued tasks and joins the threads. Idempotent.
  void Stop();

 private:
  struct Sleeper {
    std::condition_variable_any wake;
    bool woken = false;
  };
  void Run(Sleeper& self);

  const size_t max_queued_;
  Mutex mutex_;
  std::deque<Sleeper> sleepers_;  // one for each thread
  std::vector<Sleeper*> asleep_ GUARDED_BY(mutex_);
  std::deque<UniqueFunction<void()>> queue_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace stator
