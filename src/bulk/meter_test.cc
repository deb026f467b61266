#include "bulk/meter.h"

#include <gtest/gtest.h>

namespace stator::bulk {
namespace {

TEST(Meter, NumbersHaveSeparators) {
  EXPECT_EQ(WithSeparators(0), "0");
  EXPECT_EQ(WithSeparators(999), "999");
  EXPECT_EQ(WithSeparators(1000), "1,000");
  EXPECT_EQ(WithSeparators(-1234567), "-1,234,567");
}

TEST(Meter, ProgressSaysRateAndTimeLeft) {
  Counts counts;
  counts.items = 12'000;
  counts.bytes = 12'300'000;
  counts.done = 0.75;
  EXPECT_EQ(ProgressText(counts, 3'000'000),
            "12,000 items, 12.3 MB, 4,000 items/s, 4.1 MB/s, 0:01 left");
  counts.errors = 2;
  counts.retries = 1;
  counts.done = 0.001;
  EXPECT_EQ(ProgressText(counts, 4'000'000),
            "12,000 items, 12.3 MB, 3,000 items/s, 3.1 MB/s, 2 errors, 1 retries, 1:06:36 left");
}

TEST(Meter, TimeLeftGoesByThisRunOnly) {
  Counts counts;
  counts.items = 10;
  counts.begun = 0.5;
  counts.done = 0.75;
  EXPECT_EQ(ProgressText(counts, 10'000'000), "10 items, 0 B, 1 items/s, 0 B/s, 0:10 left");
  counts.done = 0.5;
  EXPECT_EQ(ProgressText(counts, 10'000'000), "10 items, 0 B, 1 items/s, 0 B/s");
}

}  // namespace
}  // namespace stator::bulk
