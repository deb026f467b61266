#include "kv_rados/split_point.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

using kv::Space;

struct Written {
  std::string key;
  uint64_t stamp = 0;
  size_t bytes = 100;
};

// What stays, of all, when the part has grown beyond the limit; 1: it cannot be divided.
double Kept(Space space, const std::vector<Written>& all, Amount limit) {
  PartSurvey survey(space);
  uint64_t total = 0, stays = 0;
  for (const Written& each : all)
    survey.Note(each.key, each.bytes, each.stamp), total += each.bytes;
  EXPECT_EQ(survey.amount(), (Amount{total, all.size()}));
  const std::optional<std::string> boundary = survey.Boundary(limit);
  if (!boundary) return 1;
  for (const Written& each : all) stays += Moves(space, *boundary, each.key) ? 0 : each.bytes;
  return static_cast<double>(stays) / static_cast<double>(total);
}
double Kept(const std::vector<Written>& all) {
  return Kept(Space::kLog, all, {UINT64_MAX, all.size()});
}

std::vector<Written> Queue(int count, int of_a_batch = 1) {
  std::vector<Written> all;
  for (int i = 0; i < count; ++i)
    all.push_back({fmt::format("queue{:06}", i), static_cast<uint64_t>(1 + i / of_a_batch)});
  return all;
}

constexpr double kHalf = 0.5, kSevenEighths = 0.875, kNear = 0.01;

TEST(RadosSplitPoint, IsTheMiddleOfWhatComesAnywhere) {
  SeededRandom random(3);
  std::vector<Written> all = Queue(1000);
  for (Written& each : all) each.stamp = 1 + random.Below(1'000'000);
  EXPECT_NEAR(Kept(all), kHalf, kNear);
  for (size_t i = 0; i < all.size(); ++i) all[i].stamp = all.size() - i;
  EXPECT_NEAR(Kept(all), kHalf, kNear) << "what is new comes first";
  for (size_t i = 0; i < all.size(); ++i) all[i].bytes = i < 100 ? 1000 : 10;
  EXPECT_NEAR(Kept(all), kHalf, kNear) << "bytes count, not keys";
  EXPECT_EQ(Kept({{"one", 1}}), 1);
  EXPECT_NEAR(Kept(Queue(20)), kHalf, kNear) << "too few to tell";
}

TEST(RadosSplitPoint, OfAQueueIsNearItsEnd) {
  EXPECT_NEAR(Kept(Queue(1000)), kSevenEighths, kNear);
  EXPECT_NEAR(Kept(Queue(1000, 10)), kSevenEighths, kNear) << "ten to a batch";
  EXPECT_NEAR(Kept(Queue(200, 10)), kSevenEighths, kNear) << "and few of them";
  EXPECT_NEAR(Kept(Queue(200, 200)), kHalf, kNear) << "in one batch: nothing is known";
  std::vector<Written> shuffled = Queue(1000);
  SeededRandom random(4);
  for (size_t i = shuffled.size() - 1; i > 0; --i)
    std::swap(shuffled[i], shuffled[random.Below(i + 1)]);
  EXPECT_NEAR(Kept(shuffled), kSevenEighths, kNear) << "in whatever order the keys are told";
  // A few changes elsewhere.
  std::vector<Written> all = Queue(1000);
  for (const size_t i : {5u, 300u, 301u, 700u, 850u}) all[i].stamp = 2000 + i;
  EXPECT_NEAR(Kept(all), kSevenEighths, kNear);
  for (size_t i = 0; i < 40; ++i) all[i * 20].stamp = 3000 + i;
  EXPECT_NEAR(Kept(all), kHalf, kNear) << "many";
  // A queue that has ended, and the one that goes on.
  all = Queue(500);
  for (uint64_t i = 0; i < 500; ++i) all.push_back({fmt::format("then{:06}", i), 1000 + i});
  EXPECT_NEAR(Kept(all), kSevenEighths, kNear);
}

TEST(RadosSplitPoint, OfQueuesSideBySideIsBetweenThem) {
  std::vector<Written> all;
  for (uint64_t i = 0; i < 500; ++i) {
    for (const char shard : {'a', 'b'}) all.push_back({shard + fmt::format("{:06}", i), i + 1});
  }
  EXPECT_NEAR(Kept(all), kHalf, 0.001);
}

// What a queue leaves behind is not divided again.
TEST(RadosSplitPoint, OfAQueueLeavesLessThanTheLimit) {
  const std::vector<Written> all = Queue(1000);
  for (const Amount& limit :
       {Amount{90'000, UINT64_MAX}, Amount{UINT64_MAX, 900}, Amount{95'000, 900}}) {
    EXPECT_NEAR(Kept(Space::kLog, all, limit), kSevenEighths * 0.9, kNear);
  }
  EXPECT_NEAR(Kept(Space::kLog, all, {UINT64_MAX, 300}), kHalf, kNear)
      << "several parts will be needed";
  EXPECT_NEAR(Kept(Space::kLog, all, {0, 0}), kHalf, kNear);
}

TEST(RadosSplitPoint, LeavesCollectionsWhole) {
  const auto key = [](char hash, uint64_t i) {
    return "\x10" + std::string(kHashBytes, hash) + fmt::format("{:06}", i);
  };
  std::vector<Written> all;
  for (uint64_t i = 0; i < 1000; ++i)
    all.push_back({key(static_cast<char>('a' + i / 50), i), i + 1});
  EXPECT_NEAR(Kept(Space::kItems, all, {UINT64_MAX, 1000}), kSevenEighths, 0.026)
      << "a twentieth is one collection";
  // The last one is most of it, so nothing near the end is a place.
  all.clear();
  for (uint64_t i = 0; i < 1000; ++i) all.push_back({key(i < 300 ? 'a' : 'b', i), i + 1});
  EXPECT_NEAR(Kept(Space::kItems, all, {UINT64_MAX, 1000}), 0.3, kNear);
  // The first one is nearly all: where it ends is no place that leaves less than the limit, but the
  // only one.
  all.clear();
  for (uint64_t i = 0; i < 1000; ++i) all.push_back({key(i < 990 ? 'a' : 'b', i), i + 1});
  EXPECT_NEAR(Kept(Space::kItems, all, {UINT64_MAX, 1000}), 0.99, 0.001);
  for (Written& each : all) each.key = key('a', each.stamp);
  EXPECT_EQ(Kept(Space::kItems, all, {UINT64_MAX, 1000}), 1);
}

// Keys of the same shape with a higher stamp in them go behind the boundary, for the writers count
// on that.
TEST(RadosSplitPoint, WhatComesLaterBelongsToTheSecondHalf) {
  for (const bool appended : {false, true}) {
    PartSurvey survey(Space::kLog);
    std::string last;
    for (uint64_t i = 0; i < 1000; ++i) {
      last = "s" + std::string(kv::kStampBytes, '\0') + "i";
      kv::SetKeyStamp(&last, 1, i + 1);
      survey.Note(last, 50, appended ? i + 1 : 1000 - i);
    }
    const std::optional<std::string> boundary = survey.Boundary(Amount{UINT64_MAX, 1000});
    ASSERT_TRUE(boundary);
    EXPECT_TRUE(Moves(Space::kLog, *boundary, last));
    kv::SetKeyStamp(&last, 1, 1001);
    EXPECT_TRUE(Moves(Space::kLog, *boundary, last));
  }
}

}  // namespace
}  // namespace stator::kv_rados
