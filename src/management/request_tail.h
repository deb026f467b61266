// The requests of now, for clients that watch them: GET /_stator/requests. Requests are kept while
// a client asks again and again; without one nothing is kept, and a request costs one load of a
// flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "api/request_tap.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "request_log/record.h"

namespace stator::management {

// Thread-safe.
class RequestTail final : public api::RequestTap {
 public:
  static constexpr size_t kMostKept = 2000;       // the oldest go
  static constexpr size_t kMostKeys = 4;          // of a request; the others are counted
  static constexpr size_t kMostKeyBytes = 256;    // of the text of a key; the rest is cut
  static constexpr int64_t kMostPerSecond = 500;  // further ones of that second are counted
  static constexpr int64_t kWatchMicros = 10'000'000;
  static constexpr int64_t kMostReturned = 1000;

  // `next` hears of every request that it wants; null: there is none. `clock` is the product's;
  // `manual`: it stands still, so that no request has a duration. `machine` has the real time. All
  // outlive this object.
  RequestTail(const Clock& clock, bool manual, const Clock& machine, api::RequestTap* next)
      : clock_(clock), manual_(manual), machine_(machine), next_(next) {}

  bool on() const override {
    return watched_.load(std::memory_order_relaxed) || (next_ != nullptr && next_->on());
  }
  void Take(std::vector<request_log::Request> requests) override;

  // Returns the requests behind `since`, oldest first, at most `limit` of the newest, as JSON, and
  // keeps requests for the next ten seconds.
  std::string Since(int64_t since, int64_t limit);

 private:
  struct Kept {
    int64_t seq = 0;
    int64_t took_micros = 0;
    size_t keys = 0;  // of the request, those that were cut off too
    request_log::Request request;
  };
  void Keep(request_log::Request request, int64_t now) REQUIRES(mutex_);

  const Clock& clock_;
  const bool manual_;
  const Clock& machine_;
  api::RequestTap* const next_;
  std::atomic<bool> watched_{false};
  Mutex mutex_;
  std::deque<Kept> kept_ GUARDED_BY(mutex_);
  int64_t seq_ GUARDED_BY(mutex_) = 0;
  int64_t asked_ticks_ GUARDED_BY(mutex_) = 0;
  int64_t second_ GUARDED_BY(mutex_) = 0;  // ticks, in seconds
  int64_t in_second_ GUARDED_BY(mutex_) = 0;
  int64_t skipped_ GUARDED_BY(mutex_) = 0;  // since the beginning
};

}  // namespace stator::management
