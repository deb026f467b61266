#include "server/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace stator::server {
namespace {

TEST(Descriptors, ALargeLimitGivesAllConnectionsThatAreWanted) {
  const DescriptorPlan plan = DivideDescriptors(1 << 20, 0, 20'000);
  EXPECT_EQ(plan.connections, 20'000);
  EXPECT_EQ(plan.engine, 8192);
}

TEST(Descriptors, ASmallLimitKeepsAPartForTheEngine) {
  for (const int64_t limit : {256, 512, 1024, 4096, 20'000}) {
    const DescriptorPlan plan = DivideDescriptors(limit, 0, 20'000);
    EXPECT_GE(plan.engine, 96) << limit;
    EXPECT_GE(plan.connections, 1) << limit;
    EXPECT_LE(plan.connections + plan.engine, limit - 64) << limit;
  }
}

TEST(Descriptors, AStoreOfManyFilesGetsTwiceAsMany) {
  EXPECT_EQ(DivideDescriptors(65'536, 10'000, 20'000).engine, 20'000);
  EXPECT_EQ(DivideDescriptors(4096, 900, 20'000).engine, 1800);
  EXPECT_LT(DivideDescriptors(4096, 900, 20'000).connections, 4096 - 1800);
}

TEST(Descriptors, ATinyLimitStillServesOneConnection) {
  EXPECT_EQ(DivideDescriptors(64, 0, 20'000).connections, 1);
  EXPECT_EQ(DivideDescriptors(1 << 20, 0, 0).connections, 1);
}

TEST(Descriptors, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  if (usual.rlim_max < 300) GTEST_SKIP() << "the hard limit is " << usual.rlim_max;
  rlimit low = usual;
  low.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const int64_t raised = RaiseDescriptorLimit();
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(now.rlim_cur, usual.rlim_max);
  EXPECT_EQ(static_cast<rlim_t>(raised), std::min<rlim_t>(usual.rlim_max, INT32_MAX));
}

}  // namespace
}  // namespace stator::server
