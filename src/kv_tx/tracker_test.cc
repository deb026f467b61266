#include "kv_tx/tracker.h"

#include <gtest/gtest.h>

namespace stator::kv_tx {
namespace {

constexpr kv::Tablet kTablet = {kv::Space::kItems, 1};

class TrackerTest : public testing::Test {
 protected:
  static kv::Batch After(const kv::FatePtr& fate) {
    kv::Batch batch;
    batch.after.push_back(fate);
    return batch;
  }
  // Whether the batch waits; `*runs` counts how often it is told to ask again.
  bool Waits(const kv::Batch& batch, int* runs) {
    UniqueFunction<void()> then = [runs] { ++*runs; };
    return tracker_.WaitFor(batch, &then);
  }

  Tracker tracker_;
  std::shared_ptr<kv::BatchFate> fate_ = std::make_shared<kv::BatchFate>();
};

TEST_F(TrackerTest, BatchWaitsForThoseItNamesUntilTheyEnd) {
  EXPECT_FALSE(tracker_.active());
  const Tracker::EntryPtr entry = tracker_.Begin(fate_);
  EXPECT_TRUE(tracker_.active());
  int runs = 0;
  EXPECT_FALSE(Waits(After(std::make_shared<kv::BatchFate>()), &runs));
  EXPECT_TRUE(Waits(After(fate_), &runs));
  EXPECT_EQ(runs, 0);
  tracker_.End(entry, false);
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(Waits(After(fate_), &runs));
}

TEST_F(TrackerTest, KnowsWhetherEachDoneHasRun) {
  const Tracker::EntryPtr entry = tracker_.Begin(fate_);
  kv::Batch batch = After(fate_);
  EXPECT_FALSE(tracker_.KnowsAll(batch, true));
  tracker_.End(entry, false);
  EXPECT_FALSE(tracker_.KnowsAll(batch, true));
  batch.guards.push_back({.tablet = kTablet, .key = "k", .left_by = fate_});
  EXPECT_TRUE(tracker_.KnowsAll(batch, true));  // the inner engine orders the two by the key
  EXPECT_FALSE(tracker_.KnowsAll(batch, false));
  auto other = std::make_shared<kv::BatchFate>();
  tracker_.End(tracker_.Begin(other), true);
  EXPECT_TRUE(tracker_.KnowsAll(After(other), false));
  EXPECT_FALSE(tracker_.KnowsAll(After(std::make_shared<kv::BatchFate>()), true));
}

TEST_F(TrackerTest, GuardsFollowTheOperationThatLeavesTheFinalStamp) {
  const Tracker::EntryPtr entry = tracker_.Begin(fate_);
  const auto rolling = std::make_shared<kv::BatchFate>();
  tracker_.End(entry, true, {{{kTablet, "moved"}, rolling}, {{kTablet, "lost"}, nullptr}});
  kv::Batch batch = After(fate_);
  batch.guards = {{.tablet = kTablet, .key = "moved", .left_by = fate_},
                  {.tablet = kTablet, .key = "lost", .left_by = fate_},
                  {.tablet = kTablet, .key = "primary", .left_by = fate_},
                  {.tablet = kTablet, .key = "plain", .stamp = 3}};
  const std::vector<kv::FatePtr> operations = tracker_.Translate(&batch);
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0], rolling);
  EXPECT_EQ(batch.guards[0].left_by, rolling);
  EXPECT_EQ(batch.guards[1].left_by, nullptr);
  EXPECT_EQ(batch.guards[1].expected(), UINT64_MAX);  // no value has it: the guard fails
  EXPECT_EQ(batch.guards[2].left_by, fate_);
  EXPECT_EQ(batch.guards[3].expected(), 3u);
  EXPECT_EQ(batch.after.back(), rolling);
}

TEST_F(TrackerTest, BarrierWaitsForAllThatAreUnderWay) {
  int runs = 0;
  tracker_.AfterAll([&runs] { ++runs; });
  EXPECT_EQ(runs, 1);
  const Tracker::EntryPtr first = tracker_.Begin(fate_), second = tracker_.Begin(nullptr);
  tracker_.AfterAll([&runs] { ++runs; });
  const Tracker::EntryPtr later = tracker_.Begin(nullptr);
  tracker_.End(second, true);
  EXPECT_EQ(runs, 1);
  tracker_.End(first, true);
  EXPECT_EQ(runs, 2);
  tracker_.End(later, true);
}

TEST_F(TrackerTest, EntriesAreForgottenOnceNoBatchCanNameThem) {
  tracker_.End(tracker_.Begin(fate_), true);
  EXPECT_TRUE(tracker_.active());  // a batch may still name it
  fate_ = nullptr;
  tracker_.End(tracker_.Begin(nullptr), true);
  const Tracker::EntryPtr next = tracker_.Begin(nullptr);
  tracker_.End(next, true);
  EXPECT_FALSE(tracker_.active());
}

}  // namespace
}  // namespace stator::kv_tx
