// The times of changes in change logs.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace stator::history {

// A clock for changes. Its times never go back, though the clock that it follows may be set back;
// then they stand still until that clock is as far again. So a change that was computed from what
// another change left has a time that is not before the other's. Thread-safe.
class ChangeClock {
 public:
  // Returns the later of `now_micros` and the latest time that was returned.
  int64_t At(int64_t now_micros) {
    int64_t last = last_.load(std::memory_order_acquire);
    while (now_micros > last) {
      if (last_.compare_exchange_weak(last, now_micros, std::memory_order_acq_rel))
        return now_micros;
    }
    return last;
  }

 private:
  std::atomic<int64_t> last_{std::numeric_limits<int64_t>::min()};
};

}  // namespace stator::history
