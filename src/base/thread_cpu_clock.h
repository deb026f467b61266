// The processor time of the calling thread, as a clock.
#pragma once

#include <ctime>

#include "base/clock.h"

namespace stator {

// Bounds work by what it costs, so that a busy machine does not make it fail. Ticks of different
// threads must not be compared. Thread-safe.
class ThreadCpuClock final : public Clock {
 public:
  // There is no date: 0.
  int64_t NowMicros() const override { return 0; }
  int64_t TicksMicros() const override {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * int64_t{1'000'000} + used.tv_nsec / 1000;
  }
};

}  // namespace stator
