// A process is cut off from the store at any moment. Each caller of Apply gets an answer within
// about the store's deadline, and the answer is true. One thread, on a manual clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "kv/conformance_model.h"
#include "kv/shared_memory.h"
#include "kv_tx/layout.h"
#include "kv_tx/scheduler.h"
#include "kv_tx/test_passing_on.h"
#include "kv_tx/transaction_engine.h"

namespace stator::kv_tx {
namespace {

using kv::Batch;
using kv::Tablet;
using kv::Tier;
using kv::ValueOf;

constexpr Tablet kA{kv::Space::kItems, 1};
constexpr Tablet kB{kv::Space::kItems, 2};
constexpr Tablet kC{kv::Space::kItems, 3};
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDeadline = 20 * kSecond;  // the deadline of the store

// Tasks in the order of their times.
class Timetable final : public Scheduler {
 public:
  explicit Timetable(ManualClock& clock) : clock_(clock) {}
  void Post(UniqueFunction<void()> task, int64_t delay_micros) override {
    tasks_.emplace(clock_.TicksMicros() + (hurrying_ ? 0 : delay_micros), std::move(task));
  }
  void Await(FunctionRef<bool()> ready) override {
    while (!ready() && RunNext()) {
    }
    EXPECT_TRUE(ready());
  }
  void Wake() override {}
  void Hurry() override { hurrying_ = true; }
  void Stop() override { tasks_.clear(); }
  bool RunNext() {
    if (tasks_.empty()) return false;
    const auto first = tasks_.begin();
    clock_.AdvanceMicros(std::max<int64_t>(0, first->first - clock_.TicksMicros()));
    UniqueFunction<void()> task = std::move(first->second);
    tasks_.erase(first);
    task();
    return true;
  }

 private:
  ManualClock& clock_;
  std::multimap<int64_t, UniqueFunction<void()>> tasks_;
  bool hurrying_ = false;
};

// How the connection to the store is lost.
enum class Cut {
  kLost,     // no answers; no writes are applied
  kApplied,  // no answers; writes are applied
  kFull,     // it refuses writes and serves reads
};

// A connection to the store that is cut after a number of operations. From then on each operation
// fails after the deadline, and the outcome of writes is unknown. A full store answers at once.
class Connection final : public PassingOn {
 public:
  Connection(std::unique_ptr<kv::Engine> inner, ManualClock& clock, Timetable& timetable)
      : PassingOn(std::move(inner)), clock_(clock), timetable_(timetable) {}
  void CutAfter(int operations, Cut how) {
    left_ = operations;
    how_ = how;
  }
  void Heal() { left_.reset(); }
  std::optional<int64_t> cut_at() const { return cut_at_; }

  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override {
    TRY(Read(tier));
    return inner_->Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    TRY(Read(tier));
    return inner_->MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    TRY(Read(tier));
    return inner_->Scan(range, tier, visit);
  }
  void Apply(Batch batch, kv::ApplyDone done) override {
    const bool cut = IsCut(), full = cut && how_ == Cut::kFull;
    Result<uint64_t> outcome = full ? Error(ErrorCode::kUnavailable, "full")
                                    : Error(ErrorCode::kOutcomeUnknown, "no answer");
    if (!cut || how_ == Cut::kApplied) {
      inner_->Apply(std::move(batch), [&](Result<uint64_t> applied) {
        if (!cut) outcome = std::move(applied);
      });
    }
    timetable_.Post([outcome = std::move(outcome),
                     done = std::move(done)]() mutable { done(std::move(outcome)); },
                    cut && !full ? kDeadline : kSecond / 1000);
  }

 private:
  bool IsCut() {
    if (!left_ || (*left_)-- > 0) return false;
    left_ = 0;
    if (!cut_at_) cut_at_ = clock_.TicksMicros();
    return true;
  }
  Status Read(Tier tier) {
    if (tier != Tier::kAny || (left_ && how_ == Cut::kFull) || !IsCut()) return OkStatus();
    clock_.AdvanceMicros(kDeadline);
    return Error(ErrorCode::kUnavailable, "no answer");
  }

  ManualClock& clock_;
  Timetable& timetable_;
  std::optional<int> left_;
  Cut how_ = Cut::kLost;
  std::optional<int64_t> cut_at_;
};

// The state that the write meets.
enum class Before {
  kNothing,
  kAnotherWrite,  // by another process: the cache is stale
  kUndecided,     // a transaction of a process that has died
  kCommitted,
  kOwn,    // another transaction of this process, which began just before
  kRange,  // nothing, but the batch also deletes a range, so `done` waits for the roll-forward
};

struct World {
  World() : timetable(clock) {
    auto connected = std::make_unique<Connection>(memory.Attach(), clock, timetable);
    connection = connected.get();
    engine = std::make_unique<TransactionEngine>(
        std::move(connected), Options{.clock = &clock, .seed = 1, .scheduler = &timetable});
  }
  ~World() { engine.reset(); }

