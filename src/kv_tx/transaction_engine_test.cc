#include "kv_tx/transaction_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <thread>

#include "kv/conformance.h"
#include "kv/conformance_model.h"
#include "kv/fault_engine.h"
#include "kv/shared_memory.h"
#include "kv_tx/layout.h"
#include "kv_tx/scheduler.h"
#include "kv_tx/test_passing_on.h"

namespace stator::kv_tx {
namespace {

using kv::Batch;
using kv::Tablet;
using kv::Tier;
using kv::ValueOf;

// Divides the tablets of the conformance suite in the middle of its keys.
std::string PartOf(Tablet, std::string_view key) {
  const std::string_view route = RouteOf(key);
  if (route < "counter2") return "a";
  if (route < "k3") return "b";
  return route < "k5" ? "c" : "d";
}

enum class Store { kPlain, kUnits, kSlow };

class TransactionStore final : public kv::StoreUnderTest {
 public:
  explicit TransactionStore(Store kind)
      : kind_(kind), memory_(kind == Store::kPlain ? kv::SharedMemory::PartOf() : PartOf) {}
  Result<std::unique_ptr<kv::Engine>> Open() override {
    std::unique_ptr<kv::Engine> inner = memory_.Attach();
    if (kind_ == Store::kSlow)
      inner =
          std::make_unique<kv::FaultEngine>(std::move(inner), kv::FaultOptions{.delay_done = true});
    return std::unique_ptr<kv::Engine>(
        std::make_unique<TransactionEngine>(std::move(inner), Options{.seed = 1, .threads = 2}));
  }

 private:
  const Store kind_;
  kv::SharedMemory memory_;
};

struct Case {
  kv::ConformanceCase conformance;
  Store store;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Store store : {Store::kPlain, Store::kUnits, Store::kSlow}) {
    for (kv::ConformanceCase& each : kv::ConformanceCases())
      cases.push_back({std::move(each), store});
  }
  return cases;
}

class TransactionConformance : public testing::TestWithParam<Case> {};
TEST_P(TransactionConformance, Holds) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{20261122}}) {
    const Status status = GetParam().conformance.run(
        {.make = [] { return std::make_unique<TransactionStore>(GetParam().store); },
         .seed = seed,
         .steps = 1000});
    ASSERT_TRUE(status.ok()) << status.error().message() << " seed " << seed;
  }
}
std::string NameOf(const testing::TestParamInfo<Case>& info) {
  static const char* const kNames[] = {"Plain", "Units", "Slow"};
  return info.param.conformance.name + kNames[static_cast<int>(info.param.store)];
}
INSTANTIATE_TEST_SUITE_P(All, TransactionConformance, testing::ValuesIn(Cases()), NameOf);

constexpr Tablet kA{kv::Space::kItems, 1};
constexpr Tablet kB{kv::Space::kItems, 2};
constexpr Tablet kLog{kv::Space::kLog, 3};

std::string TextOf(kv::Engine& engine, Tablet tablet, const std::string& key,
                   uint64_t* stamp = nullptr) {
  std::string value;
  const Result<bool> found = engine.Get(tablet, key, Tier::kAny, &value);
  if (!found.ok()) return found.error().message();
  if (!*found) return "absent";
  if (stamp != nullptr) *stamp = kv::StampOf(value);
  return value.substr(kv::kStampBytes);
}

Batch PutBoth(const std::string& text) {
  Batch batch;
  batch.puts.push_back({kA, "a", ValueOf(text)});
  batch.puts.push_back({kB, "b", ValueOf(text)});
  return batch;
}

