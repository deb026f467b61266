// This process among those that serve the same store: it beats, follows what others set and change,
// and knows which background work is its own. Only where the engine is not exclusive.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/age_clock.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/ticker.h"
#include "fleet/fleet.h"
#include "fleet/messages.h"
#include "fleet/shared_settings.h"
#include "kv/engine.h"
#include "server/chores.h"

namespace stator::server {

// Thread-safe, but for Start and Stop.
class Peers {
 public:
  // `clock` must have the machine's time. `beat` has this process's endpoint, version and kind of
  // clock. Engine and clock must outlive the object.
  Peers(kv::Engine& engine, const Clock& clock, std::string id, fleet::Beat beat);
  ~Peers();

  const std::string& id() const { return fleet_.id(); }
  fleet::Fleet& fleet() { return fleet_; }
  fleet::Messages& messages() { return messages_; }
  fleet::SharedSettings& settings() { return settings_; }

  // Returns an error if a living process of the store has another kind of clock. Waits for
  // processes that may have died only recently, until they count as dead.
  Status CheckClocks();

  // Moves `ages` to the latest time that the age clocks of the living processes show, and publishes
  // its time in this process's beat from then on. If no other process lives, `ages` stays as it is.
  // Waits about a second if there may be other processes.
  Status ShareAges(AgeClock& ages);

  // Starts the work that is repeated every second: writes this process's beat, takes its part of
  // the background work, follows settings, and calls `follow`, which may wait. Runs `chores`
  // whenever another process has run its own completely. `chores` must outlive this object.
  Status Start(Chores& chores, std::function<void()> follow);
  // Gives its work back and leaves. Before the chores and the engine go.
  void Stop();

  // Whether the background work on a table is this process's now: that of the tablet with the
  // table's items.
  bool IsMine(uint32_t tablet) const;
  // Runs the chores completely: here for all tables, also those that are another process's work;
  // then every other process runs its own. Returns false if the chores were stopped before.
  bool RunChores(Chores& chores);

  // Returns OK if this process can serve now, or the reason why it cannot.
  Status Ready() const;

 private:
  kv::Engine& engine_;
  const Clock& clock_;
  const std::string clock_kind_;
  fleet::Fleet fleet_;
  fleet::Messages messages_;
  fleet::SharedSettings settings_;
  std::atomic<int> all_mine_{0};  // calls of RunChores under way
  std::unique_ptr<Ticker> beating_;
  std::unique_ptr<Ticker> following_;
  bool stopped_ = false;
};

}  // namespace stator::server
