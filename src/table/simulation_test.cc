// The store in one thread and from one seed: writes of one and of several items, conditions,
// tokens, reads that take long, refused writes, unknown outcomes, time that passes and crashes, in
// any order. A seed repeats a run to the last event.
//
// The engine tells which batches it really applied. Of every applied write, what its body saw must
// be what the writes applied before it left (the order of commits is a serial order), and in the
// end the store holds what they say, with its indexes and counters. What was acknowledged was
// applied, what was refused was not, a token's write was applied once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "table/test_await.h"
#include "table/test_indexes.h"

namespace stator::table {
namespace {

using indexes::ItemView;
using Images = std::map<std::string, std::string>;  // by key, encoded

struct Attempt {
  uint64_t id = 0;
  std::vector<std::string> keys;   // EncodeItemKey
  std::vector<std::string> texts;  // the items to put, as notation without end; empty: delete
  bool conditional = false;        // not if the first item has an `x` of 1
  std::string token;
  // What happened:
  std::vector<std::string> saw;  // encoded; empty: no item
  bool saw_committed = false;    // and that was in the store when the body ran
  std::vector<Change> changes;
  bool repeated = false;  // the token's record was found
  bool failed = false;    // the condition did not hold
  int64_t time = 0;       // when the body ran
  bool applied = false;
  bool ended = false;
};
using AttemptPtr = std::shared_ptr<Attempt>;

// Batches wait until the test commits them, and their answers until it delivers them, both in
// order.
class ScheduledEngine final : public kv::Engine {
 public:
  explicit ScheduledEngine(uint64_t seed)
      : faults_(std::make_unique<kv::MemoryEngine>(), {.seed = seed}), random_(seed * 7919) {}

  // Called while a read waits for its disk.
  UniqueFunction<void()> on_wait;
  // Called when the batch that `owner` named was applied (also if its outcome is told as unknown).
  UniqueFunction<void(const AttemptPtr&)> on_applied;
  AttemptPtr owner;  // of the next batch

  void SetFaults(bool faults) {
    faulty_ = faults;
    kv::FaultOptions options;
    if (faults) options[kv::Fault::kWouldBlock] = 0.3;
    faults_.SetProbabilities(options.probability);
  }
  bool idle() const { return queue_.empty() && undelivered_.empty(); }

  void CommitOne() {
    if (queue_.empty()) return;
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    std::optional<kv::Fault> fault;
    if (faulty_ && !next.batch.empty() && !kv::IsVoid(next.batch)) {
      const uint64_t dice = random_.Below(100);
      if (dice < 4)
        fault = kv::Fault::kUnavailable;
      else if (dice < 6)
        fault = kv::Fault::kUnknownNotApplied;
      else if (dice < 8)
        fault = kv::Fault::kUnknownApplied;
    }
    if (fault) faults_.Trigger(*fault);
    std::optional<Result<uint64_t>> outcome;
    faults_.Apply(std::move(next.batch),
                  [&outcome](Result<uint64_t> result) { outcome.emplace(std::move(result)); });
    if ((outcome->ok() || fault == kv::Fault::kUnknownApplied) && next.owner != nullptr)
      on_applied(next.owner);
    if (outcome->ok()) {
      undelivered_.push_back({std::move(next.done), std::move(*outcome)});
      return;
    }
    // Whoever built on it has to know before its own batch is looked at.
    while (!undelivered_.empty()) DeliverOne();
    next.done(std::move(*outcome));
  }
  void DeliverOne() {
    if (undelivered_.empty()) return;
    Undelivered next = std::move(undelivered_.front());
    undelivered_.pop_front();
    next.done(std::move(next.outcome));
  }
  // The process dies: what is queued is lost, what is not delivered nobody hears of.
  void Crash() {
    crashed_ = true;
    while (!undelivered_.empty() || !queue_.empty()) {
      kv::ApplyDone done;
      if (!undelivered_.empty()) {
        done = std::move(undelivered_.front().done);
        undelivered_.pop_front();
      } else {
        done = std::move(queue_.front().done);
        queue_.pop_front();
      }
      done(Error(ErrorCode::kUnavailable, "crashed"));
    }
  }
  void Restart() { crashed_ = false; }

