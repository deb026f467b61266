#include "server/request_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/go_on_later.h"
#include "base/log.h"

namespace stator::server {
namespace {

using Steps = RequestThreads::Steps;

// Begins a request that lives until its reference goes.
std::shared_ptr<Steps> BeginOne(RequestThreads& threads, size_t bytes) {
  auto begun = std::make_shared<std::promise<std::shared_ptr<Steps>>>();
  RequestThreads::Begin begin = [begun](const std::shared_ptr<Steps>& steps) {
    EXPECT_TRUE(steps->IsCurrent());
    begun->set_value(steps);
  };
  EXPECT_TRUE(threads.TryBegin(bytes, begin));
  return begun->get_future().get();
}

void RunIn(Steps& steps, UniqueFunction<void()> step) {
  auto done = std::make_shared<std::promise<void>>();
  steps.Post([done, step = std::move(step)]() mutable {
    step();
    done->set_value();
  });
  done->get_future().wait();
}

TEST(RequestThreads, ARequestThatWaitsHasNoThread) {
  RequestThreads threads({.threads = 1});
  std::vector<std::shared_ptr<Steps>> waiting;
  for (int i = 0; i < 10; ++i) waiting.push_back(BeginOne(threads, 1));
  EXPECT_EQ(threads.begun(), 10u);
  EXPECT_FALSE(waiting[3]->IsCurrent());
  int ran = 0;
  for (const auto& steps : waiting) {
    RunIn(*steps, [&] {
      EXPECT_TRUE(steps->IsCurrent());
      ++ran;
    });
  }
  EXPECT_EQ(ran, 10);
  waiting.clear();
  threads.Stop();
  EXPECT_EQ(threads.begun(), 0u);
}

TEST(RequestThreads, StepsOfOneRequestComeOneAfterTheOther) {
  RequestThreads threads({.threads = 4});
  std::shared_ptr<Steps> steps = BeginOne(threads, 1);
  std::atomic<int> inside = 0;
  std::vector<int> order;
  std::promise<void> last;
  constexpr int kSteps = 1000;
  for (int i = 0; i < kSteps; ++i) {
    steps->Post([&, i] {
      EXPECT_EQ(inside.fetch_add(1), 0);
      order.push_back(i);
      inside.fetch_sub(1);
      if (i == kSteps - 1) last.set_value();
    });
  }
  last.get_future().wait();
  ASSERT_EQ(order.size(), static_cast<size_t>(kSteps));
  for (int i = 0; i < kSteps; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(RequestThreads, BodiesBeyondTheBoundWaitForOthersToEnd) {
  RequestThreads threads({.threads = 2, .most_waiting = 2, .most_begun_bytes = 100});
  std::shared_ptr<Steps> large = BeginOne(threads, 1000);  // alone
  std::promise<std::shared_ptr<Steps>> begun[2];
  RequestThreads::Begin begins[3];
  for (int i = 0; i < 2; ++i) {
    begins[i] = [&begun, i](const std::shared_ptr<Steps>& steps) { begun[i].set_value(steps); };
    ASSERT_TRUE(threads.TryBegin(50, begins[i]));
  }
  begins[2] = [](const std::shared_ptr<Steps>&) { ADD_FAILURE(); };
  EXPECT_FALSE(threads.TryBegin(1, begins[2]));
  EXPECT_TRUE(static_cast<bool>(begins[2]));
  EXPECT_EQ(threads.begun(), 1u);
  // The threads are there for the one that has begun.
  RunIn(*large, [] {});
  EXPECT_EQ(threads.begun(), 1u);
  large.reset();
  std::shared_ptr<Steps> others[] = {begun[0].get_future().get(), begun[1].get_future().get()};
  EXPECT_EQ(threads.begun(), 2u);
}

TEST(RequestThreads, AStepWithoutMemoryIsDropped) {
  SetLogLevel(LogLevel::kOff);
  RequestThreads threads({.threads = 1});
  std::shared_ptr<Steps> steps = BeginOne(threads, 1);
  auto witness = std::make_shared<int>(0);
  steps->Post([witness] { throw std::bad_alloc(); });
  RunIn(*steps, [] {});
  EXPECT_EQ(witness.use_count(), 1);
  SetLogLevel(LogLevel::kInfo);
}

TEST(RequestThreads, WorkThatGoesOnLeavesItsThreadWhereNoStepWaits) {
  for (const bool waits : {false, true}) {
    RequestThreads threads({.threads = 1, .steps_wait = waits});
    std::shared_ptr<Steps> steps = BeginOne(threads, 1);
    auto gone_on = std::make_shared<std::promise<void>>();
    bool posted = false;
    RunIn(*steps, [&posted, gone_on] {
      UniqueFunction<void()> rest = [gone_on] { gone_on->set_value(); };
      posted = GoOnLater::TryPost(rest);
    });
    EXPECT_EQ(posted, !waits);
    if (posted) gone_on->get_future().wait();
  }
}

}  // namespace
}  // namespace stator::server