// Leaves the state of a process that died after it prepared or, with `decision`, decided: in B, "b"
// becomes `text`, "gone" is deleted and "count" is added to.
void LeaveBehind(kv::Engine& raw, const std::string& text, Decision decision) {
  const TransactionRef self{{7, 8}, kA, RecordKeyOf("a", {7, 8})};
  const std::string note_key = NoteKeyOf("b", self.id);
  Batch prepare;
  for (const char* key : {"b", "gone"}) {
    std::string old;
    const bool found = *raw.Get(kB, key, Tier::kAny, &old);
    Intent intent{self,
                  note_key,
                  std::string_view(key) == "b" ? Intent::New::kPut : Intent::New::kDelete,
                  text,
                  {}};
    if (found) intent.old = old;
    prepare.guards.push_back({kB, key, found ? kv::StampOf(old) : 0});
    prepare.puts.push_back({kB, key, EncodeIntent(intent)});
  }
  prepare.puts.push_back(
      {kB, note_key, EncodeNote({self, 1, {{"b"}, {"gone"}}, {{kB, "count", 5}}, {}})});
  ASSERT_TRUE(ApplyAndWait(raw, std::move(prepare)).ok());
  if (decision == Decision::kUndecided) return;
  Batch commit;
  if (decision == Decision::kCommitted) commit.puts.push_back({kA, "a", ValueOf(text)});
  commit.puts.push_back({kA, self.record_key, EncodeRecord({decision, 1, {{kB, note_key}}})});
  ASSERT_TRUE(ApplyAndWait(raw, std::move(commit)).ok());
}

size_t Leftovers(kv::Engine& raw, Tablet tablet) {
  size_t count = 0;
  EXPECT_TRUE(raw.Scan({tablet, {}, {}}, Tier::kAny,
                       [&](std::string_view key, std::string_view value) {
                         count += key.starts_with("\xff") || IsIntent(value);
                         return true;
                       })
                  .ok());
  return count;
}

class DeadProcess : public testing::TestWithParam<Decision> {};

