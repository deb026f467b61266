// Divides the capacity of tables among the processes of a store: carries throughput/shares.h over
// the store, once a second. Tablet 3 of Space::kCatalog has
//
//   "grant/" process   -> GrantRecord, written by the allocator, read by that process
//   "plan"             -> SharePlan, written by the allocator with every grant
//   "report/" process  -> Report, written by that process, read by the allocator
//
// each behind the header of table/item_value.h. The allocator writes a round in one batch that is
// guarded by the plan's stamp, so of two that take themselves for it one writes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "kv/engine.h"
#include "ops/admission.h"
#include "throughput/share_allocator.h"
#include "throughput/share_holder.h"

namespace stator::server {

inline constexpr kv::Tablet kSharesTablet = {kv::Space::kCatalog, 3};

class Shares {
 public:
  struct Options {
    std::string name;  // of this process; no other one ever has it
    throughput::ShareSettings settings = {};
    int64_t interval_micros = 1'000'000;
  };
  // What this process knows of the division.
  struct View {
    bool granted = false;  // it may use capacity now
    double even = 0;       // part of every limit that nobody uses much of
    bool allocates = false;
    size_t processes = 0;   // that are there; known to the allocator only
    std::string allocator;  // its name; empty: unknown
  };

  // Admission::Share must have been called. All arguments must outlive the object.
  Shares(kv::Engine& engine, ops::Admission& admission, const Clock& clock, Options options);
  ~Shares() { Stop(); }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // Starts a thread that reports this process's use and takes its grants. The thread is separate
  // because a delay would let the grant expire.
  void Start();
  // Waits until this process has a grant. Returns false if it has none within `micros`.
  bool WaitForGrant(int64_t micros);
  // Gives this process's grants back, so that others may have them at once, and stops the thread.
  // This process may use no capacity afterwards. Idempotent.
  void Stop();
  View view() const;

  // Does one round: reports, takes the grant, and allocates if this process is the allocator.
  // Called by Start's thread and by tests. After an error the next round tries again.
  Status Step();

 private:
  Status Tell(int64_t ticks);
  Status Allocate();
  void Leave();
  void Run();

  kv::Engine& engine_;
  ops::Admission& admission_;
  const Clock& clock_;
  const Options options_;
  throughput::ShareHolder holder_;
  throughput::ShareElection election_;
  throughput::ShareAllocator allocator_;
  int64_t used_until_ = INT64_MIN;  // ticks of the last report
  bool failing_ = false;            // and that has been logged

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  View view_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator::server
