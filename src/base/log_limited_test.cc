#include "base/log_limited.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace stator {
namespace {

int LinesIn(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(LogLimiter, WritesOneLineASecondAndCountsTheOthers) {
  ManualClock clock;
  LogLimiter limiter(clock);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) limiter.Log(LogLevel::kError, "full", "disk_full", {{"n", i}});
  clock.AdvanceMicros(LogLimiter::kIntervalMicros - 1);
  limiter.Log(LogLevel::kError, "full", "disk_full", {{"n", 1000}});
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesIn(text), 1) << text;
  EXPECT_NE(text.find("disk_full n=0\n"), std::string::npos) << text;
  testing::internal::CaptureStderr();
  clock.AdvanceMicros(1);
  limiter.Log(LogLevel::kError, "full", "disk_full", {{"n", 1001}});
  limiter.Log(LogLevel::kError, "full", "disk_full", {{"n", 1002}});
  clock.AdvanceMicros(10 * LogLimiter::kIntervalMicros);
  limiter.Log(LogLevel::kError, "full", "disk_full", {{"n", 1003}});
  clock.AdvanceMicros(10 * LogLimiter::kIntervalMicros);
  limiter.Log(LogLevel::kError, "full", "disk_full", {{"n", 1004}});
  text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesIn(text), 3) << text;
  EXPECT_NE(text.find("disk_full suppressed=1000 n=1001\n"), std::string::npos) << text;
  EXPECT_NE(text.find("disk_full suppressed=1 n=1003\n"), std::string::npos) << text;
  EXPECT_NE(text.find("disk_full n=1004\n"), std::string::npos) << text;
}

TEST(LogLimiter, KeepsKindsApart) {
  ManualClock clock;
  LogLimiter limiter(clock);
  EXPECT_EQ(limiter.Admit("a"), 0);
  EXPECT_EQ(limiter.Admit("b"), 0);
  EXPECT_EQ(limiter.Admit("a"), std::nullopt);
  EXPECT_EQ(limiter.Admit("b"), std::nullopt);
  clock.AdvanceMicros(LogLimiter::kIntervalMicros);
  EXPECT_EQ(limiter.Admit("a"), 1);
  EXPECT_EQ(limiter.Admit("a"), std::nullopt);
  EXPECT_EQ(limiter.Admit("b"), 1);
}

TEST(LogLimiter, ReportsWhatItStillHoldsWhenItEnds) {
  ManualClock clock;
  testing::internal::CaptureStderr();
  {
    LogLimiter limiter(clock);
    for (int i = 0; i < 5; ++i) limiter.Log(LogLevel::kWarn, "loud", "loud_event");
    limiter.Log(LogLevel::kWarn, "quiet", "quiet_event");
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesIn(text), 3) << text;
  EXPECT_NE(text.find("log_lines_suppressed kind=loud suppressed=4\n"), std::string::npos) << text;
}

TEST(LogLimiter, KindsBeyondTheBoundShareOne) {
  ManualClock clock;
  LogLimiter limiter(clock);
  for (size_t i = 0; i < LogLimiter::kMaxKinds; ++i)
    EXPECT_EQ(limiter.Admit("kind" + std::to_string(i)), 0);
  EXPECT_EQ(limiter.Admit("one more"), 0);
  EXPECT_EQ(limiter.Admit("and another"), std::nullopt);
  EXPECT_EQ(limiter.Admit("kind0"), std::nullopt) << "known kinds keep their own";
  clock.AdvanceMicros(LogLimiter::kIntervalMicros);
  EXPECT_EQ(limiter.Admit("a third"), 1);
  EXPECT_EQ(limiter.Admit("kind0"), 1);
}

TEST(LogLimiter, CountsEachLineOnceUnderManyThreads) {
  ManualClock clock;
  LogLimiter limiter(clock);
  std::atomic<int64_t> admitted{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5000; ++i) admitted += limiter.Admit("shared").has_value() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(admitted, 1);
  clock.AdvanceMicros(LogLimiter::kIntervalMicros);
  EXPECT_EQ(limiter.Admit("shared"), 4 * 5000 - 1);
}

}  // namespace
}  // namespace stator
