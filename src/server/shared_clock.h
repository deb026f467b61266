// The manual clock of a store that several processes serve: one time for all of them. It stands
// among the shared settings ("clock": microseconds since the epoch), so that it goes on after a
// restart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "fleet/shared_settings.h"

namespace stator::server {

// Thread-safe.
class SharedClock {
 public:
  // The settings outlive it. The clock is to be made with the time 0: it is moved to the store's.
  SharedClock(fleet::SharedSettings& settings, ManualClock& clock)
      : settings_(settings), clock_(clock) {}

  // Takes over the time of the store and follows it from now on. The first process sets it: to
  // `start`, else to `now`. A `start` that is ahead of the store's time moves it. Waits for the
  // engine.
  Status Join(std::optional<int64_t> start, int64_t now);
  // Moves the time of all to what `target` makes of it (it may run more than once; its error
  // changes nothing), and returns when all processes that live have it. Never back. Waits for the
  // engine.
  Status Move(FunctionRef<Result<int64_t>(int64_t now)> target);

  // Removes the shared manual clock. Called by processes that use the system's clock.
  static Status Forget(fleet::SharedSettings& settings);

 private:
  void AdvanceTo(int64_t micros);

  fleet::SharedSettings& settings_;
  ManualClock& clock_;
  Mutex advancing_;
};

}  // namespace stator::server
