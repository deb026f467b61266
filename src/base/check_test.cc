// Assertions that stay in the release.
#include "base/check.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(CheckDeathTest, ABrokenInvariantEndsTheProcessWithASentence) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  int evaluated = 0;
  CHECK(++evaluated == 1, "one is not one");
  EXPECT_EQ(evaluated, 1);
  EXPECT_DEATH(CHECK(evaluated == 2, "one is not two"),
               "stator: one is not two \\(evaluated == 2, .*check_test.cc:[0-9]+\\)\n.*"
               "a restart finds every acknowledged write");
}

}  // namespace
}  // namespace stator
