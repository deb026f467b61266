// For tests: waits for what a callback is given, on whatever thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace stator::table {

// Runs `start(done)` and returns what `done` is called with.
template <typename T, typename Start>
T Await(Start start) {
  std::mutex mutex;
  std::condition_variable wake;
  std::optional<T> outcome;
  start([&](T result) {
    std::lock_guard lock(mutex);
    outcome.emplace(std::move(result));
    wake.notify_one();
  });
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return outcome.has_value(); });
  return std::move(*outcome);
}

}  // namespace stator::table
