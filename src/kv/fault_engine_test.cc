#include "kv/fault_engine.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "kv/conformance_model.h"
#include "kv/memory_engine.h"

namespace stator::kv {
namespace {

constexpr Tablet kTablet{Space::kItems, 1};

Batch PutOne(const std::string& key) {
  Batch batch;
  batch.puts.push_back({kTablet, key, ValueOf(key)});
  return batch;
}

bool Exists(Engine& engine, std::string_view key) {
  std::string value;
  const Result<bool> exists = engine.Get(kTablet, key, Tier::kAny, &value);
  return exists.ok() && *exists;
}

ErrorCode CodeOfPut(Engine& engine, const std::string& key) {
  const Result<uint64_t> outcome = ApplyAndWait(engine, PutOne(key));
  return outcome.ok() ? ErrorCode::kInternal : outcome.error().code();
}

TEST(FaultEngine, TriggersStrikeOnceAndAsNamed) {
  FaultEngine engine(std::make_unique<MemoryEngine>(), {});
  engine.Trigger(Fault::kUnavailable);
  EXPECT_EQ(CodeOfPut(engine, "refused"), ErrorCode::kUnavailable);
  EXPECT_FALSE(Exists(engine, "refused"));
  engine.Trigger(Fault::kUnknownNotApplied);
  EXPECT_EQ(CodeOfPut(engine, "lost"), ErrorCode::kOutcomeUnknown);
  EXPECT_FALSE(Exists(engine, "lost"));
  engine.Trigger(Fault::kUnknownApplied);
  EXPECT_EQ(CodeOfPut(engine, "applied"), ErrorCode::kOutcomeUnknown);
  EXPECT_TRUE(Exists(engine, "applied"));
  EXPECT_TRUE(ApplyAndWait(engine, PutOne("fine")).ok());
  EXPECT_EQ(engine.Statistics()["kv_faults_injected"], 3);
}

TEST(FaultEngine, ReadFaults) {
  FaultEngine engine(std::make_unique<MemoryEngine>(), {});
  ASSERT_TRUE(ApplyAndWait(engine, PutOne("k")).ok());
  std::string value;
  engine.Trigger(Fault::kWouldBlock);
  EXPECT_TRUE(engine.Get(kTablet, "k", Tier::kAny, &value).ok());
  EXPECT_EQ(engine.Get(kTablet, "k", Tier::kMemory, &value).error().code(), ErrorCode::kWouldBlock);
  EXPECT_TRUE(engine.Get(kTablet, "k", Tier::kMemory, &value).ok());
  engine.Trigger(Fault::kCorruption);
  std::vector<std::optional<std::string>> values;
  const Point point{kTablet, "k"};
  EXPECT_EQ(engine.MultiGet({&point, 1}, Tier::kAny, &values).error().code(),
            ErrorCode::kCorruption);
  engine.Trigger(Fault::kCorruption);
  EXPECT_EQ(
      engine.Scan({kTablet, {}, {}}, Tier::kAny, [](auto, auto) { return true; }).error().code(),
      ErrorCode::kCorruption);
}

TEST(FaultEngine, RefusesAfterUnknownWhenAsked) {
  FaultEngine engine(std::make_unique<MemoryEngine>(), {.refuse_after_unknown = true});
  EXPECT_TRUE(engine.Health().ok());
  engine.Trigger(Fault::kUnknownApplied);
  EXPECT_EQ(CodeOfPut(engine, "a"), ErrorCode::kOutcomeUnknown);
  EXPECT_EQ(CodeOfPut(engine, "b"), ErrorCode::kUnavailable);
  EXPECT_FALSE(engine.Health().ok());
  EXPECT_TRUE(Exists(engine, "a"));
}

TEST(FaultEngine, SameSeedSameFaults) {
  const auto run = [](uint64_t seed) {
    FaultOptions options{.seed = seed};
    options[Fault::kUnavailable] = 0.3;
    FaultEngine engine(std::make_unique<MemoryEngine>(), options);
    std::string outcomes;
    for (int i = 0; i < 64; ++i)
      outcomes.push_back(ApplyAndWait(engine, PutOne("k")).ok() ? '1' : '0');
    return outcomes;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
  EXPECT_NE(run(5).find('0'), std::string::npos);
}

TEST(FaultEngine, HeldDonesComeLaterInOrderFromItsThread) {
  FaultEngine engine(std::make_unique<MemoryEngine>(), {.delay_done = true});
  engine.HoldDone();
  std::vector<int> order;
  const std::thread::id caller = std::this_thread::get_id();
  bool other_thread = true;
  for (int i = 0; i < 10; ++i) {
    if (i == 4) engine.Trigger(Fault::kUnavailable);
    engine.Apply(PutOne("k" + std::to_string(i)), [&, i](Result<uint64_t>) {
      order.push_back(i);
      other_thread = other_thread && std::this_thread::get_id() != caller;
    });
  }
  engine.ReleaseDone();
  ASSERT_TRUE(ApplyAndWait(engine, Batch()).ok());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(other_thread);
}

TEST(FaultEngine, DestructorRunsHeldDones) {
  int done = 0;
  {
    FaultEngine engine(std::make_unique<MemoryEngine>(), {.delay_done = true});
    engine.HoldDone();
    for (int i = 0; i < 5; ++i)
      engine.Apply(PutOne("k"), [&done](Result<uint64_t> stamp) { done += stamp.ok() ? 1 : 0; });
  }
  EXPECT_EQ(done, 5);
}

}  // namespace
}  // namespace stator::kv
