// Tells the supervisor of this process (systemd and programs that speak its protocol) that the
// server is ready, that it stops, and that its I/O threads still work. Source: sd_notify(3).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/ticker.h"

namespace stator::server {

// Thread-safe but for Watch and its end.
class Supervisor {
 public:
  // `socket`: the path of a datagram socket, or @NAME of the abstract namespace; empty: there is no
  // supervisor, and nothing is sent.
  explicit Supervisor(std::string socket) : socket_(std::move(socket)) {}
  // NOTIFY_SOCKET of the environment.
  static Supervisor FromEnvironment();

  // Sends a state such as "READY=1". A state that cannot be sent is logged and forgotten.
  void Tell(std::string_view state) const;

  // Sends "WATCHDOG=1" three times in every `timeout`, as long as each of `loops` went through a
  // task since the time before. The loops must run until StopWatching.
  void Watch(std::chrono::microseconds timeout, std::vector<Executor*> loops);
  void StopWatching() { ticker_.reset(); }

 private:
  void Look();

  const std::string socket_;
  std::vector<Executor*> loops_;
  // Tasks that a loop has still to go through. Shared with them, since they may outlive the watch.
  std::shared_ptr<std::atomic<int>> unanswered_ = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<Ticker> ticker_;
};

// The time-out of the supervisor's watchdog: WATCHDOG_USEC, unless WATCHDOG_PID names another
// process or it is no number above 0.
std::optional<std::chrono::microseconds> WatchdogTimeout();

}  // namespace stator::server
