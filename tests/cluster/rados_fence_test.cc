// Fences: a batch under an older fence is refused, by every process, from the moment at which the
// fence was raised.
#include <gmock/gmock.h>

#include "cluster_under_test.h"
#include "increments.h"

namespace stator {
namespace {

using kv_rados::RadosOptions;
using testing::HasSubstr;

kv::Batch Fenced(kv::Batch batch, uint64_t most) {
  batch.fences.push_back({kTablet, most});
  return batch;
}

TEST(RadosFence, RefusesBatchesUnderOlderFence) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  for (kv::Engine* each : {first.get(), second.get()}) {
    ASSERT_TRUE(kv::ApplyAndWait(*each, Fenced(AddOne("n"), 0)).ok()) << "both know the header now";
  }
  ASSERT_TRUE(first->RaiseFence(kTablet, 5).ok());
  for (kv::Engine* each : {second.get(), first.get()}) {
    const Result<uint64_t> old = kv::ApplyAndWait(*each, Fenced(AddOne("n"), 4));
    ASSERT_FALSE(old.ok());
    EXPECT_EQ(old.error().code(), ErrorCode::kFenced);
    EXPECT_EQ(old.error().message(), "The fence of the tablet items.00000007 is 5.");
    EXPECT_TRUE(kv::ApplyAndWait(*each, Fenced(AddOne("n"), 5)).ok());
    EXPECT_TRUE(kv::ApplyAndWait(*each, Fenced(AddOne("n"), 6)).ok());
    EXPECT_TRUE(kv::ApplyAndWait(*each, AddOne("n")).ok()) << "who asks for nothing is not refused";
    EXPECT_TRUE(each->Health().ok());
  }
  ASSERT_TRUE(second->RaiseFence(kTablet, 3).ok()) << "it does not fall";
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*first, Fenced(AddOne("n"), 4))), ErrorCode::kFenced);
  EXPECT_EQ(CountOf(*second, "n"), 8);
  const auto third = Open(options);
  ASSERT_TRUE(third);
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*third, Fenced(AddOne("n"), 4))), ErrorCode::kFenced);
  EXPECT_EQ(CountOf(*third, "n"), 8);

  kv::Batch foreign = AddOne("n");
  foreign.fences.push_back({{kv::Space::kItems, 8}, 9});
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*first, std::move(foreign))), ErrorCode::kSpansUnits)
      << "not in the same object";
}

// A group mixes batches under the new fence and under the old one; the refused batches do not take
// the others with them.
TEST(RadosFence, EachBatchOfAGroupIsCheckedByItself) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other && kv::ApplyAndWait(*engine, AddOne("n")).ok());
  ASSERT_TRUE(other->RaiseFence(kTablet, 2).ok());
  std::atomic<int> taken = 0, refused = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    engine->Apply(Fenced(AddOne("n"), 1 + i % 2),
                  [&](Result<uint64_t> outcome) { outcome.ok() ? ++taken : ++refused; });
  }
  ASSERT_TRUE(kv::ApplyAndWait(*engine, {}).ok());
  EXPECT_EQ(taken, 20);
  EXPECT_EQ(refused, 20);
  EXPECT_EQ(CountOf(*other, "n"), 21);
}

TEST(RadosFence, UnwrittenTabletHasAFenceToo) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second && first->RaiseFence(kTablet, 1).ok());
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*second, Fenced(AddOne("n"), 0))), ErrorCode::kFenced);
  EXPECT_EQ(CountOf(*second, "n"), -1);
  EXPECT_TRUE(kv::ApplyAndWait(*second, Fenced(AddOne("n"), 1)).ok());
}

// A batch acknowledged under the old fence was applied before the fence rose, even if both race.
TEST(RadosFence, NoBatchPassesAfterFenceIsRaised) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second && kv::ApplyAndWait(*first, AddOne("n", 0)).ok());
  for (uint64_t fence = 1; fence <= 20; ++fence) {
    std::atomic<int64_t> acknowledged = CountOf(*first, "n");
    std::thread writer([&] {
      while (true) {
        const Result<uint64_t> outcome = kv::ApplyAndWait(*second, Fenced(AddOne("n"), fence - 1));
        if (!outcome.ok()) {
          EXPECT_EQ(outcome.error().code(), ErrorCode::kFenced) << outcome.error().message();
          return;
        }
        ++acknowledged;
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(first->RaiseFence(kTablet, fence).ok());
    const int64_t then = CountOf(*first, "n");
    writer.join();
    EXPECT_EQ(CountOf(*first, "n"), then) << "nothing came after it";
    EXPECT_EQ(acknowledged, then) << "and what was applied was acknowledged";
  }
}

TEST(RadosFence, DroppedTabletIsNeitherReadNorWritten) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  for (int i = 0; i < 3; ++i) {
    kv::Batch batch = AddOne("count");
    for (int k = 0; k < 900; ++k)
      batch.puts.push_back(PutOne("key" + std::to_string(i * 1000 + k), "value").puts[0]);
    ASSERT_TRUE(kv::ApplyAndWait(i == 1 ? *second : *first, std::move(batch)).ok());
  }
  ASSERT_TRUE(first->RaiseFence(kTablet, kv::kDroppedFence).ok());
  const auto third = Open(options);
  ASSERT_TRUE(third);
  for (kv::Engine* each : {first.get(), second.get(), third.get()}) {
    std::string value;
    EXPECT_EQ(each->Get(kTablet, "key1", kv::Tier::kAny, &value).error().code(),
              ErrorCode::kFenced);
    for (const bool reverse : {false, true}) {
      const Status scanned =
          each->Scan({kTablet, {}, {}, reverse}, kv::Tier::kAny, [](auto, auto) { return true; });
      ASSERT_FALSE(scanned.ok());
      EXPECT_EQ(scanned.error().code(), ErrorCode::kFenced);
      EXPECT_EQ(scanned.error().message(), "The tablet items.00000007 was dropped.");
    }
    EXPECT_EQ(CodeOf(kv::ApplyAndWait(*each, AddOne("count"))), ErrorCode::kFenced);
    EXPECT_EQ(CodeOf(kv::ApplyAndWait(*each, Fenced(AddOne("count"), kv::kDroppedFence - 1))),
              ErrorCode::kFenced);
    EXPECT_TRUE(each->Health().ok()) << "other tablets go on";
    EXPECT_EQ(each->ApproximateBytes(kTablet), 0);
    EXPECT_TRUE(each->RaiseFence(kTablet, kv::kDroppedFence).ok()) << "again";
    EXPECT_TRUE(each->RaiseFence(kTablet, 7).ok()) << "lower";
  }
  const std::string cells =
      ClusterUnderTest::Command(RadosCommand(options) + "listomapkeys " + kObject);
  EXPECT_EQ(std::count(cells.begin(), cells.end(), '\n'), 2)
      << "the ledger cells of two processes: " << cells;
}

}  // namespace
}  // namespace stator
