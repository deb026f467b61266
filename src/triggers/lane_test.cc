#include "triggers/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stator::triggers {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;

class LaneTest : public testing::Test {
 protected:
  LaneTest() {
    rules_.batch = 10;
    rules_.age_micros = kDay;
  }
  Lane& lane() {
    if (lane_ == nullptr) lane_ = std::make_unique<Lane>(rules_, random_);
    return *lane_;
  }
  void Add(int count, size_t bytes = 10) {
    for (int i = 0; i < count; ++i) {
      ++added_;
      lane().Add({{added_, 0}, now_, now_, std::string(bytes, 'x')});
    }
  }
  Lane::Step Next(bool last = false) { return lane().Next(now_, last); }
  // Waits until there is something to do.
  Lane::Step NextDue() {
    Lane::Step step = Next();
    if (step.what == Lane::Do::kWait && step.due_micros != INT64_MAX) {
      EXPECT_GT(step.due_micros, now_);
      EXPECT_LE(step.due_micros - now_, Lane::kLongestDelayMicros);
      now_ = step.due_micros;
      step = Next();
    }
    return step;
  }

  LaneRules rules_;
  SeededRandom random_{3};
  std::unique_ptr<Lane> lane_;
  int64_t now_ = 1'700'000'000 * kSecond;
  uint64_t added_ = 0;
};

TEST_F(LaneTest, AChangeThatCanNeverBeDeliveredIsDiscardedAlone) {
  rules_.reports = true;
  Add(5);
  EXPECT_EQ(Next().count, 5u);
  lane().OnHopeless(2);
  Lane::Step step = Next();
  EXPECT_EQ(step.what, Lane::Do::kReport);
  EXPECT_EQ(step.count, 1u);
  EXPECT_EQ(step.condition, "RetryAttemptsExhausted");
  EXPECT_EQ(lane().queue().front().position.stamp, 3u);
  lane().OnReported(true, now_);
  step = Next();
  EXPECT_EQ(step.what, Lane::Do::kInvoke);
  EXPECT_EQ(step.count, 2u);
  EXPECT_EQ(lane().queue().front().position.stamp, 4u);
  lane().OnHopeless(1);
  EXPECT_EQ(Next().what, Lane::Do::kReport);
  lane().OnReported(true, now_);
  EXPECT_EQ(Next().what, Lane::Do::kWait);
  EXPECT_EQ(lane().counts().delivered, 3u);
  EXPECT_EQ(lane().counts().exhausted, 2u);
}

TEST_F(LaneTest, DeliversInBatches) {
  EXPECT_EQ(Next().what, Lane::Do::kWait);
  EXPECT_EQ(Next().due_micros, INT64_MAX);
  Add(23);
  for (const size_t size : {10, 10, 3}) {
    const Lane::Step step = Next();
    EXPECT_EQ(step.what, Lane::Do::kInvoke);
    EXPECT_EQ(step.count, size);
    lane().OnDone();
  }
  EXPECT_EQ(Next().what, Lane::Do::kWait);
  EXPECT_EQ(lane().counts().delivered, 23u);
  EXPECT_EQ(lane().bytes(), 0u);
}

TEST_F(LaneTest, AWindowWaitsForMore) {
  rules_.window_micros = 5 * kSecond;
  Add(3);
  const Lane::Step step = Next();
  EXPECT_EQ(step.what, Lane::Do::kWait);
  EXPECT_EQ(step.due_micros, now_ + 5 * kSecond);
  EXPECT_EQ(Next(/*last=*/true).count, 3u) << "a closed shard has no more";
  lane_ = nullptr;
  Add(3);
  Add(7);
  EXPECT_EQ(Next().count, 10u) << "a full batch does not wait";
  lane_ = nullptr;
  Add(3);
  now_ += 5 * kSecond;
  EXPECT_EQ(Next().count, 3u);
}

TEST_F(LaneTest, AnEventHasItsMostBytes) {
  rules_.event_bytes = 1000;
  Add(5, 400);
  EXPECT_EQ(Next().count, 2u);
  lane().OnDone();
  EXPECT_EQ(Next().count, 2u);
  lane().OnDone();
  Add(1, 5000);
  EXPECT_EQ(Next().count, 1u);
  lane().OnDone();
  EXPECT_EQ(Next().count, 1u) << "a change that is too large goes alone";
}

