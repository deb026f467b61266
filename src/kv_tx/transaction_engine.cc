#include "kv_tx/transaction_engine.h"

#include <algorithm>
#include <set>

#include "base/mutex.h"
#include "kv/permit.h"
#include "kv_tx/core.h"
#include "kv_tx/reader.h"
#include "kv_tx/resolver.h"
#include "kv_tx/sweeper.h"
#include "kv_tx/tracker.h"
#include "kv_tx/transaction.h"

namespace stator::kv_tx {
namespace {

const SystemClock& MachineClock() {
  static const SystemClock clock;
  return clock;
}

// Cuts engine keys out of range deletes, and removes ranges that are then empty.
void SpareEngineKeys(kv::Batch* batch) {
  for (kv::DeleteRange& range : batch->range_deletes) {
    if (range.end.empty() || range.end > kEngineKeys) range.end = kEngineKeys;
  }
  std::erase_if(batch->range_deletes,
                [](const kv::DeleteRange& range) { return range.begin >= range.end; });
}

// Calls fn(tablet) for each entry of the batch until fn returns false. Returns false if fn did.
template <typename Fn>
bool AllTablets(const kv::Batch& batch, Fn fn) {
  const auto all = [&](const auto& named) {
    return std::all_of(named.begin(), named.end(),
                       [&](const auto& each) { return fn(each.tablet); });
  };
  return all(batch.guards) && all(batch.puts) && all(batch.deletes) && all(batch.adds) &&
         all(batch.range_deletes) && all(batch.fences);
}

// Returns true if `after` names permits only.
bool WaitsForNone(const kv::Batch& batch) {
  return std::all_of(batch.after.begin(), batch.after.end(), kv::IsPermit);
}

// Returns true if every batch in `after` has left a key that this batch guards. The inner engine
// then orders the two by the key's tablet.
bool OrderedByGuards(const kv::Batch& batch) {
  return std::all_of(batch.after.begin(), batch.after.end(), [&](const kv::FatePtr& fate) {
    if (kv::IsPermit(fate)) return true;
    return std::any_of(batch.guards.begin(), batch.guards.end(),
                       [&](const kv::Guard& guard) { return guard.left_by == fate; });
  });
}

}  // namespace

class TransactionEngine::Parts {
 public:
  Parts(std::unique_ptr<kv::Engine> inner_engine, const Options& options)
      : inner(std::move(inner_engine)),
        own_random(options.seed != 0 ? options.seed : SystemSeed()),
        own_scheduler(options.scheduler == nullptr
                          ? std::make_unique<ThreadScheduler>(std::max(1, options.threads))
                          : nullptr),
        core{*inner, options.scheduler != nullptr ? *options.scheduler : *own_scheduler,
             options.clock != nullptr ? *options.clock : MachineClock(), own_random, options},
        resolver(core, [this](kv::Batch batch,
                              kv::ApplyDone done) { Apply(std::move(batch), std::move(done)); }),
        reader(core, resolver),
        sweeper(core, resolver) {}

  ~Parts() {
    core.closing = true;
    core.scheduler.Hurry();
    core.scheduler.Await([this] { return core.busy == 0; });
    core.scheduler.Stop();
    // Operations that the inner engine still has are answered now.
    inner.reset();
  }

  void Apply(kv::Batch batch, kv::ApplyDone done) {
    if (core.closing) return done(ClosingError());
    SpareEngineKeys(&batch);
    if (batch.empty()) return Barrier(std::move(batch), std::move(done));
    if (Status checked = kv::CheckBatch(batch); !checked.ok())
      return done(std::move(checked).error());
    const bool spans = Spans(batch);
    if (WaitsForNone(batch))
      return spans ? StartTransaction(std::move(batch), std::move(done))
                   : Direct(std::move(batch), std::move(done));
    if (spans || tracker.active() || !OrderedByGuards(batch))
      return ApplyAfter(std::move(batch), std::move(done), spans);
    Direct(std::move(batch), std::move(done));
  }

  std::unique_ptr<kv::Engine> inner;
  SeededRandom own_random;
  const std::unique_ptr<ThreadScheduler> own_scheduler;
  Core core;
  Tracker tracker;
  Resolver resolver;
  Reader reader;
  Sweeper sweeper;

