// Takes back what was written since some moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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
  // Beyond the bound too.
  void Add(size_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
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
  // Null: all keys of the tablet; else those of which it returns `group`, which is the same
  // function for all points. Called under the engine's lock. A write costs the points of its group
  // alone.
  std::function<std::string_view(std::string_view key)> group_of = nullptr;
  std::string group = {};
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
  // the moment the value that it had then, stamp included. Calls `visit` for each of those keys
  // before it changes, under the engine's lock or on its thread: it must not call the engine. Other
  // points, and pins, see writes like any other. On a durable engine all of it is one write, of
  // kMostWritten bytes at most. In memory up to 5,000 keys are one change with the batch; of more,
  // others see the batch and a part of the keys meanwhile, so the caller keeps them from writing
  // watched keys. kUnavailable if the point was given up, or is now because there is too much to
  // write; errors of the batch; then nothing has changed, though `visit` may have been called.
  // Blocks.
  virtual Result<uint64_t> Rewind(Batch batch, Visit visit) = 0;
  // Bytes of keys and values, as they were and as they are, of a return on a durable engine.
  static constexpr size_t kMostWritten = 64 << 20;
  // Returns the bytes that are kept in memory for the point.
  virtual size_t bytes() const = 0;
  // Whether more was written than the budget, or a return, has room for. Then nothing is kept any
  // more. Of the points of a budget without room, one that keeps much is given up, whoever writes.
  virtual bool given_up() const = 0;
};

// An engine that can take writes back. Thread-safe.
class Rewinder {
 public:
  virtual ~Rewinder() = default;
  // Returns a point of a moment during the call, at which everything that was queued before is
  // done. A tablet is watched once. Waits for writes that are queued, so never call it from a
  // `done`.
  virtual std::unique_ptr<RewindPoint> SetPoint(std::vector<Watched> watched,
                                                std::shared_ptr<RewindBudget> budget) = 0;
};

}  // namespace stator::kv
