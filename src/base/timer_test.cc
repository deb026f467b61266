#include "base/timer.h"

#include <gtest/gtest.h>

#include "base/pump.h"

namespace stator {
namespace {

TEST(Timer, RunsTasksInTheOrderOfTheirTimes) {
  Pump pump;
  Timer timer;
  const auto start = std::chrono::steady_clock::now();
  std::string order;
  timer.After(60'000, pump, [&] { order += "c"; });
  timer.After(30'000, pump, [&] { order += "b"; });
  timer.After(0, pump, [&] { order += "a"; });
  pump.RunUntil([&] { return order.size() == 3; });
  EXPECT_EQ(order, "abc");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
}

TEST(Timer, StopDropsWaitingTasks) {
  Pump pump;
  auto held = std::make_shared<int>(1);
  {
    Timer timer;
    timer.After(3'600'000'000, pump, [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 2);
    timer.Stop();
    EXPECT_EQ(held.use_count(), 1);
    timer.After(0, pump, [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 1);
  }
}

}  // namespace
}  // namespace stator