  kv::Capabilities capabilities() const override { return faults_.capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    if (tier == kv::Tier::kAny && on_wait) on_wait();
    return faults_.Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    return faults_.MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return faults_.Scan(range, tier, visit);
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    AttemptPtr of = std::move(owner);
    owner = nullptr;
    if (crashed_) return done(Error(ErrorCode::kUnavailable, "crashed"));
    queue_.push_back({std::move(batch), std::move(done), std::move(of)});
  }
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    return faults_.ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return {}; }
  Status Checkpoint(const std::string& directory) override { return faults_.Checkpoint(directory); }

 private:
  struct Queued {
    kv::Batch batch;
    kv::ApplyDone done;
    AttemptPtr owner;
  };
  struct Undelivered {
    kv::ApplyDone done;
    Result<uint64_t> outcome;
  };
  kv::FaultEngine faults_;
  SeededRandom random_;
  bool faulty_ = false;
  bool crashed_ = false;
  std::deque<Queued> queue_;
  std::deque<Undelivered> undelivered_;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : seed_(seed), random_(seed), engine_(seed), workers_(1, 0) {
    engine_.on_applied = [this](const AttemptPtr& attempt) { Applied(*attempt); };
    // A pool that takes nothing makes cold reads wait in place; what happens meanwhile happens
    // here.
    engine_.on_wait = [this] {
      if (depth_ == 0 || depth_ > 2 || crashing_) return;
      for (uint64_t events = random_.Below(4); events > 0; --events) Step();
    };
    store_ = Store::Open(engine_, clock_, workers_).value();
    store_->Create(indexes::Describe(), [](Result<TablePtr> table) { EXPECT_TRUE(table.ok()); });
    Drain();
    engine_.SetFaults(true);
  }
  ~Simulation() {
    engine_.on_wait = nullptr;
    Crash();
    store_.reset();
    workers_.Stop();
  }

  void Run(int events) {
    for (int i = 0; i < events && !testing::Test::HasFailure(); ++i) {
      Step();
      if (random_.Below(400) == 0) Crash();
      if (random_.Below(300) == 0) Verify();
    }
    Verify();
  }
  int applied() const { return applied_; }
  int unknown() const { return unknown_; }
  int crashes() const { return crashes_; }
  int repeated() const { return repeated_; }

 private:
  std::string Where() const {
    return "seed " + std::to_string(seed_) + ", event " + std::to_string(event_);
  }
  std::string At(const std::string& key) const {
    const auto it = committed_.find(key);
    return it == committed_.end() ? std::string() : it->second;
  }

  void Step() {
    ++depth_;
    ++event_;
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (open_ < 12) Start();
        break;
      case 4:
      case 5:
      case 6: engine_.CommitOne(); break;
      case 7:
      case 8:
      case 9: engine_.DeliverOne(); break;
      case 10: clock_.AdvanceMicros(static_cast<int64_t>(random_.Below(20'000'000))); break;
      default: Read(); break;
    }
    --depth_;
  }

  std::pair<std::string, std::string> RandomKeyAndText() {
    const std::string text = indexes::RandomText(random_, "p" + std::to_string(random_.Below(4)),
                                                 static_cast<int>(random_.Below(3)));
    const std::string item = expr::notation::Item(text + "}");
    return {EncodeItemKey(indexes::Describe().key_schema, ItemView(item)), text};
  }

  void Start() {
    auto attempt = std::make_shared<Attempt>();
    attempt->id = ++ids_;
    const TablePtr table = store_->Find("tab");
    std::vector<WriteTarget> targets;
    for (uint64_t wanted = 1 + random_.Below(3) * random_.Below(2); wanted > 0; --wanted) {
      auto [key, text] = RandomKeyAndText();
      if (std::find(attempt->keys.begin(), attempt->keys.end(), key) != attempt->keys.end())
        continue;
      targets.push_back({table, key});
      attempt->keys.push_back(key);
      attempt->texts.push_back(random_.Below(4) == 0 ? "" : text);
    }
    attempt->conditional = random_.Below(3) == 0;
    std::shared_ptr<TokenUse> token;
    if (random_.Below(3) == 0) {
      token = std::make_shared<TokenUse>();
      token->token = attempt->token =
          "token " + std::to_string(random_.Below(4) == 0 ? random_.Below(3) : ids_);
    }
    ++open_;
    store_->Write(
        std::move(targets),
        [this, attempt, token](const std::vector<ItemView>& old_items) {
          return Body(attempt, token, old_items);
        },
        [this, attempt](Status status) { Ended(*attempt, status); }, token);
  }

