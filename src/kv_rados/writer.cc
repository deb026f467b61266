#include "kv_rados/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/mutex_wait.h"

namespace stator::kv_rados {
namespace {

constexpr int kWorkers = 4;
constexpr size_t kMaxWaiting = 10'000;
constexpr size_t kMaxBatchBytes =
    64 << 20;  // RADOS takes operations up to 90 MB; keys stand in them twice

size_t BatchBytes(const kv::Batch& batch) {
  size_t bytes = 64;
  for (const kv::Put& put : batch.puts) bytes += 2 * put.key.size() + put.value.size() + 16;
  for (const kv::Delete& key : batch.deletes) bytes += 2 * key.key.size() + 16;
  for (const kv::DeleteRange& range : batch.range_deletes)
    bytes += 2 * (range.begin.size() + range.end.size()) + 24;
  for (const kv::Guard& guard : batch.guards) bytes += 2 * guard.key.size() + 24;
  return bytes + 64 * batch.adds.size();
}

// Returns the tablet of a batch, which must not be empty. kSpansUnits if the batch names several
// tablets.
Result<kv::Tablet> TabletOf(const kv::Batch& batch) {
  std::optional<kv::Tablet> tablet;
  bool several = false;
  const auto look = [&](const auto& parts) {
    for (const auto& part : parts) {
      several |= tablet && *tablet != part.tablet;
      tablet = part.tablet;
    }
  };
  look(batch.guards);
  look(batch.range_deletes);
  look(batch.puts);
  look(batch.deletes);
  look(batch.adds);
  look(batch.fences);
  if (several)
    return Error(ErrorCode::kSpansUnits,
                 "a batch spans tablets, which are not changed together on this engine.");
  return *tablet;
}

}  // namespace

Writer::Writer(Cluster& cluster, TabletMap& map, ValueCache& cache, std::string process,
               Grown grown)
    : cluster_(cluster),
      cache_(cache),
      wake_(cluster.host()),
      workers_(cluster.host(), kWorkers, kMaxWaiting),
      strand_([this] { TakeArrived(); }, [this] { WakeThread(); }),
      context_{.cluster = cluster,
               .map = map,
               .cache = cache,
               .clock = cluster.clock(),
               .strand = strand_,
               .workers = workers_,
               .process = std::move(process),
               .statistics = statistics_,
               .finish = [this](QueuedBatch& queued,
                                Result<uint64_t> outcome) { Finish(queued, std::move(outcome)); },
               .set_health = [this](Status health) { SetHealth(std::move(health)); },
               .grown = std::move(grown),
               .lost =
                   [this](const kv::Unit& unit) {
                     MutexLock lock(hooks_mutex_);
                     if (hooks_.lost) hooks_.lost(unit);
                   },
               .before_group =
                   [this] {
                     MutexLock lock(hooks_mutex_);
                     if (hooks_.before_group) hooks_.before_group();
                   }},
      thread_(cluster.host(), [this] { Run(); }) {}

void Writer::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  WakeThread();
  if (thread_.joinable()) thread_.Join();
  workers_.Stop();
}

void Writer::Apply(kv::Batch batch, kv::ApplyDone done) {
  QueuedBatch queued{
      .batch = std::move(batch), .done = std::move(done), .arrived = context_.clock.TicksMicros()};
  queued.bytes = BatchBytes(queued.batch);
  bool taken = false;
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      taken = true;
      queued.serial = ++last_serial_;
      arrived_.push_back(std::move(queued));
    }
  }
  if (!taken) return queued.done(Error(ErrorCode::kUnavailable, "The store is closing."));
  strand_.RunAfter();
}

void Writer::SetHooks(WriterHooks hooks) {
  MutexLock lock(hooks_mutex_);
  hooks_ = std::move(hooks);
}

// Keeps the hint until the thread takes the next batches. That is early enough: the first batch
// that makes the key known to other processes comes after this call.
void Writer::NoteUnused(kv::Tablet tablet, std::string_view key) {
  MutexLock lock(mutex_);
  unused_.emplace_back(tablet, key);
}

void Writer::WakeThread() {
  MutexLock lock(thread_mutex_);
  woken_ = true;
  wake_.NotifyOne();
}