TEST_F(LaneTest, AFailureIsRetriedAndThenDiscarded) {
  rules_.retries = 2;
  Add(3);
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_EQ(NextDue().what, Lane::Do::kInvoke) << tries;
    lane().OnFailed(0, now_);
  }
  Add(1);
  const Lane::Step step = NextDue();
  EXPECT_EQ(step.what, Lane::Do::kInvoke);
  EXPECT_EQ(step.count, 1u);
  EXPECT_EQ(lane().counts().exhausted, 3u);
}

TEST_F(LaneTest, WhatDidNotRunIsNoAttempt) {
  rules_.retries = 0;
  Add(3);
  for (int tries = 0; tries < 50; ++tries) {
    ASSERT_EQ(NextDue().what, Lane::Do::kInvoke);
    lane().OnNotRun(0, now_);
  }
  EXPECT_EQ(NextDue().count, 3u);
  EXPECT_EQ(lane().counts().exhausted, 0u);
}

TEST_F(LaneTest, OnlyWhatFailedIsTriedAgain) {
  Add(10);
  Next();
  lane().OnFailed(4, now_);
  EXPECT_EQ(lane().counts().delivered, 4u);
  const Lane::Step step = NextDue();
  EXPECT_EQ(step.count, 6u);
  EXPECT_EQ(lane().queue().front().position.stamp, 5u);
}

TEST_F(LaneTest, BisectionFindsTheOneThatFails) {
  rules_.bisect = true;
  rules_.retries = 0;
  rules_.reports = true;
  Add(10);
  int calls = 0;
  std::vector<uint64_t> delivered;
  while (true) {
    const Lane::Step step = NextDue();
    if (step.what == Lane::Do::kWait) break;
    ++calls;
    const auto& queue = lane().queue();
    if (step.what == Lane::Do::kReport) {
      EXPECT_EQ(step.count, 1u);
      EXPECT_EQ(queue.front().position.stamp, 7u);
      EXPECT_EQ(step.condition, "RetryAttemptsExhausted");
      lane().OnReported(true, now_);
      continue;
    }
    bool bad = false;
    for (size_t i = 0; i < step.count; ++i) bad = bad || queue[i].position.stamp == 7;
    if (bad) {
      lane().OnFailed(0, now_);
    } else {
      for (size_t i = 0; i < step.count; ++i) delivered.push_back(queue[i].position.stamp);
      lane().OnDone();
    }
  }
  EXPECT_EQ(delivered, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 8, 9, 10}));
  EXPECT_EQ(lane().counts().exhausted, 1u);
  EXPECT_LT(calls, 14);
}

TEST_F(LaneTest, OldChangesAreDiscardedAndReported) {
  rules_.age_micros = 60 * kSecond;
  rules_.reports = true;
  Add(2);
  now_ += 50 * kSecond;
  Add(1);
  ASSERT_EQ(Next().what, Lane::Do::kInvoke);
  lane().OnNotRun(0, now_);
  now_ += 20 * kSecond;
  Lane::Step step = Next();
  EXPECT_EQ(step.what, Lane::Do::kReport);
  EXPECT_EQ(step.condition, "RecordAgeExceeded");
  EXPECT_EQ(step.count, 2u);
  lane().OnReported(false, now_);
  EXPECT_EQ(NextDue().what, Lane::Do::kReport) << "the report is tried again";
  lane().OnReported(true, now_);
  step = Next();
  EXPECT_EQ(step.what, Lane::Do::kInvoke);
  EXPECT_EQ(step.count, 1u);
  EXPECT_EQ(lane().counts().expired, 2u);
}

TEST_F(LaneTest, AReportThatIsNeverTakenEnds) {
  rules_.reports = true;
  rules_.retries = 0;
  Add(1);
  Next();
  lane().OnFailed(0, now_);
  now_ += 3 * kDay;
  EXPECT_EQ(Next().what, Lane::Do::kReport);
  lane().OnReported(false, now_);
  EXPECT_EQ(Next().what, Lane::Do::kWait);
  EXPECT_EQ(lane().counts().unreported, 1u);
}