  Result<std::vector<Change>> Body(const AttemptPtr& attempt,
                                   const std::shared_ptr<TokenUse>& token,
                                   const std::vector<ItemView>& old_items) {
    attempt->saw.clear();
    attempt->time = clock_.NowMicros();
    for (const ItemView& item : old_items) attempt->saw.emplace_back(item.encoded());
    attempt->saw_committed = true;
    for (size_t i = 0; i < old_items.size(); ++i)
      attempt->saw_committed &= attempt->saw[i] == At(attempt->keys[i]);
    attempt->changes.assign(old_items.size(), {});
    engine_.owner = attempt;
    attempt->repeated = token != nullptr && token->earlier.has_value();
    if (attempt->repeated) return attempt->changes;
    const ItemView first = old_items[0];
    attempt->failed = attempt->conditional && first.exists() && !first.Find("x").empty() &&
                      first.Find("x").text() == "1";
    if (attempt->failed) return Error(ErrorCode::kConditionalCheckFailed, "x is 1");
    for (size_t i = 0; i < old_items.size(); ++i) {
      int64_t version = 0;
      if (old_items[i].exists()) old_items[i].Find("version").number().ToInt64(&version);
      if (attempt->texts[i].empty()) {
        attempt->changes[i].kind = Change::kDelete;
      } else {
        attempt->changes[i] = {
            Change::kPut, expr::notation::Item(attempt->texts[i] +
                                               ", version: " + std::to_string(version + 1) + "}")};
      }
    }
    if (token != nullptr) token->record = "by " + std::to_string(attempt->id);
    return attempt->changes;
  }

  // Its batch is in the store now; one that changes nothing says that what it saw was so.
  void Applied(Attempt& attempt) {
    for (size_t i = 0; i < attempt.keys.size(); ++i) {
      EXPECT_EQ(attempt.saw[i], At(attempt.keys[i]))
          << Where() << ": write " << attempt.id << " saw what is not there";
    }
    EXPECT_FALSE(attempt.applied) << Where();
    EXPECT_FALSE(attempt.ended) << Where() << ": write " << attempt.id
                                << " was answered before it was applied";
    attempt.applied = true;
    if (attempt.repeated || attempt.failed) return;
    ++applied_;
    for (size_t i = 0; i < attempt.keys.size(); ++i) {
      if (attempt.changes[i].kind == Change::kPut)
        committed_[attempt.keys[i]] = attempt.changes[i].item;
      if (attempt.changes[i].kind == Change::kDelete) committed_.erase(attempt.keys[i]);
    }
    if (attempt.token.empty()) return;
    const auto [it, first] = tokens_.emplace(attempt.token, attempt.time);
    if (!first) {
      EXPECT_GE(attempt.time - it->second, kTokenLifeMicros)
          << Where() << ": " << attempt.token << " was applied twice";
      it->second = attempt.time;
    }
  }

