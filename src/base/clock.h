// Time as the product sees it. Everything that waits or dates something takes a Clock, so that a manual clock can drive
// expiry, retention and burst from a test or from a user's hand.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stator {

// Microseconds since the Unix epoch (Now) or since an arbitrary point that never goes back (Ticks). Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t NowMicros() const = 0;
  virtual int64_t TicksMicros() const = 0;

  double NowSeconds() const { return static_cast<double>(NowMicros()) / 1e6; }
};

class SystemClock final : public Clock {
 public:
  int64_t NowMicros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  int64_t TicksMicros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

// Stands still until it is advanced.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_micros = 1'700'000'000'000'000) : now_(now_micros) {}
  int64_t NowMicros() const override { return now_.load(std::memory_order_relaxed); }
  int64_t TicksMicros() const override { return NowMicros(); }
  void AdvanceMicros(int64_t micros) { now_.fetch_add(micros, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_;
};

}  // namespace stator