TEST_F(LaneTest, AForgottenBatchGoesOnWhereItWas) {
  rules_.retries = 2;
  rules_.reports = true;
  Add(6);
  ASSERT_EQ(Next().count, 6u);
  lane().OnFailed(0, now_);
  lane().Forget(0);
  EXPECT_EQ(lane().held_bytes(), 0u);
  EXPECT_EQ(Next().what, Lane::Do::kWait);
  now_ = lane().not_before();
  EXPECT_EQ(Next().what, Lane::Do::kWait) << "there is nothing to send";
  added_ = 0;
  Add(4);  // not all of them yet: the batch is split
  ASSERT_EQ(Next().count, 4u);
  lane().OnFailed(0, now_);
  Add(5);
  ASSERT_EQ(NextDue().count, 4u);
  lane().OnFailed(0, now_);
  Lane::Step step = NextDue();
  EXPECT_EQ(step.what, Lane::Do::kReport) << "the first attempt counts";
  EXPECT_EQ(step.count, 4u);
  lane().Forget(0);
  added_ = 0;
  EXPECT_EQ(Next().what, Lane::Do::kWait);
  Add(3);
  step = Next();
  EXPECT_EQ(step.what, Lane::Do::kReport);
  EXPECT_EQ(step.count, 3u);
  lane().OnReported(true, now_);
  Add(6);
  step = Next();
  EXPECT_EQ(step.what, Lane::Do::kReport) << "what is left of the batch";
  EXPECT_EQ(step.count, 1u);
  lane().OnReported(true, now_);
  EXPECT_EQ(lane().counts().exhausted, 4u);
  step = Next();
  EXPECT_EQ(step.what, Lane::Do::kInvoke) << "the rest of the batch that was split";
  EXPECT_EQ(step.count, 2u);
}

TEST_F(LaneTest, AForgottenWindowEndsWhenItWouldHave) {
  rules_.window_micros = 5 * kSecond;
  Add(3);
  const int64_t ends = Next().due_micros;
  now_ += 2 * kSecond;
  lane().Forget(0);
  now_ += 2 * kSecond;
  Add(2);
  EXPECT_EQ(Next().due_micros, ends);
  now_ = ends;
  EXPECT_EQ(Next().count, 2u);
  lane().OnDone();
  Add(1);
  EXPECT_EQ(Next().due_micros, now_ + 5 * kSecond) << "the next window is its own";
}

TEST_F(LaneTest, StrippedChangesAreDeliveredOrForgotten) {
  Add(10, 1000);
  ASSERT_EQ(Next().count, 10u);
  lane().Forget(10);
  lane().Strip(10);
  EXPECT_LT(lane().bytes(), 100u);
  lane().OnFailed(4, now_);
  EXPECT_EQ(lane().queue().front().position.stamp, 5u);
  lane().Forget(0);
  EXPECT_EQ(lane().bytes(), 0u);
  added_ = 4;
  Add(6, 1000);
  EXPECT_EQ(NextDue().count, 6u);
  lane().Strip(6);
  lane().OnDone();
  EXPECT_EQ(lane().bytes(), 0u);
  EXPECT_EQ(lane().counts().delivered, 10u);
}

