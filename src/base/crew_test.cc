#include "base/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace stator {
namespace {

TEST(Crew, TasksThatHangHoldUpNoOther) {
  Crew crew;
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> ended = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(crew.Run([opened, &ended] {
      opened.wait();
      ++ended;
    }));
  }
  std::promise<void> ran;
  EXPECT_TRUE(crew.Run([&ran] { ran.set_value(); }));
  ran.get_future().wait();
  EXPECT_EQ(ended, 0);
  open.set_value();
  crew.Stop();
  EXPECT_EQ(ended, 20);
}

TEST(Crew, DropsTasksAfterStop) {
  Crew crew;
  crew.Stop();
  EXPECT_FALSE(crew.Run([] { ADD_FAILURE(); }));
}

}  // namespace
}  // namespace stator
