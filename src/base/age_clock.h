// Ages: how much time has passed, whatever becomes of the date.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace stator {

// Counts microseconds from a date on. An operator or NTP may set the machine's date in either
// direction while a process runs; what must live for ten minutes is dated by this clock. It never
// goes back. A ManualClock is moved by a user, who wants to see things expire, so its moves forward
// count. Thread-safe.
class AgeClock {
 public:
  // Begins at the date of `clock`, which must outlive this object.
  explicit AgeClock(const Clock& clock)
      : clock_(clock),
        by_date_(dynamic_cast<const ManualClock*>(&clock) != nullptr),
        last_(Source()),
        offset_(clock.NowMicros() - last_) {}

  int64_t NowMicros() const {
    MutexLock lock(mutex_);
    return Now();
  }
  // Moves the clock on to `micros` if that is later than now. `micros` is a date that this clock
  // has given before, in this process or an earlier one.
  void AtLeast(int64_t micros) {
    MutexLock lock(mutex_);
    if (const int64_t now = Now(); now < micros) offset_ += micros - now;
  }
  // Sets the clock to `micros`, which may be earlier. Must be called before the clock has given any
  // date.
  void StartAt(int64_t micros) {
    MutexLock lock(mutex_);
    offset_ += micros - Now();
  }
  // Whether the moves of a date, which a user makes, count.
  bool by_date() const { return by_date_; }

 private:
  int64_t Source() const { return by_date_ ? clock_.NowMicros() : clock_.TicksMicros(); }
  int64_t Now() const REQUIRES(mutex_) {
    const int64_t source = Source();
    if (source < last_) offset_ += last_ - source;
    last_ = source;
    return source + offset_;
  }

  const Clock& clock_;
  const bool by_date_;
  mutable Mutex mutex_;
  mutable int64_t last_ GUARDED_BY(mutex_);
  mutable int64_t offset_ GUARDED_BY(mutex_);
};

}  // namespace stator
