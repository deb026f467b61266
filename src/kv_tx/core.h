// State that the parts of the transaction engine share.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "kv/engine.h"
#include "kv_tx/options.h"
#include "kv_tx/scheduler.h"

namespace stator::kv_tx {

struct Counts {
  std::atomic<uint64_t> commits = 0;    // batches of this process that spanned units
  std::atomic<uint64_t> aborted = 0;    // attempts of such batches that were rolled back
  std::atomic<uint64_t> conflicts = 0;  // aborted attempts that lost to another writer
  std::atomic<uint64_t> resolved = 0;   // units finished for other processes
  // transactions of other processes that were aborted for that
  std::atomic<uint64_t> aborted_others = 0;
  std::atomic<uint64_t> undecided_met = 0;
};

// A cache of keys that are known to be counters, so that an add need not read them first.
// Thread-safe.
class KnownCounters {
 public:
  bool Has(kv::Tablet tablet, const std::string& key) {
    MutexLock lock(mutex_);
    return keys_.contains({tablet, key});
  }
  void Add(kv::Tablet tablet, const std::string& key) {
    MutexLock lock(mutex_);
    if (keys_.size() >= kMost) keys_.clear();
    keys_.emplace(tablet, key);
  }

 private:
  static constexpr size_t kMost = 10'000;
  Mutex mutex_;
  std::set<std::pair<kv::Tablet, std::string>> keys_ GUARDED_BY(mutex_);
};

struct Core {
  kv::Engine& inner;
  Scheduler& scheduler;
  const Clock& clock;
  Random& random;
  const Options options;
  Counts counts;
  KnownCounters counters;
  std::atomic<bool> closing = false;
  std::atomic<int64_t> busy = 0;

  // Returns a random duration of about `micros`.
  int64_t Jitter(int64_t micros) {
    return micros / 2 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(micros) + 1));
  }
  // Returns the pause before the next attempt: it doubles with every attempt (0, 1, ...) up to
  // about 50 milliseconds.
  int64_t Backoff(int attempt) { return Jitter(attempt < 6 ? int64_t{1000} << attempt : 50'000); }
};

// Keeps the engine alive: the engine's destructor waits until no Busy is left.
class Busy {
 public:
  explicit Busy(Core& core) : core_(core) { core_.busy.fetch_add(1); }
  ~Busy() {
    Scheduler& scheduler = core_.scheduler;
    if (core_.busy.fetch_sub(1) == 1) scheduler.Wake();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Core& core_;
};

inline Error ClosingError() { return Error(ErrorCode::kUnavailable, "The store is closing."); }
inline Error InTheWayError() {
  return Error(ErrorCode::kGuardFailed, "Another write to the same items was in the way. Retry.");
}

}  // namespace stator::kv_tx
