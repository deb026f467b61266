// One partition, and all partitions of a table or index in the order of their keys.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "throughput/heavy_hitters.h"
#include "throughput/key_point.h"
#include "throughput/key_sample.h"
#include "throughput/model_settings.h"
#include "throughput/throttle.h"
#include "throughput/token_bucket.h"

namespace stator::throughput {

// What was seen of the keys of a partition. Guarded by Partition::observing.
// Weights are read units; a write unit counts as many as a partition serves read units per write
// unit.
struct KeyObservation {
  // `last_keys`: points of `last`; 0: there is none.
  explicit KeyObservation(const ModelSettings& s, size_t last_keys = 0)
      : collections(HeavyHitters::Of::kCollections, s.hot_keys, s.key_label_bytes),
        items(HeavyHitters::Of::kItems, s.hot_keys, s.key_label_bytes),
        refused(HeavyHitters::Of::kCollections, s.hot_keys, s.key_label_bytes),
        refused_items(HeavyHitters::Of::kItems, s.hot_keys, s.key_label_bytes),
        last_collections(collections),
        heat(s.sample_points, s.sample_sort_bytes),
        data(s.sample_points, s.sample_sort_bytes) {
    if (last_keys > 0) last.emplace(last_keys, s.sample_sort_bytes);
  }

  // Bytes in memory.
  size_t Bytes() const {
    return sizeof(*this) + collections.Bytes() + items.Bytes() + refused.Bytes() +
           refused_items.Bytes() + last_collections.Bytes() + heat.Bytes() + data.Bytes() +
           (last ? last->Bytes() : 0);
  }

  HeavyHitters collections;  // units, this window
  HeavyHitters items;
  HeavyHitters refused;  // collections
  HeavyHitters refused_items;
  HeavyHitters last_collections;  // the window before
  KeySample heat;                 // units, since the partition became hot or since the window began
  KeySample data;                 // bytes added, since the partition exists
  // Units of reads by consistency; halved when a window ends.
  double strong = 0;
  double eventual = 0;
  std::optional<KeySample> last;  // as heat, since Resource::TakeUse; of one of several processes
};

struct Partition {
  Partition(uint64_t id, uint64_t parent, double weight, double even_bytes, double even_items)
      : id(id), parent(parent), weight(weight), even_bytes(even_bytes), even_items(even_items) {}

  // The observed keys; empty if none was observed.
  const KeyObservation& seen() const {
    static const KeyObservation kNone{ModelSettings()};
    return observation != nullptr ? *observation : kNone;
  }

  const uint64_t id;
  const uint64_t parent;
  double weight;            // part of the provisioned capacity; of the resource's mutex
  const double even_bytes;  // of `bytes`, what was there from the start, taken as evenly spread
  const double even_items;  // the same of `items`

  // Reads and writes have a cache line each.
  struct alignas(64) Side {
    TokenBucket maximum;                // what a partition can do
    TokenBucket share;                  // of provisioned capacity; unlimited with adaptive capacity
    std::atomic<int64_t> consumed{0};   // halves
    std::atomic<int64_t> next_look{0};  // value of `consumed` from which the next key is looked at
    std::atomic<int64_t> look_every{1};  // halves; see ModelSettings::observe_every_halves
  };
  std::array<Side, kAccesses> side;
  alignas(64) std::array<std::array<std::atomic<int64_t>, kLimits>, kAccesses> refused{};  // halves
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> items{0};
  std::array<std::atomic<int64_t>, kAccesses> refused_at{};  // micros: the last refusal

  std::atomic_flag observing = ATOMIC_FLAG_INIT;
  // Guarded by `observing`, as seen() is.
  std::unique_ptr<KeyObservation> observation;  // null until a key was looked at
  std::array<int64_t, kAccesses> looked_at{};   // value of `consumed` at the last look

  // Of the resource's mutex.
  std::array<int64_t, kAccesses> consumed_at_window{};  // halves, when the window began
  std::array<int64_t, kAccesses> refused_at_window{};
  // Counts at the beginning of the second over which demand is measured.
  std::array<int64_t, kAccesses> consumed_at_second{};
  std::array<std::array<int64_t, kLimits>, kAccesses> refused_at_second{};
  // The second with the highest demand among those with a refusal, since the capacity has the
  // number `epoch`.
  struct Worst {
    double demand = 0;
    int64_t at_micros = 0;
    int64_t epoch = -1;
  };
  std::array<Worst, kAccesses> worst{};
  std::array<double, kAccesses> last_rate{};     // units per second in the last window
  std::array<double, kAccesses> last_refused{};  // by whatever limit
  // What other processes used, in halves, as far as it was heard of.
  std::array<int64_t, kAccesses> foreign{};
  std::array<int64_t, kAccesses> foreign_at_window{};
  int64_t foreign_at_totals = 0;                     // of writes, at the last SetTotals
  std::array<int64_t, kAccesses> consumed_at_use{};  // at the last TakeUse
  std::array<int64_t, kAccesses> refused_at_use{};   // by any limit
  double heat = 0;                   // part of the maximum that the last window consumed
  double hot_windows = 0;            // in a row
  double throttled_seconds = 0;      // in a row, by its share
  std::atomic<bool> boosted{false};  // Adaptive::kDelayed: may pass its share
  SplitObstacle obstacle = SplitObstacle::kNone;
  SplitObstacle size_obstacle = SplitObstacle::kNone;
};

// Waits for a look at the partition's keys to end. Looks take well under a microsecond.
class ObservationLock {
 public:
  explicit ObservationLock(Partition& partition) : flag_(partition.observing) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~ObservationLock() { flag_.clear(std::memory_order_release); }
  ObservationLock(const ObservationLock&) = delete;
  ObservationLock& operator=(const ObservationLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

// Immutable once published; the partitions in it are shared with the next layout.
class Layout {
 public:
  // `partitions[i]` begins at `bounds[i]`. Bounds ascend and the first is the start of the hash
  // space.
  Layout(std::vector<KeyBound> bounds, std::vector<std::shared_ptr<Partition>> partitions);

  size_t size() const { return partitions_.size(); }
  size_t Find(const KeyPoint& point) const;
  Partition& At(size_t index) const { return *partitions_[index]; }
  std::shared_ptr<Partition> Share(size_t index) const { return partitions_[index]; }
  KeyRange RangeOf(size_t index) const;
  // Replaces partition `index` by two that meet at `bound`, which is inside its range and not its
  // start.
  void Split(size_t index, const KeyBound& bound, std::shared_ptr<Partition> left,
             std::shared_ptr<Partition> right);

 private:
  std::vector<uint64_t> hashes_;  // of bounds_, apart: a look-up reads only these unless a bound is
                                  // inside a collection
  std::vector<KeyBound> bounds_;
  std::vector<std::shared_ptr<Partition>> partitions_;
};

}  // namespace stator::throughput
