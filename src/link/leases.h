// The times until which this process may make changes on behalf of the processes that have handed
// over writes to it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kv/permit.h"

namespace stator::link {

// The permit of one asking process. It is renewed as long as messages of that process arrive.
// Thread-safe.
class Lease {
 public:
  // Extends the permit to `until`, in ticks of this process; never shortens it.
  void Extend(int64_t until);
  // Ends the current permit if its time has passed. Take then creates a new one.
  void EndIfLate(int64_t now);
  // Returns the present permit; null if its time has passed.
  kv::FatePtr Take(int64_t now);
  // Ends the permit for good, because the connection is lost.
  void End();

 private:
  void EndHere() REQUIRES(mutex_);

  Mutex mutex_;
  int64_t until_ GUARDED_BY(mutex_) = 0;
  bool over_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<kv::BatchFate> permit_ GUARDED_BY(mutex_);
};

// The leases of all connections. Thread-safe.
class Leases {
 public:
  explicit Leases(const Clock& clock) : clock_(clock) {}
  std::shared_ptr<Lease> Add();
  // Ends the permits whose time has passed. For the engine, before each group of writes: a process
  // that has slept then refuses what its askers no longer wait for.
  void EndLate();

 private:
  const Clock& clock_;
  Mutex mutex_;
  std::vector<std::weak_ptr<Lease>> leases_ GUARDED_BY(mutex_);
};

}  // namespace stator::link
