// A wrapper that makes any engine unreliable: by chance from a seed, or at a chosen call.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/random.h"
#include "kv/engine.h"

namespace stator::kv {

enum class Fault {
  kUnavailable,        // Apply: the batch is refused and not applied
  kUnknownNotApplied,  // Apply: kOutcomeUnknown, and the batch is not applied
  kUnknownApplied,     // Apply: kOutcomeUnknown, although the batch is applied
  kWouldBlock,         // a read with a tier other than kAny
  kCorruption,         // a read
};
inline constexpr size_t kFaults = 5;

struct FaultOptions {
  uint64_t seed = 1;
  std::array<double, kFaults> probability = {};  // by Fault: of each call that the fault applies to
  // If true, batches enter the wrapped engine one at a time from a thread of the fault engine. That
  // thread also runs every `done`, refusals included, in the order of the calls. If false, refusals
  // run `done` inline and the wrapped engine runs every other `done`.
  bool delay_done = false;
  // If true, every write after an unknown outcome is refused, as by a store whose log write failed.
  bool refuse_after_unknown = false;

  double& operator[](Fault fault) { return probability[static_cast<size_t>(fault)]; }
};

// Injects faults into reads and writes of another engine. Thread-safe if the wrapped engine is.
// Barriers (empty batches) get no faults of their own.
class FaultEngine final : public Engine {
 public:
  FaultEngine(std::unique_ptr<Engine> inner, FaultOptions options);
  // Runs every outstanding `done`.
  ~FaultEngine() override;

  // Makes the next `count` calls that `fault` applies to fail with it, whatever the probabilities.
  void Trigger(Fault fault, int count = 1);
  // With delay_done: holds every `done` back until ReleaseDone, so that a test can look at the
  // state in between.
  void HoldDone();
  void ReleaseDone();
  // Replaces the probabilities.
  void SetProbabilities(const std::array<double, kFaults>& probability);
  Engine& inner() { return *inner_; }

  Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override;
  void GetLater(Tablet tablet, std::string_view key, GetDone done) override;
  void ReadAhead(const Range& range, AheadDone done) override {
    inner_->ReadAhead(range, std::move(done));
  }
  Status MultiGet(std::span<const Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override;
  Status Scan(const Range& range, Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void Apply(Batch batch, ApplyDone done) override;
  Result<Unit> UnitOf(Tablet tablet, std::string_view key, Tier tier) override {
    return inner_->UnitOf(tablet, key, tier);
  }
  Status RaiseFence(Tablet tablet, uint64_t fence) override {
    return inner_->RaiseFence(tablet, fence);
  }
  Bulletin* bulletin() override { return inner_->bulletin(); }
  Status Health() const override;
  uint64_t ApproximateBytes(Tablet tablet) const override {
    return inner_->ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override;
  Status Checkpoint(const std::string& directory) override { return inner_->Checkpoint(directory); }
  void NoteUnused(Tablet tablet, std::string_view key) override { inner_->NoteUnused(tablet, key); }
  bool SpansUnits(const Batch& batch) const override { return inner_->SpansUnits(batch); }

 private:
  struct Queued {
    Batch batch;
    ApplyDone done;
  };

  bool Strikes(Fault fault);
  Status ReadFault(Tier tier);
  // Passes the batch to the wrapped engine, or calls `done` with an injected refusal.
  void ApplyWithFaults(Batch batch, ApplyDone done);
  void Run();

  SeededRandom random_;
  const bool delay_done_;
  const bool refuse_after_unknown_;

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::array<double, kFaults> probability_ GUARDED_BY(mutex_);
  std::array<int, kFaults> triggered_ GUARDED_BY(mutex_) = {};
  std::array<uint64_t, kFaults> struck_ GUARDED_BY(mutex_) = {};
  std::deque<Queued> queue_ GUARDED_BY(mutex_);
  bool refusing_ GUARDED_BY(mutex_) = false;
  bool held_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::unique_ptr<Engine> inner_;
  std::thread thread_;
};

}  // namespace stator::kv
