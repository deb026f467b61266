// Parts that both commands share: clients, a clock, and a flag that stops all threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api_client/client.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"

namespace stator::bulk {

// Set by a signal or by the first failure; every thread of a command ends at its next step then.
class StopFlag {
 public:
  // `interrupted` is set by a signal's handler and must outlive the object.
  explicit StopFlag(const std::atomic<bool>& interrupted) : interrupted_(interrupted) {}
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }
  bool stopped() const { return interrupted() || stopped_.load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>& interrupted_;
  std::atomic<bool> stopped_{false};
};

struct Surroundings {
  const Clock& clock;
  Random& random;
  StopFlag& stop;
  api_client::Pause pause;  // ends early once `stop` is set
  int64_t patience_micros = 120'000'000;
  bool quiet = false;
};
// Sleeps in pieces of 100 ms at most.
api_client::Pause MakePause(const StopFlag& stop);
std::unique_ptr<api_client::Client> MakeClient(const api_client::Endpoint& endpoint,
                                               const Surroundings& around);

// Runs `work(0)` to `work(count - 1)`, each on its own thread, and waits for them. After an error
// it sets `stop` for the others. Returns the first error.
Status RunTogether(size_t count, StopFlag& stop, const std::function<Status(size_t)>& work);

}  // namespace stator::bulk
