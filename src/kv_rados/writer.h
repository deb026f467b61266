// Deals batches out to the writers of their tablets and calls every `done`, on one strand: threads
// that bring batches and those of the cluster that bring outcomes do the work in turn, and a thread
// of its own does the rest. Internal to the room.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kv_rados/contention.h"
#include "kv_rados/strand.h"
#include "kv_rados/tablet_writer.h"
#include "kv_rados/value_cache.h"

namespace stator::kv_rados {

// Thread-safe. The cluster, the map and the cache, which it tells what was written, must outlive
// it.
class Writer {
 public:
  using Grown = UniqueFunction<void(const PartPtr&, const PartSize&)>;
  Writer(Cluster& cluster, TabletMap& map, ValueCache& cache, std::string process, Grown grown);
  ~Writer() { Stop(); }

  // Implements Engine::Apply.
  void Apply(kv::Batch batch, kv::ApplyDone done);
  // Implements Engine::NoteUnused.
  void NoteUnused(kv::Tablet tablet, std::string_view key);
  // Implements kv_rados::SetHooks.
  void SetHooks(WriterHooks hooks);
  // Implements Engine::Health.
  Status Health() const;
  // Queues a task that may block for the worker threads. Returns false if their queue is full.
  bool TryWork(UniqueFunction<void()>& task) { return workers_.TryPost(task); }
  void AddStatistics(std::map<std::string, double>* statistics) const;
  // Waits for the outcomes of what is queued, then joins the thread. Later calls of Apply are
  // refused. Idempotent.
  void Stop();

 private:
  // An empty batch, which waits for those before it.
  struct Barrier {
    QueuedBatch queued;
    uint64_t last_serial = 0;  // of the last accepted batch before it, so far, and its stamp
    uint64_t stamp = 0;
  };

  // The thread's: what is handed over, operations that hang, the end.
  void Run();
  // On the strand: everything that has arrived, and whose turn it is.
  void TakeArrived();
  // What may wait has waited until now, or for a barrier, or long enough.
  void HurryWaiting(bool all);
  // The parts in line set out, as far as the window lets them.
  void ServeLine();
  // Has the thread run the strand at that time (ticks), or before.
  void LookAt(int64_t ticks);
  void WakeThread();
  void Finish(QueuedBatch& queued, Result<uint64_t> outcome);
  // Takes what was written from the batch.
  void NoteOutcome(kv::Batch& batch, int64_t arrived, const Result<uint64_t>& outcome);
  void ReleaseBarriers();
  void SetHealth(Status health);

  Cluster& cluster_;
  ValueCache& cache_;

  mutable Mutex mutex_;
  std::vector<QueuedBatch> arrived_ GUARDED_BY(mutex_);
  std::vector<std::pair<kv::Tablet, std::string>> unused_ GUARDED_BY(mutex_);
  uint64_t last_serial_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Status health_ GUARDED_BY(mutex_);

  Mutex hooks_mutex_;
  WriterHooks hooks_ GUARDED_BY(hooks_mutex_);

  // Of the thread.
  Mutex thread_mutex_;
  Signal wake_;
  bool woken_ GUARDED_BY(thread_mutex_) = false;
  std::optional<int64_t> look_at_ GUARDED_BY(thread_mutex_);  // ticks

  // Only the strand touches these.
  std::map<kv::Tablet, std::unique_ptr<TabletWriter>> tablets_;
  std::set<uint64_t> open_;  // serials of batches without an outcome
  std::deque<Barrier> barriers_;
  uint64_t accepted_serial_ = 0;  // the highest of a batch that was accepted, and its stamp
  uint64_t accepted_stamp_ = 0;
  bool writable_ = true;
  std::vector<QueuedBatch> taken_;
  std::vector<std::pair<kv::Tablet, std::string>> taken_unused_;

  std::atomic<bool> ended_ = false;   // stopping, and nothing is open
  std::atomic<uint64_t> queued_ = 0;  // batches without an outcome
  WriterStatistics statistics_;
  Workers workers_;
  Strand strand_;
  WriterContext context_;
  Thread thread_;
};

}  // namespace stator::kv_rados