 private:
  // A batch that waits for the batches in its `after`.
  struct Later {
    Later(Core& core, kv::Batch of, kv::ApplyDone then)
        : busy(core), batch(std::move(of)), done(std::move(then)) {}
    const Busy busy;
    kv::Batch batch;
    kv::ApplyDone done;
    Tracker::EntryPtr entry;
    bool spans = false;
  };
  // The keys of a batch on one unit, to find out why the batch was refused.
  struct Named {
    explicit Named(Core& core) : busy(core) {}
    const Busy busy;
    kv::Tablet tablet;
    std::vector<std::string> keys;  // guarded keys, then counters
    size_t guards = 0;
    std::shared_ptr<kv::BatchFate> fate;
    kv::ApplyDone done;
  };

  bool Spans(const kv::Batch& batch) {
    std::optional<kv::Tablet> tablet;
    const bool one = AllTablets(batch, [&](kv::Tablet named) {
      if (!tablet) tablet = named;
      return *tablet == named;
    });
    if (!one || core.inner.SpansUnits(batch)) return true;
    if (!any_divided_.load(std::memory_order_acquire)) return false;
    MutexLock lock(mutex_);
    return divided_.contains(*tablet);
  }

  void Barrier(kv::Batch batch, kv::ApplyDone done) {
    if (!tracker.active()) return core.inner.Apply(std::move(batch), std::move(done));
    auto later = std::make_shared<Later>(core, std::move(batch), std::move(done));
    tracker.AfterAll(
        [this, later] { core.inner.Apply(std::move(later->batch), std::move(later->done)); });
  }

  void StartTransaction(kv::Batch batch, kv::ApplyDone done) {
    Tracker::EntryPtr entry = tracker.Begin(batch.fate);
    MakeTransaction(std::move(batch), std::move(done), std::move(entry))->Start(true);
  }

  std::shared_ptr<Transaction> MakeTransaction(kv::Batch batch, kv::ApplyDone done,
                                               Tracker::EntryPtr entry) {
    return std::make_shared<Transaction>(
        core, resolver, tracker,
        [this](kv::Batch one, kv::ApplyDone then) { Direct(std::move(one), std::move(then)); },
        std::move(batch), std::move(done), std::move(entry));
  }

  void ApplyAfter(kv::Batch batch, kv::ApplyDone done, bool spans) {
    auto later = std::make_shared<Later>(core, std::move(batch), std::move(done));
    later->spans = spans;
    later->entry = tracker.Begin(later->batch.fate);
    WaitForOthers(later);
  }

  void WaitForOthers(const std::shared_ptr<Later>& later) {
    UniqueFunction<void()> again = [this, later] { WaitForOthers(later); };
    if (tracker.WaitFor(later->batch, &again)) return;
    kv::Batch barrier;
    barrier.after = later->batch.after;
    const bool known = tracker.KnowsAll(later->batch, !later->spans);
    if (std::vector<kv::FatePtr> operations = tracker.Translate(&later->batch);
        !operations.empty()) {
      later->done = TellWhy(std::move(operations), std::move(later->done));
    }
    if (known) return Hand(later);
    // Some of the others went straight to the inner engine: a barrier tells when they are done.
    core.inner.Apply(std::move(barrier), [this, later](Result<uint64_t> passed) {
      if (passed.ok()) return Hand(later);
      Finish(later, std::move(passed).error());
    });
  }

  // The batch waited for operations of this engine. If one of them fails, kGuardFailed is enough:
  // the caller reads again.
  static kv::ApplyDone TellWhy(std::vector<kv::FatePtr> operations, kv::ApplyDone done) {
    return [operations = std::move(operations),
            done = std::move(done)](Result<uint64_t> applied) mutable {
      const bool failed = std::any_of(operations.begin(), operations.end(),
                                      [](const kv::FatePtr& fate) { return fate->failed.load(); });
      if (!applied.ok() && applied.error().code() == ErrorCode::kUnavailable && failed)
        return done(InTheWayError());
      done(std::move(applied));
    };
  }

  void Finish(const std::shared_ptr<Later>& later, Error error) {
    if (later->batch.fate != nullptr)
      later->batch.fate->failed.store(true, std::memory_order_release);
    later->done(std::move(error));
    tracker.End(later->entry, true);
  }