// Whatever becomes of batches: every change is delivered or discarded, the first deliveries of all
// changes are in order, and what is behind a failure waits.
TEST_F(LaneTest, NothingIsLostOrOvertakenAtRandom) {
  const uint64_t system = SystemSeed();
  SCOPED_TRACE(system);
  for (const uint64_t seed : {uint64_t{5}, uint64_t{6}, system}) {
    SeededRandom chance(seed);
    for (int round = 0; round < 200; ++round) {
      lane_ = nullptr;
      added_ = 0;
      rules_.batch = 1 + chance.Below(20);
      rules_.bisect = chance.Below(2) == 0;
      rules_.retries = static_cast<int64_t>(chance.Below(4)) - 1;
      rules_.reports = chance.Below(2) == 0;
      rules_.window_micros = static_cast<int64_t>(chance.Below(3)) * kSecond;
      rules_.event_bytes = 50 + chance.Below(400);
      std::set<uint64_t> reported;
      uint64_t next = 1;       // all before it are delivered or discarded
      uint64_t forgotten = 0;  // all up to it were added once
      for (int step_count = 0; step_count < 400; ++step_count) {
        if (step_count < 100) Add(static_cast<int>(chance.Below(5)), 5 + chance.Below(60));
        // The lane forgets changes, which are added again, perhaps in parts.
        if (chance.Below(8) == 0 && !lane().queue().empty()) {
          const size_t kept = chance.Below(lane().queue().size());
          const uint64_t last = added_;
          added_ = lane().queue()[kept].position.stamp - 1;
          lane().Forget(kept);
          forgotten = std::max(forgotten, last);
        }
        if (forgotten > added_) {
          Add(static_cast<int>(std::min(forgotten - added_, chance.Below(10))), 30);
        }
        const Lane::Step step = lane().Next(now_, false);
        const auto& queue = lane().queue();
        if (!queue.empty()) {
          EXPECT_GE(queue.front().position.stamp, next);
          next = queue.front().position.stamp;
        }
        if (step.what == Lane::Do::kWait) {
          now_ = step.due_micros == INT64_MAX ? now_ + kSecond : step.due_micros;
          continue;
        }
        ASSERT_GE(queue.size(), step.count);
        ASSERT_GT(step.count, 0u);
        if (step.what == Lane::Do::kReport) {
          for (size_t i = 0; i < step.count; ++i) reported.insert(queue[i].position.stamp);
          lane().OnReported(chance.Below(2) == 0, now_);
          continue;
        }
        switch (chance.Below(step_count < 300 ? 4 : 1)) {
          case 0: lane().OnDone(); break;
          case 1: lane().OnFailed(0, now_); break;
          case 2: lane().OnFailed(chance.Below(step.count), now_); break;
          default: lane().OnNotRun(chance.Below(step.count), now_);
        }
      }
      if (forgotten > added_) Add(static_cast<int>(forgotten - added_), 30);
      for (int i = 0; i < 5000; ++i) {
        const Lane::Step step = lane().Next(now_, true);
        if (step.what == Lane::Do::kInvoke) {
          lane().OnDone();
        } else if (step.what == Lane::Do::kReport) {
          for (size_t n = 0; n < step.count; ++n) reported.insert(lane().queue()[n].position.stamp);
          lane().OnReported(true, now_);
        } else if (step.due_micros == INT64_MAX) {
          break;
        } else {
          now_ = step.due_micros;
        }
      }
      const Lane::Counts& counts = lane().counts();
      EXPECT_TRUE(lane().queue().empty());
      EXPECT_EQ(counts.delivered + counts.exhausted + counts.expired, added_);
      if (rules_.reports) {
        EXPECT_EQ(reported.size(), counts.exhausted + counts.expired);
      }
      if (rules_.retries < 0) {
        EXPECT_EQ(counts.exhausted, 0u);
      }
    }
  }
}

class TumblingTest : public LaneTest {
 protected:
  TumblingTest() {
    rules_.tumbling_micros = 10 * kSecond;
    rules_.retries = 2;
  }
  // A batch, answered with a state.
  void Deliver(size_t count, const std::string& before, const std::string& after) {
    const Lane::Step step = NextDue();
    ASSERT_EQ(step.what, Lane::Do::kInvoke);
    EXPECT_EQ(step.count, count);
    EXPECT_EQ(State(), before);
    lane().SetState(after);
    lane().OnDone();
  }
  std::string State() {
    const std::optional<OpenWindow>& open = lane().tumbling().open;
    if (!open) return "none";
    return open->state == nullptr ? "fresh" : *open->state;
  }
  Lane::Step Seen() { return lane().Next(now_, false, now_); }
};

