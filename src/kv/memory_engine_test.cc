#include "kv/memory_engine.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kv/conformance.h"
#include "kv/pin_conformance.h"

namespace stator::kv {
namespace {

class MemoryStore final : public StoreUnderTest {
 public:
  Result<std::unique_ptr<Engine>> Open() override {
    return std::unique_ptr<Engine>(std::make_unique<MemoryEngine>());
  }
};

class MemoryConformance : public testing::TestWithParam<ConformanceCase> {};

TEST_P(MemoryConformance, Holds) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{20260101}, SystemSeed()}) {
    const Status status =
        GetParam().run({.make = [] { return std::make_unique<MemoryStore>(); }, .seed = seed});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, MemoryConformance, testing::ValuesIn(ConformanceCases()),
                         ConformanceCase::NameOf<testing::TestParamInfo<ConformanceCase>>);

TEST(MemoryEngine, PinnedRangesAreOfOneMoment) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, SystemSeed()}) {
    MemoryEngine engine;
    const Status status = CheckPins(engine, seed, 2000);
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
}

TEST(MemoryEngine, PinnedRangeIsGivenUpWhenTooMuchIsOverwritten) {
  MemoryEngine engine;
  const auto put = [&engine](const std::string& key, char byte) {
    Batch batch;
    batch.puts.push_back({{}, key, std::string(8 << 20, byte)});
    EXPECT_TRUE(ApplyAndWait(engine, std::move(batch)).ok());
  };
  const size_t keys = MemoryEngine::kMaxKeptBytes / (8 << 20) + 1;
  for (size_t i = 0; i < keys; ++i) put("k" + std::to_string(i), 'a');
  const auto pinned = std::move(engine.Pin({})).value();
  for (size_t i = 0; i < keys; ++i) put("k" + std::to_string(i), 'b');
  const auto next = pinned->Next([](std::string_view, std::string_view) { return OkStatus(); });
  EXPECT_EQ(next.error().code(), ErrorCode::kUnavailable);
}

TEST(MemoryEngine, PinnedRangesShareWhatIsOverwritten) {
  MemoryEngine engine;
  const auto put = [&engine](const std::string& key, char byte) {
    Batch batch;
    batch.puts.push_back({{}, key, std::string(1 << 20, byte)});
    EXPECT_TRUE(ApplyAndWait(engine, std::move(batch)).ok());
  };
  constexpr size_t kKeys = 100, kPins = 64;  // 100 MB once, and 6.4 GB if each pin had its own
  for (size_t i = 0; i < kKeys; ++i) put("k" + std::to_string(i), 'a');
  std::vector<std::unique_ptr<PinnedRange>> pinned;
  for (size_t i = 0; i < kPins; ++i) pinned.push_back(std::move(engine.Pin({})).value());
  for (size_t i = 0; i < kKeys; ++i) put("k" + std::to_string(i), 'b');
  for (const std::unique_ptr<PinnedRange>& pin : pinned) {
    size_t keys = 0;
    for (bool more = true; more;) {
      const auto next = pin->Next([&keys](std::string_view, std::string_view value) {
        EXPECT_EQ(value.back(), 'a');
        ++keys;
        return OkStatus();
      });
      ASSERT_TRUE(next.ok()) << next.error().message();
      more = *next;
    }
    EXPECT_EQ(keys, kKeys);
  }
}

TEST(MemoryEngine, AppliesInline) {
  MemoryEngine engine;
  bool done = false;
  Batch batch;
  batch.puts.push_back({{}, "k", std::string(kStampBytes, '\0')});
  engine.Apply(batch, [&done](Result<uint64_t> stamp) { done = stamp.ok(); });
  EXPECT_TRUE(done);
  EXPECT_EQ(engine.ApproximateBytes({}), 1 + kStampBytes);
  EXPECT_EQ(engine.Checkpoint("/nowhere").error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stator::kv