  void Hand(const std::shared_ptr<Later>& later) {
    if (later->spans) {
      return MakeTransaction(std::move(later->batch), std::move(later->done),
                             std::move(later->entry))
          ->Start(false);
    }
    Direct(std::move(later->batch), std::move(later->done));
    tracker.End(later->entry, false);
  }

  void Direct(kv::Batch batch, kv::ApplyDone done) {
    auto named = std::make_unique<Named>(core);
    named->fate = batch.fate;
    named->done = std::move(done);
    named->guards = batch.guards.size();
    named->keys.reserve(batch.guards.size() + batch.adds.size());
    AllTablets(batch, [&](kv::Tablet tablet) {
      named->tablet = tablet;
      return false;
    });
    for (const kv::Guard& guard : batch.guards) named->keys.push_back(guard.key);
    for (const kv::Add& add : batch.adds) named->keys.push_back(add.key);
    core.inner.Apply(std::move(batch),
                     [this, named = std::move(named)](Result<uint64_t> applied) mutable {
                       if (applied.ok()) return named->done(std::move(applied));
                       Refused(std::move(named), std::move(applied).error());
                     });
  }

  void Refused(std::unique_ptr<Named> named, Error error) {
    const ErrorCode code = error.code();
    if (code == ErrorCode::kSpansUnits) {
      // The batch was handed over, so it cannot be sent again here; its caller has the data to
      // retry.
      {
        MutexLock lock(mutex_);
        divided_.insert(named->tablet);
      }
      any_divided_.store(true, std::memory_order_release);
      return named->done(Error(ErrorCode::kGuardFailed, "The tablet has been divided meanwhile."));
    }
    const bool guards = code == ErrorCode::kGuardFailed && named->guards > 0;
    const bool counters = code == ErrorCode::kCorruption && named->keys.size() > named->guards;
    if (!guards && !counters) return named->done(std::move(error));
    // Batches that were computed from this one must not wait for the search.
    if (named->fate != nullptr) named->fate->failed.store(true, std::memory_order_release);
    const size_t first = guards ? 0 : named->guards;
    core.scheduler.Post(
        [this, named = std::move(named), error = std::move(error), first]() mutable {
          LookInto(std::shared_ptr<Named>(std::move(named)), std::move(error), first);
        });
  }

  // Answers a refused batch. Looks at the guarded keys (kGuardFailed), or at the counters
  // (kCorruption: a cell with an intent is not a counter), from index `i` on. At the first intent
  // it waits until that transaction is settled in this unit, or the attempt fails, and then answers
  // kGuardFailed, so that the caller retries; it does not look at the keys behind. kCorruption
  // stays only if no intent was found and a counter is really damaged.
  void LookInto(std::shared_ptr<Named> named, Error error, size_t i) {
    const bool counters = error.code() == ErrorCode::kCorruption;
    const size_t end = counters ? named->keys.size() : named->guards;
    bool damaged = false;
    for (; i < end; ++i) {
      std::string cell;
      const Result<bool> found =
          core.inner.Get(named->tablet, named->keys[i], kv::Tier::kAny, &cell);
      // The store will not answer for the other keys either.
      if (!found.ok() && found.error().code() == ErrorCode::kUnavailable)
        return named->done(counters ? found.error() : std::move(error));
      if (!found.ok() || !*found || !IsIntent(cell)) {
        damaged |= !found.ok() || (*found && counters && !kv::CounterOf(cell).ok());
        continue;
      }
      const Result<Intent> intent = DecodeIntent(cell);
      if (!intent.ok()) continue;
      if (counters) error = InTheWayError();
      return resolver.ResolveUnit(
          intent->transaction, {named->tablet, intent->note_key}, core.Jitter(300),
          [named, error = std::move(error)](Status) { named->done(error); });
    }
    if (counters && !damaged) error = InTheWayError();  // an intent that is gone by now
    named->done(std::move(error));
  }

