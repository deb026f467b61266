// The product's time. Every part that waits or dates something takes a Clock, so that a manual
// clock can drive expiry, retention and bursts, from a test or by a user.
//
// Code that dates or expires data asks for NowMicros, which a user may drive. Code that measures
// the machine (timeouts, latency) asks for TicksMicros and takes differences.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stator {

// Microseconds since the Unix epoch (Now), or since an arbitrary point (Ticks, which never goes
// back). Thread-safe.
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

// Stands still until it is advanced, ticks included. For tests.
class ManualClock : public Clock {
 public:
  explicit ManualClock(int64_t now_micros = 1'700'000'000'000'000) : now_(now_micros) {}
  int64_t NowMicros() const override { return now_.load(std::memory_order_relaxed); }
  int64_t TicksMicros() const override { return NowMicros(); }
  void AdvanceMicros(int64_t micros) { now_.fetch_add(micros, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_;
};

// The clock of `--clock=manual`: the date stands still until the user advances it; intervals are
// real.
class DrivenClock final : public ManualClock {
 public:
  using ManualClock::ManualClock;
  int64_t TicksMicros() const override { return machine_.TicksMicros(); }

 private:
  SystemClock machine_;
};

}  // namespace stator
