#include "throughput/key_sample.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace stator::throughput {
namespace {

const KeyRange kAll{{}, {}, true};

// A sort key that orders as the number does.
std::string Sort(uint64_t n) {
  std::string s(8, '\0');
  for (int i = 7; i >= 0; --i, n >>= 8) s[static_cast<size_t>(i)] = static_cast<char>(n & 0xff);
  return s;
}

TEST(KeySampleTest, StaysBoundedAndSpreadOverTime) {
  KeySample sample(128, 64);
  for (uint64_t i = 0; i < 1'000'000; ++i) sample.Add({i, {}, {}}, 1);
  EXPECT_LE(sample.size(), 128u);
  EXPECT_GE(sample.size(), 63u);
  EXPECT_NEAR(sample.ShareBefore({500'000, {}}), 0.5, 0.02);
  EXPECT_NEAR(sample.ShareBefore({250'000, {}}), 0.25, 0.02);
}

TEST(KeySampleTest, OneHugeWeightDoesNotFillItForever) {
  KeySample sample(64, 64);
  sample.Add({1, {}, {}}, 1e12);
  EXPECT_LE(sample.size(), 64u);
  for (int i = 0; i < 100; ++i) sample.Add({2, {}, {}}, 1e11);
  EXPECT_LE(sample.size(), 64u);
  EXPECT_NEAR(sample.ShareBefore({2, {}}), 1.0 / 11, 0.05);
}

TEST(KeySampleTest, DividesUniformHeatInTheMiddle) {
  SeededRandom random(3);
  KeySample sample(128, 64);
  for (int i = 0; i < 100'000; ++i) sample.Add({random.Next(), {}, {}}, 1);
  const SplitChoice choice = sample.ChooseBound(kAll, {});
  ASSERT_TRUE(choice.bound);
  EXPECT_NEAR(static_cast<double>(choice.bound->hash) / 0x1p64, 0.5, 0.12);
  EXPECT_NEAR(choice.left_share, 0.5, 0.05);
}

TEST(KeySampleTest, LeavesASingleHotKeyWhole) {
  SeededRandom random(4);
  KeySample sample(128, 64);
  for (int i = 0; i < 10'000; ++i)
    sample.Add({random.Below(20) == 0 ? random.Next() : uint64_t{1} << 60, {}, {}}, 1);
  const SplitChoice choice = sample.ChooseBound(kAll, {});
  EXPECT_FALSE(choice.bound);
  EXPECT_EQ(choice.obstacle, SplitObstacle::kSingleKey);
}

TEST(KeySampleTest, IsolatesAHotKeyAtItsEdge) {
  SeededRandom random(5);
  KeySample sample(128, 64);
  constexpr uint64_t kHot = uint64_t{1} << 62;  // a quarter of the way
  for (int i = 0; i < 10'000; ++i)
    sample.Add({random.Below(2) == 0 ? random.Next() : kHot, {}, {}}, 1);
  const SplitChoice choice = sample.ChooseBound(kAll, {});
  ASSERT_TRUE(choice.bound);
  EXPECT_EQ(choice.bound->hash, kHot + 1) << "more of the rest is above than below";
  EXPECT_FALSE(sample.ChooseBound(kAll, {.isolate = false}).bound &&
               sample.ChooseBound(kAll, {.isolate = false}).bound->hash == kHot + 1);
  KeySample two(128, 64);
  for (int i = 0; i < 10'000; ++i) two.Add({i % 2 == 0 ? kHot : 2 * kHot, {}, {}}, 1);
  EXPECT_EQ(two.ChooseBound(kAll, {}).bound, (KeyBound{2 * kHot, {}}));
  const SplitChoice streamed = two.ChooseBound(kAll, {.isolate = false});
  EXPECT_FALSE(streamed.bound);
  EXPECT_EQ(streamed.obstacle, SplitObstacle::kStreams);
}

TEST(KeySampleTest, DividesACollectionAlongItsSortKey) {
  SeededRandom random(6);
  KeySample sample(128, 64);
  for (int i = 0; i < 10'000; ++i) {
    const std::string sort = Sort(random.Below(1000));
    sample.Add({77, sort, {}}, 1);
  }
  const SplitChoice choice = sample.ChooseBound(kAll, {});
  ASSERT_TRUE(choice.bound);
  EXPECT_EQ(choice.bound->hash, 77u);
  EXPECT_GT(choice.bound->sort, Sort(300));
  EXPECT_LT(choice.bound->sort, Sort(700));
  const SplitChoice local = sample.ChooseBound(kAll, {.inside_collections = false});
  EXPECT_FALSE(local.bound);
  EXPECT_EQ(local.obstacle, SplitObstacle::kLocalIndexes);
}

TEST(KeySampleTest, LeavesAnEverIncreasingSortKeyWhole) {
  KeySample sample(128, 64);
  for (uint64_t i = 0; i < 10'000; ++i) {
    const std::string sort = Sort(i);
    sample.Add({77, sort, {}}, 1);
  }
  const SplitChoice choice = sample.ChooseBound(kAll, {});
  EXPECT_FALSE(choice.bound);
  EXPECT_EQ(choice.obstacle, SplitObstacle::kMovingKey);
  EXPECT_TRUE(sample.ChooseBound(kAll, {.heat_may_move = true}).bound)
      << "bytes may well be divided";
}

TEST(KeySampleTest, WantsEnoughSamplesAndStaysInsideTheRange) {
  KeySample sample(128, 64);
  for (int i = 0; i < 10; ++i) sample.Add({static_cast<uint64_t>(i), {}, {}}, 1);
  EXPECT_EQ(sample.ChooseBound(kAll, {}).obstacle, SplitObstacle::kTooFewSamples);
  KeySample edge(128, 64);
  for (int i = 0; i < 1000; ++i) edge.Add({i % 2 == 0 ? 4u : 5u, {}, {}}, 1);
  EXPECT_FALSE(edge.ChooseBound({{5, {}}, {}, true}, {}).bound)
      << "a partition is not cut at its own start";
}

TEST(KeySampleTest, TheOrderOfSortKeysIsKnownAfterSome) {
  const auto order = [](int points, auto sort_of) {
    KeySample sample(128, 16);
    for (int i = 0; i < points; ++i) {
      sample.Add({7, sort_of(i), {}}, 1);
      sample.Add({8, "other", {}}, 1);
    }
    return sample.OrderWithin(7);
  };
  const auto number = [](int n) { return std::to_string(100'000 + n); };
  const auto scattered = [&](int i) { return number(i * 7919 % 1000); };
  EXPECT_EQ(order(1000, number), KeyOrder::kMoves);
  EXPECT_EQ(order(1000, [&](int i) { return number(5000 - i); }), KeyOrder::kMoves);
  // Clients that write side by side come in nearly that order.
  EXPECT_EQ(order(1000, [&](int i) { return number(i + i * 31 % 20); }), KeyOrder::kMoves);
  EXPECT_EQ(order(1000, scattered), KeyOrder::kStays);
  EXPECT_EQ(order(1000, [](int i) { return i % 2 == 0 ? "a" : "b"; }), KeyOrder::kStays);
  EXPECT_EQ(order(10, number), KeyOrder::kUnknown) << "too few";
  EXPECT_EQ(order(1000, [](int) { return std::string(); }), KeyOrder::kUnknown) << "no sort key";
}

}  // namespace
}  // namespace stator::throughput