  Mutex mutex_;
  std::atomic<bool> any_divided_ = false;
  std::set<kv::Tablet> divided_
      GUARDED_BY(mutex_);  // tablets that turned out to span units when a batch was refused
};

TransactionEngine::TransactionEngine(std::unique_ptr<kv::Engine> inner, Options options)
    : parts_(std::make_unique<Parts>(std::move(inner), options)) {}

TransactionEngine::~TransactionEngine() = default;

bool TransactionEngine::Sweep(kv::Tablet tablet, int64_t older_than_seconds) {
  return parts_->sweeper.Sweep(tablet, older_than_seconds * 1'000'000).ok();
}

kv::Engine& TransactionEngine::inner() { return *parts_->inner; }

kv::Capabilities TransactionEngine::capabilities() const {
  kv::Capabilities capabilities = parts_->inner->capabilities();
  capabilities.atomic_across_tablets = true;
  capabilities.exclusive = false;
  capabilities.blocking = true;
  capabilities.scans_of_one_state = false;
  capabilities.in_order = false;
  return capabilities;
}

Result<bool> TransactionEngine::Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                                    std::string* value) {
  return parts_->reader.Get(tablet, key, tier, value);
}

void TransactionEngine::GetLater(kv::Tablet tablet, std::string_view key, GetDone done) {
  parts_->reader.GetLater(tablet, key, std::move(done));
}

void TransactionEngine::GetRecent(kv::Tablet tablet, std::string_view key, GetDone done) {
  parts_->reader.GetRecent(tablet, key, std::move(done));
}

Status TransactionEngine::MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                                   std::vector<std::optional<std::string>>* values) {
  return parts_->reader.MultiGet(points, tier, values);
}

Status TransactionEngine::Scan(const kv::Range& range, kv::Tier tier,
                               FunctionRef<bool(std::string_view, std::string_view)> visit) {
  return parts_->reader.Scan(range, tier, visit);
}

void TransactionEngine::ReadAhead(const kv::Range& range, AheadDone done) {
  parts_->reader.ReadAhead(range, std::move(done));
}

void TransactionEngine::Apply(kv::Batch batch, kv::ApplyDone done) {
  parts_->Apply(std::move(batch), std::move(done));
}

Result<kv::Unit> TransactionEngine::UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) {
  return parts_->inner->UnitOf(tablet, key, tier);
}

Status TransactionEngine::RaiseFence(kv::Tablet tablet, uint64_t fence) {
  if (fence == kv::kDroppedFence) {
    TRY(parts_->inner->RaiseFence(tablet, kv::kDroppedFence - 1));
    TRY(parts_->sweeper.RollForward(tablet));
    return parts_->inner->RaiseFence(tablet, fence);
  }
  TRY(parts_->inner->RaiseFence(tablet, fence));
  return parts_->sweeper.SettleNotes(tablet);
}

kv::Bulletin* TransactionEngine::bulletin() { return parts_->inner->bulletin(); }
Status TransactionEngine::Health() const { return parts_->inner->Health(); }
uint64_t TransactionEngine::ApproximateBytes(kv::Tablet tablet) const {
  return parts_->inner->ApproximateBytes(tablet);
}

std::map<std::string, double> TransactionEngine::Statistics() const {
  std::map<std::string, double> statistics = parts_->inner->Statistics();
  const Counts& counts = parts_->core.counts;
  statistics["kv_tx_commits"] = static_cast<double>(counts.commits);
  statistics["kv_tx_aborted"] = static_cast<double>(counts.aborted);
  statistics["kv_tx_conflicts"] = static_cast<double>(counts.conflicts);
  statistics["kv_tx_resolved"] = static_cast<double>(counts.resolved);
  statistics["kv_tx_aborted_others"] = static_cast<double>(counts.aborted_others);
  statistics["kv_tx_undecided_met"] = static_cast<double>(counts.undecided_met);
  statistics["kv_tx_oldest_unfinished_seconds"] =
      static_cast<double>(parts_->resolver.OldestMicros()) / 1e6;
  return statistics;
}

Status TransactionEngine::Checkpoint(const std::string& directory) {
  return parts_->inner->Checkpoint(directory);
}

Status TransactionEngine::AddFeature(std::string_view name) {
  return kv::RequireFeature(*parts_->inner, name);
}

kv::Features TransactionEngine::RequiredFeatures() const {
  return kv::RequiredFeatures(*parts_->inner);
}

}  // namespace stator::kv_tx
