#include "kv/conformance_random.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/mutex.h"
#include "kv/conformance_model.h"
#include "kv/fault_engine.h"

namespace stator::kv {
namespace {

// The scopes in which stamps and `done`s are ordered: the whole store or, without
// atomic_across_tablets, each tablet.
class Orders {
 public:
  explicit Orders(const Engine& engine) : together_(engine.capabilities().atomic_across_tablets) {}
  Tablet Of(const Batch& batch) const { return together_ ? Tablet{} : batch.puts.front().tablet; }
  // The last stamp in the scope that the batch belongs to.
  uint64_t& LastStamp(const Batch& batch) { return last_stamps_[Of(batch)]; }
  bool together() const { return together_; }

 private:
  const bool together_;
  std::map<Tablet, uint64_t> last_stamps_;
};

// Applies batches one by one to an engine that is not in_order.
Status OneByOne(Engine& engine, BatchMaker& maker, Model& model, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Batch batch = maker.Make(model);
    const bool allowed = model.Allows(batch);
    for (int attempt = 0;; ++attempt) {
      Batch again = batch;
      again.fate = std::make_shared<BatchFate>();
      const std::shared_ptr<BatchFate> fate = again.fate;
      const Result<uint64_t> outcome = ApplyAndWait(engine, std::move(again));
      if (outcome.ok()) {
        CONFORMS(allowed, "a batch is applied although a guard does not hold");
        Batch applied = batch;
        applied.fate = fate;
        TRY(model.ApplyAsIn(engine, applied, *outcome));
        break;
      }
      CONFORMS(outcome.error().code() == ErrorCode::kGuardFailed, outcome.error().message());
      TRY(model.TakeStamps(engine, batch));
      if (!allowed) break;
      for (Guard& guard : batch.guards) guard.stamp = model.Stamp(guard.tablet, guard.key);
      CONFORMS(attempt < 3, "a batch is refused again and again although its guards hold");
    }
  }
  return OkStatus();
}

// Applies `count` batches without waiting, then replays them in the model with the stamps they got.
Status Burst(Engine& engine, BatchMaker& maker, Model& model, size_t count, Orders* orders) {
  if (!engine.capabilities().in_order) return OneByOne(engine, maker, model, count);
  std::vector<Batch> batches;
  std::vector<Result<uint64_t>> outcomes(count, Result<uint64_t>(uint64_t{0}));
  std::map<Tablet, std::vector<size_t>> order;
  for (size_t i = 0; i < count; ++i) batches.push_back(maker.Make(model));
  for (size_t i = 0; i < count; ++i) {
    engine.Apply(batches[i],
                 [&outcomes, &mine = order[orders->Of(batches[i])], i](Result<uint64_t> outcome) {
                   if (outcome.ok()) mine.push_back(i);
                   outcomes[i] = std::move(outcome);
                 });
  }
  ASSIGN_OR_RETURN(const uint64_t barrier, ApplyAndWait(engine, Batch()));
  for (const auto& [tablet, done] : order) {
    CONFORMS(std::is_sorted(done.begin(), done.end()),
             "accepted batches are done in the order of the calls");
  }
  uint64_t last_stamp = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool allowed = model.Allows(batches[i]);
    if (!outcomes[i].ok()) {
      CONFORMS(outcomes[i].error().code() == ErrorCode::kGuardFailed,
               outcomes[i].error().message());
      CONFORMS(!allowed, "a batch is refused although its guards hold");
      continue;
    }
    CONFORMS(allowed, "a batch is applied although a guard does not hold");
    last_stamp = *outcomes[i];
    CONFORMS(last_stamp > orders->LastStamp(batches[i]), "stamps rise strictly");
    orders->LastStamp(batches[i]) = last_stamp;
    model.Apply(batches[i], last_stamp);
  }
  CONFORMS(last_stamp == 0 || barrier == last_stamp || (orders->together() && barrier > last_stamp),
           "a barrier has the stamp of the batch before it");
  return OkStatus();
}

}  // namespace

Status RandomOneByOne(const ConformanceOptions& options) {
  SeededRandom random(options.seed);
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  Model model;
  BatchMaker maker(random, TestTablets(), engine->capabilities().atomic_across_tablets);
  Orders orders(*engine);
  for (int step = 0; step < options.steps / 4; ++step) {
    TRY(Burst(*engine, maker, model, 1, &orders));
    if (step % 50 == 49) TRY(model.Matches(*engine, TestTablets(), random));
  }
  return OkStatus();
}

Status RandomPipelined(const ConformanceOptions& options) {
  SeededRandom random(options.seed + 1);
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  Model model;
  BatchMaker maker(random, TestTablets(), engine->capabilities().atomic_across_tablets);
  Orders orders(*engine);
  for (int step = 0; step < options.steps;) {
    const size_t count = 1 + random.Below(40);
    TRY(Burst(*engine, maker, model, count, &orders));
    step += static_cast<int>(count);
    if (random.Below(5) == 0) TRY(model.Matches(*engine, TestTablets(), random));
  }
  return model.Matches(*engine, TestTablets(), random);
}

