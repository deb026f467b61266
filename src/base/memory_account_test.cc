#include "base/memory_account.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"

namespace stator {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kSmall = MemoryAccount::kSmallBytes;

ClientAddress Address(uint8_t last) {
  ClientAddress address{};
  address.back() = last;
  return address;
}

TEST(MemoryAccount, OneHolderMayTakeWhatNoOtherAsksFor) {
  MemoryAccount account(80 * kMiB);
  MemoryHolder one(account, Address(1));
  EXPECT_TRUE(one.TryAdd(70 * kMiB));
  EXPECT_FALSE(one.TryAdd(kMiB)) << "the lane is not for large holders";
  EXPECT_EQ(account.held(), 70 * kMiB);
  EXPECT_EQ(account.refusals(), 1);
  one.Sub(60 * kMiB);
  EXPECT_TRUE(one.TryAdd(60 * kMiB));
}

TEST(MemoryAccount, TheLaneIsForSmallHolders) {
  MemoryAccount account(80 * kMiB);
  MemoryHolder large(account, Address(1));
  ASSERT_TRUE(large.TryAdd(70 * kMiB));
  std::vector<std::unique_ptr<MemoryHolder>> small;
  while (account.held() + kSmall <= account.limit()) {
    small.push_back(std::make_unique<MemoryHolder>(account, Address(1)));
    ASSERT_TRUE(small.back()->TryAdd(kSmall)) << small.size();
    ASSERT_FALSE(small.back()->TryAdd(1)) << "it is large now";
  }
  EXPECT_EQ(small.size(), static_cast<size_t>(10 * kMiB / kSmall));
  EXPECT_TRUE(account.full());
  MemoryHolder late(account, Address(2));
  EXPECT_FALSE(late.TryAdd(1));
}

TEST(MemoryAccount, SharesOfHoldersCountUnderPressure) {
  MemoryAccount account(80 * kMiB);
  MemoryHolder greedy(account, Address(1)), modest(account, Address(1));
  ASSERT_TRUE(greedy.TryAdd(38 * kMiB));
  ASSERT_TRUE(modest.TryAdd(kMiB));
  ASSERT_FALSE(account.pressed());
  // Now half of what is not the lane is the share of each.
  EXPECT_FALSE(greedy.TryAdd(2 * kMiB));
  EXPECT_TRUE(modest.TryAdd(30 * kMiB));
  EXPECT_FALSE(modest.TryAdd(5 * kMiB));
}

TEST(MemoryAccount, SharesOfAddressesCountUnderPressure) {
  MemoryAccount account(80 * kMiB);
  std::vector<std::unique_ptr<MemoryHolder>> many;
  for (int i = 0; i < 6; ++i) {
    many.push_back(std::make_unique<MemoryHolder>(account, Address(1)));
    ASSERT_TRUE(many.back()->TryAdd(6 * kMiB));
  }
  MemoryHolder other(account, Address(2));
  ASSERT_TRUE(other.TryAdd(4 * kMiB));
  ASSERT_FALSE(account.pressed());
  // Each holder's share is 10 MB, but the first address has its half of 70 MB.
  EXPECT_FALSE(many[0]->TryAdd(2 * kMiB));
  EXPECT_TRUE(other.TryAdd(2 * kMiB));
  // The address can have again the bytes that it gives back.
  many.pop_back();
  EXPECT_TRUE(many[0]->TryAdd(2 * kMiB));
}

TEST(MemoryAccount, TheOldestBodyIsFinished) {
  MemoryAccount account(8 * kMiB);
  MemoryHolder first(account, Address(1)), second(account, Address(1)), reply(account, Address(2));
  first.BeginBody();
  ASSERT_TRUE(first.TryAdd(kMiB, true));
  second.BeginBody();
  ASSERT_TRUE(second.TryAdd(kMiB, true));
  reply.Add(8 * kMiB);
  EXPECT_FALSE(second.TryAdd(kMiB, true));
  EXPECT_TRUE(first.TryAdd(kMiB, true));
  EXPECT_FALSE(first.TryAdd(kMiB)) << "only the body is exempt";
  first.EndBody();
  EXPECT_FALSE(first.TryAdd(kMiB, true));
  EXPECT_TRUE(second.TryAdd(kMiB, true));
}

TEST(MemoryAccount, TheOldestBodyLeavesTheLaneToSmallHolders) {
  MemoryAccount account(8 * kMiB);
  MemoryHolder oldest(account, Address(1));
  oldest.BeginBody();
  ASSERT_TRUE(oldest.TryAdd(12 * kMiB, true));
  std::vector<std::unique_ptr<MemoryHolder>> small;
  for (int i = 0; i < kMiB / kSmall; ++i) {
    small.push_back(std::make_unique<MemoryHolder>(account, Address(2)));
    EXPECT_FALSE(small.back()->account_full(0));
    ASSERT_TRUE(small.back()->TryAdd(kSmall)) << i;
  }
  MemoryHolder late(account, Address(2));
  EXPECT_FALSE(late.TryAdd(kSmall)) << "the lane is full";
  EXPECT_TRUE(oldest.account_full(0));
}

TEST(MemoryAccount, ALeaseGivesBackWhatItTook) {
  MemoryAccount account(8 * kMiB);
  MemoryHolder holder(account, Address(1));
  holder.Add(100);
  {
    MemoryLease lease(holder);
    EXPECT_TRUE(lease.TryGrow(kMiB));
    EXPECT_FALSE(lease.TryGrow(7 * kMiB));
    lease.Shrink(1000);
    EXPECT_EQ(account.held(), kMiB - 1000 + 100);
    lease.Release();
    EXPECT_EQ(account.held(), 100);
    EXPECT_TRUE(lease.TryGrow(kMiB));
  }
  EXPECT_EQ(holder.bytes(), 100);
}

// Loop and worker change one holder at the same time; in the end nothing is held, and a fresh
// holder has the whole account to itself, so no share was left behind.
TEST(MemoryAccount, ThreadsOfOneHolderLeaveNothingBehind) {
  MemoryAccount account(80 * kMiB);
  {
    MemoryHolder holder(account, Address(1));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        SeededRandom random(static_cast<uint64_t>(t) + 1);
        for (int i = 0; i < 20'000; ++i) {
          const int64_t bytes = static_cast<int64_t>(random.Below(60'000));
          holder.Add(bytes);
          const bool more = holder.TryAdd(30'000);
          holder.Sub(bytes);
          if (more) holder.Sub(30'000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(holder.bytes(), 0);
  }
  EXPECT_EQ(account.held(), 0);
  MemoryHolder fresh(account, Address(2));
  EXPECT_TRUE(fresh.TryAdd(70 * kMiB));
}

}  // namespace
}  // namespace stator
