// Accounts for the memory that the mappings of a process hold, and says whose turn it is to hold
// more.
//
// Half of the memory goes to any taker that asks. For the rest takers ask again and again until
// they get it. They are served in the order in which they first asked, but for those that came at
// about one time: of these any may be served that asks. One taker at a time may go beyond the
// bound, so that one that needs more than there is gets on, and no two wait for what the other
// holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace stator::triggers {

// Thread-safe. Must outlive its shares.
class Account {
 public:
  // A taker that has not asked for this long is passed over, and keeps its place.
  static constexpr int64_t kPatienceMicros = 100'000;
  // Takers that came within one such interval came at one time.
  static constexpr int64_t kPeersMicros = 50'000;

  enum class Need {
    kMore,  // only if no taker waits for it. The taker gets on without, and does not wait
    kTurn,  // in turn, within the bound
    kMust,  // in turn; the taker holds nothing else, and may be the one beyond the bound
  };

  // The bytes that one user of the account holds. The destructor gives them back. Thread-safe.
  class Share {
   public:
    explicit Share(Account& account) : account_(account) {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Takes `bytes` more. False: not now; the taker waits, unless the need is kMore. A share that
    // holds something is in its turn already.
    bool Take(size_t bytes, Need need);
    // Gives back all but `bytes`, which is at most held().
    void Keep(size_t bytes);
    // Hands over `bytes` of what this share holds, with the right to be beyond the bound.
    void MoveTo(Share* to, size_t bytes);
    // Gives up the place in the line.
    void Leave();
    size_t held() const;

   private:
    friend class Account;
    Account& account_;
    // Guarded by account_.mutex_.
    size_t held_ = 0;
    int64_t place_ = -1;  // the interval in which it came; -1: none. Kept until it was served
    bool waits_ = false;  // it is in Account::line_
    int64_t asked_ticks_ = 0;
  };

  // `machine` measures, and must outlive the account.
  Account(size_t most_bytes, const Clock& machine) : most_(most_bytes), machine_(machine) {}

  // Returns true if a taker waits.
  bool IsPressed();

  struct View {
    size_t most = 0;
    size_t held = 0;
    size_t peak = 0;  // of held, since the start
    size_t waiting = 0;
  };
  View view() const;

 private:
  bool May(Share* share, size_t bytes, Need need) REQUIRES(mutex_);
  void Wait(Share* share) REQUIRES(mutex_);
  void Unwait(Share* share) REQUIRES(mutex_);
  // Passes over takers that have not asked for a while.
  void Prune() REQUIRES(mutex_);
  void Return(Share* share, size_t bytes) REQUIRES(mutex_);

  const size_t most_;
  const Clock& machine_;
  std::atomic<bool> any_waits_{false};
  mutable Mutex mutex_;
  size_t held_ GUARDED_BY(mutex_) = 0;
  size_t peak_ GUARDED_BY(mutex_) = 0;
  int64_t next_prune_ticks_ GUARDED_BY(mutex_) = 0;
  std::set<std::pair<int64_t, Share*>> line_ GUARDED_BY(mutex_);  // by place
  Share* beyond_ GUARDED_BY(mutex_) = nullptr;  // the one that may be beyond the bound
};

}  // namespace stator::triggers
