// Finds the decision of a transaction and rolls its units forward or back, also for processes that
// died.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kv_tx/core.h"
#include "kv_tx/layout.h"

namespace stator::kv_tx {

// Thread-safe.
class Resolver {
 public:
  using Done = UniqueFunction<void(Status)>;
  // Applies a batch that may span units.
  using ApplyAnywhere = std::function<void(kv::Batch, kv::ApplyDone)>;

  Resolver(Core& core, ApplyAnywhere apply) : core_(core), apply_(std::move(apply)) {}

  // Between Begin and End this process carries the transaction on itself: the resolver neither
  // aborts nor rolls it.
  void Begin(TransactionId id);
  void End(TransactionId id);
  bool IsOwn(TransactionId id) const;
  // Rolls notes that the operation with this fate, already handed to the inner engine, rolls a unit
  // of an own transaction forward. RollOf returns that operation, or null if it has failed or is
  // unknown.
  void Rolls(TransactionId id, const std::string& note_key, kv::FatePtr fate);
  kv::FatePtr RollOf(TransactionId id, const std::string& note_key) const;
  // Returns the age of the oldest transaction or settlement under way, in microseconds; 0 if there
  // is none.
  int64_t OldestMicros() const;
  // Caches a decision so that Find need not read it. The decision must be final.
  void Remember(TransactionId id, Decision decision);

  // Returns the decision, from the cache or the record. kWouldBlock if it must be read and the tier
  // may not wait. kUndecided and kAborted can be outdated: a transaction without a record is
  // undecided, or was finished long ago. The caller must read the key again and act only if the
  // intent is still there.
  Result<Decision> Find(const TransactionRef& transaction, kv::Tier tier = kv::Tier::kAny);

  // Writes an aborted record unless the transaction is decided. Calls `done` with the decision that
  // stands. The caller must know that the transaction was not finished before.
  void Abort(const TransactionRef& transaction, UniqueFunction<void(Result<Decision>)> done);

  // Finishes one unit of a transaction in the background, after `delay_micros`: waits for the
  // decision, aborts the transaction if that takes too long, then rolls the unit. `done` (may be
  // null) runs when nothing is left in the unit, or on an error. After an error the work may
  // continue.
  void ResolveUnit(const TransactionRef& transaction, Participation share, int64_t delay_micros,
                   Done done);

  // Rolls a unit forward (kCommitted) or back (kAborted) as its note says. Retries until that is
  // done or the engine closes.
  void Roll(const TransactionRef& transaction, Participation share, Decision decision, Done done);

 private:
  struct Settling;
  struct Rolling;

  void PostStep(const std::shared_ptr<Settling>& settling, int64_t delay_micros);
  void Step(const std::shared_ptr<Settling>& settling);
  void StepLater(const std::shared_ptr<Settling>& settling);
  // Ends the waiting of all callers with kUnavailable, because nothing says when the store will
  // answer again. The settlement itself goes on.
  void LetGo(const std::shared_ptr<Settling>& settling);
  void FinishSettling(const std::shared_ptr<Settling>& settling, Status status);
  void RollSettling(const std::shared_ptr<Settling>& settling, Decision decision);

  void RollOnce(const std::shared_ptr<Rolling>& rolling);
  void RollAgain(const std::shared_ptr<Rolling>& rolling, bool at_once);
  Result<kv::Batch> RollBatch(Rolling& rolling, bool* gone);
  void RollApart(const std::shared_ptr<Rolling>& rolling, kv::Batch batch);
  void FreeCounters(const std::shared_ptr<Rolling>& rolling, std::vector<kv::Add> adds);

  Core& core_;
  const ApplyAnywhere apply_;
  mutable Mutex mutex_;
  struct Own {
    int64_t since = 0;
    std::map<std::string, kv::FatePtr> rolls;  // by note key
  };
  std::map<TransactionId, Own> own_ GUARDED_BY(mutex_);
  std::map<TransactionId, Decision> known_ GUARDED_BY(mutex_);
  std::deque<TransactionId> known_order_ GUARDED_BY(mutex_);
  std::map<std::pair<kv::Tablet, std::string>, std::shared_ptr<Settling>> settling_
      GUARDED_BY(mutex_);
};

}  // namespace stator::kv_tx
