// The two-phase commit of one batch that spans units. docs/adr/0012-transactions-in-the-engine.md
// says why it is correct.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kv_tx/core.h"
#include "kv_tx/layout.h"
#include "kv_tx/plan.h"
#include "kv_tx/resolver.h"
#include "kv_tx/tracker.h"

namespace stator::kv_tx {

// One batch on its way, through as many attempts as it takes. The continuations that carry it on
// own it. Its methods run one after the other, except for the answers of participants.
//
// Its states, and what follows each of them:
//
//   kPlanning --> kPreparing --> kCommitting --> kRollingForward --> kOver
//     |  ^  |         |            |  |   |          ^
//     |  |  |         |            |  |   +-> kFindingOut --> kOver (unknown for good)
//     |  |  |         v            |  |          |
//     |  |  |    kRollingBack <----+--(refused)--+ (aborted)
//     |  |  |         |    |
//     |  |  |         |    +--> kDiagnosing --> kOver (refused)
//     |  |  |         v              |
//     |  +--+----- kWaiting <--------+
//     |               |
//     |               +--> kOver (while it waited for another transaction)
//     +--> kDirect (the batch is on one unit) --> kOver
//
// Besides, kPlanning and kRollingBack may end in kOver. The caller is told earlier than that if the
// outcome is certain, or if it stays unknown for too long.
class Transaction : public std::enable_shared_from_this<Transaction> {
 public:
  // `entry` is the batch's entry in the tracker; the transaction ends it. `direct` applies a batch
  // that turns out to be on one unit.
  using ApplyDirect = std::function<void(kv::Batch, kv::ApplyDone)>;
  Transaction(Core& core, Resolver& resolver, Tracker& tracker, ApplyDirect direct, kv::Batch batch,
              kv::ApplyDone done, Tracker::EntryPtr entry);

  // Begins the first attempt. Call it when all batches in `after` are done. Returns at once. With
  // `here` the calling thread plans the batch, if that needs no read from the store.
  void Start(bool here);

 private:
  enum class State : uint8_t {
    kPlanning,        // divides the batch among units, and reads what the keys hold
    kDirect,          // the batch is on one unit, which applies it
    kPreparing,       // participants write their intents
    kCommitting,      // the record of the decision is written, with the primary's guards
    kFindingOut,      // the answer to that is lost
    kRollingForward,  // committed: intents become values
    kRollingBack,     // not committed: intents become what was there
    kDiagnosing,      // looks for the guard that does not hold
    kWaiting,         // before the next attempt: for another transaction, or for a while
    kOver,
  };
  // Ends the process if `to` does not follow the current state.
  void Enter(State to);
  // Enters kOver and tells the caller, unless that has happened.
  void Finish(Result<uint64_t> outcome, Tracker::Left left = {});

  enum class Phase { kPrepared, kNotPrepared, kUnsure };  // of a participant
  struct Part {
    Phase phase = Phase::kNotPrepared;
    std::string note_key;
    uint64_t stamp = 0;  // of the prepare
    std::optional<Error> error;
  };

  void Attempt(kv::Tier tier);
  void Prepare();
  kv::Batch PrepareBatch(const Participant& participant, const Part& part) const;
  void Prepared();
  void Commit();
  void Committed(uint64_t stamp);
  void RollForward();
  kv::Batch ForwardBatch(size_t i) const;
  void RolledForward();
  void RemoveRecord(int attempt);

  // Rolls the attempt back, then ends with `error`, or retries if there is none.
  void Abort(std::optional<Error> error);
  void RollBack();
  void RefuseNow(const Error& why);
  void RolledBack();
  // After a failed guard: finds out whether a guard of the batch does not hold or whether another
  // transaction was in the way.
  void Diagnose();
  void Again(bool at_once);
  void PlanAgain(bool at_once);
  void WaitFor(const BlockingTransaction& met);
  // Called when the outcome of the commit is unknown.
  void FindOut();
  void FoundAborted();
  void LookLater();
  bool LookedForLong() const;
  void TellUnknown();

  // Calls `done_` with the outcome, unless that has happened: several participants may find at once
  // that the store does not answer. `left`: see Tracker::End.
  void End(Result<uint64_t> outcome, Tracker::Left left = {});
  bool late() const;
  bool committed() const { return state_ == State::kRollingForward; }
  std::string ActualKey(const Change& change, const Part& part) const;

  Core& core_;
  Resolver& resolver_;
  Tracker& tracker_;
  const ApplyDirect direct_;
  const Busy busy_;
  kv::Batch batch_;
  kv::ApplyDone done_;
  const Tracker::EntryPtr entry_;
  const int64_t began_;  // in ticks

  State state_ = State::kPlanning;
  int attempt_ = 0;
  bool guess_ = true;   // keys that only the store knows are taken for absent: see ReadOld
  bool apart_ = false;  // the commit holds no ranges: with them it spanned units
  // State of the current attempt.
  TransactionRef self_;
  Plan plan_;
  std::vector<Part> parts_;
  std::atomic<size_t> waiting_ = 0;       // participants that have not answered
  std::optional<Error> error_;            // the error with which the batch ends after the roll-back
  bool diagnose_ = false;                 // a guard of the commit did not hold
  uint64_t stamp_ = 0;                    // of the commit
  bool ended_ = false;                    // true once the tracker's entry has ended
  std::atomic<bool> all_sent_ = false;    // all roll-forwards were sent
  std::atomic<bool> unanswered_ = false;  // the store did not answer one of them
  Tracker::Left left_;
  int64_t looking_since_ = 0;  // when the commit was sent, for the search for its outcome
  int looks_ = 0;
  Mutex guards_mutex_;  // guards batch_.guards, error_ and done_ while participants answer
};

}  // namespace stator::kv_tx
