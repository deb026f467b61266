#include "bulk/live_shards.h"

#include <gtest/gtest.h>

namespace stator::bulk {
namespace {

std::string Text(const std::vector<FollowedShard>& shards) {
  std::string text;
  for (const FollowedShard& shard : shards) text += shard.id + (shard.done ? "- " : "+ ");
  return text;
}

std::string Ready(const std::vector<FollowedShard>& shards) {
  std::string text;
  for (const size_t i : ReadyShards(shards)) text += shards[i].id;
  return text;
}

TEST(LiveShards, BeginAtOpenShardsAndTheirParents) {
  const auto shards =
      FirstShards({{"a", "", true}, {"b", "a", true}, {"c", "b", false}, {"d", "x", false}});
  EXPECT_EQ(Text(shards), "a- b+ c+ d+ ");
  EXPECT_EQ(Ready(shards), "bd");
}

TEST(LiveShards, AChildWaitsForItsParentAndBothChildrenOfASplitAreRead) {
  auto shards = FirstShards({{"a", "", false}});
  ASSERT_TRUE(MergeShards({{"a", "", true}, {"b", "a", false}, {"c", "a", false}}, &shards).ok());
  EXPECT_EQ(Ready(shards), "a");
  shards[0].done = true;
  EXPECT_EQ(Ready(shards), "bc");
}

TEST(LiveShards, AShardThatIsDoneMayGo) {
  auto shards = FirstShards({{"a", "", false}});
  ASSERT_TRUE(MergeShards({{"a", "", true}, {"b", "a", false}}, &shards).ok());
  shards[0].done = true;
  ASSERT_TRUE(MergeShards({{"b", "a", false}}, &shards).ok());
  EXPECT_EQ(Text(shards), "b+ ");
  EXPECT_EQ(Ready(shards), "b");
}

TEST(LiveShards, AShardThatIsGoneBeforeItWasReadIsAnError) {
  auto shards = FirstShards({{"a", "", false}});
  const Status lost = MergeShards({{"b", "", false}}, &shards);
  ASSERT_FALSE(lost.ok());
  EXPECT_NE(lost.error().message().find("the shard a is gone"), std::string::npos);
}

TEST(LiveShards, AnUnknownParentIsAnError) {
  auto shards = FirstShards({{"a", "", false}});
  shards[0].done = true;
  EXPECT_FALSE(MergeShards({{"a", "", true}, {"c", "b", false}}, &shards).ok());
  EXPECT_TRUE(MergeShards({{"a", "", true}, {"b", "a", true}, {"c", "b", false}}, &shards).ok());
  EXPECT_EQ(Ready(shards), "b");
}

}  // namespace
}  // namespace stator::bulk
