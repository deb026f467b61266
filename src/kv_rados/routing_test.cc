#include "kv_rados/routing.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace stator::kv_rados {
namespace {

using kv::Space;

const std::string kHash(kHashBytes, 'h');

TEST(RadosRouting, WhatBelongsTogetherHasRoutesWithOneHash) {
  for (const char kind : {'\x01', '\x03', '\x10', '\x14'}) {
    const std::string key = std::string(1, kind) + kHash + "rest";
    const auto route = RouteOf(Space::kItems, key);
    ASSERT_TRUE(route);
    EXPECT_EQ(*route, kHash + "rest");
  }
  EXPECT_FALSE(RouteOf(Space::kItems,
                       "\x02"
                       "count"))
      << "every part has one";
  EXPECT_EQ(RouteOf(Space::kItems, ""), "");
  EXPECT_EQ(RouteOf(Space::kLog,
                    "\x02"
                    "count"),
            "\x02"
            "count");
  EXPECT_EQ(RouteOf(Space::kCatalog, "\x02"), "\x02");
  EXPECT_FALSE(BelongsToAnItem(Space::kItems, "\x01" + kHash));
  EXPECT_TRUE(BelongsToAnItem(Space::kItems, "\x03" + kHash));
  EXPECT_TRUE(BelongsToAnItem(Space::kItems, "\x10" + kHash));
  EXPECT_FALSE(BelongsToAnItem(Space::kLog, "\x10" + kHash));
}

TEST(RadosRouting, KeysOfTheEngineAboveStandBesideWhatTheyAreAbout) {
  const std::string item = "\x01" + kHash + "rest", id(16, '\xff');
  for (const std::string& key : {"\xfft" + item + id, "\xffx\xfft" + item + id + id}) {
    EXPECT_EQ(RouteOf(Space::kItems, key), RouteOf(Space::kItems, item));
    EXPECT_EQ(RouteOf(Space::kLog, key), item);
  }
  EXPECT_EQ(RouteOf(Space::kItems,
                    "\xfft\x02"
                    "count" +
                        id),
            "")
      << "one place, though its counter has none";
  EXPECT_EQ(RouteOf(Space::kItems, "\xfft" + id), "");
  EXPECT_EQ(RouteOf(Space::kItems, "\xfft"), "");
  EXPECT_TRUE(BelongsToAnItem(Space::kItems, "\xfft\x03" + kHash + id));
}

TEST(RadosRouting, AKeyWithAStampGoesWhereTheHighestAre) {
  const std::string zeros(kv::kStampBytes, '\0');
  kv::Put put{{Space::kLog, 1}, "shard" + zeros + "i", {}, 5};
  EXPECT_EQ(RouteOfPut(put), "shard\xff\xff\xff\xff\xff\xff\xff\xffi");
  put.key_stamp_offset = -1;
  EXPECT_EQ(RouteOfPut(put), "shard" + zeros + "i");
  put.key_stamp_offset = 100;
  EXPECT_EQ(RouteOfPut(put), "shard" + zeros + "i") << "the batch is refused elsewhere";
  put.key_stamp_offset = 10;
  EXPECT_EQ(RouteOfPut(put), "shard" + std::string(5, '\0') + "\xff\xff\xff\xff");
}

std::string RandomKey(Random& random) {
  static constexpr std::string_view kBytes("\x00\x01\x02\x03\x10\x11\xfe\xff", 8);
  std::string key;
  for (uint64_t i = random.Below(5); i > 0; --i) key.push_back(kBytes[random.Below(kBytes.size())]);
  return key;
}

// Where the routes of a range of keys are known, exactly its keys have them, in the same order.
TEST(RadosRouting, RangesOfOneKindHaveRoutes) {
  SeededRandom random(5);
  int known = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Space space = random.Below(2) == 0 ? Space::kItems : Space::kLog;
    const std::string begin = RandomKey(random),
                      end = random.Below(5) == 0 ? "" : RandomKey(random);
    if (!end.empty() && begin >= end) continue;
    const std::optional<RouteRange> routes = RoutesOfKeys(space, begin, end);
    if (!routes) continue;
    ++known;
    const auto in = [&](const std::string& key) {
      return key >= begin && (end.empty() || key < end);
    };
    const std::string a = RandomKey(random), b = RandomKey(random);
    for (const std::string& key : {a, b}) {
      ASSERT_TRUE(!in(key) || routes->Has(*RouteOf(space, key)));
    }
    ASSERT_TRUE(!in(a) || !in(b) || (a < b) == (*RouteOf(space, a) < *RouteOf(space, b)));
    // The keys from a route on.
    const std::string route = RandomKey(random), from = KeyAtRoute(space, begin, route);
    ASSERT_TRUE(!in(a) || (*RouteOf(space, a) >= route) == (a >= from));
  }
  EXPECT_GT(known, 1000);
  EXPECT_EQ(RoutesOfKeys(Space::kItems, "\x01", "\x02"), (RouteRange{"", ""})) << "all items";
  EXPECT_EQ(RoutesOfKeys(Space::kItems,
                         "\x01"
                         "a",
                         "\x01"
                         "b"),
            (RouteRange{"a", "b"}));
  EXPECT_EQ(RoutesOfKeys(Space::kLog, "a", "\xff"), (RouteRange{"a", "\xff"}));
  for (const auto& [begin, end] : {std::pair("", ""),
                                   std::pair("\x01",
                                             "\x02"
                                             "a"),
                                   std::pair("\x02", "\x03"), std::pair("\xff", "")}) {
    EXPECT_FALSE(RoutesOfKeys(Space::kItems, begin, end));
  }
  EXPECT_FALSE(RoutesOfKeys(Space::kLog, "a", ""));
}

}  // namespace
}  // namespace stator::kv_rados
