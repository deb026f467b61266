// The writes of one part of a tablet: one operation is under way at a time, and those that arrive meanwhile go together into the next.
// Internal to the room; everything runs on the writer's thread.
//
// The stamp in the object is the authority. Every operation compares it with what this process believes and raises it, so an
// operation that lost to another process changes nothing, and one whose answer was lost can be sent again as it is: if the first
// was applied the second is refused, and the ledger cell, which only this process writes, tells that it was. Whatever is written
// to the tablet later makes a late one void, because stamps never come back.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "kv_rados/cluster.h"
#include "kv_rados/group.h"
#include "kv_rados/tablet_map.h"
#include "kv_rados/value_cache.h"

namespace stator::kv_rados {

struct QueuedBatch {
  kv::Batch batch;
  kv::ApplyDone done;  // null once it was called
  size_t bytes = 0;
  int64_t arrived = 0;  // ticks
  uint64_t serial = 0;  // rises with every Apply
  uint64_t stamp = 0;   // of this attempt
};

Error LateError();

struct WriterStatistics {
  std::atomic<uint64_t> groups = 0;
  std::atomic<uint64_t> batches = 0;
  std::atomic<uint64_t> bytes = 0;
  std::atomic<uint64_t> refusals = 0;
  std::atomic<uint64_t> races = 0;            // operations that lost to another writer, or whose guards failed
  std::atomic<uint64_t> sent_again = 0;       // operations whose answer was lost
  std::atomic<uint64_t> found_in_ledger = 0;  // of these, applied the first time
  std::atomic<uint64_t> counts = 0;           // of the bytes of a part, by reading all of it
  std::atomic<uint64_t> unknown = 0;          // batches whose outcome nobody was told
};

// What the writers of all parts share. Owned by the Writer.
struct WriterContext {
  Cluster& cluster;
  TabletMap& map;
  ValueCache& cache;
  const Clock& clock;
  Executor& thread;         // the writer's
  WorkerPool& workers;      // for what waits
  const std::string process;  // its ledger cells' name
  WriterStatistics& statistics;
  std::optional<Error> full;  // the pool is, as far as is known since full_asked (ticks)
  int64_t full_asked = 0;
  // Calls done(outcome) of a batch and forgets it.
  UniqueFunction<void(QueuedBatch&, Result<uint64_t>)> finish;
  UniqueFunction<void(Status)> set_health;
};

class PartWriter {
 public:
  PartWriter(PartPtr part, WriterContext& context) : part_(std::move(part)), context_(context) {}

  void Enqueue(QueuedBatch batch) { queue_.push_back(std::move(batch)); }
  // Sets out with what is queued, if no group is under way.
  void Start();

 private:
  bool Expired(const QueuedBatch& batch) const;
  bool AnyExpired() const;  // of the group under way
  void TakeGroup();
  void Advance();
  void AskWhetherFull(UniqueFunction<void()> next);
  void ReadState();
  void OnState(int result, ReadOp& read, size_t cells, std::optional<size_t> ledgers, const std::vector<std::string>& keys);
  Status TakeState(ReadOp& read, size_t cells, std::optional<size_t> ledgers, const std::vector<std::string>& keys,
                   std::optional<LedgerCell>* own);
  void Count();
  void Build();
  void Send();
  void FillOperation(WriteOp* op) const;
  void OnWritten(int result);
  void Recheck();
  void Succeed();
  void Fail(const Error& error);
  void Refuse(QueuedBatch& batch, Error error);
  void EndGroup();
  // Runs `work`, which may wait, elsewhere, then `next` with what it returned on the writer's thread.
  template <typename T>
  void Elsewhere(UniqueFunction<T()> work, UniqueFunction<void(T)> next);

  const PartPtr part_;
  WriterContext& context_;
  std::deque<QueuedBatch> queue_;

  std::optional<uint64_t> stamp_;  // of the part, as far as this process knows
  KnownKeys known_;                // at that stamp
  TabletSize size_;                // at that stamp, corrected by counted_
  // What the size attribute said and what this process counted then. Kept until an operation of this process tells everybody.
  struct Counted {
    TabletSize said;
    uint64_t bytes = 0;
  };
  std::optional<Counted> counted_;
  uint64_t seq_ = 0;               // of the last operation built
  bool ledger_looked_through_ = false;
  std::vector<std::string> stale_ledgers_;  // cells of processes long gone, to be removed by the next operation

  // The group under way.
  bool busy_ = false;
  std::vector<QueuedBatch> batches_;
  std::optional<Group> group_;
  HeaderPtr header_;  // that its operation compares
  bool state_is_fresh_ = false;  // known_ was read for this group and has the keys of all its batches
  bool counted_for_group_ = false;  // and the states of all keys that it changes are read, too
  bool in_doubt_ = false;  // an operation with seq_ was sent whose answer is lost
  int64_t first_sent_ = 0;  // ticks
};

}  // namespace stator::kv_rados
