#include "kv/fault_engine.h"

#include <future>
#include <optional>

#include "base/mutex_wait.h"

namespace stator::kv {

FaultEngine::FaultEngine(std::unique_ptr<Engine> inner, FaultOptions options)
    : random_(options.seed),
      delay_done_(options.delay_done),
      refuse_after_unknown_(options.refuse_after_unknown),
      probability_(options.probability),
      inner_(std::move(inner)) {
  if (delay_done_) thread_ = std::thread([this] { Run(); });
}

FaultEngine::~FaultEngine() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    held_ = false;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();  // drains the queue
  inner_.reset();                          // and then what the wrapped engine still has
}

void FaultEngine::Trigger(Fault fault, int count) {
  MutexLock lock(mutex_);
  triggered_[static_cast<size_t>(fault)] += count;
}

void FaultEngine::HoldDone() {
  MutexLock lock(mutex_);
  held_ = true;
}

void FaultEngine::ReleaseDone() {
  MutexLock lock(mutex_);
  held_ = false;
  wake_.notify_all();
}

void FaultEngine::SetProbabilities(const std::array<double, kFaults>& probability) {
  MutexLock lock(mutex_);
  probability_ = probability;
}

bool FaultEngine::Strikes(Fault fault) {
  const auto index = static_cast<size_t>(fault);
  MutexLock lock(mutex_);
  bool strikes = false;
  if (triggered_[index] > 0) {
    --triggered_[index];
    strikes = true;
  } else if (probability_[index] > 0) {
    strikes = random_.Unit() < probability_[index];
  }
  if (strikes) ++struck_[index];
  return strikes;
}

Status FaultEngine::ReadFault(Tier tier) {
  if (tier != Tier::kAny && Strikes(Fault::kWouldBlock)) {
    return Error(ErrorCode::kWouldBlock, "Injected: the data is not in memory.");
  }
  if (Strikes(Fault::kCorruption)) return CorruptionError("Injected: the data fails its checksum.");
  return OkStatus();
}

Result<bool> FaultEngine::Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) {
  TRY(ReadFault(tier));
  return inner_->Get(tablet, key, tier, value);
}

void FaultEngine::GetLater(Tablet tablet, std::string_view key, GetDone done) {
  if (Status fault = ReadFault(Tier::kAny); !fault.ok()) return done(std::move(fault).error());
  inner_->GetLater(tablet, key, std::move(done));
}

Status FaultEngine::MultiGet(std::span<const Point> points, Tier tier,
                             std::vector<std::optional<std::string>>* values) {
  TRY(ReadFault(tier));
  return inner_->MultiGet(points, tier, values);
}

Status FaultEngine::Scan(const Range& range, Tier tier,
                         FunctionRef<bool(std::string_view, std::string_view)> visit) {
  TRY(ReadFault(tier));
  return inner_->Scan(range, tier, visit);
}

void FaultEngine::Apply(Batch batch, ApplyDone done) {
  std::optional<Error> refused;
  {
    MutexLock lock(mutex_);
    if (delay_done_ && !stopping_) {
      queue_.push_back({std::move(batch), std::move(done)});
      wake_.notify_all();
      return;
    }
    if (stopping_) refused.emplace(ErrorCode::kUnavailable, "The store is closing.");
  }
  if (refused) return done(*refused);  // a `done` that applies again while the engine goes away
  ApplyWithFaults(std::move(batch), std::move(done));
}

void FaultEngine::ApplyWithFaults(Batch batch, ApplyDone done) {
  bool refusing = false;
  {
    MutexLock lock(mutex_);
    refusing = refusing_;
  }
  if (refusing) {
    return done(Error(ErrorCode::kUnavailable,
                      "Injected: the store is read-only since an unknown outcome."));
  }
  if (!batch.empty()) {
    if (Strikes(Fault::kUnavailable))
      return done(Error(ErrorCode::kUnavailable, "Injected: unavailable."));
    const bool lost_before = Strikes(Fault::kUnknownNotApplied);
    const bool lost_after = !lost_before && Strikes(Fault::kUnknownApplied);
    if ((lost_before || lost_after) && refuse_after_unknown_) {
      MutexLock lock(mutex_);
      refusing_ = true;
    }
    const Error unknown(ErrorCode::kOutcomeUnknown, "Injected: the outcome is unknown.");
    if (lost_before) return done(unknown);
    if (lost_after) {
      // A refusal by the wrapped engine stays what it is: only an applied batch can lose its
      // acknowledgement.
      done = [unknown, done = std::move(done)](Result<uint64_t> outcome) mutable {
        if (outcome.ok()) outcome = unknown;
        done(std::move(outcome));
      };
    }
  }
  inner_->Apply(std::move(batch), std::move(done));
}

void FaultEngine::Run() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();

    std::promise<Result<uint64_t>> promise;
    std::future<Result<uint64_t>> waiting = promise.get_future();
    ApplyWithFaults(std::move(next.batch),
                    [&promise](Result<uint64_t> result) { promise.set_value(std::move(result)); });
    Result<uint64_t> outcome = waiting.get();

    lock.lock();
    wake_.wait(lock, [this]() REQUIRES(mutex_) { return !held_; });
    lock.unlock();
    next.done(std::move(outcome));
    next.done = nullptr;
    lock.lock();
  }
}

Status FaultEngine::Health() const {
  {
    MutexLock lock(mutex_);
    if (refusing_)
      return Error(ErrorCode::kUnavailable,
                   "Injected: the store is read-only since an unknown outcome.");
  }
  return inner_->Health();
}

std::map<std::string, double> FaultEngine::Statistics() const {
  std::map<std::string, double> statistics = inner_->Statistics();
  MutexLock lock(mutex_);
  uint64_t struck = 0;
  for (uint64_t count : struck_) struck += count;
  statistics["kv_faults_injected"] = static_cast<double>(struck);
  return statistics;
}

}  // namespace stator::kv
