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
      for (int i = 0; i < 5 && MayDecrease({}, history, now); ++i) {
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
  const auto text = [](const Status& status) {
    return status.ok() ? std::string() : status.error().message();
  };
  EXPECT_EQ(text(CheckTableQuota({}, {40000, 40000}, false)), "");
  EXPECT_EQ(text(CheckTableQuota({}, {40001, 1}, false)),
            "Cannot increase provisioned throughput to more than 40,000 units per table");
  EXPECT_EQ(text(CheckTableQuota({}, {1, 40001}, true)),
            "Cannot increase provisioned throughput to more than 40,000 units per global secondary "
            "index");
  ModelSettings large;
  large.table_quota_write_units = 1'234'567;
  EXPECT_EQ(text(CheckTableQuota(large, {1, 1'234'568}, false)),
            "Cannot increase provisioned throughput to more than 1,234,567 units per table");
  EXPECT_EQ(text(CheckAccountQuota({}, {40000, 1}, {40000, 79999})), "");
  EXPECT_EQ(text(CheckAccountQuota({}, {40000, 1}, {40001, 0})),
            "Cannot increase provisioned throughput to more than 80,000 units per account");
  EXPECT_EQ(text(CheckAccountQuota({}, {1, 1}, {0, 80000})),
            "Cannot increase provisioned throughput to more than 80,000 units per account");
  EXPECT_EQ(text(CheckAccountQuota({}, {0, 1}, {90000, 0})), "") << "what it does not add to";
  EXPECT_TRUE(IsDecrease({10, 10}, {20, 9}));
  EXPECT_FALSE(IsDecrease({10, 10}, {10, 11}));
}

}  // namespace
}  // namespace stator::throughput