void Writer::LookAt(int64_t ticks) {
  MutexLock lock(thread_mutex_);
  if (look_at_ && *look_at_ <= ticks) return;
  look_at_ = ticks;
  wake_.NotifyOne();
}

void Writer::HurryWaiting(bool all) {
  std::multimap<int64_t, PartWriter*>& waiting = context_.waiting;
  const int64_t now = context_.clock.TicksMicros();
  while (!waiting.empty() && (all || waiting.begin()->first <= now)) {
    PartWriter* const part = waiting.begin()->second;
    waiting.erase(waiting.begin());
    part->Hurry(now, all);
  }
  if (!waiting.empty()) LookAt(waiting.begin()->first);
}

void Writer::ServeLine() {
  while (!context_.line.empty()) {
    const int64_t now = context_.clock.TicksMicros();
    const auto ticket = context_.window.Begin(now, context_.groups + context_.line.size());
    if (!ticket) {
      if (const std::optional<int64_t> leaves = context_.window.OldestLeaves()) LookAt(*leaves);
      return;
    }
    PartWriter* const part = context_.line.Take(
        context_.line.Next([](const PartWriter* each) { return each->queued(); }));
    part->SetOut(*ticket);
    part->Start();  // what it sent for may have ended already
  }
}

void Writer::Run() {
  // Once nothing is open only threads that are on their way out of the strand are waited for.
  constexpr int64_t kLookMicros = 1000;
  while (!ended_.load(std::memory_order_acquire) || !strand_.idle()) {
    {
      UniqueMutexLock lock(thread_mutex_);
      while (!woken_) {
        if (ended_.load(std::memory_order_acquire)) {
          wake_.WaitFor(lock, kLookMicros);
          break;
        }
        if (!look_at_) {
          wake_.Wait(lock);
        } else if (const int64_t left = *look_at_ - context_.clock.TicksMicros(); left > 0) {
          wake_.WaitFor(lock, left);
        } else {
          look_at_.reset();
          break;
        }
      }
      woken_ = false;
    }
    strand_.Run([] {});
  }
}

void Writer::TakeArrived() {
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    taken_.swap(arrived_);
    taken_unused_.swap(unused_);
    stopping = stopping_;
  }
  for (const auto& [tablet, key] : taken_unused_) {
    if (const auto writer = tablets_.find(tablet); writer != tablets_.end())
      writer->second->NoteUnused(key);
  }
  taken_unused_.clear();
  // One start for each tablet, behind all that came for it.
  std::vector<TabletWriter*> touched;
  for (QueuedBatch& queued : taken_) {
    open_.insert(queued.serial);
    if (queued.batch.empty()) {
      Barrier barrier{
          .queued = std::move(queued), .last_serial = accepted_serial_, .stamp = accepted_stamp_};
      barriers_.push_back(std::move(barrier));
      continue;
    }
    queued_.fetch_add(1, std::memory_order_relaxed);
    const Result<kv::Tablet> tablet = TabletOf(queued.batch);
    if (!tablet.ok()) {
      Finish(queued, tablet.error());
    } else if (queued.bytes > kMaxBatchBytes) {
      Finish(queued, InternalError(fmt::format(
                         "a batch of {} bytes is larger than an operation may be.", queued.bytes)));
    } else {
      std::unique_ptr<TabletWriter>& writer = tablets_[*tablet];
      if (writer == nullptr) writer = std::make_unique<TabletWriter>(*tablet, context_);
      writer->Enqueue(std::move(queued));
      if (std::find(touched.begin(), touched.end(), writer.get()) == touched.end())
        touched.push_back(writer.get());
    }
  }
  taken_.clear();
  for (TabletWriter* writer : touched) writer->Start();
  HurryWaiting(stopping || !barriers_.empty());
  ServeLine();
  ReleaseBarriers();
  if (stopping && open_.empty() && !ended_.exchange(true, std::memory_order_acq_rel)) WakeThread();
}

