// Points of the memory engine: what they cost others, and who is given up.
#include "kv/rewind.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "kv/memory_engine.h"
#include "kv/rewind_conformance.h"

namespace stator::kv {
namespace {

constexpr Tablet kTable = {Space::kItems, 1}, kOther = {Space::kItems, 2};

std::string Value(std::string_view text) { return std::string(kStampBytes, '\0').append(text); }

class MemoryRewind : public testing::Test {
 protected:
  void Put(Tablet tablet, const std::string& key, std::string_view text) {
    Batch batch;
    batch.puts.push_back({tablet, key, Value(text)});
    ASSERT_TRUE(ApplyAndWait(engine_, std::move(batch)).ok());
  }
  void PutMany(Tablet tablet, int keys, std::string_view text) {
    for (int from = 0; from < keys; from += 100) {
      Batch batch;
      for (int i = from; i < from + 100; ++i)
        batch.puts.push_back({tablet, "k" + std::to_string(i), Value(text)});
      ASSERT_TRUE(ApplyAndWait(engine_, std::move(batch)).ok());
    }
  }
  void Empty(Tablet tablet) {
    Batch batch;
    batch.range_deletes.push_back({tablet, "", ""});
    ASSERT_TRUE(ApplyAndWait(engine_, std::move(batch)).ok());
  }
  std::map<std::string, std::string> All(Tablet tablet) {
    std::map<std::string, std::string> all;
    EXPECT_TRUE(engine_
                    .Scan({tablet, "", ""}, Tier::kAny,
                          [&](std::string_view key, std::string_view value) {
                            all.emplace(key, value);
                            return true;
                          })
                    .ok());
    return all;
  }
  std::unique_ptr<RewindPoint> PointOf(Tablet tablet) {
    std::vector<Watched> watched;
    watched.push_back({.tablet = tablet});
    return engine_.SetPoint(std::move(watched), budget_);
  }
  static Result<uint64_t> Return(RewindPoint& point) {
    return point.Rewind({},
                        [](Tablet, std::string_view, const std::string*, const std::string*) {});
  }

