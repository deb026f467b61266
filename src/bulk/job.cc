#include "bulk/job.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace stator::bulk {

api_client::Pause MakePause(const StopFlag& stop) {
  return [&stop](int64_t micros) {
    constexpr int64_t kPiece = 100'000;
    while (micros > 0 && !stop.stopped()) {
      const int64_t piece = std::min(micros, kPiece);
      std::this_thread::sleep_for(std::chrono::microseconds(piece));
      micros -= piece;
    }
    return !stop.stopped();
  };
}

std::unique_ptr<api_client::Client> MakeClient(const api_client::Endpoint& endpoint,
                                               const Surroundings& around) {
  api_client::Retries retries;
  retries.clock = &around.clock;
  retries.random = &around.random;
  retries.pause = around.pause;
  retries.patience_micros = around.patience_micros;
  return std::make_unique<api_client::Client>(endpoint, std::move(retries));
}

Status RunTogether(size_t count, StopFlag& stop, const std::function<Status(size_t)>& work) {
  Mutex mutex;
  std::optional<Error> first;
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const Status done = work(i);
      if (done.ok()) return;
      const MutexLock lock(mutex);
      if (!first) first = done.error();
      stop.Stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) return *std::move(first);
  return OkStatus();
}

}  // namespace stator::bulk
