#include "base/long_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace stator {
namespace {

// Opens once.
class Door {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    wake_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool open_ = false;
};

TEST(LongWorkTest, FewRunAtOnceAndReadsGetAThread) {
  WorkerPool pool(3, 100);
  LongWork work(pool, 2);
  Door door;
  std::atomic<int> running{0}, most{0}, done{0};
  for (int i = 0; i < 10; ++i) {
    UniqueFunction<void()> task = [&] {
      most = std::max(most.load(), ++running);
      door.Pass();
      --running;
      ++done;
    };
    ASSERT_TRUE(work.TryPost(task));
  }
  Door read;
  UniqueFunction<void()> reader = [&read] { read.Open(); };
  ASSERT_TRUE(pool.TryPost(reader));
  read.Pass();  // though ten tasks wait
  door.Open();
  pool.Stop();
  EXPECT_EQ(done, 10);
  EXPECT_LE(most, 2);
}

TEST(LongWorkTest, TasksKeepTheirOrder) {
  WorkerPool pool(2, 100);
  LongWork work(pool, 1);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    UniqueFunction<void()> task = [&order, i] { order.push_back(i); };
    ASSERT_TRUE(work.TryPost(task));
  }
  pool.Stop();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

// One thread of three is kept for short tasks, and the lengths take turns on the others.
TEST(LongWorkTest, ShortTasksDoNotWaitForLongOnes) {
  using Length = LongWork::Length;
  WorkerPool pool(4, 100);
  LongWork work(pool, 3);
  Door door;
  std::atomic<int> long_running{0}, most_long{0};
  for (int i = 0; i < 20; ++i) {
    UniqueFunction<void()> task = [&] {
      most_long = std::max(most_long.load(), ++long_running);
      door.Pass();
      --long_running;
    };
    ASSERT_TRUE(work.TryPost(task, i % 2 == 0 ? Length::kLong : Length::kMiddle));
  }
  Door passed;
  std::atomic<int> left{5};
  for (int i = 0; i < 5; ++i) {
    UniqueFunction<void()> task = [&] {
      if (--left == 0) passed.Open();
    };
    ASSERT_TRUE(work.TryPost(task, Length::kShort));
  }
  passed.Pass();  // though twenty longer tasks came before
  door.Open();
  pool.Stop();
  EXPECT_EQ(long_running, 0);
  EXPECT_LE(most_long, 2);
}

TEST(LongWorkTest, LengthsTakeTurns) {
  using Length = LongWork::Length;
  WorkerPool pool(2, 100);
  LongWork work(pool, 1);
  Door begun, door;
  UniqueFunction<void()> first = [&] {
    begun.Open();
    door.Pass();
  };
  ASSERT_TRUE(work.TryPost(first));
  begun.Pass();
  std::string order;
  for (int i = 0; i < 3; ++i) {
    for (const Length length : {Length::kLong, Length::kShort, Length::kMiddle}) {
      UniqueFunction<void()> task = [&order, length] {
        order.push_back("SML"[static_cast<size_t>(length)]);
      };
      ASSERT_TRUE(work.TryPost(task, length));
    }
  }
  door.Open();
  pool.Stop();
  EXPECT_EQ(order, "MLSMLSMLS");
}

TEST(LongWorkTest, RefusedTasksStayWithTheCaller) {
  WorkerPool pool(1, 100);
  LongWork work(pool, 1, {1, 1, 1});
  Door door;
  UniqueFunction<void()> first = [&door] { door.Pass(); };
  ASSERT_TRUE(work.TryPost(first));
  int ran = 0;
  bool refused = false;
  for (int i = 0; i < 3 && !refused; ++i) {
    UniqueFunction<void()> task = [&ran] { ++ran; };
    refused = !work.TryPost(task);
    EXPECT_EQ(static_cast<bool>(task), refused);
  }
  EXPECT_TRUE(refused);
  // Those of other lengths have bounds of their own, and an end has none.
  for (const LongWork::Length length : {LongWork::Length::kMiddle, LongWork::Length::kLong}) {
    UniqueFunction<void()> task = [&ran] { ++ran; };
    EXPECT_TRUE(work.TryPost(task, length));
    task = [&ran] { ++ran; };
    EXPECT_FALSE(work.TryPost(task, length));
  }
  int ends = 0;
  for (int i = 0; i < 10; ++i) {
    UniqueFunction<void()> end = [&ends] { ++ends; };
    EXPECT_TRUE(work.TryPostEnd(end));
  }
  door.Open();
  pool.Stop();
  UniqueFunction<void()> late = [] {};
  EXPECT_FALSE(work.TryPost(late));
  EXPECT_TRUE(static_cast<bool>(late));
}

}  // namespace
}  // namespace stator
