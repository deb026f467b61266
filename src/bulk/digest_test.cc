#include "bulk/digest.h"

#include <gtest/gtest.h>

namespace stator::bulk {
namespace {

TEST(Digest, IsTheSameInAnyOrderAndInParts) {
  TableDigest one, other, part;
  one.Add("a", "1");
  one.Add("b", "2");
  one.Add("c", "3");
  part.Add("c", "3");
  other.Add("b", "2");
  other.Add(part);
  other.Add("a", "1");
  EXPECT_TRUE(one.Differ(other).empty());
  EXPECT_EQ(other.items(), 3);
}

TEST(Digest, NamesTheBucketOfAnItemThatDiffersIsMissingOrIsTwice) {
  TableDigest one, changed, missing, twice;
  one.Add("a", "1");
  one.Add("b", "2");
  changed.Add("a", "1");
  changed.Add("b", "3");
  missing.Add("a", "1");
  twice.Add("a", "1");
  twice.Add("b", "2");
  twice.Add("b", "2");
  const std::vector<size_t> bucket = {TableDigest::BucketOf("b")};
  EXPECT_EQ(one.Differ(changed), bucket);
  EXPECT_EQ(one.Differ(missing), bucket);
  EXPECT_EQ(twice.Differ(one), bucket);
  EXPECT_EQ(twice.items(bucket[0]), 2);
}

}  // namespace
}  // namespace stator::bulk