  void Ended(Attempt& attempt, const Status& status) {
    --open_;
    EXPECT_FALSE(attempt.ended) << Where() << ": write " << attempt.id << " was answered twice";
    attempt.ended = true;
    if (crashing_) return;
    if (status.ok() || status.error().code() == ErrorCode::kConditionalCheckFailed) {
      EXPECT_EQ(status.ok(), !attempt.failed) << Where();
      const bool changes = !attempt.repeated && !attempt.failed;
      // A delete of what is not there and an answer to what is durable need no batch.
      EXPECT_TRUE(attempt.applied || attempt.saw_committed)
          << Where() << ": write " << attempt.id
          << " was answered on what it saw and what was not there";
      if (!attempt.applied && changes) {
        EXPECT_TRUE(attempt.token.empty())
            << Where() << ": write " << attempt.id << " was acknowledged without its token";
        for (size_t i = 0; i < attempt.keys.size(); ++i) {
          EXPECT_TRUE(attempt.changes[i].kind == Change::kDelete && attempt.saw[i].empty())
              << Where() << ": write " << attempt.id << " was acknowledged and not applied";
        }
      }
      if (attempt.repeated) {
        ++repeated_;
        EXPECT_TRUE(tokens_.contains(attempt.token))
            << Where() << ": " << attempt.token << " was never applied";
      }
    } else if (status.error().code() == ErrorCode::kOutcomeUnknown) {
      ++unknown_;
    } else {
      EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable)
          << Where() << status.error().message();
      EXPECT_FALSE(attempt.applied)
          << Where() << ": write " << attempt.id << " was refused and applied";
    }
  }

  void Read() {
    const std::string key = RandomKeyAndText().first;
    std::string item;
    Result<bool> found = store_->Get(*store_->Find("tab"), key, kv::Tier::kMemory, &item);
    if (!found.ok()) return;  // cold
    EXPECT_EQ(*found ? item : std::string(), At(key)) << Where();
  }

  void Drain() {
    while (!engine_.idle()) {
      engine_.CommitOne();
      engine_.DeliverOne();
    }
  }

  void Crash() {
    ++crashes_;
    crashing_ = true;
    engine_.Crash();
    EXPECT_EQ(open_, 0) << Where();
    EXPECT_EQ(store_->latches().size(), 0u) << Where();
    store_.reset();
    engine_.Restart();
    store_ = Store::Open(engine_, clock_, workers_).value();
    crashing_ = false;
  }

  void Verify() {
    engine_.SetFaults(false);
    Drain();
    EXPECT_EQ(open_, 0) << Where();
    EXPECT_EQ(store_->latches().size(), 0u) << Where();
    const TablePtr table = store_->Find("tab");
    EXPECT_EQ(indexes::ScanAll(*store_, table->descriptor.tablet(), kItemKind), committed_)
        << Where();
    indexes::ExpectIndexesMatch(*store_, Where());
    engine_.SetFaults(true);
  }

  const uint64_t seed_;
  SeededRandom random_;
  ManualClock clock_;
  ScheduledEngine engine_;
  WorkerPool workers_;
  std::unique_ptr<Store> store_;
  Images committed_;
  std::map<std::string, int64_t> tokens_;  // when they were recorded
  uint64_t ids_ = 0;
  uint64_t event_ = 0;
  int depth_ = 0;
  int open_ = 0;
  bool crashing_ = false;
  int applied_ = 0;
  int unknown_ = 0;
  int crashes_ = 0;
  int repeated_ = 0;
};

TEST(StoreSimulation, EverySeedHolds) {
  const char* from = std::getenv("STATOR_SIM_SEED");
  const char* count = std::getenv("STATOR_SIM_RUNS");
  const uint64_t first = from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
  const uint64_t runs = count == nullptr ? 40 : std::strtoull(count, nullptr, 10);
  int applied = 0, unknown = 0, crashes = 0, repeated = 0;
  for (uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) {
    Simulation simulation(seed);
    simulation.Run(3000);
    applied += simulation.applied();
    unknown += simulation.unknown();
    crashes += simulation.crashes();
    repeated += simulation.repeated();
  }
  std::printf("StoreSimulation: simulated seeds %" PRIu64 " to %" PRIu64
              ": %d applied, %d unknown, %d crashes, %d repeated\n",
              first, first + runs - 1, applied, unknown, crashes, repeated);
  if (from != nullptr || count != nullptr) return;
  EXPECT_GT(applied, 10'000);
  EXPECT_GT(unknown, 200);
  EXPECT_GT(crashes, 100);
  EXPECT_GT(repeated, 100);
}

// Global indexes come and go beside writers on an engine that refuses, loses answers and lacks data
// in memory. Threads, so a seed repeats the load and the faults and not the order.
class BuildsUnderFaults : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, BuildsUnderFaults, testing::Values(1, 2, 3));

