#include "fleet/leases.h"

#include <gtest/gtest.h>

#include <map>

namespace stator::fleet {
namespace {

TEST(LeasesTest, LeasesAreSpreadAndFewMove) {
  const std::vector<std::string> three = {"0123456789abcdef", "1123456789abcdef",
                                          "2123456789abcdef"};
  const std::vector<std::string> four = {"0123456789abcdef", "1123456789abcdef", "2123456789abcdef",
                                         "3123456789abcdef"};
  std::map<std::string, int> parts;
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "table/" + std::to_string(i);
    const std::string before = PreferredOwner(name, three);
    const std::string after = PreferredOwner(name, four);
    ++parts[before];
    if (before == after) continue;
    ++moved;
    EXPECT_EQ(after, four.back()) << "only to the new one";
  }
  ASSERT_EQ(parts.size(), 3u);
  for (const auto& [id, part] : parts) EXPECT_NEAR(part, 333, 60) << id;
  EXPECT_NEAR(moved, 250, 60);
  EXPECT_EQ(PreferredOwner("x", {}), "");
}

class LeasesViewTest : public testing::Test {
 protected:
  // b has been silent for too long.
  LeasesViewTest() {
    for (int i = 0; i < 6; ++i)
      members_.Observe({{"a", {static_cast<uint64_t>(i)}, 10}, {"b", {1}, 11}}, i * 1'000'000);
  }
  Members members_;
  Leases leases_{"a", {"x"}};
};

TEST_F(LeasesViewTest, LeaseOfDeadOwnerIsTakenUnderGuardOnItsBeat) {
  EXPECT_FALSE(members_.IsAlive("b"));
  EXPECT_FALSE(members_.IsAlive("c"));
  const std::vector<Leases::LeaseChange> changes =
      leases_.Observe({{"x", {{"b", 4}, 7}}}, members_);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].lease, (Lease{"a", 5}));
  ASSERT_EQ(changes[0].batch.guards.size(), 2u);
  EXPECT_EQ(changes[0].batch.guards[0].key, "lease/x");
  EXPECT_EQ(changes[0].batch.guards[0].stamp, 7u);
  EXPECT_EQ(changes[0].batch.guards[1].key, "process/b");
  EXPECT_EQ(changes[0].batch.guards[1].stamp, 11u);
  EXPECT_FALSE(leases_.Has("x"));
  leases_.Settle(changes[0], Error(ErrorCode::kOutcomeUnknown, ""));
  EXPECT_FALSE(leases_.Has("x"));
  leases_.Settle(changes[0], uint64_t{20});
  EXPECT_TRUE(leases_.Has("x"));
  const kv::Batch back = leases_.Release();
  ASSERT_EQ(back.deletes.size(), 1u);
  EXPECT_EQ(back.guards[0].stamp, 20u);
}

TEST_F(LeasesViewTest, LeaseThatMayHaveBeenGivenAwayIsNotHeld) {
  // Whichever of a and c should hold x, a holds it and c is new.
  std::string other = "c";
  for (char c = 'c'; PreferredOwner("x", {"a", other}) == "a"; ++c) other = std::string(1, c);
  members_.Observe({{"a", {9}, 10}, {other, {1}, 12}}, 7'000'000);
  const std::vector<Leases::LeaseChange> changes =
      leases_.Observe({{"x", {{"a", 4}, 7}}}, members_);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].lease, (Lease{other, 5}));
  EXPECT_FALSE(leases_.Has("x"));
  leases_.Settle(changes[0], Error(ErrorCode::kOutcomeUnknown, ""));
  EXPECT_FALSE(leases_.Has("x"));
}

TEST_F(LeasesViewTest, LivingOwnersKeepTheirLeases) {
  members_.Observe({{"a", {9}, 10}, {"b", {2}, 12}}, 7'000'000);
  EXPECT_TRUE(members_.IsAlive("b"));
  EXPECT_TRUE(leases_.Observe({{"x", {{"b", 4}, 7}}}, members_).empty());
}

}  // namespace
}  // namespace stator::fleet