  struct Outcome {
    std::optional<Result<uint64_t>> result;
    int64_t at = 0;
  };
  std::shared_ptr<Outcome> Apply(Batch batch) {
    auto outcome = std::make_shared<Outcome>();
    engine->Apply(std::move(batch), [this, outcome](Result<uint64_t> result) {
      EXPECT_FALSE(outcome->result.has_value());
      outcome->result = std::move(result);
      outcome->at = clock.TicksMicros();
    });
    return outcome;
  }
  void RunAll() {
    while (timetable.RunNext()) {
    }
  }
  uint64_t StampOf(Tablet tablet, const std::string& key) {
    std::string value;
    return *engine->Get(tablet, key, Tier::kAny, &value) ? kv::StampOf(value) : 0;
  }
  std::string TextOf(Tablet tablet, const std::string& key) {
    std::string value;
    const Result<bool> found = engine->Get(tablet, key, Tier::kAny, &value);
    if (!found.ok()) return found.error().message();
    return *found ? value.substr(kv::kStampBytes) : "absent";
  }
  // "key" in all three tablets becomes `text`, guarded by its current stamp, and the counter of
  // each tablet rises.
  Batch Write(const std::string& text) {
    Batch batch;
    for (const Tablet tablet : {kA, kB, kC}) {
      batch.guards.push_back({tablet, "key", StampOf(tablet, "key")});
      batch.puts.push_back({tablet, "key", ValueOf(text)});
      batch.adds.push_back({tablet, "count", 1});
    }
    return batch;
  }
  int64_t Count(Tablet tablet) {
    std::string value;
    return *engine->Get(tablet, "count", Tier::kAny, &value) ? *kv::CounterOf(value) : 0;
  }
  size_t Intents() {
    size_t count = 0;
    for (const Tablet tablet : {kA, kB, kC}) {
      EXPECT_TRUE(memory.Attach()
                      ->Scan({tablet, {}, {}}, Tier::kAny,
                             [&](std::string_view key, std::string_view value) {
                               count += IsIntent(value) || key.starts_with(FirstOfKind(kNoteKind));
                               return true;
                             })
                      .ok());
    }
    return count;
  }

