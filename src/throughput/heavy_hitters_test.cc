#include "throughput/heavy_hitters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace stator::throughput {
namespace {

TEST(HeavyHittersTest, FindsEveryKeyAboveItsShareAndNeverCountsTooLittle) {
  for (const uint64_t seed : {11u, 12u, 13u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    constexpr size_t kCounters = 16;
    HeavyHitters sketch(HeavyHitters::Of::kCollections, kCounters, 64);
    std::map<uint64_t, double> exact;
    double total = 0;
    for (int i = 0; i < 50000; ++i) {
      const uint64_t key = random.Below(3) == 0 ? random.Below(5) : 100 + random.Below(10000);
      const double weight = static_cast<double>(1 + random.Below(4));
      const std::string name = "key" + std::to_string(key);
      sketch.Add({key, {}, name}, weight);
      exact[key] += weight;
      total += weight;
    }
    EXPECT_DOUBLE_EQ(sketch.total(), total);
    EXPECT_EQ(sketch.size(), kCounters);
    std::map<uint64_t, HeavyKey> found;
    for (const HeavyKey& key : sketch.Top(100)) {
      EXPECT_GE(key.weight, exact[key.hash]);
      EXPECT_LE(key.weight - key.overestimate, exact[key.hash]);
      EXPECT_EQ(key.partition, "key" + std::to_string(key.hash));
      found[key.hash] = key;
    }
    for (const auto& [key, weight] : exact) {
      if (weight > total / kCounters) {
        EXPECT_TRUE(found.contains(key)) << key;
      }
    }
    for (uint64_t key = 0; key < 5; ++key) EXPECT_TRUE(found.contains(key)) << key;
  }
}

TEST(HeavyHittersTest, ASketchOfEvenKeysKnowsNoHeavyOne) {
  HeavyHitters sketch(HeavyHitters::Of::kCollections, 16, 64);
  for (uint64_t key = 0; key < 5000; ++key) sketch.Add({key, {}, "k"}, 10);
  ASSERT_GT(sketch.Top(1)[0].weight, sketch.total() / 50) << "of which it had 1 in 5,000";
  for (const HeavyKey& key : sketch.Top(16)) {
    EXPECT_FALSE(key.IsKnown());
    EXPECT_DOUBLE_EQ(key.least(), 10);
  }
  for (int i = 0; i < 1000; ++i) sketch.Add({7, {}, "hot"}, 10);
  EXPECT_TRUE(sketch.Top(1)[0].IsKnown());
  EXPECT_DOUBLE_EQ(sketch.Top(1)[0].least(), 10'000);
}

TEST(HeavyHittersTest, CountsCollectionsOrItems) {
  HeavyHitters collections(HeavyHitters::Of::kCollections, 8, 64);
  HeavyHitters items(HeavyHitters::Of::kItems, 8, 4);
  for (HeavyHitters* sketch : {&collections, &items}) {
    sketch->Add({7, "one long sort key", "p"}, 1);
    sketch->Add({7, "two", "p"}, 2);
  }
  EXPECT_EQ(collections.size(), 1u);
  EXPECT_DOUBLE_EQ(collections.Top(1)[0].weight, 3);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items.Top(2)[0].sort, "two");
  EXPECT_EQ(items.Top(2)[1].sort, "one ") << "labels are cut";
}

TEST(HeavyHittersTest, MergesAndClears) {
  HeavyHitters a(HeavyHitters::Of::kCollections, 4, 64), b = a;
  a.Add({1, {}, "x"}, 5);
  b.Add({1, {}, "x"}, 2);
  b.Add({2, {}, "y"}, 3);
  a.Merge(b);
  EXPECT_DOUBLE_EQ(a.total(), 10);
  EXPECT_DOUBLE_EQ(a.Top(1)[0].weight, 7);
  a.Clear();
  EXPECT_EQ(a.size(), 0u);
  EXPECT_DOUBLE_EQ(a.total(), 0);
}

}  // namespace
}  // namespace stator::throughput
