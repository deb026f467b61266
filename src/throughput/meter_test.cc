#include "throughput/meter.h"

#include <gtest/gtest.h>

namespace stator::throughput {
namespace {

Meter MakeMeter() { return Meter({}, {.name = "t"}, 0, Throttling::kObserve); }

TEST(Meter, ModesHaveNames) {
  for (const Throttling mode : {Throttling::kOff, Throttling::kObserve, Throttling::kEnforce})
    EXPECT_EQ(ThrottlingOf(ThrottlingText(mode)), mode);
  EXPECT_EQ(ThrottlingOf("Observe"), std::nullopt);
  EXPECT_EQ(ThrottlingOf(""), std::nullopt);
}

TEST(Meter, CountsWhatItIsTold) {
  Meter meter = MakeMeter();
  meter.CountRefusal(Access::kWrite, Limit::kKeyRange);
  meter.CountRefusal(Access::kWrite, Limit::kKeyRange);
  meter.LetPass(Access::kWrite, 3);
  EXPECT_EQ(meter.refusals(Access::kWrite, Limit::kKeyRange), 2);
  EXPECT_EQ(meter.refusals(Access::kRead, Limit::kKeyRange), 0);
  EXPECT_EQ(meter.refusals(Access::kWrite, Limit::kProvisioned), 0);
  EXPECT_EQ(meter.let_pass(), (Rates{0, 1.5}));
}

constexpr int64_t kSecond = 1'000'000;

TEST(Meter, LogsRarelyAndTellsOfAll) {
  Meter meter = MakeMeter();
  const auto unlogged = [&](int64_t second, Limit limit = Limit::kAccount) {
    const Meter::LogTime at{second * kSecond, second * kSecond};
    return meter.HasUnlogged(Access::kRead, limit, at)
               ? meter.TakeUnlogged(Access::kRead, limit, at, true)
               : 0;
  };
  EXPECT_EQ(unlogged(0), 0) << "nothing was refused";
  meter.CountRefusal(Access::kRead, Limit::kAccount);
  EXPECT_EQ(unlogged(5), 0) << "the storm may have begun in the middle of its second";
  EXPECT_EQ(unlogged(6), 1);
  meter.CountRefusal(Access::kRead, Limit::kAccount);
  meter.CountRefusal(Access::kRead, Limit::kAccount);
  EXPECT_EQ(unlogged(15), 0) << "too soon";
  EXPECT_EQ(unlogged(16), 0);
  EXPECT_EQ(unlogged(17), 2);
  EXPECT_EQ(unlogged(100), 0) << "nothing new";
  meter.CountRefusal(Access::kRead, Limit::kProvisioned);
  EXPECT_EQ(unlogged(200), 0) << "another limit";
  EXPECT_EQ(unlogged(200, Limit::kProvisioned), 0);
  EXPECT_EQ(unlogged(201, Limit::kProvisioned), 1);
}

TEST(Meter, LogsASecondThatHasNotEndedOnlyWhereTheClockStands) {
  Meter meter = MakeMeter();
  const auto unlogged = [&](int64_t tick, bool ended, bool at_end = false) {
    const Meter::LogTime at{ended ? kSecond : 0, tick * kSecond};
    return meter.HasUnlogged(Access::kRead, Limit::kAccount, at)
               ? meter.TakeUnlogged(Access::kRead, Limit::kAccount, at, ended, at_end)
               : 0;
  };
  meter.CountRefusal(Access::kRead, Limit::kAccount);
  for (int64_t tick = 0; tick < 10; ++tick) EXPECT_EQ(unlogged(tick, false), 0) << tick;
  EXPECT_EQ(unlogged(10, false), 1) << "it is told so far";
  for (int64_t tick = 11; tick < 20; ++tick) EXPECT_EQ(unlogged(tick, false), 0) << tick;
  EXPECT_EQ(unlogged(21, true), 0);
  EXPECT_EQ(unlogged(22, true), 1) << "and whole, without another refusal";
  EXPECT_EQ(unlogged(23, true), 0);
  meter.CountRefusal(Access::kRead, Limit::kAccount);
  EXPECT_EQ(
      meter.TakeUnlogged(Access::kRead, Limit::kAccount, {kSecond, 24 * kSecond}, false, true), 1)
      << "the server stops";
}

TEST(Meter, ExplainsTheSamePartitionRarely) {
  Meter meter = MakeMeter();
  int made = 0;
  const auto explained = [&](uint64_t partition, int64_t ticks, int64_t now = 0) {
    Verdict refusal;
    refusal.partition = partition;
    return meter.Explained(refusal, now, ticks, [&] { return std::to_string(++made); });
  };
  EXPECT_EQ(explained(1, 0), "1");
  EXPECT_EQ(explained(1, Meter::kExplanationMicros - 1), "1");
  EXPECT_EQ(explained(2, Meter::kExplanationMicros - 1), "2");
  EXPECT_EQ(explained(2, 2 * Meter::kExplanationMicros), "3");
  EXPECT_EQ(explained(2, 2 * Meter::kExplanationMicros, 1'000'000), "4") << "a manual clock moved";
}

TEST(Meter, RemembersTheLatestSplits) {
  Meter meter = MakeMeter();
  EXPECT_FALSE(meter.TakeSplitsPending());
  meter.RecordSplits({});
  EXPECT_FALSE(meter.TakeSplitsPending());
  for (size_t i = 0; i < Meter::kMaxSplits + 5; ++i)
    meter.RecordSplits({{.at_micros = static_cast<int64_t>(i)}});
  EXPECT_TRUE(meter.TakeSplitsPending());
  EXPECT_FALSE(meter.TakeSplitsPending());
  const std::vector<SplitEvent> splits = meter.splits();
  ASSERT_EQ(splits.size(), Meter::kMaxSplits);
  EXPECT_EQ(splits.front().at_micros, 5);
  EXPECT_EQ(splits.back().at_micros, static_cast<int64_t>(Meter::kMaxSplits) + 4);
}

}  // namespace
}  // namespace stator::throughput
