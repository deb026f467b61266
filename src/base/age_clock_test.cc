#include "base/age_clock.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

// A machine's clock: the date can be set, ticks go on.
class SettableClock final : public Clock {
 public:
  int64_t NowMicros() const override { return date; }
  int64_t TicksMicros() const override { return ticks; }
  void Pass(int64_t micros) {
    date += micros;
    ticks += micros;
  }
  int64_t date = 1'700'000'000'000'000;
  int64_t ticks = 5;
};

TEST(AgeClock, CountsWhatPassesAndNoStepsOfTheDate) {
  SettableClock machine;
  const AgeClock ages(machine);
  const int64_t start = ages.NowMicros();
  EXPECT_EQ(start, machine.date);
  machine.Pass(10);
  machine.date -= 3'600'000'000;
  EXPECT_EQ(ages.NowMicros(), start + 10);
  machine.Pass(10);
  machine.date += 7'200'000'000;
  EXPECT_EQ(ages.NowMicros(), start + 20);
}

TEST(AgeClock, CountsMovesOfAManualClockForward) {
  ManualClock clock;
  const AgeClock ages(clock);
  const int64_t start = ages.NowMicros();
  clock.AdvanceMicros(100);
  EXPECT_EQ(ages.NowMicros(), start + 100);
  clock.AdvanceMicros(-40);
  EXPECT_EQ(ages.NowMicros(), start + 100);
  clock.AdvanceMicros(5);
  EXPECT_EQ(ages.NowMicros(), start + 105);
}

TEST(AgeClock, GoesOnFromWhatWasDatedBefore) {
  SettableClock machine;
  AgeClock ages(machine);
  ages.AtLeast(machine.date - 50);
  EXPECT_EQ(ages.NowMicros(), machine.date);
  ages.AtLeast(machine.date + 50);
  EXPECT_EQ(ages.NowMicros(), machine.date + 50);
  ages.StartAt(7);
  machine.Pass(1);
  EXPECT_EQ(ages.NowMicros(), 8);
}

}  // namespace
}  // namespace stator