TEST_P(BuildsUnderFaults, LeaveIndexesThatMatch) {
  const uint64_t seed = GetParam();
  WorkerPool workers(2, 1000);
  ManualClock clock;
  kv::FaultEngine engine(std::make_unique<kv::MemoryEngine>(), {.seed = seed, .delay_done = true});
  auto store = Store::Open(engine, clock, workers).value();
  const auto await = [](auto start) { return Await<Status>(std::move(start)); };
  const auto of_table = [](auto done) {
    return [done](Result<TablePtr> table) mutable {
      done(table.ok() ? OkStatus() : Status(table.error()));
    };
  };
  ASSERT_TRUE(await([&](auto done) { store->Create(indexes::Describe(), of_table(done)); }).ok());
  kv::FaultOptions faults;
  faults[kv::Fault::kUnavailable] = 0.01;
  faults[kv::Fault::kUnknownNotApplied] = 0.01;
  faults[kv::Fault::kUnknownApplied] = 0.01;
  faults[kv::Fault::kWouldBlock] = 0.2;
  engine.SetProbabilities(faults.probability);

  std::atomic<bool> stop = false;
  std::atomic<int> ended = 0, refused = 0;
  std::vector<std::thread> writers;
  for (uint64_t writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      SeededRandom random(seed * 100 + writer);
      while (!stop) {
        const TablePtr table = store->Find("tab");
        std::vector<WriteTarget> targets;
        std::vector<Change> changes;
        for (uint64_t wanted = 1 + random.Below(3); wanted > 0; --wanted) {
          const std::string item = indexes::RandomItem(
              random, "p" + std::to_string(random.Below(30)), static_cast<int>(random.Below(10)));
          std::string key = EncodeItemKey(table->key_schema(), ItemView(item));
          if (std::any_of(targets.begin(), targets.end(),
                          [&](const WriteTarget& other) { return other.key == key; }))
            continue;
          targets.push_back({table, std::move(key)});
          changes.push_back({random.Below(4) == 0 ? Change::kDelete : Change::kPut, item});
        }
        const Status written = await([&](auto done) {
          store->Write(
              std::move(targets),
              [changes](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
                return changes;
              },
              std::move(done));
        });
        if (!written.ok()) ++refused;
        ++ended;
      }
    });
  }
  // A refused change of the catalog is asked for again; one whose outcome is unknown is there or
  // not.
  const auto alter = [&](Store::ChangeDescriptor change) {
    return await([&](auto done) { store->Alter("tab", std::move(change), of_table(done)); });
  };
  // Changes of the catalog are quick: they could all be over before a writer has begun.
  const auto let_write = [&ended](int writes) {
    const int enough = ended + writes;
    while (ended < enough) std::this_thread::yield();
  };
  SeededRandom random(seed);
  for (int round = 0; round < 6; ++round) {
    let_write(100);
    IndexDescriptor index = indexes::Describe().indexes[2 + random.Below(4)];
    index.name = "late";
    index.state = IndexDescriptor::State::kCreating;
    while (!alter([index](TableDescriptor* descriptor) -> Status {
              if (descriptor->FindIndex("late") == nullptr) descriptor->indexes.push_back(index);
              return OkStatus();
            }).ok()) {
    }
    while (store->BuildsIndexes()) std::this_thread::yield();
    if (round == 5) break;
    let_write(20);
    while (store->Find("tab")->descriptor.FindIndex("late") != nullptr) {
      const Status altered = alter([](TableDescriptor* descriptor) {
        for (IndexDescriptor& one : descriptor->indexes) {
          if (one.name == "late") one.state = IndexDescriptor::State::kDeleting;
        }
        return OkStatus();
      });
      if (altered.ok()) {
        while (store->BuildsIndexes()) std::this_thread::yield();
      }
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  while (store->BuildsIndexes()) std::this_thread::yield();
  engine.SetProbabilities({});
  EXPECT_GT(refused, 0);
  ASSERT_NE(store->Find("tab")->descriptor.FindIndex("late"), nullptr);
  indexes::ExpectIndexesMatch(*store, "seed " + std::to_string(seed));
  EXPECT_EQ(store->latches().size(), 0u);
  store.reset();
  workers.Stop();
}

}  // namespace
}  // namespace stator::table