Status RandomReopened(const ConformanceOptions& options) {
  SeededRandom random(options.seed + 2);
  const auto store = options.make();
  ASSIGN_OR_RETURN(auto engine, store->Open());
  if (!engine->capabilities().durable) return OkStatus();
  Model model;
  BatchMaker maker(random, TestTablets(), engine->capabilities().atomic_across_tablets);
  Orders orders(*engine);
  for (int round = 0; round < 8; ++round) {
    for (int step = 0; step < options.steps / 16; step += 20)
      TRY(Burst(*engine, maker, model, 20, &orders));
    engine.reset();
    ASSIGN_OR_RETURN(engine, store->Open());
    TRY(model.Matches(*engine, TestTablets(), random));
  }
  return OkStatus();
}

Status RandomFaults(const ConformanceOptions& options) {
  for (const bool delay : {false, true}) {
    SeededRandom random(options.seed + 3 + (delay ? 1 : 0));
    const auto store = options.make();
    ASSIGN_OR_RETURN(auto inner, store->Open());
    FaultOptions faults{.seed = random.Next(), .delay_done = delay};
    faults[Fault::kUnavailable] = 0.05;
    faults[Fault::kUnknownApplied] = 0.1;
    faults[Fault::kUnknownNotApplied] = 0.1;
    FaultEngine engine(std::move(inner), faults);
    Model model;
    BatchMaker maker(random, TestTablets(), engine.capabilities().atomic_across_tablets);
    Orders orders(engine);
    int unknown = 0;
    for (int step = 0; step < options.steps / 8; ++step) {
      Batch batch = maker.Make(model);
      batch.fate = std::make_shared<BatchFate>();
      const bool allowed = model.Allows(batch);
      const Result<uint64_t> outcome = ApplyAndWait(engine, batch);
      uint64_t stamp = 0;
      if (outcome.ok()) {
        stamp = *outcome;
      } else if (outcome.error().code() == ErrorCode::kOutcomeUnknown) {
        ++unknown;
        // The first put of a batch is unique: if its value is there, under a stamp of its own, the
        // batch was applied.
        const Put& put = batch.puts.front();
        std::string value;
        bool exists = false;
        if (put.key_stamp_offset < 0) {
          ASSIGN_OR_RETURN(exists, engine.Get(put.tablet, put.key, Tier::kAny, &value));
        } else {
          TRY(engine.Scan({put.tablet, "log", "loh", true}, Tier::kAny,
                          [&](std::string_view, std::string_view last) {
                            exists = last.substr(kStampBytes) ==
                                     std::string_view(put.value).substr(kStampBytes);
                            value = last;
                            return !exists;
                          }));
        }
        if (exists && value.substr(kStampBytes) == put.value.substr(kStampBytes))
          stamp = StampOf(value);
      } else {
        CONFORMS(outcome.error().code() == ErrorCode::kUnavailable || !allowed,
                 "a refusal without a reason");
      }
      if (stamp == 0) {
        if (!engine.capabilities().in_order) TRY(model.TakeStamps(engine, batch));
        continue;
      }
      CONFORMS(allowed, "a batch is applied although a guard does not hold");
      if (!engine.capabilities().in_order) {
        engine.SetProbabilities({});
        TRY(model.ApplyAsIn(engine, batch, stamp));
        engine.SetProbabilities(faults.probability);
      } else {
        CONFORMS(stamp > orders.LastStamp(batch),
                 "stamps rise strictly, across unknown outcomes too");
        orders.LastStamp(batch) = stamp;
        model.Apply(batch, stamp);
      }
      if (step % 20 == 0) TRY(model.Matches(engine, TestTablets(), random));
    }
    CONFORMS(unknown > 0, "the seed met an unknown outcome");
    TRY(model.Matches(engine, TestTablets(), random));
  }
  return OkStatus();
}

