// An executor for a thread that waits: the thread runs posted tasks until its condition holds.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/executor.h"

namespace stator {

class Pump final : public Executor {
 public:
  void Post(UniqueFunction<void()> task) override {
    // Woken under the lock: once the task is taken, the waiting thread may destroy the pump.
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }
  bool IsCurrent() const override { return std::this_thread::get_id() == thread_; }

  // Runs posted tasks until `done()` holds. Call it on the thread that made the pump.
  template <typename Done>
  void RunUntil(Done done) {
    while (!done()) RunOne();
  }
  // Waits for one task and runs it.
  void RunOne() {
    UniqueFunction<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !tasks_.empty(); });
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<UniqueFunction<void()>> tasks_;
};

}  // namespace stator
