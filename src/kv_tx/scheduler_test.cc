#include "kv_tx/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace stator::kv_tx {
namespace {

constexpr int64_t kHourMicros = 3'600'000'000;

TEST(ThreadScheduler, RunsATaskNotBeforeItsDelay) {
  std::promise<void> ran;
  ThreadScheduler scheduler(2);
  const auto start = std::chrono::steady_clock::now();
  scheduler.Post([&ran] { ran.set_value(); }, 20'000);
  ran.get_future().wait();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

TEST(ThreadScheduler, ATaskThatRunsHoldsUpNoOther) {
  std::promise<void> goes_on, ran, delayed;
  ThreadScheduler scheduler(2);
  scheduler.Post([&] { goes_on.get_future().wait(); });
  scheduler.Post([&ran] { ran.set_value(); });
  scheduler.Post([&delayed] { delayed.set_value(); }, 1000);
  ran.get_future().wait();
  delayed.get_future().wait();
  goes_on.set_value();
}

TEST(ThreadScheduler, HurryRunsDelayedTasksAndLaterOnesAtOnce) {
  std::promise<void> before, after;
  ThreadScheduler scheduler(1);
  scheduler.Post([&before] { before.set_value(); }, kHourMicros);
  scheduler.Hurry();
  before.get_future().wait();
  scheduler.Post([&after] { after.set_value(); }, kHourMicros);
  after.get_future().wait();
}

TEST(ThreadScheduler, StopDropsTasksThatHaveNotBegun) {
  std::promise<void> began, goes_on;
  const auto held = std::make_shared<int>(1);
  ThreadScheduler scheduler(1);
  scheduler.Post([&] {
    began.set_value();
    goes_on.get_future().wait();
  });
  began.get_future().wait();
  scheduler.Post([held] { FAIL(); }, kHourMicros);
  EXPECT_EQ(held.use_count(), 2);
  std::thread stop([&scheduler] { scheduler.Stop(); });
  goes_on.set_value();
  stop.join();
  EXPECT_EQ(held.use_count(), 1);
  scheduler.Post([held] { FAIL(); });
  EXPECT_EQ(held.use_count(), 1);
  scheduler.Stop();
}

TEST(ThreadScheduler, AwaitAsksAgainAfterEachWake) {
  ThreadScheduler scheduler(1);
  std::atomic<int> asked = 0;
  std::atomic<bool> ready = false;
  std::thread waiter([&] {
    scheduler.Await([&] {
      ++asked;
      return ready.load();
    });
  });
  while (asked == 0) std::this_thread::yield();
  scheduler.Wake();
  while (asked == 1) std::this_thread::yield();
  ready = true;
  scheduler.Wake();
  waiter.join();
}

}  // namespace
}  // namespace stator::kv_tx