TEST_F(TumblingTest, StateGoesFromCallToCallAndTheLastOneHasNoChanges) {
  const int64_t start = now_ - now_ % (10 * kSecond);
  now_ = start + kSecond;
  Add(12);
  Deliver(10, "fresh", "{\"n\":10}");
  EXPECT_EQ(lane().tumbling().open->start_micros, start);
  EXPECT_EQ(lane().tumbling().open->end_micros, start + 10 * kSecond);
  Deliver(2, "{\"n\":10}", "{\"n\":12}");
  EXPECT_EQ(Seen().what, Lane::Do::kWait);
  now_ = start + 11 * kSecond;
  EXPECT_EQ(Seen().what, Lane::Do::kWait) << "a change may come late";
  now_ = start + 12 * kSecond;
  EXPECT_EQ(Next().what, Lane::Do::kWait) << "nobody has looked for changes since";
  const Lane::Step step = Seen();
  EXPECT_EQ(step.what, Lane::Do::kFinish);
  EXPECT_EQ(step.count, 0u);
  EXPECT_EQ(State(), "{\"n\":12}");
  lane().OnFinished();
  EXPECT_EQ(State(), "none");
  EXPECT_EQ(lane().tumbling().ended_micros, start + 10 * kSecond);
  EXPECT_EQ(Seen().what, Lane::Do::kWait);
}

TEST_F(TumblingTest, ABatchHasChangesOfOneWindow) {
  now_ -= now_ % (10 * kSecond);
  Add(3);
  now_ += 10 * kSecond;
  Add(2);
  Deliver(3, "fresh", "{\"n\":3}");
  EXPECT_EQ(Next().what, Lane::Do::kFinish) << "a change of the next window says that it is over";
  lane().OnFinished();
  Deliver(2, "fresh", "{\"n\":2}");
  // One that comes late is in the window that is open, and after its end in the next one.
  lane().Add({{100, 0}, now_ - 5 * kSecond, now_, "{}"});
  Deliver(1, "{\"n\":2}", "{\"n\":3}");
  now_ += 12 * kSecond;
  ASSERT_EQ(Seen().what, Lane::Do::kFinish);
  lane().OnFinished();
  const int64_t ended = lane().tumbling().ended_micros;
  lane().Add({{101, 0}, now_ - 9 * kSecond, now_, "{}"});
  Deliver(1, "fresh", "{}");
  EXPECT_EQ(lane().tumbling().open->start_micros, ended);
  EXPECT_EQ(lane().tumbling().open->end_micros, ended + 10 * kSecond);
}

TEST_F(TumblingTest, ABatchWaitsNoLongerThanItsWindow) {
  rules_.window_micros = 300 * kSecond;
  now_ += 8 * kSecond - now_ % (10 * kSecond);
  Add(3);
  const Lane::Step step = Next();
  EXPECT_EQ(step.what, Lane::Do::kWait);
  EXPECT_EQ(step.due_micros, now_ + 2 * kSecond);
  now_ = step.due_micros;
  Deliver(3, "fresh", "{}");
}

TEST_F(TumblingTest, AFailedBatchKeepsTheStateAndAPartThatIsDoneIsInIt) {
  rules_.bisect = true;
  Add(8);
  ASSERT_EQ(Next().what, Lane::Do::kInvoke);
  lane().OnFailed(0, now_);
  Deliver(4, "fresh", "{\"n\":4}");
  // The function names the third of the other four.
  ASSERT_EQ(Next().count, 4u);
  lane().SetState("{\"n\":6}");
  lane().OnFailed(2, now_);
  Deliver(2, "{\"n\":6}", "{\"n\":8}");
}

TEST_F(TumblingTest, ABatchThatIsGivenUpLeavesTheState) {
  Add(1);
  Deliver(1, "fresh", "{\"n\":1}");
  Add(1);
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_EQ(NextDue().what, Lane::Do::kInvoke);
    lane().OnFailed(0, now_);
  }
  Add(1);
  Deliver(1, "{\"n\":1}", "{\"n\":2}");
  EXPECT_EQ(lane().counts().exhausted, 1u);
}

