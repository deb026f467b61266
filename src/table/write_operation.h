// One write: latches, old images, body, batch. Internal to the room.
//
// The latches of the targets are taken in sorted order. They are released as soon as the batch is
// queued, so that the next writer of a key joins the same group commit instead of waiting for the
// disk. The next writer then decides on an image that is not durable yet (a pending image). Its
// batch names the earlier one in Batch::after: if the earlier batch is refused, so is the later
// one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "model/value.h"
#include "table/history.h"
#include "table/latch.h"
#include "table/store.h"
#include "table/write_batch.h"
#include "table/write_with.h"

namespace stator::table {

// The arguments of Store::Write and WriteWith.
struct WriteCall {
  std::vector<WriteTarget> targets;
  WriteBody body;
  WriteDone done;
  std::shared_ptr<TokenUse> token;  // null without
  WriteDetour detour;               // null without
  kv::FatePtr permit;               // null: none is needed
  BatchExtra extra;                 // null without
};

// Owns itself from Start on, and calls `done` once. Its methods run one after the other, on any
// thread, except that the engine may call Applied while DecideNow still lets the latches go.
//
// Its states, and what follows each of them. LocalWrite is the only writer of its store and enters
// gates; GuardedWrite shares the store with other processes and starts over where one of them was
// faster:
//
//   kLatching --> kEntering (local) --> kReading --> kDeciding --> kApplying --> kOver
//       |                                  ^            |
//       +------------- (guarded) ----------+            |
//                                          +-(guarded)--+  the answer may be old: it looks again
//
//   guarded: kReading, kDeciding, kApplying --> kPausing --> kLatching
//
// Each state may end in kOver: kDeciding with an answer that changes nothing, the others with an
// error.
class WriteOperation {
 public:
  WriteOperation(const WriteOperation&) = delete;
  WriteOperation& operator=(const WriteOperation&) = delete;

  void Start();

 protected:
  enum class State : uint8_t {
    kLatching,  // takes the latch of its token, and those of its targets
    kEntering,  // passes the gates of its tables
    kReading,   // reads the old images that are not pending
    kDeciding,  // the body decides, after a detour perhaps
    kApplying,  // the batch is queued
    kPausing,   // holds no latch; starts over after a while
    kOver,
  };

  WriteOperation(Store& store, WriteCall call);
  virtual ~WriteOperation() = default;

  // Ends the process if `to` does not follow the current state.
  void Enter(State to);

  // --- What the two kinds do differently ---

  // All latches are held. Goes on with kEntering or kReading.
  virtual void GoOnLatched() = 0;
  // Reads the old images that are not pending, and the token's record.
  virtual Status Read(kv::Tier tier) = 0;
  // Returns true if the write has waited too long to wait for a further latch.
  virtual bool WaitedForLong() const { return false; }
  // Called when the batch could not be made. Returns true if the operation has handled that itself.
  virtual bool GoesOnWithoutBatch([[maybe_unused]] Error* error) { return false; }
  // The reason why an answer must be checked first, although the write changes nothing and saw no
  // pending image.
  enum class Doubt : uint8_t {
    kNone,
    kOfAge,     // what was read may be old: ReadAgain
    kOfMoment,  // several items were read one after the other: a batch of guards finds out
  };
  virtual Doubt DoubtOfAnswer() const { return Doubt::kNone; }
  // Keeps the latches, and decides again on what is there.
  virtual void ReadAgain() {}
  // Adds to the batch what refuses it if another process changes what it was computed from.
  // `writes`: the batch changes something.
  virtual void Protect([[maybe_unused]] bool writes, [[maybe_unused]] kv::Batch* batch) {}
  // The place in history of a batch that the engine applied with this stamp.
  virtual uint64_t PlaceOf(uint64_t stamp) const { return stamp; }
  // The engine has refused the batch. Called from kApplying, before EndApplied.
  virtual void Refused([[maybe_unused]] const Error& error) {}
  // The batch is applied or refused, and no latch is held.
  virtual void EndApplied() { Finish(TakeOutcome()); }
  // Called once, at the end.
  virtual void LeaveGates() {}

  // --- What they have in common ---

  // From kLatching.
  void TakeLatches();
  // Finds which images are pending, and whether an index of a target's table is being built. Call
  // it with all latches, from kEntering after the gates, since pending images may be settled while
  // it waits there.
  void LookAtTargets();
  // From kReading: Read, or an error if it runs out of memory.
  Status TryRead(kv::Tier tier);
  // From kReading, when the old images are there.
  void Decide();
  void ReleaseLatches();
  // Makes it as before the latches were taken.
  void Reset();
  Status TakeOutcome();
  // Releases the latches and finishes.
  void Abandon(Error error);
  // Deletes the operation, and calls `done`.
  void Finish(Status status);

  // The first target with the table of target `i`; null if that is target `i` itself.
  const WriteTarget* EarlierOfTable(size_t i) const;
  static Error OutOfMemory();
  // Of a write that has waited for long.
  static Error Behind();

  Store& store_;
  std::vector<WriteTarget> targets_;
  const kv::FatePtr permit_;
  const std::shared_ptr<TokenUse> token_;
  std::string token_latch_;
  std::shared_ptr<const PendingImage> earlier_token_;  // the pending entry that was seen
  struct Place {
    std::string latch;  // the key of the target's latch
    int turn = 0;       // of the gate of its table, if it was the first to pass it
  };
  std::vector<Place> places_;     // of targets_[i]
  std::vector<OldImage> images_;  // of targets_[i]
  bool builds_ = false;           // an index of a target's table is being built
  std::optional<Error> error_;

 private:
  void TakeTokenLatch();
  void TakeTargetLatches();
  void DecideNow();
  std::vector<model::ItemView> OldItems() const;
  void RecordToken(kv::Batch* batch);
  void Applied(Result<uint64_t> applied);
  void EndPart();

  State state_ = State::kLatching;
  WriteBody body_;
  WriteDone done_;
  BatchExtra extra_;
  const WriteDetour detour_;
  std::shared_ptr<const PendingImage> written_token_;  // our pending entry
  std::vector<size_t> order_;                          // targets by latch key
  size_t latched_ = 0;                                 // latches held, in order_
  bool token_latched_ = false;
  WriteEffects effects_;
  History::Recording recording_;  // of what the batch replaces
  std::shared_ptr<kv::BatchFate> fate_ = std::make_shared<kv::BatchFate>();
  std::atomic<int> parts_{2};  // the queueing thread's and the engine's; the later one ends
};

}  // namespace stator::table