// Updates the cache with the outcome of a batch. Called before the batch's `done`, so that later
// reads find the written values.
void Writer::NoteOutcome(kv::Batch& batch, int64_t arrived, const Result<uint64_t>& outcome) {
  if (outcome.ok()) {
    for (const kv::DeleteRange& range : batch.range_deletes)
      cache_.ForgetRange(range.tablet, range.begin, range.end);
    for (const kv::Delete& gone : batch.deletes)
      cache_.NoteWritten(gone.tablet, gone.key, std::nullopt, arrived);
    for (kv::Put& put : batch.puts) {
      if (put.key_stamp_offset < 0)
        // The others are not read by their keys.
        cache_.NoteWritten(put.tablet, put.key, std::move(put.value), arrived);
    }
  } else if (outcome.error().code() == ErrorCode::kUnavailable ||
             outcome.error().code() == ErrorCode::kFenced) {
    return;  // nothing was applied, and nothing was wrong with what is known
  } else {
    if (outcome.error().code() == ErrorCode::kGuardFailed) cache_.NoteRefused(batch.guards);
    for (const kv::Guard& guard : batch.guards) cache_.Forget(guard.tablet, guard.key);
    for (const kv::DeleteRange& range : batch.range_deletes)
      cache_.ForgetRange(range.tablet, range.begin, range.end);
    for (const kv::Delete& gone : batch.deletes) cache_.Forget(gone.tablet, gone.key);
    for (const kv::Put& put : batch.puts) cache_.Forget(put.tablet, put.key);
  }
  for (const kv::Add& add : batch.adds) cache_.Forget(add.tablet, add.key);
}

void Writer::Finish(QueuedBatch& queued, Result<uint64_t> outcome) {
  if (const std::shared_ptr<FanOutBatch> joint = std::move(queued.joint)) {
    queued.done = nullptr;
    joint->Take(outcome);
    if (joint->left == 0) Finish(joint->whole, joint->Outcome());
    return;
  }
  NoteOutcome(queued.batch, queued.arrived, outcome);
  if (outcome.ok()) {
    if (queued.serial > accepted_serial_) {
      accepted_serial_ = queued.serial;
      accepted_stamp_ = *outcome;
    }
    for (Barrier& barrier : barriers_) {
      if (queued.serial < barrier.queued.serial && queued.serial > barrier.last_serial) {
        barrier.last_serial = queued.serial;
        barrier.stamp = *outcome;
      }
    }
  }
  open_.erase(queued.serial);
  queued_.fetch_sub(1, std::memory_order_relaxed);
  kv::ApplyDone done = std::move(queued.done);
  queued.done = nullptr;
  done(std::move(outcome));
}

// A barrier is done when nothing before it is open, other barriers aside, which stand in line.
void Writer::ReleaseBarriers() {
  while (!barriers_.empty() && *open_.begin() == barriers_.front().queued.serial) {
    Barrier barrier = std::move(barriers_.front());
    barriers_.pop_front();
    open_.erase(barrier.queued.serial);
    if (kv::IsVoid(barrier.queued.batch)) {
      barrier.queued.done(kv::VoidBatchError());
    } else {
      barrier.queued.done(barrier.stamp);
    }
  }
}

Status Writer::Health() const {
  MutexLock lock(mutex_);
  return health_;
}

void Writer::SetHealth(Status health) {
  if (health.ok() && writable_) return;
  if (health.ok()) LogInfo("store takes writes again");
  if (!health.ok() && writable_)
    LogError("store takes no writes", {{"reason", health.error().message()}});
  writable_ = health.ok();
  MutexLock lock(mutex_);
  health_ = std::move(health);
}

void Writer::AddStatistics(std::map<std::string, double>* statistics) const {
  const auto value = [](const std::atomic<uint64_t>& counter) {
    return static_cast<double>(counter.load(std::memory_order_relaxed));
  };
  (*statistics)["kv_commit_groups"] = value(statistics_.groups);
  (*statistics)["kv_commit_batches"] = value(statistics_.batches);
  (*statistics)["kv_commit_bytes"] = value(statistics_.bytes);
  (*statistics)["kv_commit_refusals"] = value(statistics_.refusals);
  (*statistics)["kv_commit_queued"] = value(queued_);
  (*statistics)["kv_rados_races"] = value(statistics_.races);
  (*statistics)["kv_rados_sent_again"] = value(statistics_.sent_again);
  (*statistics)["kv_rados_found_in_ledger"] = value(statistics_.found_in_ledger);
  (*statistics)["kv_rados_counts"] = value(statistics_.counts);
  (*statistics)["kv_rados_unknown"] = value(statistics_.unknown);
  (*statistics)["kv_writable"] = Health().ok() ? 1 : 0;
}

}  // namespace stator::kv_rados
