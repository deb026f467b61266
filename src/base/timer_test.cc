#include "base/timer.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "base/pump.h"

namespace stator {
namespace {

constexpr int64_t kHourMicros = 3'600'000'000;

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

TEST(Timer, TaskThatIsDueSoonerDoesNotWaitForAnEarlierOne) {
  std::promise<void> ran;
  Timer timer;
  timer.After(kHourMicros, [] { FAIL(); });
  timer.After(0, [&ran] { ran.set_value(); });
  ran.get_future().wait();
}

TEST(Timer, TaskMayDelayAnother) {
  std::promise<void> ran;
  Timer timer;
  timer.After(0, [&] { timer.After(1000, [&ran] { ran.set_value(); }); });
  ran.get_future().wait();
}

TEST(Timer, TakeAllReturnsWaitingTasksInTheOrderOfTheirTimes) {
  std::promise<void> ran;
  Timer timer;
  std::string order;
  timer.After(2 * kHourMicros, [&] { order += "b"; });
  timer.After(kHourMicros, [&] { order += "a"; });
  for (auto& task : timer.TakeAll()) task();
  EXPECT_EQ(order, "ab");
  EXPECT_TRUE(timer.TakeAll().empty());
  EXPECT_TRUE(timer.After(0, [&ran] { ran.set_value(); }));
  ran.get_future().wait();
}

TEST(Timer, StopDropsWaitingTasks) {
  Pump pump;
  auto held = std::make_shared<int>(1);
  {
    Timer timer;
    timer.After(kHourMicros, pump, [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 2);
    timer.Stop();
    EXPECT_EQ(held.use_count(), 1);
    timer.After(0, pump, [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 1);
  }
}

TEST(Timer, StopReturnsWaitingTasksAndAfterRefusesMore) {
  Timer timer;
  bool ran = false;
  timer.After(kHourMicros, [&ran] { ran = true; });
  Timer::Tasks left = timer.Stop();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_FALSE(ran);
  left[0]();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(timer.Stop().empty());
  UniqueFunction<void()> refused = [] {};
  EXPECT_FALSE(timer.After(0, std::move(refused)));
  EXPECT_TRUE(refused);  // NOLINT(bugprone-use-after-move): it is left untouched
}

TEST(Timer, StopWaitsForTheTaskThatRuns) {
  std::promise<void> began, goes_on;
  Timer timer;
  bool ended = false;
  timer.After(0, [&] {
    began.set_value();
    goes_on.get_future().wait();
    ended = true;
  });
  began.get_future().wait();
  std::thread stop([&] {
    timer.Stop();
    EXPECT_TRUE(ended);
  });
  goes_on.set_value();
  stop.join();
}

}  // namespace
}  // namespace stator
