// Lets operations on a table pass until it is closed, and tells when the last of them has left.
//
// The order of what a write waits for: the latch of its token, those of its items in the order of
// their keys, then the gates of its tables, which it leaves when its batch is durable. Inside a
// gate it waits for no latch. A change of the catalog takes the catalog's latch and then holds at
// most one gate; while it holds a gate it must not wait for a latch or another gate. So a held gate
// opens when the writes that run have ended, however many wait for their turn at an item, and a
// write of several tables that waits at one gate is inside no other that is held.
//
// Those inside are counted in two turns, so that a caller can wait for those that entered before it
// and hold no others: newcomers are of the other turn.
#pragma once

#include <vector>

#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator::table {

// Thread-safe.
class Gate {
 public:
  // False if the gate is closed or held; otherwise the caller must Leave, with the turn that it
  // got.
  bool Enter(int* turn) {
    MutexLock lock(mutex_);
    if (closed_ || held_) return false;
    *turn = turn_;
    ++inside_[turn_];
    return true;
  }
  enum class Entry { kEntered, kClosed, kLater };
  // Enters as Enter does. But if the gate is held, it keeps `later` and calls it when the gate
  // opens, so that the caller tries again (kLater).
  Entry EnterOrWait(UniqueFunction<void()>* later, int* turn) {
    MutexLock lock(mutex_);
    if (closed_) return Entry::kClosed;
    if (held_) {
      waiting_.push_back(std::move(*later));
      return Entry::kLater;
    }
    *turn = turn_;
    ++inside_[turn_];
    return Entry::kEntered;
  }
  // Calls `left` once all that are inside now have left; inline if none are. Newcomers pass
  // meanwhile. Any number of callers may wait.
  void AwaitThoseInside(UniqueFunction<void()> left) {
    {
      MutexLock lock(mutex_);
      if (inside_[1 - turn_] > 0) {
        // Others wait for the earlier turn: it must be empty before it begins again.
        next_leavers_.push_back(std::move(left));
        return;
      }
      turn_ = 1 - turn_;
      if (inside_[1 - turn_] > 0) {
        leavers_.push_back(std::move(left));
        return;
      }
    }
    left();
  }
  // Makes newcomers wait from now on, until Open or Retire. Calls `drained` once no operation is
  // inside, inline if none is. Must not be called while the gate is held or closed.
  void Hold(UniqueFunction<void()> drained) {
    {
      MutexLock lock(mutex_);
      held_ = true;
      if (inside_[0] + inside_[1] > 0) {
        drained_ = std::move(drained);
        return;
      }
    }
    drained();
  }
  void Leave(int turn) {
    UniqueFunction<void()> drained;
    std::vector<UniqueFunction<void()>> leavers;
    {
      MutexLock lock(mutex_);
      if (--inside_[turn] > 0) return;
      if (turn != turn_) EndTurn(&leavers);
      if ((closed_ || held_) && inside_[0] + inside_[1] == 0) drained = std::move(drained_);
    }
    for (UniqueFunction<void()>& left : leavers) left();
    if (drained) drained();
  }
  // Refuses newcomers from now on. Calls `drained` once no operation is inside, inline if none is.
  // May be called again only after Open.
  void Close(UniqueFunction<void()> drained) {
    {
      MutexLock lock(mutex_);
      closed_ = true;
      if (inside_[0] + inside_[1] > 0) {
        drained_ = std::move(drained);
        return;
      }
    }
    drained();
  }
  // Lets those in that wait, and newcomers.
  void Open() { EndWait(false); }
  // Closes a held gate for good: writes that wait, and all later ones, get Entry::kClosed.
  void Retire() { EndWait(true); }

 private:
  void EndWait(bool closed) {
    std::vector<UniqueFunction<void()>> waiting;
    {
      MutexLock lock(mutex_);
      closed_ = closed;
      held_ = false;
      waiting.swap(waiting_);
    }
    for (UniqueFunction<void()>& later : waiting) later();
  }

  // Called when the earlier turn is empty. Adds the callbacks that waited for it to `leavers`.
  // Begins the next turn if callbacks wait for the present one.
  void EndTurn(std::vector<UniqueFunction<void()>>* leavers) REQUIRES(mutex_) {
    leavers->swap(leavers_);
    if (next_leavers_.empty()) return;
    turn_ = 1 - turn_;
    std::vector<UniqueFunction<void()>>& next = inside_[1 - turn_] > 0 ? leavers_ : *leavers;
    for (UniqueFunction<void()>& left : next_leavers_) next.push_back(std::move(left));
    next_leavers_.clear();
  }

  Mutex mutex_;
  int turn_ GUARDED_BY(mutex_) = 0;                                 // of newcomers
  int inside_[2] GUARDED_BY(mutex_) = {0, 0};                       // by turn
  std::vector<UniqueFunction<void()>> leavers_ GUARDED_BY(mutex_);  // wait for the earlier turn
  std::vector<UniqueFunction<void()>> next_leavers_ GUARDED_BY(mutex_);  // wait for this one
  bool closed_ GUARDED_BY(mutex_) = false;
  bool held_ GUARDED_BY(mutex_) = false;
  std::vector<UniqueFunction<void()>> waiting_ GUARDED_BY(mutex_);
  UniqueFunction<void()> drained_ GUARDED_BY(mutex_);
};

}  // namespace stator::table