  MemoryEngine engine_;
  std::shared_ptr<RewindBudget> budget_ = std::make_shared<RewindBudget>(64 << 20);
};

TEST_F(MemoryRewind, Conforms) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, SystemSeed()}) {
    MemoryEngine engine;
    const Status status = CheckRewinds(engine, seed, 4'000);
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  const Status status = CheckGivingUp(engine_);
  EXPECT_TRUE(status.ok()) << status.error().message();
}

TEST_F(MemoryRewind, ReturnsAnyNumberOfKeysAgainAndAgain) {
  PutMany(kTable, 30'000, "then");
  const std::map<std::string, std::string> then = All(kTable);
  const std::unique_ptr<RewindPoint> point = PointOf(kTable);
  const std::unique_ptr<RewindPoint> second = PointOf(kTable);
  for (int round = 0; round < 3; ++round) {
    PutMany(kTable, 50'000, "now");
    if (round == 1) Empty(kTable);
    const std::map<std::string, std::string> now = All(kTable);
    ASSERT_TRUE(Return(*point).ok());
    EXPECT_EQ(All(kTable), then);
    EXPECT_EQ(point->bytes(), 0u);
  }
  ASSERT_TRUE(Return(*second).ok());
  EXPECT_EQ(All(kTable), then);
}

// Others write while many keys return. Whether they get the chance in one return is up to the
// machine's scheduler; in some they do.
TEST_F(MemoryRewind, LetsOthersWriteMeanwhile) {
  constexpr int kKeys = 60'000;
  const std::unique_ptr<RewindPoint> point = PointOf(kTable);
  bool between = false;
  for (int attempt = 0; attempt < 1'000 && !between; ++attempt) {
    PutMany(kTable, kKeys, "now");
    std::atomic<int> visited = 0;
    std::atomic<bool> ended = false;
    std::thread other([&] {
      while (!ended) {
        Put(kOther, "k", "x");
        const int now = visited;
        between |= now > 0 && now < kKeys;
      }
    });
    ASSERT_TRUE(point
                    ->Rewind({}, [&](Tablet, std::string_view, const std::string*,
                                     const std::string*) { ++visited; })
                    .ok());
    ended = true;
    other.join();
    EXPECT_EQ(visited, kKeys);
  }
  EXPECT_TRUE(between);
  EXPECT_TRUE(All(kTable).empty());
}

// A writer of watched keys beside a return, which there should be none of, loses nothing of the
// moment.
TEST_F(MemoryRewind, WhatIsWrittenMeanwhileIsKeptAnew) {
  PutMany(kTable, 50'000, "then");
  const std::map<std::string, std::string> then = All(kTable);
  const std::unique_ptr<RewindPoint> point = PointOf(kTable);
  PutMany(kTable, 50'000, "now");
  std::atomic<bool> ended = false;
  std::thread other([&] {
    for (int i = 0; !ended; i = (i + 1) % 50'000) Put(kTable, "k" + std::to_string(i), "meanwhile");
  });
  ASSERT_TRUE(Return(*point).ok());
  ended = true;
  other.join();
  ASSERT_TRUE(Return(*point).ok());
  EXPECT_EQ(All(kTable), then);
}

TEST_F(MemoryRewind, ThePointThatKeepsMuchIsGivenUpAndNotWhoeverWritesLast) {
  budget_ = std::make_shared<RewindBudget>(4 << 20);
  const std::unique_ptr<RewindPoint> large = PointOf(kTable);
  const std::unique_ptr<RewindPoint> small = PointOf(kOther);
  Put(kOther, "before", "x");
  for (int i = 0; budget_->held() < (4 << 20) - 2'000; ++i)
    Put(kTable, "k" + std::to_string(i), "x");
  EXPECT_FALSE(large->given_up());
  for (int i = 0; i < 1'000; ++i) Put(kOther, "k" + std::to_string(i), std::string(100, 'x'));
  EXPECT_TRUE(large->given_up());
  EXPECT_FALSE(small->given_up());
  EXPECT_EQ(budget_->held(), small->bytes());
  EXPECT_FALSE(Return(*large).ok());
  ASSERT_TRUE(Return(*small).ok());
  EXPECT_TRUE(All(kOther).empty());
}

// Tables are emptied at once: points keep what was there without looking at it.
TEST_F(MemoryRewind, ReturnsWhatWasEmptied) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, SystemSeed()}) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    MemoryEngine engine;
    struct Moment {
      std::unique_ptr<RewindPoint> point;
      std::map<std::string, std::string> then;
    };
    std::vector<Moment> moments;
    const auto all = [&engine] {
      std::map<std::string, std::string> found;
      EXPECT_TRUE(engine
                      .Scan({kTable, "", ""}, Tier::kAny,
                            [&](std::string_view key, std::string_view value) {
                              found.emplace(key, value);
                              return true;
                            })
                      .ok());
      return found;
    };
    for (int step = 0; step < 2'000; ++step) {
      Batch batch;
      const uint64_t what = random.Below(100);
      if (what < 3) {
        batch.range_deletes.push_back({kTable, "", ""});
      } else if (what < 8) {
        if (moments.size() == 4) moments.erase(moments.begin() + random.Below(4));
        std::vector<Watched> watched;
        watched.push_back({.tablet = kTable});
        moments.push_back({engine.SetPoint(std::move(watched), budget_), all()});
      } else if (what < 12 && !moments.empty()) {
        const Moment& moment = moments[random.Below(moments.size())];
        if (random.Below(2) == 0) batch.range_deletes.push_back({kOther, "", ""});
        ASSERT_TRUE(moment.point
                        ->Rewind(std::move(batch), [](Tablet, std::string_view, const std::string*,
                                                      const std::string*) {})
                        .ok());
        ASSERT_EQ(all(), moment.then);
        batch = {};
      } else {
        const std::string key = "k" + std::to_string(random.Below(60));
        if (what < 40) {
          batch.deletes.push_back({kTable, key});
        } else {
          batch.puts.push_back({kTable, key, Value(std::to_string(step))});
        }
        if (what == 41) batch.range_deletes.push_back({kTable, "", ""});
      }
      ASSERT_TRUE(ApplyAndWait(engine, std::move(batch)).ok());
    }
    moments.clear();
    EXPECT_EQ(budget_->held(), 0u);
  }
}

TEST_F(MemoryRewind, KeepsKeysOfItsGroup) {
  std::vector<std::unique_ptr<RewindPoint>> points;
  int asked = 0;
  for (const char* group : {"", "a", "b", "a"}) {
    std::vector<Watched> watched;
    watched.push_back({.tablet = kTable,
                       .group_of =
                           [&asked](std::string_view key) {
                             ++asked;
                             return key.substr(0, key.find('/'));
                           },
                       .group = group});
    points.push_back(engine_.SetPoint(std::move(watched), budget_));
  }
  for (const char* key : {"/x", "a/x", "a/y", "c/x"}) Put(kTable, key, "now");
  EXPECT_EQ(asked, 4);  // once for each write, however many points there are
  EXPECT_GT(points[0]->bytes(), 0u);
  EXPECT_GT(points[1]->bytes(), points[0]->bytes());
  EXPECT_EQ(points[2]->bytes(), 0u);
  EXPECT_EQ(points[3]->bytes(), points[1]->bytes());
  ASSERT_TRUE(Return(*points[1]).ok());
  EXPECT_EQ(All(kTable).size(), 2u);
  points.erase(points.begin() + 1);
  Put(kTable, "a/x", "again");
  ASSERT_TRUE(Return(*points[2]).ok());
  ASSERT_TRUE(Return(*points[0]).ok());
  EXPECT_EQ(All(kTable).size(), 1u);
  points.clear();
  Put(kTable, "a/x", "unwatched");
  EXPECT_EQ(budget_->held(), 0u);
}

}  // namespace
}  // namespace stator::kv
