// Runs the blocking work of transactions: on threads of its own, or wherever a simulation puts it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/timer.h"
#include "base/unique_function.h"

namespace stator::kv_tx {

// Thread-safe.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Runs `task` later, never inline, and not before `delay_micros` have passed.
  virtual void Post(UniqueFunction<void()> task, int64_t delay_micros = 0) = 0;
  // Blocks until `ready` returns true. Calls `ready` at first and after every Wake. Must not be
  // called from a task; `ready` must not use the scheduler.
  virtual void Await(FunctionRef<bool()> ready) = 0;
  virtual void Wake() = 0;
  // Runs delayed tasks at once, and those posted later too.
  virtual void Hurry() = 0;
  // Drops tasks that have not begun and waits for those that have. Tasks posted later are dropped.
  // Idempotent.
  virtual void Stop() = 0;
};

// Runs tasks on threads, by the machine's clock.
class ThreadScheduler final : public Scheduler {
 public:
  explicit ThreadScheduler(int threads);
  ~ThreadScheduler() override { Stop(); }

  void Post(UniqueFunction<void()> task, int64_t delay_micros = 0) override;
  void Await(FunctionRef<bool()> ready) override;
  void Wake() override;
  void Hurry() override;
  void Stop() override;

 private:
  void Run();

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<UniqueFunction<void()>> tasks_ GUARDED_BY(mutex_);
  bool hurrying_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  Mutex waiting_mutex_;
  std::condition_variable_any waiting_;
  std::vector<std::thread> threads_;
  Timer timer_;  // its tasks post those that were delayed
};

}  // namespace stator::kv_tx
