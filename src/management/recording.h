// Requests kept in memory for advice, from a call that begins a recording to its end: PUT, GET and
// DELETE /_stator/recording. Without a recording a request costs one load of a flag.
//
// Memory is bounded by kMostBytes: the oldest requests go first. Nothing is written to a disk, and
// a recording ends with the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/request_tap.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "request_log/record.h"

namespace stator::management {

// Thread-safe.
class Recording final : public api::RequestTap {
 public:
  static constexpr size_t kMostBytes = 32u << 20;
  static constexpr size_t kChunkRequests = 512;
  static constexpr size_t kChunkBytes = 256u << 10;
  static constexpr int64_t kMostMinutes = 24 * 60;
  static constexpr int64_t kMinutes = 60;  // unless the call says otherwise

  // Requests in the order in which they were answered. Never changed once it is shared.
  struct Chunk {
    std::vector<request_log::Request> requests;
    size_t bytes = 0;
  };
  using ChunkPtr = std::shared_ptr<const Chunk>;

  struct View {
    bool on = false;
    int64_t begun_micros = 0;  // product's time; 0: no recording was ever begun
    int64_t left_seconds = 0;  // until it ends by itself
    int64_t requests = 0;      // that are kept
    int64_t dropped = 0;       // that were kept and had to go
    size_t bytes = 0;
  };

  // `next` hears of every request that it wants; null: there is none. `clock` is the product's,
  // `machine` has the real time, by which a recording ends. All outlive this object.
  Recording(const Clock& clock, const Clock& machine, api::RequestTap* next)
      : clock_(clock), machine_(machine), next_(next) {}

  bool on() const override {
    return on_.load(std::memory_order_relaxed) || (next_ != nullptr && next_->on());
  }
  void Take(std::vector<request_log::Request> requests) override;

  // Begins a recording in place of the last one; one that runs goes on and ends later.
  void Begin(int64_t minutes);
  // Ends it. The requests stay until the next Begin.
  void End();
  View view();
  // The requests that are kept, oldest first.
  std::vector<ChunkPtr> Chunks();

 private:
  void Keep(request_log::Request request) REQUIRES(mutex_);
  void Seal() REQUIRES(mutex_);

  const Clock& clock_;
  const Clock& machine_;
  api::RequestTap* const next_;
  std::atomic<bool> on_{false};
  Mutex mutex_;
  std::deque<ChunkPtr> sealed_ GUARDED_BY(mutex_);
  Chunk open_ GUARDED_BY(mutex_);
  size_t sealed_bytes_ GUARDED_BY(mutex_) = 0;
  int64_t kept_ GUARDED_BY(mutex_) = 0;
  int64_t dropped_ GUARDED_BY(mutex_) = 0;
  int64_t begun_micros_ GUARDED_BY(mutex_) = 0;
  int64_t end_ticks_ GUARDED_BY(mutex_) = 0;
};

// Parses {"minutes": 60} and returns the minutes, or the default for an empty body. kValidation for
// anything else.
Result<int64_t> MinutesIn(std::string_view body);

// Returns {"on","since","secondsLeft","requests","dropped","bytes","mostBytes"}.
std::string RenderRecording(const Recording::View& view);

}  // namespace stator::management
