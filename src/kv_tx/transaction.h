// One batch that spans units, on its way: two-phase commit.
// docs/adr/0012-transactions-in-the-engine.md says why it is right.
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

// Owned by the continuations that carry it on. Its methods run one after the other, but for the
// answers of participants.
class Transaction : public std::enable_shared_from_this<Transaction> {
 public:
  // `entry`: the batch's, which the transaction takes to its end. `direct`: applies a batch that
  // turns out to be on one unit.
  using ApplyDirect = std::function<void(kv::Batch, kv::ApplyDone)>;
  Transaction(Core& core, Resolver& resolver, Tracker& tracker, ApplyDirect direct, kv::Batch batch,
              kv::ApplyDone done, Tracker::EntryPtr entry);

  // What the batch was computed from is done. Returns at once. With `here` the calling thread plans
  // it, if that needs no answer from the store.
  void Start(bool here);

 private:
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

  // Takes the attempt back, then ends with `error` or, without one, tries again.
  void Abort(std::optional<Error> error);
  void RollBack();
  void RefuseNow(const Error& why);
  void RolledBack();
  // A guard failed: finds out whether one of the batch's, or whether somebody was in the way.
  void Diagnose();
  void Again(bool at_once);
  void WaitFor(const Met& met);
  // The outcome of the commit is unknown.
  void FindOut();
  void FoundAborted();
  void LookLater();
  bool LookedForLong() const;
  void TellUnknown();

  // Tells the outcome, unless it has been told: several participants may find at once that the
  // store does not answer. `left`: as Tracker::End.
  void End(Result<uint64_t> outcome, Tracker::Left left = {});
  bool late() const;
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

  int attempt_ = 0;
  bool guess_ = true;
  bool apart_ = false;
  // Of the attempt.
  TransactionRef self_;
  Plan plan_;
  std::vector<Part> parts_;
  std::atomic<size_t> waiting_ = 0;  // for so many participants
  std::optional<Error> error_;       // with which it ends when it is taken back
  bool diagnose_ = false;
  uint64_t stamp_ = 0;                    // of the commit
  bool decided_ = false;                  // committed
  bool ended_ = false;                    // for the tracker
  std::atomic<bool> all_sent_ = false;    // of what rolls forward
  std::atomic<bool> unanswered_ = false;  // some of that
  Tracker::Left left_;
  int64_t looking_since_ = 0;  // for the outcome of the commit: since it was sent
  int looks_ = 0;
  Mutex guards_mutex_;  // of batch_.guards, error_ and done_, while participants answer
};

}  // namespace stator::kv_tx
