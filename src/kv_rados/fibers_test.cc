#include "kv_rados/fibers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stator::kv_rados {
namespace {

class FibersTest : public testing::Test {
 protected:
  // Runs whatever may run, the first first, until nothing may.
  void RunAll() {
    while (true) {
      std::vector<size_t> ready;
      fibers_.AppendReady(frozen_, &ready);
      if (ready.empty()) return;
      fibers_.Run(ready.front());
    }
  }

  ManualClock clock_;
  std::vector<bool> frozen_ = std::vector<bool>(3, false);
  Fibers fibers_{clock_};
  FiberHost host_{fibers_, 1};
  std::string log_;
};

TEST_F(FibersTest, WaitersGoOnWhenTheyAreNotified) {
  Mutex mutex;
  Signal signal(&host_);
  bool is_set = false;
  for (const char name : {'a', 'b'}) {
    fibers_.Start(1, [&, name] {
      UniqueMutexLock lock(mutex);
      signal.Wait(lock, [&] { return is_set; });
      log_.push_back(name);
    });
  }
  RunAll();
  EXPECT_EQ(log_, "");
  EXPECT_EQ(fibers_.Alive(1), 2u);
  fibers_.Start(2, [&] {
    const MutexLock lock(mutex);
    is_set = true;
    signal.NotifyOne();
    log_.push_back('n');
  });
  RunAll();
  EXPECT_EQ(log_, "na");
  signal.NotifyAll();
  RunAll();
  EXPECT_EQ(log_, "nab");
  EXPECT_EQ(fibers_.Alive(1) + fibers_.Alive(2), 0u);
}

TEST_F(FibersTest, WaitsEndWhenTheirTimeHasPassed) {
  Mutex mutex;
  Signal signal(&host_);
  fibers_.Start(1, [&] {
    UniqueMutexLock lock(mutex);
    signal.WaitFor(lock, 1000);
    log_.push_back('t');
  });
  RunAll();
  EXPECT_EQ(log_, "");
  EXPECT_EQ(fibers_.NextTime(frozen_), clock_.TicksMicros() + 1000);
  clock_.AdvanceMicros(1000);
  RunAll();
  EXPECT_EQ(log_, "t");
}

TEST_F(FibersTest, FrozenGroupsDoNotRun) {
  fibers_.Start(1, [&] { log_.push_back('1'); });
  fibers_.Start(2, [&] { log_.push_back('2'); });
  frozen_[1] = true;
  RunAll();
  EXPECT_EQ(log_, "2");
  frozen_[1] = false;
  RunAll();
  EXPECT_EQ(log_, "21");
}

TEST_F(FibersTest, ThreadsAndWorkersRunAsFibers) {
  fibers_.Start(1, [&] {
    Workers workers(&host_, 2, 3);
    for (const char name : {'a', 'b', 'c', 'd'}) {
      UniqueFunction<void()> task = [this, name] { log_.push_back(name); };
      if (!workers.TryPost(task)) log_.push_back('-');
    }
    Thread thread(&host_, [this] { log_.push_back('t'); });
    thread.Join();
    workers.Stop();
    log_.push_back('.');
  });
  RunAll();
  EXPECT_THAT(log_, testing::UnorderedElementsAre('-', 'a', 'b', 'c', 't', '.'));
  EXPECT_EQ(log_.back(), '.');
}

TEST_F(FibersTest, EachHasItsOwnThreadState) {
  fibers_.Start(1, [&] {
    const Cluster::Since since(7);
    fibers_.Wait(&log_, 1000);
    EXPECT_EQ(Cluster::ThisThread().since, 7);
  });
  fibers_.Start(2, [&] { EXPECT_FALSE(Cluster::ThisThread().since.has_value()); });
  RunAll();
  clock_.AdvanceMicros(1000);
  RunAll();
  EXPECT_FALSE(Cluster::ThisThread().since.has_value());
}

}  // namespace
}  // namespace stator::kv_rados
