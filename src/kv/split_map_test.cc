#include "kv/split_map.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

#include "base/random.h"
#include "base/string_hash.h"

namespace stator::kv {
namespace {

using Map = std::unordered_map<std::string, int, StringHash, std::equal_to<>>;

TEST(SplitMap, IsAMapOfAnySize) {
  SeededRandom random(1);
  SplitMap<Map> split;
  Map plain;
  for (int i = 0; i < 400'000; ++i) {
    const std::string key = std::to_string(random.Below(250'000));
    int* const found = split.Find(key);
    ASSERT_EQ(found != nullptr, plain.contains(key));
    if (found == nullptr) {
      split.Insert(key, i);
      plain.emplace(key, i);
    } else if (random.Below(3) == 0) {
      ASSERT_EQ(*found, plain.at(key));
      split.Erase(key);
      plain.erase(key);
    }
    ASSERT_EQ(split.size(), plain.size());
  }
  EXPECT_GT(plain.size(), 5 * SplitMap<Map>::kMostOfLeaf);
  split.Erase("none");
  SplitMap<Map> other;
  other.Swap(&split);
  EXPECT_TRUE(split.empty());
  while (!other.empty()) {
    const SplitMap<Map>::Node node = other.TakeAny();
    ASSERT_EQ(plain.at(node.key()), node.mapped());
    plain.erase(node.key());
  }
  EXPECT_TRUE(plain.empty());
}

}  // namespace
}  // namespace stator::kv
