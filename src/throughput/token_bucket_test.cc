#include "throughput/token_bucket.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <string>

#include "base/random.h"

namespace stator::throughput {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(TokenBucketTest, KeepsUnusedUnitsForTheWindowAndNoLonger) {
  TokenBucket bucket;
  bucket.Configure(0, 10, 300, 0);
  EXPECT_DOUBLE_EQ(bucket.capacity(), 3000);
  EXPECT_DOUBLE_EQ(bucket.Tokens(0), 0);
  EXPECT_DOUBLE_EQ(bucket.Tokens(100 * kSecond), 1000);
  EXPECT_DOUBLE_EQ(bucket.Tokens(300 * kSecond), 3000);
  EXPECT_DOUBLE_EQ(bucket.Tokens(9000 * kSecond), 3000);
  bucket.Charge(9000 * kSecond, 2500);
  EXPECT_DOUBLE_EQ(bucket.Tokens(9000 * kSecond), 500);
  EXPECT_DOUBLE_EQ(bucket.Tokens(9010 * kSecond), 600);
}

TEST(TokenBucketTest, MayBeOverdrawnAndPaysBack) {
  TokenBucket bucket;
  bucket.Configure(0, 10, 300, 1);
  EXPECT_TRUE(bucket.Positive(0));
  bucket.Charge(0, 50);
  EXPECT_DOUBLE_EQ(bucket.Tokens(0), -40);
  EXPECT_FALSE(bucket.Positive(4 * kSecond));
  EXPECT_TRUE(bucket.Positive(4 * kSecond + 1));
}

TEST(TokenBucketTest, CountsHowManyPass) {
  TokenBucket bucket;
  bucket.Configure(0, 1000, 1, 1);
  EXPECT_EQ(bucket.Affordable(0, 1, 5000), 1000);
  EXPECT_EQ(bucket.Affordable(0, 3, 5000), 334) << "the last one overdraws";
  EXPECT_EQ(bucket.Affordable(0, 1, 7), 7);
  EXPECT_EQ(bucket.Affordable(0, 0, 7), 7);
  bucket.Charge(0, 1000);
  EXPECT_EQ(bucket.Affordable(0, 1, 5000), 0);
}

TEST(TokenBucketTest, ANewRateKeepsTheTokens) {
  TokenBucket bucket;
  bucket.Configure(0, 100, 300, 300);
  bucket.SetRate(0, 1000, 300, 1);
  EXPECT_DOUBLE_EQ(bucket.Tokens(0), 30000);
  bucket.SetRate(0, 10, 300, 1);
  EXPECT_DOUBLE_EQ(bucket.Tokens(0), 3000) << "no more than the new capacity";
  bucket.Charge(0, 4000);
  bucket.SetRate(0, 100, 300, 1);
  EXPECT_DOUBLE_EQ(bucket.Tokens(0), -1000);
}

TEST(TokenBucketTest, UnlimitedTakesAnything) {
  TokenBucket bucket;
  EXPECT_TRUE(bucket.unlimited());
  bucket.Charge(0, 1e18);
  EXPECT_TRUE(bucket.Positive(0));
  EXPECT_EQ(bucket.Affordable(0, 1e18, 9), 9);
  bucket.SetRate(5 * kSecond, 10, 300, 1);
  EXPECT_DOUBLE_EQ(bucket.Tokens(5 * kSecond), 10);
}

TEST(TokenBucketTest, AbsurdCostsDoNotOverflow) {
  TokenBucket bucket;
  bucket.Configure(0, 0.0001, 300, 1);
  bucket.Charge(0, 1e300);
  EXPECT_FALSE(bucket.Positive(1000 * kSecond));
  EXPECT_LT(bucket.Tokens(1000 * kSecond), 0);
}

// Over any window, what was charged is at most the rate's share of it, plus the burst, plus one
// request.
TEST(TokenBucketTest, NeverGivesMoreThanGrantedPlusBurst) {
  for (const uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    SeededRandom random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const double rate = 1 + static_cast<double>(random.Below(5000)) / 7;
    const double window = 1 + static_cast<double>(random.Below(300));
    constexpr double kMost = 8;
    TokenBucket bucket;
    bucket.Configure(0, rate, window, window);
    int64_t now = 0;
    struct Entry {
      int64_t at;
      double before;  // charged until then
    };
    std::deque<Entry> history;
    double charged = 0;
    for (int i = 0; i < 20000; ++i) {
      const bool pause = random.Below(500) == 0;
      now += static_cast<int64_t>(random.Unit() * (pause ? 400e9 : 2e9 / rate));
      ASSERT_LE(bucket.Tokens(now), rate * window * (1 + 1e-9));
      if (!bucket.Positive(now)) continue;
      history.push_back({now, charged});
      const double cost = 0.5 * static_cast<double>(1 + random.Below(16));
      bucket.Charge(now, cost);
      charged += cost;
      for (size_t k = 0; k < history.size(); k += 1 + history.size() / 16) {
        const double seconds = static_cast<double>(now - history[k].at) / 1e9;
        ASSERT_LE(charged - history[k].before,
                  rate * seconds + rate * window + kMost + 1e-3 * rate);
      }
    }
  }
}

}  // namespace
}  // namespace stator::throughput