TEST_P(DeadProcess, TransactionIsFinishedByReaderOrWriter) {
  const bool committed = GetParam() == Decision::kCommitted;
  kv::SharedMemory memory;
  const auto raw = memory.Attach();
  TransactionEngine engine(memory.Attach(), {.seed = 1, .threads = 2, .patience_micros = 100'000});
  ASSERT_TRUE(ApplyAndWait(engine, PutBoth("old")).ok());
  Batch there;
  there.puts.push_back({kB, "gone", ValueOf("here")});
  ASSERT_TRUE(ApplyAndWait(engine, std::move(there)).ok());
  while (Leftovers(*raw, kA) + Leftovers(*raw, kB) > 0) std::this_thread::yield();
  LeaveBehind(*raw, "new", GetParam());

  uint64_t stamp = 0;
  EXPECT_EQ(TextOf(engine, kB, "b", &stamp), committed ? "new" : "old");
  EXPECT_EQ(TextOf(engine, kB, "gone"), committed ? "absent" : "here");
  std::vector<std::optional<std::string>> values;
  const kv::Point points[] = {{kA, "a"}, {kB, "b"}};
  ASSERT_TRUE(engine.MultiGet(points, Tier::kAny, &values).ok());
  EXPECT_EQ(values[0]->substr(kv::kStampBytes), values[1]->substr(kv::kStampBytes));
  std::string value;
  EXPECT_EQ(engine.Get(kB, "b", Tier::kGuarded, &value).error().code(), ErrorCode::kWouldBlock);
  std::string keys;
  ASSERT_TRUE(engine
                  .Scan({kB, {}, {}, true}, Tier::kAny,
                        [&](std::string_view key, std::string_view) {
                          keys.append(key).append(" ");
                          return true;
                        })
                  .ok());
  EXPECT_EQ(keys, committed ? "b " : "gone b ");

  // A writer only needs to retry.
  int tries = 0;
  for (bool done = false; !done; ++tries) {
    TextOf(engine, kB, "b", &stamp);
    Batch batch;
    batch.guards.push_back({kB, "b", stamp});
    batch.puts.push_back({kB, "b", ValueOf("newer")});
    batch.adds.push_back({kB, "count", 1});
    const Result<uint64_t> outcome = ApplyAndWait(engine, std::move(batch));
    done = outcome.ok();
    ASSERT_TRUE(done || outcome.error().code() == ErrorCode::kGuardFailed);
  }
  EXPECT_LE(tries, 3);
  ASSERT_TRUE(engine.Sweep(kB, 0));
  EXPECT_EQ(Leftovers(*raw, kB), 0u);
  EXPECT_EQ(TextOf(engine, kB, "gone"), committed ? "absent" : "here");
  ASSERT_TRUE(*engine.Get(kB, "count", Tier::kAny, &value));
  EXPECT_EQ(*kv::CounterOf(value), committed ? 6 : 1);
  // Records of transactions that another process aborted stay for a while.
  EXPECT_EQ(Leftovers(*raw, kA), 1u);
}
INSTANTIATE_TEST_SUITE_P(All, DeadProcess,
                         testing::Values(Decision::kUndecided, Decision::kCommitted,
                                         Decision::kAborted));

// A unit may be divided between two lookups of the unit of one key in a batch.
TEST(TransactionEngine, KeyIsWrittenOnceIfItsUnitIsDividedMeanwhile) {
  for (int division = 0; division < 20; ++division) {
    std::atomic<int> looks = -1000;
    kv::SharedMemory memory([&looks, division](Tablet tablet, std::string_view) {
      return tablet == kB && looks++ >= division ? "after" : "before";
    });
    const auto raw = memory.Attach();
    {
      TransactionEngine engine(memory.Attach(), {.seed = 1, .threads = 1});
      ASSERT_TRUE(ApplyAndWait(engine, PutBoth("old")).ok());
      while (Leftovers(*raw, kA) + Leftovers(*raw, kB) > 0) std::this_thread::yield();
      bool done = false;
      while (!done) {
        Batch batch = PutBoth("new");
        uint64_t stamps[2] = {};
        TextOf(engine, kA, "a", &stamps[0]);
        TextOf(engine, kB, "b", &stamps[1]);
        batch.guards.push_back({kA, "a", stamps[0]});
        batch.guards.push_back({kB, "b", stamps[1]});
        if (looks < 0) looks = 0;
        const Result<uint64_t> outcome = ApplyAndWait(engine, std::move(batch));
        done = outcome.ok();
        ASSERT_TRUE(done || outcome.error().code() == ErrorCode::kGuardFailed)
            << outcome.error().message();
      }
      EXPECT_EQ(TextOf(engine, kB, "b"), "new") << "divided after " << division;
    }
    EXPECT_EQ(TextOf(*raw, kB, "b"), "new") << "divided after " << division;
    EXPECT_EQ(Leftovers(*raw, kA) + Leftovers(*raw, kB), 0u) << "divided after " << division;
  }
}

TEST(TransactionEngine, UnknownOutcomesAreResolved) {
  for (const bool delay : {false, true}) {
    kv::SharedMemory memory;
    kv::FaultOptions faults{.seed = 5, .delay_done = delay};
    faults[kv::Fault::kUnknownApplied] = 0.1;
    faults[kv::Fault::kUnknownNotApplied] = 0.1;
    faults[kv::Fault::kUnavailable] = 0.05;
    auto inner = std::make_unique<kv::FaultEngine>(memory.Attach(), faults);
    kv::FaultEngine& dial = *inner;
    TransactionEngine engine(std::move(inner), {.seed = 2, .threads = 2});
    int applied = 0;
    std::string last = "absent";
    for (int i = 0; i < 200; ++i) {
      Batch batch = PutBoth(std::to_string(i));
      batch.adds.push_back({kB, "count", 1});
      const Result<uint64_t> outcome = ApplyAndWait(engine, std::move(batch));
      if (outcome.ok()) {
        ++applied;
        last = std::to_string(i);
      } else {
        ASSERT_EQ(outcome.error().code(), ErrorCode::kUnavailable) << outcome.error().message();
      }
      ASSERT_EQ(TextOf(engine, kB, "b"), last);
      ASSERT_EQ(TextOf(engine, kA, "a"), last);
    }
    EXPECT_GT(applied, 50);
    dial.SetProbabilities({});
    const auto raw = memory.Attach();
    std::string value;
    int64_t count = 0;
    for (int look = 0; look < 10'000 && count < applied; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_TRUE(engine.Sweep(kB, 0));
      ASSERT_TRUE(*engine.Get(kB, "count", Tier::kAny, &value));
      count = *kv::CounterOf(value);
    }
    EXPECT_EQ(count, applied);
    EXPECT_EQ(Leftovers(*raw, kB), 0u);
  }
}

TEST(TransactionEngine, RaiseFenceReturnsWhenNoOlderTransactionCanCommit) {
  kv::SharedMemory memory;
  const auto raw = memory.Attach();
  TransactionEngine engine(memory.Attach(), {.seed = 1, .threads = 2, .patience_micros = 10'000});
  ASSERT_TRUE(ApplyAndWait(engine, PutBoth("old")).ok());
  ASSERT_TRUE(engine.Sweep(kB, 0));
  LeaveBehind(*raw, "new", Decision::kUndecided);
  ASSERT_TRUE(engine.RaiseFence(kB, 3).ok());
  EXPECT_EQ(Leftovers(*raw, kB), 0u);
  Batch batch = PutBoth("late");
  batch.fences.push_back({kB, 2});
  EXPECT_EQ(ApplyAndWait(engine, batch).error().code(), ErrorCode::kFenced);
  // Also where the tablet has no key of the batch.
  Batch elsewhere;
  elsewhere.puts.push_back({kA, "a", ValueOf("late")});
  elsewhere.fences.push_back({kB, 2});
  EXPECT_EQ(ApplyAndWait(engine, elsewhere).error().code(), ErrorCode::kFenced);
  elsewhere.fences.front().most = 3;
  EXPECT_TRUE(ApplyAndWait(engine, elsewhere).ok());
  EXPECT_EQ(TextOf(engine, kA, "a"), "late");
  EXPECT_EQ(TextOf(engine, kB, "b"), "old");
}

TEST(TransactionEngine, DropLeavesNoUndecidedTransaction) {
  kv::SharedMemory memory;
  const auto raw = memory.Attach();
  TransactionEngine engine(memory.Attach(), {.seed = 1, .threads = 2, .patience_micros = 10'000});
  LeaveBehind(*raw, "new", Decision::kCommitted);
  ASSERT_TRUE(engine.RaiseFence(kA, kv::kDroppedFence).ok());
  EXPECT_EQ(Leftovers(*raw, kB), 0u);
  EXPECT_EQ(TextOf(engine, kB, "b"), "new");
  EXPECT_EQ(ApplyAndWait(engine, PutBoth("x")).error().code(), ErrorCode::kFenced);
  EXPECT_EQ(TextOf(engine, kB, "b"), "new");
}

TEST(TransactionEngine, ScanOfQueueEndsBeforeFirstUndecidedKey) {
  kv::SharedMemory memory;
  const auto raw = memory.Attach();
  TransactionEngine engine(memory.Attach(), {.seed = 1, .threads = 2});
  const auto record = [](const std::string& text) {
    Batch batch;
    batch.puts.push_back({kLog, std::string("q").append(8, '\0'), ValueOf(text), 1});
    return batch;
  };
  const auto read = [&](bool reverse) {
    std::string texts;
    EXPECT_TRUE(engine
                    .Scan({kLog, "q", "r", reverse}, Tier::kAny,
                          [&](std::string_view, std::string_view value) {
                            texts.append(value.substr(kv::kStampBytes)).append(" ");
                            return true;
                          })
                    .ok());
    return texts;
  };
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(ApplyAndWait(engine, record("x")).ok());
  ASSERT_TRUE(ApplyAndWait(engine, record("1")).ok());
  const TransactionRef self{{7, 8}, kA, RecordKeyOf("a", {7, 8})};
  Batch prepare;
  const std::string note_key = NoteKeyOf(std::string("q").append(8, '\xff'), self.id);
  prepare.puts.push_back({kLog, std::string("q").append(8, '\0'),
                          EncodeIntent({self, note_key, Intent::New::kPut, "2", {}}), 1});
  prepare.puts.push_back(
      {kLog, note_key, EncodeNote({self, 1, {{std::string("q").append(8, '\0'), 1}}, {}, {}})});
  ASSERT_TRUE(ApplyAndWait(*raw, prepare).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(ApplyAndWait(engine, record("3")).ok());
  EXPECT_TRUE(read(false).ends_with("x 1 "));
  EXPECT_TRUE(read(true).starts_with("1 x "));
  Batch commit;
  commit.puts.push_back(
      {kA, self.record_key, EncodeRecord({Decision::kCommitted, 1, {{kLog, note_key}}})});
  ASSERT_TRUE(ApplyAndWait(*raw, commit).ok());
  EXPECT_NE(read(false).find("1 2 3 "), std::string::npos);
  EXPECT_NE(read(true).find("3 2 1 "), std::string::npos);
}

// A store in which every operation takes one round, and each tablet has one group of operations
// under way at a time, like kv_rados.
class RoundsEngine final : public PassingOn {
 public:
  using PassingOn::PassingOn;
  // Starts each group that can start.
  void Begin() {
    for (auto& [tablet, queue] : queues_) {
      if (queue.under_way.empty()) queue.under_way.swap(queue.waiting);
    }
  }
  // Completes the operations under way.
  void EndRound() {
    std::deque<Queued> ended;
    for (auto& [tablet, queue] : queues_) {
      for (Queued& each : queue.under_way) ended.push_back(std::move(each));
      queue.under_way.clear();
    }
    for (Queued& each : ended) inner_->Apply(std::move(each.batch), std::move(each.done));
  }
  bool idle() const {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) {
      return queue.second.under_way.empty() && queue.second.waiting.empty();
    });
  }
  int reads() const { return reads_; }

  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override {
    reads_ += tier == Tier::kAny;
    return inner_->Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    reads_ += tier == Tier::kAny;
    return inner_->MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    ++reads_;
    return inner_->Scan(range, tier, visit);
  }
  void Apply(Batch batch, kv::ApplyDone done) override {
    const Tablet tablet =
        !batch.puts.empty() ? batch.puts.front().tablet : batch.deletes.front().tablet;
    queues_[tablet].waiting.push_back({std::move(batch), std::move(done)});
  }

 private:
  struct Queued {
    Batch batch;
    kv::ApplyDone done;
  };
  struct Queue {
    std::deque<Queued> under_way, waiting;
  };
  std::map<Tablet, Queue> queues_;
  int reads_ = 0;
};

class Tasks final : public Scheduler {
 public:
  void Post(UniqueFunction<void()> task, int64_t) override { tasks_.push_back(std::move(task)); }
  void Await(FunctionRef<bool()> ready) override {
    while (!ready()) {
      RunAll();
      if (round) round();
    }
  }
  void Wake() override {}
  void Hurry() override {}
  void Stop() override { tasks_.clear(); }
  void RunAll() {
    while (!tasks_.empty()) {
      UniqueFunction<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  std::function<void()> round;

 private:
  std::deque<UniqueFunction<void()>> tasks_;
};

struct Rounds {
  Rounds() {
    auto inner = std::make_unique<RoundsEngine>(memory.Attach());
    store = inner.get();
    tasks.round = [this] { Round(); };
    engine = std::make_unique<TransactionEngine>(std::move(inner),
                                                 Options{.seed = 1, .scheduler = &tasks});
  }
  void Round() {
    store->Begin();
    store->EndRound();
    tasks.RunAll();
  }
  void Settle() {
    for (tasks.RunAll(); !store->idle(); Round()) {
    }
  }
  // Returns the number of rounds until the batch is done.
  int Of(Batch batch) {
    std::optional<Result<uint64_t>> outcome;
    engine->Apply(std::move(batch),
                  [&](Result<uint64_t> applied) { outcome = std::move(applied); });
    int rounds = 0;
    for (tasks.RunAll(); !outcome; ++rounds) Round();
    // starts the operations that the `done`s sent, before the client sees the outcome
    store->Begin();
    EXPECT_TRUE(outcome->ok());
    return rounds;
  }

  kv::SharedMemory memory;
  Tasks tasks;
  RoundsEngine* store = nullptr;
  std::unique_ptr<TransactionEngine> engine;
};

// The rounds of the network that a client waits for. A batch that spans units takes a prepare, a
// commit and no read; behind another batch on the same unit it also waits for what that batch still
// has under way there, at most.
TEST(TransactionEngine, BatchOnSeveralUnitsTakesTwoRounds) {
  Rounds rounds;
  uint64_t stamp_a = 0, stamp_b = 0;
  // Like a transaction of two items, or an item and its index entry in another unit.
  const auto write = [&](const std::string& text) {
    Batch batch = PutBoth(text);
    batch.guards.push_back({kA, "a", stamp_a});
    batch.guards.push_back({kB, "b", stamp_b});
    batch.puts.push_back({kB, "entry" + text, ValueOf(text)});
    batch.deletes.push_back({kB, "entry" + std::to_string(std::stoi(text) - 1)});
    batch.adds.push_back({kA, "count", 1});
    batch.adds.push_back({kB, "count", 1});
    return batch;
  };
  const auto stamps = [&] {
    TextOf(*rounds.engine, kA, "a", &stamp_a);
    TextOf(*rounds.engine, kB, "b", &stamp_b);
  };
  EXPECT_EQ(rounds.Of(write("1")), 2);
  rounds.Settle();
  for (int i = 2; i < 5; ++i) {
    stamps();
    const int reads = rounds.store->reads();
    EXPECT_EQ(rounds.Of(write(std::to_string(i))), 2);
    EXPECT_EQ(rounds.store->reads(), reads)
        << "what is remembered need not be read, and counters only once";
    rounds.Settle();
  }
  // One after the other without a pause, so that the previous roll-forward is still under way.
  for (int i = 5; i < 9; ++i) {
    stamps();
    EXPECT_LE(rounds.Of(write(std::to_string(i))), 3);
  }
  // Now without waiting for answers: each batch is computed from the result of the previous one.
  rounds.Settle();
  stamps();
  kv::FatePtr before;
  std::vector<int> done_at;
  int now = 0;
  for (int i = 0; i < 4; ++i) {
    Batch batch = write(std::to_string(20 + i));
    auto fate = std::make_shared<kv::BatchFate>();
    batch.fate = fate;
    if (before != nullptr) {
      batch.after.push_back(before);
      for (kv::Guard& guard : batch.guards) guard.left_by = before;
    }
    before = fate;
    rounds.engine->Apply(std::move(batch), [&](Result<uint64_t> applied) {
      EXPECT_TRUE(applied.ok());
      done_at.push_back(now);
    });
  }
  for (rounds.tasks.RunAll(); done_at.size() < 4; rounds.Round()) ASSERT_LT(++now, 20);
  EXPECT_EQ(done_at, (std::vector<int>{2, 4, 6, 8}));
  rounds.Settle();
  EXPECT_EQ(Leftovers(*rounds.memory.Attach(), kA) + Leftovers(*rounds.memory.Attach(), kB), 0u);
}

// Runs a callback just before a key is read, and lets a tablet refuse writes.
class Interrupted final : public PassingOn {
 public:
  using PassingOn::PassingOn;
  void Before(std::string key, std::function<void()> happens) {
    before_[std::move(key)] = std::move(happens);
  }

  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override {
    if (auto found = before_.extract(std::string(key)); !found.empty()) found.mapped()();
    return inner_->Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    if (around_reads_) around_reads_(points.front().key, true);
    Status read = inner_->MultiGet(points, tier, values);
    if (around_reads_) around_reads_(points.front().key, false);
    return read;
  }
  // Calls `around` before and after each MultiGet, with its first key, on several threads.
  void AroundReads(std::function<void(std::string_view key, bool before)> around) {
    around_reads_ = std::move(around);
  }
  void Apply(Batch batch, kv::ApplyDone done) override {
    const bool refused = refuses_b_ && !batch.puts.empty() && batch.puts.front().tablet == kB;
    if (refused) return done(Error(ErrorCode::kUnavailable, "no"));
    const bool lost = loses_ && loses_(batch);
    inner_->Apply(std::move(batch), [&](Result<uint64_t> applied) {
      done(lost ? Result<uint64_t>(Error(ErrorCode::kOutcomeUnknown, "lost")) : std::move(applied));
    });
  }
  // Calls `loses` before each batch is applied: true loses the answer.
  void LoseAnswers(std::function<bool(const Batch&)> loses) { loses_ = std::move(loses); }
  void RefuseWritesToB() { refuses_b_ = true; }

 private:
  std::map<std::string, std::function<void()>> before_;
  std::function<void(std::string_view, bool)> around_reads_;
  std::atomic<bool> refuses_b_ = false;
  std::function<bool(const Batch&)> loses_;
};

// An interrupted engine, and another process whose steps are taken one by one.
struct WithAnotherProcess {
  void Apply(Batch batch) { ASSERT_TRUE(ApplyAndWait(*raw, std::move(batch)).ok()); }
  // The other process's transaction writes `text` to one key.
  void Prepare(const TransactionRef& transaction, Tablet tablet, const std::string& key,
               const std::string& text) {
    const std::string note_key = NoteKeyOf(key, transaction.id);
    Intent intent{transaction, note_key, Intent::New::kPut, text, {}};
    std::string old;
    if (*raw->Get(tablet, key, Tier::kAny, &old)) intent.old = old;
    Batch batch;
    batch.puts.push_back({tablet, key, EncodeIntent(intent)});
    batch.puts.push_back({tablet, note_key, EncodeNote({transaction, 1, {{key}}, {}, {}})});
    Apply(std::move(batch));
  }
  // Commits, with further changes in the primary unit.
  void Commit(const TransactionRef& transaction, Tablet tablet, const std::string& key,
              Batch batch = {}) {
    const std::string record =
        EncodeRecord({Decision::kCommitted, 1, {{tablet, NoteKeyOf(key, transaction.id)}}});
    batch.puts.push_back({transaction.primary, transaction.record_key, record});
    Apply(std::move(batch));
  }

  kv::SharedMemory memory;
  const std::unique_ptr<kv::Engine> raw = memory.Attach();
  std::unique_ptr<Interrupted> inner = std::make_unique<Interrupted>(memory.Attach());
  Interrupted& interrupted = *inner;
  TransactionEngine engine{std::move(inner), {.seed = 1, .threads = 2}};
};

TEST(TransactionEngine, ReverseScanOfQueueShowsTransactionFinishedMeanwhile) {
  WithAnotherProcess world;
  const TransactionRef self{{7, 8}, kA, RecordKeyOf("a", {7, 8})};
  Batch first;
  first.puts.push_back({kLog, "q1", ValueOf("1")});
  world.Apply(std::move(first));
  world.Prepare(self, kLog, "q2", "2");
  world.Commit(self, kLog, "q2");
  // The process of the transaction has just finished it.
  world.interrupted.Before(self.record_key, [&] {
    Batch forward;
    forward.puts.push_back({kLog, "q2", ValueOf("2")});
    forward.deletes.push_back({kLog, NoteKeyOf("q2", self.id)});
    world.Apply(std::move(forward));
    Batch over;
    over.deletes.push_back({kA, self.record_key});
    world.Apply(std::move(over));
  });
  std::string texts;
  ASSERT_TRUE(world.engine
                  .Scan({kLog, "q", "r", true}, Tier::kAny,
                        [&](std::string_view, std::string_view value) {
                          texts.append(value.substr(kv::kStampBytes)).append(" ");
                          return true;
                        })
                  .ok());
  EXPECT_EQ(texts, "2 1 ");
}

TEST(TransactionEngine, UnfinishedRollForwardAtCloseStaysCommitted) {
  kv::SharedMemory memory;
  {
    auto inner = std::make_unique<Interrupted>(memory.Attach());
    Interrupted& store = *inner;
    TransactionEngine engine(std::move(inner), {.seed = 1, .threads = 2});
    ASSERT_TRUE(ApplyAndWait(engine, PutBoth("old")).ok());
    std::atomic<bool> done = false;
    engine.Apply(PutBoth("new"), [&](Result<uint64_t> applied) {
      EXPECT_TRUE(applied.ok());
      store.RefuseWritesToB();
      done = true;
      done.notify_all();
    });
    done.wait(false);
  }
  TransactionEngine next(memory.Attach(), {.seed = 2, .threads = 2});
  EXPECT_EQ(TextOf(next, kA, "a"), "new");
  EXPECT_EQ(TextOf(next, kB, "b"), "new");
}

TEST(TransactionEngine, UnknownCommitIsFoundAfterOthersFinishedIt) {
  kv::SharedMemory memory;
  TransactionEngine other(memory.Attach(), {.seed = 1, .threads = 2});
  auto inner = std::make_unique<Interrupted>(memory.Attach());
  Interrupted& store = *inner;
  TransactionEngine engine(std::move(inner), {.seed = 2, .threads = 2});
  std::atomic<int> records = 0;
  store.LoseAnswers([&](const Batch& batch) {
    const bool decides = std::any_of(batch.puts.begin(), batch.puts.end(), [](const kv::Put& put) {
      return put.key.starts_with(FirstOfKind(kRecordKind));
    });
    if (!decides) return false;
    // Loses the answer of the commit. Before this process looks for the record, another process
    // sweeps everything.
    if (++records == 1) return true;
    EXPECT_TRUE(other.Sweep(kB, 0) && other.Sweep(kA, 0));
    return false;
  });
  Batch batch = PutBoth("new");
  batch.adds.push_back({kA, "count", 1});
  batch.adds.push_back({kB, "count", 1});
  EXPECT_TRUE(ApplyAndWait(engine, std::move(batch)).ok());
  EXPECT_EQ(records, 2);
  for (const Tablet tablet : {kA, kB}) {
    std::string value;
    ASSERT_TRUE(*other.Get(tablet, "count", Tier::kAny, &value));
    EXPECT_EQ(*kv::CounterOf(value), 1);
  }
}

TEST(TransactionEngine, SnapshotContainsPredecessorOfEachTransaction) {
  WithAnotherProcess world;
  const TransactionRef first{{1, 1}, kA, RecordKeyOf("a", {1, 1})},
      second{{2, 2}, kA, RecordKeyOf("a", {2, 2})};
  world.Prepare(first, kB, "b1", "new");
  world.Prepare(second, kB, "b2", "new");
  // The first transaction has been seen undecided when the second is looked up.
  world.interrupted.Before(second.record_key, [&] {
    world.Commit(first, kB, "b1");
    world.Commit(second, kB, "b2");
  });
  std::vector<std::optional<std::string>> values;
  const kv::Point points[] = {{kB, "b1"}, {kB, "b2"}};
  ASSERT_TRUE(world.engine.MultiGet(points, Tier::kAny, &values).ok());
  EXPECT_FALSE(values[1] && !values[0]);
}

// One transaction creates a key and the next deletes it, between two reads of the key: no stamp
// shows that something happened.
TEST(TransactionEngine, SnapshotWithAbsentKeyIsOfOneMoment) {
  WithAnotherProcess world;
  const TransactionRef last{{1, 1}, kA, RecordKeyOf("a", {1, 1})};
  const auto put = [&](Tablet tablet, const std::string& text) {
    Batch batch;
    batch.puts.push_back({tablet, tablet == kA ? "a" : "b", ValueOf(text)});
    world.Apply(std::move(batch));
  };
  put(kB, "0");
  std::atomic<int> reads_of_a = 0;
  std::atomic<bool> prepared = false, committed = false;
  world.interrupted.AroundReads([&](std::string_view key, bool before) {
    if (key == "a" && !before) ++reads_of_a;
    if (key == "b" && before && !prepared.exchange(true)) {
      while (reads_of_a == 0) std::this_thread::yield();
      put(kA, "1");
      put(kB, "1");
      world.Prepare(last, kB, "b", "2");
    }
    if (key == "a" && before && reads_of_a == 1 && !committed.exchange(true)) {
      Batch deletes;
      deletes.deletes.push_back({kA, "a"});
      world.Commit(last, kB, "b", std::move(deletes));
    }
  });
  std::vector<std::optional<std::string>> values;
  const kv::Point points[] = {{kA, "a"}, {kB, "b"}};
  ASSERT_TRUE(world.engine.MultiGet(points, Tier::kAny, &values).ok());
  EXPECT_TRUE(committed);
  ASSERT_TRUE(values[1]);
  EXPECT_FALSE(values[0]);
  EXPECT_NE(values[1]->substr(kv::kStampBytes), "1") << "then the other key was there";
}

}  // namespace
}  // namespace stator::kv_tx
