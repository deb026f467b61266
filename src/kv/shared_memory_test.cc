#include "kv/shared_memory.h"

#include <gtest/gtest.h>

#include "kv/conformance.h"

namespace stator::kv {
namespace {

constexpr Tablet kTablet{Space::kItems, 7};

class SharedStore : public StoreUnderTest {
 public:
  Result<std::unique_ptr<Engine>> Open() override { return memory_.Attach(); }

 private:
  SharedMemory memory_;
};

class SharedMemoryConformance : public testing::TestWithParam<ConformanceCase> {};
TEST_P(SharedMemoryConformance, Holds) {
  const Status status =
      GetParam().run({.make = [] { return std::make_unique<SharedStore>(); }, .seed = 20261122});
  ASSERT_TRUE(status.ok()) << status.error().message();
}
INSTANTIATE_TEST_SUITE_P(All, SharedMemoryConformance, testing::ValuesIn(ConformanceCases()),
                         ConformanceCase::NameOf<testing::TestParamInfo<ConformanceCase>>);

Batch PutOne(std::string key) {
  Batch batch;
  batch.puts.push_back({kTablet, std::move(key), std::string(kStampBytes, '\0') + "v"});
  return batch;
}

TEST(SharedMemory, FenceRefusesBatchesThatDoNotKnowIt) {
  SharedMemory memory;
  const auto a = memory.Attach(), b = memory.Attach();
  ASSERT_TRUE(a->RaiseFence(kTablet, 3).ok());
  ASSERT_TRUE(a->RaiseFence(kTablet, 2).ok());
  Batch old = PutOne("k"), knows = PutOne("k"), nobody = PutOne("k");
  old.fences = {{kTablet, 2}};
  knows.fences = {{kTablet, 3}};
  EXPECT_EQ(ApplyAndWait(*b, std::move(old)).error().code(), ErrorCode::kFenced);
  EXPECT_TRUE(ApplyAndWait(*b, std::move(knows)).ok());
  ASSERT_TRUE(a->RaiseFence(kTablet, kDroppedFence).ok());
  EXPECT_EQ(ApplyAndWait(*b, std::move(nobody)).error().code(), ErrorCode::kFenced);
  std::string value;
  EXPECT_EQ(b->Get(kTablet, "k", Tier::kAny, &value).error().code(), ErrorCode::kFenced);
}

TEST(SharedMemory, BatchOnTwoUnitsIsRefused) {
  SharedMemory memory([](Tablet, std::string_view key) { return std::string(key.substr(0, 1)); });
  const auto engine = memory.Attach();
  Batch two = PutOne("a1");
  two.puts.push_back(PutOne("b1").puts.front());
  EXPECT_EQ(ApplyAndWait(*engine, std::move(two)).error().code(), ErrorCode::kSpansUnits);
  Batch one = PutOne("a1");
  one.puts.push_back(PutOne("a2").puts.front());
  EXPECT_TRUE(ApplyAndWait(*engine, std::move(one)).ok());
  EXPECT_NE(*engine->UnitOf(kTablet, "a1", Tier::kAny), *engine->UnitOf(kTablet, "b1", Tier::kAny));
}

TEST(SharedMemory, GuardedReadMayBeStale) {
  SharedMemory memory;
  const auto a = memory.Attach(), b = memory.Attach();
  ASSERT_TRUE(ApplyAndWait(*b, PutOne("k")).ok());
  std::string first, again;
  EXPECT_EQ(a->Get(kTablet, "k", Tier::kGuarded, &first).error().code(), ErrorCode::kWouldBlock);
  EXPECT_TRUE(*b->Get(kTablet, "k", Tier::kGuarded, &first)) << "what it has written it knows";
  ASSERT_TRUE(*a->Get(kTablet, "k", Tier::kAny, &first));
  ASSERT_TRUE(ApplyAndWait(*b, PutOne("k")).ok());
  ASSERT_TRUE(*a->Get(kTablet, "k", Tier::kGuarded, &again));
  EXPECT_EQ(first, again);
  ASSERT_TRUE(*a->Get(kTablet, "k", Tier::kAny, &again));
  EXPECT_LT(StampOf(first), StampOf(again));
}

TEST(SharedMemory, AnnounceReturnsAfterEveryProcessHeard) {
  SharedMemory memory;
  const auto a = memory.Attach(), b = memory.Attach();
  std::string heard;
  b->bulletin()->Listen([&](std::string_view message, UniqueFunction<void()> acknowledge) {
    heard = message;
    acknowledge();
  });
  ASSERT_TRUE(a->bulletin()->Announce("hello").ok());
  EXPECT_EQ(heard, "hello");
}

}  // namespace
}  // namespace stator::kv
