#include "table/delayed_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace stator::table {
namespace {

constexpr std::chrono::hours kHour(1);

TEST(DelayedTasks, RunsOnAWorkerAfterTheDelay) {
  std::promise<std::thread::id> thread, worker;
  WorkerPool workers(1, 8);
  DelayedTasks tasks(workers);
  UniqueFunction<void()> tell = [&worker] { worker.set_value(std::this_thread::get_id()); };
  ASSERT_TRUE(workers.TryPost(tell));
  const auto start = std::chrono::steady_clock::now();
  tasks.Post([&thread] { thread.set_value(std::this_thread::get_id()); },
             std::chrono::milliseconds(20));
  EXPECT_EQ(thread.get_future().get(), worker.get_future().get());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

TEST(DelayedTasks, TaskWaitsWhileThePoolIsFull) {
  std::promise<void> began, goes_on, ran;
  WorkerPool workers(1, 1);
  DelayedTasks tasks(workers);
  tasks.Post([&] {
    began.set_value();
    goes_on.get_future().wait();
  });
  began.get_future().wait();
  std::atomic<int> count = 0;
  for (int i = 0; i < 3; ++i) {
    tasks.Post([&] {
      if (++count == 3) ran.set_value();
    });
  }
  EXPECT_EQ(count, 0);
  goes_on.set_value();
  ran.get_future().wait();
}

TEST(DelayedTasks, StopRunsWhatWaits) {
  WorkerPool workers(1, 8);
  DelayedTasks tasks(workers);
  std::thread::id thread;
  tasks.Post([&thread] { thread = std::this_thread::get_id(); }, kHour);
  EXPECT_FALSE(tasks.stopped());
  tasks.Stop();
  EXPECT_TRUE(tasks.stopped());
  EXPECT_EQ(thread, std::this_thread::get_id());
  bool ran = false;
  tasks.Post([&ran] { ran = true; }, kHour);
  EXPECT_TRUE(ran);
}

TEST(DelayedTasks, StopWaitsForTasksOnWorkers) {
  std::promise<void> began, goes_on;
  WorkerPool workers(1, 8);
  DelayedTasks tasks(workers);
  std::atomic<bool> ended = false;
  tasks.Post([&] {
    began.set_value();
    goes_on.get_future().wait();
    ended = true;
  });
  began.get_future().wait();
  std::thread stop([&] {
    tasks.Stop();
    EXPECT_TRUE(ended);
  });
  goes_on.set_value();
  stop.join();
}

// A task that Stop runs may post another.
TEST(DelayedTasks, NoTaskIsLostAroundStop) {
  WorkerPool workers(2, 2);
  std::atomic<int> ran = 0, posted = 0;
  {
    DelayedTasks tasks(workers);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < 200; ++n) {
          posted += 2;
          tasks.Post(
              [&] {
                ++ran;
                tasks.Post([&ran] { ++ran; }, std::chrono::microseconds(50));
              },
              std::chrono::microseconds((n + i) % 3 * 100));
        }
      });
    }
    tasks.Stop();
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(ran, posted);
}

}  // namespace
}  // namespace stator::table
