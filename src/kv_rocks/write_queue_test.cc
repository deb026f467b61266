#include "kv_rocks/write_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace stator::kv_rocks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kLarge = 390 << 10;

// Batches are told apart by the key of their put, or are empty.
class WriteQueueTest : public testing::Test {
 protected:
  using Fate = std::shared_ptr<kv::BatchFate>;

  Fate Push(const std::string& name, size_t bytes, std::vector<kv::FatePtr> after = {}) {
    QueuedBatch queued;
    queued.batch.puts.push_back({kv::Tablet{}, name, {}});
    queued.batch.after = std::move(after);
    queued.batch.fate = std::make_shared<kv::BatchFate>();
    queued.bytes = bytes;
    Fate fate = queued.batch.fate;
    queue_.Push(std::move(queued));
    return fate;
  }
  void PushBarrier(std::vector<kv::FatePtr> after = {}) {
    QueuedBatch queued;
    queued.batch.after = std::move(after);
    queued.bytes = 64;
    queue_.Push(std::move(queued));
  }
  std::vector<std::string> Take() {
    std::vector<std::string> names;
    for (const QueuedBatch& queued : queue_.TakeGroup())
      names.push_back(queued.batch.puts.empty() ? "barrier" : queued.batch.puts[0].key);
    return names;
  }

  WriteQueue queue_;
};