Status ReadsOfOneState(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  const bool together = engine->capabilities().atomic_across_tablets;
  const std::vector<Point> points = {
      {{Space::kItems, 1}, "a"},
      {{Space::kItems, 1}, "m"},
      {{together ? Space::kLog : Space::kItems, together ? 2u : 1u}, "z"}};
  const auto batch = [&](uint64_t round) {
    Batch same;
    if (round % 3 == 0) same.range_deletes.push_back({points[0].tablet, "a", "n"});
    for (const Point& point : points) {
      same.puts.push_back({point.tablet, std::string(point.key), ValueOf(std::to_string(round))});
    }
    return same;
  };
  CONFORMS(ApplyAndWait(*engine, batch(1)).ok(), "the first write");

  // A scan that is not of one state is still of one state within a unit.
  ASSIGN_OR_RETURN(const Unit first, engine->UnitOf(points[0].tablet, points[0].key, Tier::kAny));
  ASSIGN_OR_RETURN(const Unit second, engine->UnitOf(points[1].tablet, points[1].key, Tier::kAny));
  const bool scans = engine->capabilities().scans_of_one_state || first == second;
  std::atomic<bool> failed = false;
  std::vector<std::thread> threads;
  std::atomic<int> writers = 2;
  const uint64_t rounds = static_cast<uint64_t>(options.steps) / 8;
  for (uint64_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (uint64_t round = 0; round < rounds; ++round) {
        if (!ApplyAndWait(*engine, batch(2 * round + writer)).ok()) failed = true;
      }
      --writers;
    });
  }
  std::atomic<int> reads = 0;
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, reader] {
      do {
        std::vector<std::optional<std::string>> values;
        if (reader == 0) {
          if (!engine->MultiGet(points, Tier::kAny, &values).ok()) failed = true;
        } else {
          const Status scanned = engine->Scan({points[0].tablet, {}, {}}, Tier::kAny,
                                              [&](auto, std::string_view value) {
                                                values.emplace_back(value);
                                                return true;
                                              });
          if (!scanned.ok() || values.size() < 2) failed = true;
        }
        for (const auto& value : values) {
          // Keys in different units have stamps of their own.
          if (reader == 1 && !scans) break;
          const size_t skip = engine->capabilities().in_order ? 0 : kStampBytes;
          if (!value || value->substr(skip) != values.front()->substr(skip)) failed = true;
        }
        ++reads;
      } while (writers > 0 && !failed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CONFORMS(!failed, "a read of several keys sees one state");
  CONFORMS(reads >= 2, "readers ran");
  return OkStatus();
}

Status ConcurrentWriters(const ConformanceOptions& options) {
  constexpr int kThreads = 4;
  constexpr Tablet kTablet{Space::kItems, 3};
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  const int rounds = options.steps / 40;
  std::atomic<bool> failed = false;
  Mutex mutex;
  std::vector<uint64_t> stamps;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(options.seed * kThreads + static_cast<uint64_t>(t));
      std::vector<uint64_t> mine;
      for (int done = 0; done < rounds && !failed;) {
        // Optimistic increment: read the number, write it plus one under a guard on the stamp that
        // was read, and count the increment with an add.
        std::string value;
        const Result<bool> exists = engine->Get(kTablet, "number", Tier::kAny, &value);
        if (!exists.ok()) {
          failed = true;
          break;
        }
        const uint64_t number = *exists ? std::stoull(value.substr(kStampBytes)) : 0;
        Batch batch;
        batch.guards.push_back({kTablet, "number", *exists ? StampOf(value) : 0});
        batch.puts.push_back({kTablet, "number", ValueOf(std::to_string(number + 1))});
        batch.adds.push_back({kTablet, "count", 1});
        batch.adds.push_back(
            {kTablet, "count" + std::to_string(t), static_cast<int64_t>(random.Below(2)) * 2 - 1});
        const Result<uint64_t> outcome = ApplyAndWait(*engine, std::move(batch));
        if (outcome.ok()) {
          mine.push_back(*outcome);
          ++done;
        } else if (outcome.error().code() != ErrorCode::kGuardFailed) {
          failed = true;
        }
      }
      MutexLock lock(mutex);
      stamps.insert(stamps.end(), mine.begin(), mine.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  CONFORMS(!failed, "reads and guarded writes");
  std::sort(stamps.begin(), stamps.end());
  CONFORMS(std::adjacent_find(stamps.begin(), stamps.end()) == stamps.end(),
           "no two batches have one stamp");
  std::string value;
  ASSIGN_OR_RETURN(const bool exists, engine->Get(kTablet, "number", Tier::kAny, &value));
  CONFORMS(exists && value.substr(kStampBytes) == std::to_string(kThreads * rounds),
           "no guarded increment is lost");
  CONFORMS(StampOf(value) == stamps.back(), "the last write has the highest stamp");
  int64_t count = 0;
  // A counter in another unit than the rest of the batch receives its add a little later.
  for (int look = 0; look == 0 || (!engine->capabilities().in_order && count < kThreads * rounds &&
                                   look < 10'000);
       ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSIGN_OR_RETURN(const bool counted, engine->Get(kTablet, "count", Tier::kAny, &value));
    CONFORMS(counted || !engine->capabilities().in_order, "the counter exists");
    if (!counted) continue;
    ASSIGN_OR_RETURN(count, CounterOf(value));
  }
  CONFORMS(count == kThreads * rounds, "no add is lost or counted twice");
  return OkStatus();
}

}  // namespace stator::kv
