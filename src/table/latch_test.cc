#include "table/latch.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/go_on_later.h"
#include "base/random.h"
#include "table/gate.h"

namespace stator::table {
namespace {

std::shared_ptr<const PendingImage> Image(std::string item) {
  auto image = std::make_shared<PendingImage>();
  image->item = std::move(item);
  image->fate = std::make_shared<kv::BatchFate>();
  return image;
}

TEST(LatchTable, GrantsInTheOrderOfTheQueue) {
  LatchTable latches;
  std::vector<int> order;
  UniqueFunction<void()> unused = [] { FAIL() << "was granted at once"; };
  ASSERT_TRUE(latches.Acquire("k", &unused));
  for (int i = 0; i < 5; ++i) {
    UniqueFunction<void()> granted = [&, i] {
      order.push_back(i);
      latches.Release("k");
    };
    ASSERT_FALSE(latches.Acquire("k", &granted));
  }
  EXPECT_TRUE(latches.Acquire("another", &unused));
  EXPECT_EQ(latches.size(), 2u);
  EXPECT_TRUE(order.empty());
  latches.Release("k");
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  latches.Release("another");
  EXPECT_EQ(latches.size(), 0u);
}

// Each waiter brings the next one, as clients do that write one item together: the thread turns to
// its other work all the same.
TEST(LatchTable, AQueueThatNeverEndsLeavesTheThread) {
  LatchTable latches;
  std::vector<UniqueFunction<void()>> behind;
  const GoOnLater later(&behind, [](void* tasks, UniqueFunction<void()>& task) {
    static_cast<std::vector<UniqueFunction<void()>>*>(tasks)->push_back(std::move(task));
    return true;
  });
  constexpr int kGrants = 1000;
  int ran = 0;
  const std::function<void()> wait = [&] {
    UniqueFunction<void()> granted = [&] {
      if (++ran < kGrants) wait();
      latches.Release("hot");
    };
    ASSERT_FALSE(latches.Acquire("hot", &granted));
  };
  UniqueFunction<void()> unused = [] {};
  ASSERT_TRUE(latches.Acquire("hot", &unused));
  wait();
  latches.Release("hot");
  int turns = 1;
  for (int before = 0; !behind.empty(); ++turns) {
    EXPECT_LE(ran - before, 10);
    before = ran;
    ASSERT_EQ(behind.size(), 1u);
    UniqueFunction<void()> next = std::move(behind.back());
    behind.pop_back();
    next();
  }
  EXPECT_EQ(ran, kGrants);
  EXPECT_GE(turns, kGrants / 10);
  EXPECT_EQ(latches.size(), 0u);
}

// Each waiter lets go inline; 100,000 stack frames deep this would crash.
TEST(LatchTable, ALongQueueOnOneKeyIsNoDeepStack) {
  constexpr int kWaiters = 100'000;
  LatchTable latches;
  int ran = 0;
  int depth = 0;
  int deepest = 0;
  UniqueFunction<void()> unused = [] {};
  ASSERT_TRUE(latches.Acquire("hot", &unused));
  for (int i = 0; i < kWaiters; ++i) {
    UniqueFunction<void()> granted = [&] {
      ++ran;
      deepest = std::max(deepest, ++depth);
      latches.Release("hot");
      --depth;
    };
    ASSERT_FALSE(latches.Acquire("hot", &granted));
  }
  latches.Release("hot");
  EXPECT_EQ(ran, kWaiters);
  EXPECT_EQ(deepest, 1);
  EXPECT_EQ(latches.size(), 0u);
}

// What a granted continuation holds is freed when it has run, not when the whole queue has.
TEST(LatchTable, AContinuationIsFreedWhenItHasRun) {
  LatchTable latches;
  auto witness = std::make_shared<int>(0);
  std::vector<long> uses;
  UniqueFunction<void()> unused = [] {};
  ASSERT_TRUE(latches.Acquire("k", &unused));
  for (int i = 0; i < 10; ++i) {
    UniqueFunction<void()> granted = [&, witness] {
      uses.push_back(witness.use_count());
      latches.Release("k");
    };
    ASSERT_FALSE(latches.Acquire("k", &granted));
  }
  latches.Release("k");
  ASSERT_EQ(uses.size(), 10u);
  for (size_t i = 0; i < uses.size(); ++i) EXPECT_EQ(uses[i], static_cast<long>(11 - i));
}

TEST(LatchTable, PendingImagesLastUntilTheyAreSettled) {
  LatchTable latches;
  UniqueFunction<void()> unused = [] {};
  const auto one = Image("one"), two = Image("two");
  ASSERT_TRUE(latches.Acquire("k", &unused));
  EXPECT_EQ(latches.Pending("k"), nullptr);
  latches.SetPending("k", one);
  latches.Release("k");
  EXPECT_EQ(latches.size(), 1u) << "a pending image keeps the entry";

  ASSERT_TRUE(latches.Acquire("k", &unused));
  EXPECT_EQ(latches.Pending("k"), one);
  latches.SetPending("k", two);
  EXPECT_EQ(latches.Pending("k"), two);
  latches.CommitOrDrop("k", one.get(), true);
  EXPECT_EQ(latches.Pending("k"), two);
  latches.CommitOrDrop("k", two.get(), true);
  EXPECT_EQ(latches.Pending("k"), nullptr);
  EXPECT_EQ(latches.size(), 1u) << "still held";
  latches.Release("k");
  EXPECT_EQ(latches.size(), 0u);
  latches.Release("never acquired");
  latches.CommitOrDrop("never acquired", one.get(), true);
  EXPECT_EQ(latches.size(), 0u);
}

TEST(LatchTable, ARefusalTakesTheLaterImagesAway) {
  LatchTable latches;
  UniqueFunction<void()> unused = [] {};
  const auto one = Image("one"), two = Image("two"), three = Image("three"), four = Image("four");
  ASSERT_TRUE(latches.Acquire("k", &unused));
  for (const auto& image : {one, two, three}) latches.SetPending("k", image);
  latches.CommitOrDrop("k", two.get(), false);
  EXPECT_EQ(latches.Pending("k"), one) << "what was queued before may still become durable";
  latches.SetPending("k", four);
  latches.CommitOrDrop("k", three.get(), false);  // refused because of two: four is not built on it
  EXPECT_EQ(latches.Pending("k"), four);
  latches.CommitOrDrop("k", one.get(), true);
  EXPECT_EQ(latches.Pending("k"), four);
  latches.CommitOrDrop("k", four.get(), true);
  latches.Release("k");
  EXPECT_EQ(latches.size(), 0u);
}

// A plain int under the latch: any two holders at once show as a lost update (and as a race under
// TSan).
TEST(LatchTable, OneHolderAtATimeUnderThreads) {
  constexpr int kThreads = 4, kEach = 5000;
  LatchTable latches;
  int value[3] = {0, 0, 0};
  std::atomic<int> finished{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(static_cast<uint64_t>(t));
      for (int i = 0; i < kEach; ++i) {
        const size_t k = random.Below(3);
        const std::string key = "key" + std::to_string(k);
        const auto work = [&, k, key, i] {
          ++value[k];
          if (i % 3 == 0) {
            const auto image = Image("x");
            latches.SetPending(key, image);
            latches.CommitOrDrop(key, image.get(), i % 2 == 0);
          }
          latches.Release(key);
          ++finished;
        };
        UniqueFunction<void()> granted = work;
        if (latches.Acquire(key, &granted)) work();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished, kThreads * kEach);
  EXPECT_EQ(value[0] + value[1] + value[2], kThreads * kEach);
  EXPECT_EQ(latches.size(), 0u);
}

TEST(Gate, DrainsWhenTheLastHasLeft) {
  Gate gate;
  int turn = 0;
  ASSERT_TRUE(gate.Enter(&turn));
  ASSERT_TRUE(gate.Enter(&turn));
  int drained = 0;
  gate.Close([&] { ++drained; });
  EXPECT_FALSE(gate.Enter(&turn));
  EXPECT_EQ(drained, 0);
  gate.Leave(turn);
  EXPECT_EQ(drained, 0);
  gate.Leave(turn);
  EXPECT_EQ(drained, 1);
  gate.Open();
  ASSERT_TRUE(gate.Enter(&turn));
  gate.Leave(turn);
  EXPECT_EQ(drained, 1);
  gate.Close([&] { ++drained; });
  EXPECT_EQ(drained, 2) << "nobody inside: inline";
}

TEST(Gate, ClosesOnceUnderThreads) {
  for (int round = 0; round < 200; ++round) {
    Gate gate;
    std::atomic<int> inside{0};
    std::atomic<int> drained{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          int turn = 0;
          if (!gate.Enter(&turn)) return;
          ++inside;
          EXPECT_EQ(drained, 0);
          --inside;
          gate.Leave(turn);
        }
      });
    }
    gate.Close([&] {
      EXPECT_EQ(inside, 0);
      ++drained;
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(drained, 1);
  }
}

}  // namespace
}  // namespace stator::table
