// Calls a function periodically, on the machine's clock, until it is stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "base/mutex_wait.h"

namespace stator {

// Thread-safe.
class Ticker {
 public:
  // The first call comes after one interval. Each further call comes an interval after the previous
  // one began, or at its end if it took longer. `tick` may block.
  Ticker(std::chrono::microseconds interval, std::function<void()> tick)
      : interval_(interval), tick_(std::move(tick)), thread_([this] { Run(); }) {}
  ~Ticker() { Stop(); }

  // Waits for the call under way, then stops. Idempotent. Must not be called from `tick`.
  void Stop() {
    {
      const MutexLock lock(mutex_);
      stopped_ = true;
      wake_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    auto next = std::chrono::steady_clock::now() + interval_;
    while (true) {
      {
        UniqueMutexLock lock(mutex_);
        if (wake_.wait_until(lock, next, [this]() REQUIRES(mutex_) { return stopped_; })) return;
      }
      next = std::chrono::steady_clock::now() + interval_;
      tick_();
    }
  }

  const std::chrono::microseconds interval_;
  const std::function<void()> tick_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace stator
