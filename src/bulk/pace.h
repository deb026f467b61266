// A limit of units per second that several threads share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace stator::bulk {

// Thread-safe.
class Pace {
 public:
  // `per_second`: 0 is no limit.
  Pace(const Clock& clock, int64_t per_second) : clock_(clock), per_second_(per_second) {}

  // Counts `units` as spent. Returns the microseconds that the caller must wait before it spends
  // more, so that the average stays at the allowed units per second.
  int64_t Spend(double units) {
    if (per_second_ <= 0) return 0;
    const auto micros = static_cast<int64_t>(units * 1e6 / static_cast<double>(per_second_));
    const int64_t now = clock_.TicksMicros();
    const MutexLock lock(mutex_);
    paid_until_ = std::max(paid_until_, now) + micros;
    return paid_until_ - now;
  }

 private:
  const Clock& clock_;
  const int64_t per_second_;
  Mutex mutex_;
  int64_t paid_until_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stator::bulk
