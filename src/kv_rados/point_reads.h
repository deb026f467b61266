// Reads of single keys of a part, combined: a few operations are under way at a time, and who arrives meanwhile waits for the next,
// which asks for the keys of all who wait. A read never joins an operation that was sent before it arrived: it might miss what was written
// in between. While fewer are under way, a read goes at once and alone. Internal to the room.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/unique_function.h"
#include "kv_rados/part.h"

namespace stator::kv_rados {

// What one operation gave: 0 or -errno, and the cells that were asked for and are there, from one state.
struct Fetched {
  int result = 0;
  std::vector<std::pair<std::string_view, std::string_view>> cells;  // with what they store; in the order of the cells
  std::shared_ptr<const void> owner;                                 // of what is viewed

  // Calls visit(cell, stored) for those of some cells that are there, once each, until it returns false.
  void ForEach(const std::vector<std::string>& of, FunctionRef<bool(std::string_view cell, std::string_view stored)> visit) const;
};
using FetchedPtr = std::shared_ptr<const Fetched>;

// Sends operations on the object of a part. They compare its header.
class PointChannel {
 public:
  virtual ~PointChannel() = default;
  // Repeats what times out, up to the deadline of a read.
  virtual FetchedPtr Read(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells) = 0;
  // Does not repeat. `done` runs on a thread that must not wait.
  virtual void ReadLater(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells,
                         UniqueFunction<void(FetchedPtr)> done) = 0;
};

// On a cluster. Thread-safe; the cluster must outlive it.
class ClusterChannel final : public PointChannel {
 public:
  explicit ClusterChannel(Cluster& cluster) : cluster_(cluster) {}
  FetchedPtr Read(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells) override;
  void ReadLater(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells,
                 UniqueFunction<void(FetchedPtr)> done) override;

 private:
  Cluster& cluster_;
};

// Thread-safe. The channel must outlive it.
class PointReads {
 public:
  // `expired(ticks)`: whether a read that came then has waited long enough; `ticks()`: now.
  PointReads(PointChannel& channel, std::function<int64_t()> ticks, std::function<bool(int64_t)> expired)
      : channel_(channel), ticks_(std::move(ticks)), expired_(std::move(expired)) {}
  ~PointReads() { Stop(); }

  // Reads cells of a part in one operation. -ECANCELED: the part has another header; -ENOENT: it has no object; -ETIMEDOUT: no answer
  // until the deadline (and at most one operation's timeout longer).
  FetchedPtr ReadAndWait(const PartPtr& part, const HeaderPtr& header, std::vector<std::string> cells);
  // The same; `done` runs on a thread of the channel, which must not wait.
  void ReadLater(const PartPtr& part, const HeaderPtr& header, std::vector<std::string> cells, UniqueFunction<void(FetchedPtr)> done);
  // Waits until all that was asked is answered. Nothing may be asked any more.
  void Stop();

  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

  static constexpr int kAtOnce = 2;  // operations on a part

 private:
  struct Waiting {
    HeaderPtr header;
    std::vector<std::string> cells;
    UniqueFunction<void(FetchedPtr)> done;
    int64_t arrived = 0;
  };
  struct Queue {
    int under_way = 0;
    std::deque<Waiting> waiting;
  };

  // True if an operation may be sent at once; it must be followed by Ended.
  bool Begin(const Part& part);
  // An operation ended. Sends the next if somebody waits.
  void Ended(const PartPtr& part);
  void Send(const PartPtr& part, std::vector<Waiting> together);
  void OnFetched(const PartPtr& part, std::vector<Waiting> together, const FetchedPtr& fetched);

  PointChannel& channel_;
  const std::function<int64_t()> ticks_;
  const std::function<bool(int64_t)> expired_;
  std::atomic<uint64_t> operations_ = 0, reads_ = 0;

  Mutex mutex_;
  std::condition_variable_any idle_;
  std::unordered_map<const Part*, Queue> queues_ GUARDED_BY(mutex_);  // of parts with operations under way
  size_t calls_ GUARDED_BY(mutex_) = 0;                               // of the channel that have not ended
};

}  // namespace stator::kv_rados
