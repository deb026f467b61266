// GET and POST /_stator/clock: what time it is for the product, and a hand on it with
// `--clock=manual`.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "server/chores.h"
#include "server/peers.h"
#include "server/shared_clock.h"

namespace stator::server {

// Thread-safe.
class ClockControl {
 public:
  // `manual` is the same clock if it is a user's to move, else null. `shared` and `peers`: where
  // several processes have one time; else null. All must outlive this object.
  ClockControl(const Clock& clock, ManualClock* manual, Chores& chores,
               SharedClock* shared = nullptr, Peers* peers = nullptr)
      : clock_(clock), manual_(manual), chores_(chores), shared_(shared), peers_(peers) {}

  bool manual() const { return manual_ != nullptr; }
  // {"clock":"manual","now":"2026-11-21T12:30:05.250Z","epochSeconds":1795264205.25}
  std::string Render() const;
  // Takes {"advance": seconds or "24h"} or {"set": seconds since the epoch or an ISO 8601 text} and
  // returns when every chore has done what the new time asks for. Also with {"advance": 0}.
  // kValidation for a bad request or one that would set the clock back, kUnavailable when the
  // server is stopping. Where the clock is shared, all that is true of all processes. Blocks; only
  // for a manual clock.
  Status Move(std::string_view body);

 private:
  const Clock& clock_;
  ManualClock* const manual_;
  Chores& chores_;
  SharedClock* const shared_;
  Peers* const peers_;
  Mutex mutex_;  // of moves, while they move the clock
};

}  // namespace stator::server
