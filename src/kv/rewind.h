// Takes back what was written since some moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "kv/engine.h"

namespace stator::kv {

// A bound of the bytes that points keep together. Thread-safe.
class RewindBudget {
 public:
  explicit RewindBudget(size_t most) : most_(most) {}
  bool TryAdd(size_t bytes) {
    if (held_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_) return true;
    Sub(bytes);
    return false;
  }
  void Sub(size_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t held() const { return held_.load(std::memory_order_relaxed); }
  size_t most() const { return most_; }

 private:
  const size_t most_;
  std::atomic<size_t> held_{0};
};

// Keys of which a point keeps what writes replace.
struct Watched {
  Tablet tablet;
  // Returns true for the watched keys of the tablet; null: all are. Called under the engine's lock.
  std::function<bool(std::string_view key)> ours = nullptr;
};

// A moment to which the watched keys can return, again and again. Its cost grows with the keys that
// were written since. Thread-safe. Must be destroyed before its engine.
class RewindPoint {
 public:
  virtual ~RewindPoint() = default;
  // `now`, `then`: values with their stamps; null: there is none.
  using Visit = FunctionRef<void(Tablet tablet, std::string_view key, const std::string* now,
                                 const std::string* then)>;
  // Applies `batch`, which names no watched key, and gives each watched key that was written since
  // the moment the value that it had then, stamp included: all as one change, of whose stamp the
  // batch is. Calls `visit` for each of those keys before anything changes, under the engine's
  // lock: it must not call the engine. Other points, and pins, see writes like any other.
  // kUnavailable if the point was given up; errors of the batch; then nothing has changed.
  virtual Result<uint64_t> Rewind(Batch batch, Visit visit) = 0;
  // Returns the bytes that are kept for the point.
  virtual size_t bytes() const = 0;
  // Whether more was written than the budget has room for. Then nothing is kept any more.
  virtual bool given_up() const = 0;
};

// An engine that can take writes back. Thread-safe.
class Rewinder {
 public:
  virtual ~Rewinder() = default;
  // Returns a point of this moment. A tablet is watched once. Never waits.
  virtual std::unique_ptr<RewindPoint> SetPoint(std::vector<Watched> watched,
                                                std::shared_ptr<RewindBudget> budget) = 0;
};

}  // namespace stator::kv