TEST_F(WriteQueueTest, SmallBatchesAreOneGroupInTheirOrder) {
  for (const char* name : {"a", "b", "c"}) Push(name, 100);
  EXPECT_EQ(queue_.size(), 3u);
  EXPECT_THAT(Take(), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(queue_.empty());
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(WriteQueueTest, SmallBatchPassesLargeOnes) {
  for (int i = 0; i < 100; ++i) Push("large", kLarge);
  Push("small", 100);
  EXPECT_EQ(Take().front(), "small");
}

TEST_F(WriteQueueTest, GroupsAreBoundedAndHaveOneBatchAtLeast) {
  Push("huge", 100 << 20);
  Push("next", kLarge);
  EXPECT_THAT(Take(), ElementsAre("huge"));
  for (int i = 0; i < 100; ++i) Push("large", kLarge);
  EXPECT_EQ(Take().size(), WriteQueue::kMaxGroupBytes / kLarge);
  WriteQueue small;
  for (int i = 0; i < 200; ++i) {
    QueuedBatch queued;
    queued.bytes = WriteQueue::kSmallBytes;
    small.Push(std::move(queued));
  }
  EXPECT_EQ(small.TakeGroup().size(), WriteQueue::kMaxGroupBytes / WriteQueue::kSmallBytes);
}

TEST_F(WriteQueueTest, SmallBatchesOfTheMeantimeGoWithoutLargeOnes) {
  for (int i = 0; i < 100; ++i) Push("large", 2 << 20);
  EXPECT_THAT(Take(), ElementsAre("large", "large"));
  Push("small", 100);
  EXPECT_THAT(Take(), ElementsAre("small"));
  Push("small", 100);
  EXPECT_THAT(Take(), ElementsAre("small", "large")) << "large ones are not starved";
  EXPECT_THAT(Take(), ElementsAre("large", "large")) << "where no small ones wait";
}

TEST_F(WriteQueueTest, FewLargeBatchesJoinTheSmallOnes) {
  for (int round = 0; round < 3; ++round) {
    Push("a", 100);
    Push("large", kLarge);
    Push("b", 100);
    EXPECT_THAT(Take(), ElementsAre("a", "b", "large"));
  }
}

TEST_F(WriteQueueTest, LargeBatchesAreTakenWhileSmallOnesKeepComing) {
  const size_t larges = 20;
  for (size_t i = 0; i < larges; ++i) Push("large", 2 << 20);
  size_t taken = 0;
  for (size_t round = 0; round < 2 * larges; ++round) {
    for (int i = 0; i < 100; ++i)
      Push("small", WriteQueue::kSmallBytes);  // more than a group holds
    for (const std::string& name : Take()) taken += name == "large";
  }
  EXPECT_EQ(taken, larges);
}

TEST_F(WriteQueueTest, NoBatchPassesWhatItNames) {
  Push("large", kLarge);
  const Fate named = Push("named", kLarge);
  const Fate child = Push("child", 100, {named});
  Push("grandchild", 100, {child});
  PushBarrier({named});
  Push("other", 100);
  EXPECT_THAT(Take(), ElementsAre("other", "large", "named", "child", "grandchild", "barrier"));
}

TEST_F(WriteQueueTest, BatchThatIsTakenHoldsUpNoOther) {
  const Fate named = Push("named", 5 << 20);
  for (int i = 0; i < 10; ++i) Push("large", 2 << 20);
  EXPECT_THAT(Take(), ElementsAre("named"));
  Push("child", 100, {named});
  EXPECT_THAT(Take(), ElementsAre("child"));
}

TEST_F(WriteQueueTest, BarrierPassesNothing) {
  Push("a", 100);
  Push("large", kLarge);
  PushBarrier();
  Push("b", 100);
  EXPECT_THAT(Take(), ElementsAre("a", "b", "large", "barrier"));
}

TEST_F(WriteQueueTest, LargeBatchDoesNotPassSmallOnesThatDoNotFit) {
  const size_t fit = WriteQueue::kMaxGroupBytes / WriteQueue::kSmallBytes;
  for (size_t i = 0; i < fit + 1; ++i) Push("small", WriteQueue::kSmallBytes);
  Push("large", kLarge);
  EXPECT_EQ(Take().size(), fit);
  EXPECT_THAT(Take(), ElementsAre("small", "large"));
}

// The rules of the class, for a long random queue.
TEST_F(WriteQueueTest, RandomQueueKeepsTheRules) {
  struct Pushed {
    size_t bytes = 0;
    std::vector<size_t> named;
    bool taken = false;
  };
  const uint64_t seed = SystemSeed();
  SeededRandom random(seed);
  std::vector<Pushed> all;
  std::vector<Fate> fates;
  size_t free_small = 0;  // the oldest small batch that names none and was not taken
  size_t large = 0;       // the oldest large batch that was not taken
  const auto is_small = [](const Pushed& pushed) {
    return pushed.bytes <= WriteQueue::kSmallBytes;
  };
  for (int step = 0; step < 4000 || !queue_.empty(); ++step) {
    for (uint64_t i = step < 4000 ? random.Below(20) : 0; i > 0; --i) {
      Pushed pushed;
      pushed.bytes = random.Below(4) == 0 ? random.Below(3 << 20) : random.Below(32 << 10);
      std::vector<kv::FatePtr> after;
      for (uint64_t k = random.Below(3); k > 0 && !fates.empty(); --k) {
        pushed.named.push_back(fates.size() - 1 - random.Below(std::min<size_t>(fates.size(), 50)));
        after.push_back(fates[pushed.named.back()]);
      }
      fates.push_back(Push(std::to_string(all.size()), pushed.bytes, std::move(after)));
      all.push_back(std::move(pushed));
    }
    if (random.Below(3) != 0) continue;
    size_t bytes = 0, largest = 0;
    for (const std::string& name : Take()) {
      const size_t number = std::stoul(name);
      Pushed& mine = all[number];
      ASSERT_FALSE(mine.taken) << "seed " << seed;
      mine.taken = true;
      bytes += mine.bytes;
      largest = std::max(largest, mine.bytes);
      for (const size_t named : mine.named)
        ASSERT_TRUE(all[named].taken) << number << " passed " << named << ", seed " << seed;
      while (free_small < all.size() && (all[free_small].taken || !is_small(all[free_small]) ||
                                         !all[free_small].named.empty()))
        ++free_small;
      ASSERT_LE(number, free_small) << "passed a small batch, seed " << seed;
      while (large < all.size() && (all[large].taken || is_small(all[large]))) ++large;
      ASSERT_TRUE(is_small(mine) || number < large) << "passed a large batch, seed " << seed;
    }
    ASSERT_LE(bytes, WriteQueue::kMaxGroupBytes + largest) << "seed " << seed;
  }
  for (const Pushed& pushed : all) ASSERT_TRUE(pushed.taken) << "seed " << seed;
}

}  // namespace
}  // namespace stator::kv_rocks
