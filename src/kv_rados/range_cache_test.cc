#include "kv_rados/range_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace stator::kv_rados {
namespace {

const Part kPart({kv::Space::kItems, 7}, 0), kOtherPart({kv::Space::kItems, 7}, 1),
    kOtherTablet({kv::Space::kItems, 8}, 0);
const std::string kValue(1000, 'v');

EntriesPtr Some(size_t count, bool more = false) {
  auto entries = std::make_shared<Entries>();
  for (size_t i = 0; i < count; ++i) entries->Add("key" + std::to_string(i), kValue);
  entries->more = more;
  return entries;
}
RangeCache::Known Of(EntriesPtr entries, std::string stamp = "stamp") {
  return {std::move(entries), std::make_shared<KnownHeader>(), std::move(stamp)};
}
// How many entries are known.
std::string Known(RangeCache& cache, const RangeCache::Place& place, size_t keys = 1000) {
  bool again = false;
  const RangeCache::Known known = cache.Find(place, keys, &again);
  if (known.entries == nullptr) return again ? "unknown, asked for before" : "unknown";
  EXPECT_TRUE(again);
  return std::to_string(known.entries->size()) + " at " + known.stamp;
}

TEST(Entries, ArePairsInTheirOrder) {
  Entries entries;
  EXPECT_TRUE(entries.empty());
  for (const char* key : {"a", "bb", "ccc"}) {
    const std::string cell = KeyCell(key);
    const Result<std::string_view> decoded = entries.Decode(cell);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, key);
    if (*decoded != "bb") entries.Add(key[0] == 'a' ? "one" : "three");
  }
  entries.Add("d", "four");
  EXPECT_FALSE(entries.Decode("no cell").ok());
  entries.Add("e", "five");
  ASSERT_EQ(entries.size(), 4u);
  std::string all;
  for (size_t i = 0; i < entries.size(); ++i)
    all.append(entries.key(i)).append("=").append(entries.value(i)).append(" ");
  EXPECT_EQ(all, "a=one ccc=three d=four e=five ");
}

TEST(RangeCache, KnowsWhatWasNotedOfThePlace) {
  RangeCache cache(1 << 20);
  const RangeCache::Place place{kPart, "a", "b"};
  EXPECT_EQ(Known(cache, place), "unknown");
  EXPECT_EQ(Known(cache, place), "unknown, asked for before");
  cache.Note(place, Of(Some(5)));
  EXPECT_EQ(Known(cache, place), "5 at stamp");
  EXPECT_EQ(Known(cache, {kOtherPart, "a", "b"}), "unknown");
  EXPECT_EQ(Known(cache, {kOtherTablet, "a", "b"}), "unknown");
  EXPECT_EQ(Known(cache, {kPart, "a", "bb"}), "unknown");
  EXPECT_EQ(Known(cache, {kPart, "ab", ""}), "unknown");
  EXPECT_EQ(Known(cache, {kPart, "", "ab"}), "unknown");
  cache.Note(place, Of(Some(0), "later"));
  EXPECT_EQ(Known(cache, place), "0 at later");
}

TEST(RangeCache, WhatEndsTooEarlyIsNotEnough) {
  RangeCache cache(8 << 20);
  const RangeCache::Place place{kPart, "a", "b"};
  cache.Note(place, Of(Some(90, true)));
  EXPECT_EQ(Known(cache, place, 10), "90 at stamp");
  EXPECT_EQ(Known(cache, place, 100), "90 at stamp") << "about as many";
  EXPECT_EQ(Known(cache, place, 110), "unknown, asked for before");
  cache.Note(place, Of(Some(90, false)));
  EXPECT_EQ(Known(cache, place, 1000), "90 at stamp") << "there are no more";
}

TEST(RangeCache, IsBoundedAndForgetsWhatWasUsedLeastRecently) {
  constexpr size_t kMax = 200'000;
  RangeCache cache(kMax);
  const auto place = [](const std::string& begin) { return RangeCache::Place{kPart, begin, "z"}; };
  cache.Note(place("large"), Of(Some(10)));
  EXPECT_EQ(Known(cache, place("large")), "unknown") << "more than its share";
  EXPECT_EQ(cache.bytes(), 0u);
  for (int i = 0; i < 1000; ++i) {
    cache.Note(place("first"), Of(Some(2)));
    cache.Note(place("k" + std::to_string(i)), Of(Some(i % 4)));
    ASSERT_LE(cache.bytes(), kMax);
  }
  EXPECT_GT(cache.bytes(), kMax * 9 / 10);
  EXPECT_EQ(Known(cache, place("first")), "2 at stamp");
  EXPECT_EQ(Known(cache, place("k999")), "3 at stamp");
  EXPECT_EQ(Known(cache, place("k0")), "unknown");
  cache.Note(place("first"), Of(Some(10)));
  EXPECT_EQ(Known(cache, place("first")), "unknown, asked for before")
      << "what has grown too large is not kept as it was";

  RangeCache none(0);
  for (int i = 0; i < 10; ++i) none.Note(place("k" + std::to_string(i)), Of(Some(0)));
  EXPECT_EQ(none.bytes(), 0u);
  EXPECT_EQ(Known(none, place("k9")), "unknown");
}

TEST(RangeCache, KnowsNothingOnceItIsSwitchedOff) {
  RangeCache cache(1 << 20);
  const RangeCache::Place place{kPart, "a", "b"};
  cache.Note(place, Of(Some(5)));
  EXPECT_EQ(Known(cache, place), "5 at stamp");
  cache.SwitchOff();
  EXPECT_EQ(Known(cache, place), "unknown");
  EXPECT_EQ(Known(cache, place), "unknown");
}

// For the thread sanitizer, and what was found lives on.
TEST(RangeCache, ManyThreadsUseIt) {
  RangeCache cache(100'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string begin = std::to_string((i * 7 + t) % 100);
        bool again = false;
        const RangeCache::Known known = cache.Find({kPart, begin, "z"}, 1, &again);
        if (known.entries == nullptr) {
          cache.Note({kPart, begin, "z"}, Of(Some(2), begin));
        } else {
          ASSERT_EQ(known.stamp, begin);
          ASSERT_EQ(known.entries->value(1), kValue);
        }
        cache.Count(known.entries != nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.hits() + cache.misses(), 8000u);
}

}  // namespace
}  // namespace stator::kv_rados
