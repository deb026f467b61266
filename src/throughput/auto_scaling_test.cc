#include "throughput/auto_scaling.h"

#include <gtest/gtest.h>

namespace stator::throughput {
namespace {

constexpr int64_t kMinute = 60 * 1'000'000LL;

TEST(AutoScalingTest, RaisesAfterTwoPointsAboveTheTarget) {
  AutoScalingPolicy policy({.min_units = 5, .max_units = 1000});
  EXPECT_EQ(policy.OnMinute(1 * kMinute, 80, 100, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(2 * kMinute, 60, 100, {}), std::nullopt) << "one point is no trend";
  EXPECT_EQ(policy.OnMinute(3 * kMinute, 84, 100, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(4 * kMinute, 77, 100, {}), 120) << "84 at 70%";
  EXPECT_EQ(policy.OnMinute(5 * kMinute, 5000, 120, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(6 * kMinute, 5000, 120, {}), 1000) << "at most the maximum";
}

TEST(AutoScalingTest, LowersAfterFifteenPointsBelow) {
  AutoScalingPolicy policy({.min_units = 5, .max_units = 1000});
  for (int i = 1; i < 15; ++i)
    EXPECT_EQ(policy.OnMinute(i * kMinute, 35, 100, {}), std::nullopt) << i;
  EXPECT_EQ(policy.OnMinute(15 * kMinute, 7, 100, {}), 50) << "the highest of them at 70%";
  for (int i = 16; i < 30; ++i) EXPECT_EQ(policy.OnMinute(i * kMinute, 1, 50, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(30 * kMinute, 1, 50, {}), 5) << "at least the minimum";
}

TEST(AutoScalingTest, AMinuteWithoutConsumptionIsNoPoint) {
  AutoScalingPolicy policy({.min_units = 5, .max_units = 1000});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(policy.OnMinute(i * kMinute, 0, 100, {}), std::nullopt);
  for (int i = 0; i < 28; ++i)
    EXPECT_EQ(policy.OnMinute((100 + i) * kMinute, i % 2 == 0 ? 7 : 0, 100, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(128 * kMinute, 7, 100, {}), 10) << "the fifteenth";
  // Nor does it end a rise.
  EXPECT_EQ(policy.OnMinute(200 * kMinute, 50, 10, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(201 * kMinute, 0, 10, {}), std::nullopt);
  EXPECT_EQ(policy.OnMinute(202 * kMinute, 70, 10, {}), 100);

  AutoScalingPolicy eager({.min_units = 5, .max_units = 1000, .lower_when_idle = true});
  for (int i = 1; i < 15; ++i) EXPECT_EQ(eager.OnMinute(i * kMinute, 0, 100, {}), std::nullopt);
  EXPECT_EQ(eager.OnMinute(15 * kMinute, 0, 100, {}), 5);
}

TEST(AutoScalingTest, CapacityComesBetweenMinimumAndMaximumAtOnce) {
  AutoScalingPolicy policy({.min_units = 5, .max_units = 50});
  EXPECT_EQ(policy.OnMinute(kMinute, 0, 1, {}), 5);
  EXPECT_EQ(policy.OnMinute(2 * kMinute, 0, 100, {}), 50);
  const int64_t start = 20000 * 24 * 60 * kMinute;
  const DecreaseHistory used_up{.last_micros = start, .day = 20000, .today = 4};
  EXPECT_EQ(policy.OnMinute(start + kMinute, 0, 100, used_up), std::nullopt);
}

TEST(AutoScalingTest, ASteadyLoadIsLeftAlone) {
  AutoScalingPolicy policy({.min_units = 5, .max_units = 1000});
  for (int i = 1; i < 200; ++i) EXPECT_EQ(policy.OnMinute(i * kMinute, 68, 100, {}), std::nullopt);
}

TEST(AutoScalingTest, WaitsForADecreaseThatIsAllowed) {
  AutoScalingPolicy policy({});
  const int64_t start = 20000 * 24 * 60 * kMinute;
  const DecreaseHistory used_up{.last_micros = start, .day = 20000, .today = 4};
  for (int i = 1; i < 60; ++i)
    EXPECT_EQ(policy.OnMinute(start + i * kMinute, 7, 100, used_up), std::nullopt) << i;
  EXPECT_EQ(policy.OnMinute(start + 60 * kMinute, 7, 100, used_up), 10);
}

TEST(AutoScalingTest, Cooldowns) {
  AutoScalingPolicy policy({.raise_cooldown_seconds = 300});
  policy.OnMinute(1 * kMinute, 100, 100, {});
  EXPECT_TRUE(policy.OnMinute(2 * kMinute, 100, 100, {}));
  for (int i = 3; i < 7; ++i)
    EXPECT_EQ(policy.OnMinute(i * kMinute, 143, 143, {}), std::nullopt) << i;
  EXPECT_TRUE(policy.OnMinute(7 * kMinute, 143, 143, {}));
}

TEST(AutoScalingTest, ChecksItsSettings) {
  EXPECT_TRUE(AutoScalingPolicy::Check({}).ok());
  EXPECT_FALSE(AutoScalingPolicy::Check({.target = 0.95}).ok());
  EXPECT_FALSE(AutoScalingPolicy::Check({.target = 0.1}).ok());
  EXPECT_FALSE(AutoScalingPolicy::Check({.min_units = 10, .max_units = 5}).ok());
}

}  // namespace
}  // namespace stator::throughput
