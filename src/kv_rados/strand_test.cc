#include "kv_rados/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace stator::kv_rados {
namespace {

struct Recorded {
  std::vector<int> order;
  int after = 0;
  int handed_over = 0;
  UniqueFunction<void()> in_after;
  Strand strand{[this] {
                  ++after;
                  if (in_after) std::exchange(in_after, nullptr)();
                },
                [this] { ++handed_over; }};
};

TEST(Strand, RunsATaskBeforeItReturnsAndAfterBehindIt) {
  Recorded r;
  r.strand.Run([&r] {
    EXPECT_EQ(r.after, 0);
    EXPECT_FALSE(r.strand.idle());
    r.order.push_back(1);
  });
  EXPECT_EQ(r.order, std::vector<int>{1});
  EXPECT_EQ(r.after, 1);
  EXPECT_TRUE(r.strand.idle());
  EXPECT_EQ(r.handed_over, 0);
}

TEST(Strand, RunsWhatATaskBringsBehindItAndNotWithinIt) {
  Recorded r;
  r.strand.Run([&r] {
    r.strand.Run([&r] { r.order.push_back(2); });
    r.strand.RunAfter();
    r.order.push_back(1);
  });
  EXPECT_EQ(r.order, (std::vector{1, 2}));
  EXPECT_EQ(r.after, 2);
  EXPECT_TRUE(r.strand.idle());
}

TEST(Strand, ATouchRunsOnlyAfterAndLeavesTheRestToAnotherThread) {
  Recorded r;
  r.in_after = [&r] { r.strand.Run([&r] { r.order.push_back(1); }); };
  r.strand.RunAfter();
  EXPECT_EQ(r.after, 1);
  EXPECT_TRUE(r.order.empty());
  EXPECT_EQ(r.handed_over, 1);
  EXPECT_FALSE(r.strand.idle());
  r.strand.RunAfter();  // nor does the next one run what was handed over
  EXPECT_TRUE(r.order.empty());
  EXPECT_EQ(r.after, 1);
  r.strand.Go();
  EXPECT_EQ(r.order, std::vector<int>{1});
  EXPECT_EQ(r.after, 2);
  EXPECT_TRUE(r.strand.idle());
}

TEST(Strand, RunsOneTaskAtATimeAndLosesNone) {
  constexpr int kThreads = 4, kTasks = 20'000;
  int sum = 0, within = 0, most = 0;  // only tasks touch them
  std::atomic<int> handed_over = 0;
  Strand strand([] {}, [&handed_over] { ++handed_over; });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        strand.Run([&] {
          most = std::max(most, ++within);
          ++sum;
          --within;
        });
        if (i % 7 == t) strand.RunAfter();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  strand.Go();
  EXPECT_TRUE(strand.idle());
  EXPECT_EQ(sum, kThreads * kTasks);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace stator::kv_rados