TEST_F(TumblingTest, TheFinalCallHoldsUpTheNextWindowUntilItsRetriesAreOver) {
  now_ -= now_ % (10 * kSecond);
  Add(1);
  Deliver(1, "fresh", "{\"n\":1}");
  now_ += 10 * kSecond;
  Add(1);
  for (int tries = 0; tries < 50; ++tries) {
    ASSERT_EQ(NextDue().what, Lane::Do::kFinish);
    lane().OnNotFinished(/*ran=*/false, now_);
  }
  for (int tries = 0; tries < 3; ++tries) {
    ASSERT_EQ(NextDue().what, Lane::Do::kFinish) << tries;
    EXPECT_EQ(State(), "{\"n\":1}");
    lane().OnNotFinished(/*ran=*/true, now_);
  }
  EXPECT_EQ(lane().counts().windows_lost, 1u);
  Deliver(1, "fresh", "{}");
}

TEST_F(TumblingTest, AFinalCallIsTriedOnceHoweverOldItsWindowIs) {
  rules_.retries = -1;
  Add(1);
  Deliver(1, "fresh", "{}");
  now_ += 2 * kDay;
  ASSERT_EQ(Seen().what, Lane::Do::kFinish);
  lane().OnNotFinished(/*ran=*/true, now_);
  EXPECT_EQ(State(), "none");
  EXPECT_EQ(lane().counts().windows_lost, 1u);
}

TEST_F(TumblingTest, ATooLargeStateEndsTheWindowEarly) {
  Add(2);
  ASSERT_EQ(Next().what, Lane::Do::kInvoke);
  EXPECT_FALSE(lane().EndEarly()) << "there is no state that a final call could have";
  lane().OnFailed(0, now_);
  Deliver(2, "fresh", "{\"n\":2}");
  Add(3);
  ASSERT_EQ(Next().count, 3u);
  EXPECT_TRUE(lane().EndEarly());
  EXPECT_TRUE(lane().early());
  const OpenWindow before = *lane().tumbling().open;
  ASSERT_EQ(Next().what, Lane::Do::kFinish);
  EXPECT_EQ(State(), "{\"n\":2}");
  lane().OnFinished();
  EXPECT_FALSE(lane().early());
  Deliver(3, "fresh", "{}");
  EXPECT_EQ(lane().tumbling().open->end_micros, before.end_micros) << "the rest of the window";
}

TEST_F(TumblingTest, AClosedShardEndsItsWindow) {
  Add(1);
  Deliver(1, "fresh", "{}");
  EXPECT_EQ(lane().Next(now_, /*last=*/true).what, Lane::Do::kFinish);
}

TEST_F(TumblingTest, AWindowThatWasOpenInTheStoreGoesOn) {
  Tumbling stored;
  stored.open = OpenFor(now_, 10 * kSecond, 0);
  stored.open->state = std::make_shared<const std::string>("{\"n\":5}");
  lane_ = std::make_unique<Lane>(rules_, random_, stored);
  Add(1);
  Deliver(1, "{\"n\":5}", "{\"n\":6}");
  // A mapping that has no windows any more ends it.
  stored = lane().tumbling();
  rules_.tumbling_micros = 0;
  lane_ = std::make_unique<Lane>(rules_, random_, stored);
  Add(1);
  ASSERT_EQ(Next().what, Lane::Do::kFinish);
  lane().OnFinished();
  EXPECT_EQ(lane().tumbling(), Tumbling());
  EXPECT_EQ(Next().count, 1u);
}

TEST_F(TumblingTest, TheStateHasItsPartOfAnEvent) {
  rules_.event_bytes = 10'000;
  Add(1, 3000);
  Deliver(1, "fresh", std::string(5000, 'x'));
  Add(2, 3000);
  EXPECT_EQ(Next().count, 1u);
}

TEST(OpenFor, WindowsOfAnotherLengthDoNotOverlap) {
  const OpenWindow first = OpenFor(125 * kSecond, 60 * kSecond, 0);
  EXPECT_EQ(first.start_micros, 120 * kSecond);
  EXPECT_EQ(first.end_micros, 180 * kSecond);
  const OpenWindow next = OpenFor(185 * kSecond, 100 * kSecond, first.end_micros);
  EXPECT_EQ(next.start_micros, 180 * kSecond);
  EXPECT_EQ(next.end_micros, 200 * kSecond);
}

}  // namespace
}  // namespace stator::triggers
