#include "server/chores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace stator::server {
namespace {

using Pace = Chores::Pace;

// Until it holds, for ten seconds.
template <typename Condition>
bool Eventually(Condition condition) {
  const SystemClock clock;
  const int64_t end = clock.TicksMicros() + 60'000'000;
  while (!condition()) {
    if (clock.TicksMicros() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(ChoresTest, EachComesRoundAtItsInterval) {
  const SystemClock clock;
  Chores chores(clock);
  std::atomic<int> often{0};
  std::atomic<int> seldom{0};
  chores.Add("often", 1'000, [&](Pace pace) {
    EXPECT_EQ(pace, Pace::kGentle);
    ++often;
    return false;
  });
  chores.Add("seldom", 3'600'000'000, [&](Pace) {
    ++seldom;
    return false;
  });
  chores.Start();
  EXPECT_TRUE(Eventually([&] { return often >= 5; }));
  chores.Stop();
  EXPECT_EQ(seldom, 0);
}

TEST(ChoresTest, WhoHasMoreToDoComesRoundAtOnceAndLetsOthersInBetween) {
  const SystemClock clock;
  Chores chores(clock);
  std::atomic<int> pieces{0};
  std::atomic<int> other{0};
  chores.Add("pieces", 5'000, [&](Pace) { return ++pieces % 1000 != 0; });
  chores.Add("other", 1'000, [&](Pace) {
    ++other;
    return false;
  });
  chores.Start();
  EXPECT_TRUE(Eventually([&] { return pieces >= 3000 && other >= 3; }));
}

TEST(ChoresTest, WithAClockThatStandsStillOnlyRunAllRunsThem) {
  ManualClock clock;
  Chores chores(clock);
  EXPECT_FALSE(chores.RunAll()) << "not started";
  int first = 0;
  int second = 0;
  chores.Add("leaves work for the second", 1'000'000, [&](Pace pace) {
    EXPECT_EQ(pace, Pace::kAtOnce);
    return ++first < 4;
  });
  chores.Add("second", 1'000'000, [&](Pace) {
    ++second;
    return false;
  });
  chores.Start();
  EXPECT_TRUE(chores.RunAll());
  EXPECT_EQ(first, 4);
  EXPECT_EQ(second, 4) << "as often as anybody has more to do";
  EXPECT_TRUE(chores.RunAll());
  EXPECT_EQ(first, 5);
  chores.Stop();
  EXPECT_FALSE(chores.RunAll());
}

TEST(ChoresTest, StopEndsARunThatWouldNotEnd) {
  ManualClock clock;
  Chores chores(clock);
  std::atomic<bool> running{false};
  chores.Add("endless", 1'000'000, [&](Pace) {
    running = true;
    return true;
  });
  chores.Start();
  std::thread waiting([&] { EXPECT_FALSE(chores.RunAll()); });
  EXPECT_TRUE(Eventually([&] { return running.load(); }));
  chores.Stop();
  waiting.join();
  chores.Stop();
}

TEST(ChoresTest, AClockSetBackPutsNothingOff) {
  ManualClock clock;
  Chores chores(clock);
  std::atomic<int> runs{0};
  chores.Add("chore", 1'000, [&](Pace) {
    ++runs;
    return false;
  });
  clock.AdvanceMicros(-3'600'000'000);
  chores.Start();
  EXPECT_TRUE(Eventually([&] {
    clock.AdvanceMicros(1'000);
    return runs >= 2;
  }));
}

}  // namespace
}  // namespace stator::server
