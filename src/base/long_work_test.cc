#include "base/long_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
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

TEST(LongWorkTest, RefusedTasksStayWithTheCaller) {
  WorkerPool pool(1, 100);
  LongWork work(pool, 1, 1);
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
  door.Open();
  pool.Stop();
  UniqueFunction<void()> late = [] {};
  EXPECT_FALSE(work.TryPost(late));
  EXPECT_TRUE(static_cast<bool>(late));
}

}  // namespace
}  // namespace stator
