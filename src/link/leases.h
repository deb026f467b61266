// How long this process may change something for each process that has handed it work over.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kv/permit.h"

namespace stator::link {

// The permit of one asking process, renewed while that is heard of. Thread-safe.
class Lease {
 public:
  // Extends it to `until`, in ticks of this process; never shortens it.
  void Extend(int64_t until);
  // Ends the permit that was given out if its time has passed. Take then gives out a new one.
  void EndIfLate(int64_t now);
  // Returns the present permit; null if its time has passed.
  kv::FatePtr Take(int64_t now);
  // Ends it for good: the connection is gone.
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
