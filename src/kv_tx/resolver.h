// Finds out what became of transactions, and brings the keys that they left intents on in order:
// also for processes that died.
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

  // Between these a transaction is taken care of by this process: it is not given up for dead.
  void Begin(TransactionId id);
  void End(TransactionId id);
  bool IsOwn(TransactionId id) const;
  // The operation with this fate, next in the inner engine, rolls forward one's unit; and that
  // operation, null if it is over.
  void Rolls(TransactionId id, const std::string& note_key, kv::FatePtr fate);
  kv::FatePtr RollOf(TransactionId id, const std::string& note_key) const;
  // The oldest of them, in microseconds; 0 if there is none.
  int64_t OldestMicros() const;
  // Which need not be looked up then. Only of transactions of which that is certain.
  void Remember(TransactionId id, Decision decision);

  // Reads the decision; kWouldBlock if it would have to wait and the tier does not allow it (kAny
  // does). kUndecided if there is no record: the transaction is undecided, or it was finished long
  // ago. So it is no answer before the key has been read again and still has the intent; nor is
  // kAborted.
  Result<Decision> Find(const TransactionRef& transaction, kv::Tier tier = kv::Tier::kAny);

  // Writes that the transaction is aborted, unless it is decided: then says how. Not for
  // transactions that may have been finished.
  void Abort(const TransactionRef& transaction, UniqueFunction<void(Result<Decision>)> done);

  // Brings what the transaction left in one unit in order, whatever that takes: waits for its
  // decision, aborts it when it takes too long. In the background; first in `delay_micros`. `done`
  // (may be null) runs when nothing is left, or on an error: then that may go on for long.
  void Settle(const TransactionRef& transaction, Share share, int64_t delay_micros, Done done);

  // Rolls a unit forward (kCommitted) or back (kAborted), from what stands there; goes on until it
  // is done or the engine closes.
  void Roll(const TransactionRef& transaction, Share share, Decision decision, Done done);

 private:
  struct Settling;
  struct Rolling;

  void PostStep(const std::shared_ptr<Settling>& settling, int64_t delay_micros);
  void Step(const std::shared_ptr<Settling>& settling);
  void StepLater(const std::shared_ptr<Settling>& settling);
  // Nobody knows for how long the store does not answer: who waits decides for himself what to do.
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
    std::map<std::string, kv::FatePtr> rolls;  // by the keys of notes
  };
  std::map<TransactionId, Own> own_ GUARDED_BY(mutex_);
  std::map<TransactionId, Decision> known_ GUARDED_BY(mutex_);
  std::deque<TransactionId> known_order_ GUARDED_BY(mutex_);
  std::map<std::pair<kv::Tablet, std::string>, std::shared_ptr<Settling>> settling_
      GUARDED_BY(mutex_);
};

}  // namespace stator::kv_tx
