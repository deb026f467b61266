#include "throughput/capacity_changes.h"

#include <gtest/gtest.h>

namespace stator::throughput {
namespace {

TEST(CapacityChangesTest, TwentySevenDecreasesADay) {
  constexpr int64_t kMinute = 60 * 1'000'000LL;
  constexpr int64_t kDay = 24 * 60 * kMinute;
  DecreaseHistory history;
  for (const int64_t day : {20000, 20001}) {
    int decreases = 0;
    int in_first_hour = 0;
    for (int64_t minute = 0; minute < 24 * 60; ++minute) {
      const int64_t now = day * kDay + minute * kMinute;
      // Four in the first minute, then as soon as each is allowed.
      for (int i = 0; i < 5 && MayDecrease(history, now); ++i) {
        CountDecrease(&history, now);
        ++decreases;
        if (minute < 60) ++in_first_hour;
      }
    }
    EXPECT_EQ(in_first_hour, 4);
    EXPECT_EQ(decreases, 27);
    EXPECT_EQ(history.today, 27);
  }
}

TEST(CapacityChangesTest, Quotas) {
  EXPECT_TRUE(CheckQuotas({}, {40000, 40000}, {40000, 0}).ok());
  EXPECT_FALSE(CheckQuotas({}, {40001, 1}, {}).ok());
  EXPECT_FALSE(CheckQuotas({}, {1, 40001}, {}).ok());
  const Status account = CheckQuotas({}, {40000, 1}, {40001, 0});
  ASSERT_FALSE(account.ok());
  EXPECT_EQ(account.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(IsDecrease({10, 10}, {20, 9}));
  EXPECT_FALSE(IsDecrease({10, 10}, {10, 11}));
}

}  // namespace
}  // namespace stator::throughput
