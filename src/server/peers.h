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
  // `clock` is the machine's. `beat`: endpoint, version and kind of clock. Engine and clock outlive
  // it.
  Peers(kv::Engine& engine, const Clock& clock, std::string id, fleet::Beat beat);
  ~Peers();

  const std::string& id() const { return fleet_.id(); }
  fleet::Fleet& fleet() { return fleet_; }
  fleet::Messages& messages() { return messages_; }
  fleet::SharedSettings& settings() { return settings_; }

  // Refuses to go beside processes whose clock is of another kind. Those that are dead, but not for
  // long, are waited for.
  Status CheckClocks();

  // Sets `ages` to what the living processes of the store go by, and tells others of it from then
  // on. Without such processes it stays what it is. Waits a second if there may be some.
  Status ShareAges(AgeClock& ages);

  // Beats and takes its part of the work; then does so every second, and follows settings and calls
  // `follow`, which may wait, every second. Chores are run whenever another process has run its own
  // to the end. `chores` outlive it.
  Status Start(Chores& chores, std::function<void()> follow);
  // Gives its work back and leaves. Before the chores and the engine go.
  void Stop();

  // Whether the background work on a table is this process's now: that of the tablet with the
  // table's items.
  bool IsMine(uint32_t tablet) const;
  // Runs the chores to the end: here for all tables, whoever's work they are, then in every process
  // for what only that can do. False if they were stopped before.
  bool RunChores(Chores& chores);

  // OK, or why this process is of no use now.
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
