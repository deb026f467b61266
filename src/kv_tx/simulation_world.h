// Several transaction engines on one store, in one thread, with every event chosen by a seed. For
// simulation_test.cc.
//
// The operations of a process wait in queues, one for each tablet, and are applied one by one;
// their `done`s come later. An operation may meet every fault that kv/engine.h allows, at the worst
// moment: if its outcome is unknown, or its process was killed, it may still be applied at any
// later time. While one process reads, the others go on.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kv/shared_memory.h"
#include "kv_tx/layout.h"
#include "kv_tx/scheduler.h"
#include "kv_tx/transaction_engine.h"

namespace stator::kv_tx::simulation {

class World;

// The tasks of one process. Its Await lets the other processes go on.
class SimulatedScheduler final : public Scheduler {
 public:
  // Once `abandoned` is set, Await returns without waiting.
  SimulatedScheduler(World& world, const bool& abandoned) : world_(world), abandoned_(abandoned) {}
  void Post(UniqueFunction<void()> task, int64_t delay_micros) override;
  void Await(FunctionRef<bool()> ready) override;
  void Wake() override {}
  void Hurry() override;
  void Stop() override { tasks_.clear(); }

  bool Runnable() const;
  int64_t NextTime() const { return tasks_.empty() ? INT64_MAX : tasks_.begin()->first; }
  void RunOne();

 private:
  World& world_;
  const bool& abandoned_;
  std::multimap<int64_t, UniqueFunction<void()>> tasks_;  // by the time from which they may run
  bool hurrying_ = false;
};

// A process's connection to the store.
class SimulatedEngine final : public kv::Engine {
 public:
  SimulatedEngine(World& world, std::unique_ptr<kv::Engine> store);
  ~SimulatedEngine() override;

  kv::Capabilities capabilities() const override { return store_->capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override;
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override;
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  void Apply(kv::Batch batch, kv::ApplyDone done) override;
  Result<kv::Unit> UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) override;
  bool SpansUnits(const kv::Batch& batch) const override;
  Status RaiseFence(kv::Tablet tablet, uint64_t fence) override;
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(kv::Tablet) const override { return 0; }
  std::map<std::string, double> Statistics() const override { return {}; }
  Status Checkpoint(const std::string&) override {
    return Error(ErrorCode::kUnavailable, "simulated");
  }

  // Returns true if an operation of this process can be applied now, or its answer delivered.
  bool Runnable() const;
  void RunOne();
  bool idle() const { return queues_.empty(); }
  // From now on no new operation reaches the store; those already sent may still be applied later.
  void Kill();
  // While frozen, operations issued from now on stay in the process.
  void Freeze(bool frozen);

 private:
  struct Operation {
    uint64_t number = 0;
    kv::Batch batch;
    kv::ApplyDone done;
    bool sent = false;  // may be applied although the process is frozen
    bool barrier = false;
    std::optional<Result<uint64_t>> outcome;
  };
  using Queue = std::deque<Operation>;

  Status MayRead();
  bool CanApply(const Queue& queue, size_t* index) const;
  bool CanDeliver(const Queue& queue) const;
  void ApplyOne(Queue& queue, size_t index);
  void DeliverOne(kv::Tablet tablet);

  World& world_;
  std::unique_ptr<kv::Engine> store_;
  std::map<kv::Tablet, Queue> queues_;
  uint64_t issued_ = 0;
  bool frozen_ = false;
  bool dead_ = false;
};

struct Process {
  explicit Process(World& world);
  ~Process();

  World& world;
  bool frozen = false;
  bool dead = false;
  bool abandoned = false;  // dead, and no other process cleans up yet
  SimulatedScheduler scheduler;
  SimulatedEngine* connection = nullptr;  // owned by the engine
  std::unique_ptr<TransactionEngine> engine;
  std::map<kv::Tablet, uint64_t> fences;  // the fences that the process knows
};

struct Faults {
  double unavailable = 0.01;
  double unknown = 0.02;  // the outcome of a write
  double unreadable = 0.005;
  double kill = 0.001;  // per event
  double freeze = 0.003;

  bool none() const { return unavailable + unknown + unreadable + kill + freeze == 0; }
};

class World {
 public:
  World(uint64_t seed, const Faults& faults);
  ~World();

  // Runs one event, chosen by chance. Returns false if no event is possible now.
  bool Step();
  // Advances the clock until an event is possible. Returns false if there will never be one.
  bool Advance();
  // Runs until no event is left.
  void Settle();
  // Runs other processes' events while one process reads.
  void Interleave();
  // Interleaves until `ready` returns true or `abandoned` is set.
  void Await(FunctionRef<bool()> ready, const bool& abandoned);

  Process& Start();
  void Kill(Process& process);
  std::string PartOf(kv::Tablet tablet, std::string_view key) const;
  // Splits the unit at `bound`: from now on keys at or above it are in another part.
  void Divide(kv::Tablet tablet, const std::string& bound);
  bool Chance(double probability) { return random.Unit() < probability; }

  SeededRandom random;
  ManualClock clock;
  Faults faults;
  bool quiet = false;  // true: no more faults, kills and freezes
  kv::SharedMemory memory;
  std::unique_ptr<kv::Engine> raw;
  std::vector<std::unique_ptr<Process>> processes;
  // the stamps of the last batches that processes have heard of
  std::map<kv::Tablet, uint64_t> stamps;
  // Batches whose processes are dead or do not know the outcome: each may be applied once, later,
  // or never.
  std::vector<kv::Batch> late;
  // One action of a client. Returns false if there was nothing to do.
  std::function<bool()> act;
  std::function<void(Process&)> on_kill;
  uint64_t events = 0;
  uint64_t kills = 0, freezes = 0, unknowns = 0, applied_late = 0, divisions = 0;

 private:
  void Disturb();

  int depth_ = 0;                                          // nesting of reads
  int awaits_ = 0;                                         // nesting of waits
  std::map<kv::Tablet, std::vector<std::string>> bounds_;  // bounds between parts
};

}  // namespace stator::kv_tx::simulation