  ManualClock clock;
  kv::SharedMemory memory;
  Timetable timetable;
  Connection* connection = nullptr;
  std::unique_ptr<TransactionEngine> engine;
};

// The state on "key" of B after a process died, with its decision in A.
void LeaveBehind(kv::Engine& raw, Decision decision) {
  const TransactionRef self{{7, 8}, kA, RecordKeyOf("other", {7, 8})};
  const std::string note_key = NoteKeyOf("key", self.id);
  std::string old;
  ASSERT_TRUE(*raw.Get(kB, "key", Tier::kAny, &old));
  Batch prepare;
  prepare.puts.push_back(
      {kB, "key", EncodeIntent({self, note_key, Intent::New::kPut, "dead", old})});
  prepare.puts.push_back({kB, note_key, EncodeNote({self, 1, {{"key"}}, {}, {}})});
  ASSERT_TRUE(ApplyAndWait(raw, std::move(prepare)).ok());
  if (decision == Decision::kUndecided) return;
  Batch commit;
  commit.puts.push_back({kA, self.record_key, EncodeRecord({decision, 1, {{kB, note_key}}})});
  ASSERT_TRUE(ApplyAndWait(raw, std::move(commit)).ok());
}

class CutOff : public testing::TestWithParam<std::tuple<Before, Cut>> {};

TEST_P(CutOff, CallerIsAnsweredWithinDeadline) {
  const auto [before, how] = GetParam();
  int ok = 0, refused = 0, unknown = 0;
  bool cut = true;
  for (int operations = 0; cut && !HasFailure(); ++operations) {
    World world;
    Batch first;
    for (const Tablet tablet : {kA, kB, kC}) {
      first.puts.push_back({tablet, "key", ValueOf("old")});
      first.adds.push_back({tablet, "count", 1});
    }
    auto begun = world.Apply(std::move(first));
    world.RunAll();
    ASSERT_TRUE(begun->result->ok());
    ASSERT_EQ(world.Intents(), 0u);
    Batch batch = world.Write("new");
    Batch own = world.Write("own");
    if (before == Before::kRange) batch.range_deletes.push_back({kC, "r", "s"});
    if (before == Before::kAnotherWrite) {
      Batch write;
      write.puts.push_back({kB, "key", ValueOf("other")});
      ASSERT_TRUE(ApplyAndWait(*world.memory.Attach(), std::move(write)).ok());
    }
    if (before == Before::kUndecided) LeaveBehind(*world.memory.Attach(), Decision::kUndecided);
    if (before == Before::kCommitted) LeaveBehind(*world.memory.Attach(), Decision::kCommitted);

    const int64_t now = world.clock.TicksMicros();
    world.connection->CutAfter(operations, how);
    auto earlier = before == Before::kOwn ? world.Apply(std::move(own)) : nullptr;
    auto outcome = world.Apply(std::move(batch));
    const int64_t end = now + 200 * kSecond;
    while ((!outcome->result || (earlier != nullptr && !earlier->result)) &&
           world.clock.TicksMicros() < end && world.timetable.RunNext()) {
    }
    const std::string where = "cut after " + std::to_string(operations) + " operations: ";
    cut = world.connection->cut_at().has_value();
    ASSERT_TRUE(outcome->result.has_value()) << where;
    // The other transaction waits for the store in the same thread.
    const int64_t most = kDeadline + (before == Before::kOwn ? kDeadline : 0) + 2 * kSecond;
    const int64_t since = cut ? std::max(now, *world.connection->cut_at()) : now;
    EXPECT_LE(outcome->at - since, most)
        << where << (outcome->result->ok() ? "" : outcome->result->error().message());
    if (earlier != nullptr) {
      ASSERT_TRUE(earlier->result.has_value()) << where;
      EXPECT_LE(earlier->at - since, most) << where;
    }

    world.connection->Heal();
    world.RunAll();
    if (before != Before::kUndecided && before != Before::kCommitted) {
      ASSERT_EQ(world.Intents(), 0u) << where << "all is brought in order once the store answers";
    }
    // Another process may have changed B.
    const std::string a = world.TextOf(kA, "key"), c = world.TextOf(kC, "key"),
                      b = world.TextOf(kB, "key");
    EXPECT_EQ(a, c) << where;
    if (a != "old") {
      EXPECT_EQ(b, a) << where;
    }
    int64_t applied = 1;
    const auto check = [&](const World::Outcome& of, const std::string& text) {
      if (of.result->ok()) {
        EXPECT_EQ(a, text) << where;
        return;
      }
      const ErrorCode code = of.result->error().code();
      if (code == ErrorCode::kOutcomeUnknown) return;
      EXPECT_NE(a, text) << where << "refused: " << of.result->error().message();
    };
    check(*outcome, "new");
    if (earlier != nullptr) check(*earlier, "own");
    applied += a != "old";
    for (const Tablet tablet : {kA, kB, kC}) EXPECT_EQ(world.Count(tablet), applied) << where;
    (outcome->result->ok()                                           ? ok
     : outcome->result->error().code() == ErrorCode::kOutcomeUnknown ? unknown
                                                                     : refused)++;
    // The process serves again.
    bool served = false;
    for (int tries = 0; tries < 3 && !served; ++tries) {
      auto again = world.Apply(world.Write("again"));
      world.RunAll();
      served = again->result->ok();
    }
    EXPECT_TRUE(served) << where;
    EXPECT_EQ(world.TextOf(kB, "key"), "again") << where;
    EXPECT_EQ(world.Intents(), 0u) << where;
  }
  EXPECT_GT(refused, 1);
  if (before == Before::kNothing) {
    EXPECT_GT(ok, 0);
    EXPECT_EQ(unknown > 0, how != Cut::kFull);
  }
}

std::string NameOf(const testing::TestParamInfo<std::tuple<Before, Cut>>& info) {
  static const char* const kNames[] = {"Nothing",   "AnotherWrite", "Undecided",
                                       "Committed", "Own",          "Range"};
  static const char* const kCuts[] = {"Lost", "Applied", "Full"};
  return std::string(kNames[static_cast<int>(std::get<0>(info.param))]) +
         kCuts[static_cast<int>(std::get<1>(info.param))];
}
INSTANTIATE_TEST_SUITE_P(All, CutOff,
                         testing::Combine(testing::Values(Before::kNothing, Before::kAnotherWrite,
                                                          Before::kUndecided, Before::kCommitted,
                                                          Before::kOwn, Before::kRange),
                                          testing::Values(Cut::kLost, Cut::kApplied, Cut::kFull)),
                         NameOf);

}  // namespace
}  // namespace stator::kv_tx
