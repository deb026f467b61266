// A sample, in bounded memory, of the keys that were requested: evenly spread over their weight, in
// the order of time. And the choice, from a sample, of the key at which a partition is split.
//
// The sample takes one point at a pseudo-random place of each stride of weight, so that a key that
// is requested periodically is not missed. Not thread-safe. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "throughput/key_point.h"

namespace stator::throughput {

// Why no bound divides the heat.
enum class SplitObstacle : uint8_t {
  kNone,
  kTooFewSamples,
  kSingleKey,     // one item has nearly all the heat
  kMovingKey,     // the heat moves along the keys, as with an ever-increasing sort key: a cut would
                  // leave it on one side
  kLocalIndexes,  // one item collection has nearly all the heat, and tables with local indexes keep
                  // collections together
  kStreams,  // only the isolation of one key would help: not on provisioned tables with a stream
};

// The order in time in which the sort keys of an item collection were requested.
enum class KeyOrder : uint8_t {
  kUnknown,
  kMoves,  // later ones lie behind earlier ones, or before them, as with a time in the sort key
  kStays,  // all over the collection
};

struct SplitRules {
  double min_side =
      0.1;  // part of the weight on each side, over the whole time and in each half of it
  double isolation_share = 0.25;  // a key with this part of the weight is cut off exactly
  size_t min_samples = 32;
  bool inside_collections = true;  // false with local indexes
  bool isolate = true;             // false: not at the edge of a key with `isolation_share`
  bool heat_may_move = false;      // true when dividing bytes: only the whole counts
};

struct SplitChoice {
  std::optional<KeyBound> bound;
  double left_share = 0;                          // of the weight, with a bound
  SplitObstacle obstacle = SplitObstacle::kNone;  // without one
};

class KeySample {
 public:
  KeySample(size_t points, size_t sort_bytes)
      : most_points_(points < 2 ? 2 : points), sort_bytes_(sort_bytes) {}

  // `weight` units of one key, next in time.
  void Add(const KeyPoint& point, double weight);
  void Clear();
  size_t size() const { return points_.size(); }
  // Bytes in memory beside the object itself.
  size_t Bytes() const;
  // Returns the points in the order of time. Each stands for the same weight.
  const std::vector<KeyBound>& points() const { return points_; }
  // Returns the key, strictly inside `range`, at which a split divides the weight best.
  SplitChoice ChooseBound(const KeyRange& range, const SplitRules& rules) const;
  // Returns the part of this sample that lies in `range`.
  KeySample Within(const KeyRange& range) const;
  // Returns the order of the item collection with this hash; kUnknown without sort keys, or with
  // few samples.
  KeyOrder OrderWithin(uint64_t hash) const;
  // Returns the share of the points that lie before `bound`; one half if there are no points.
  double ShareBefore(const KeyBound& bound) const;

 private:
  double Draw();
  void Take(const KeyPoint& point);
  size_t most_points_;
  size_t sort_bytes_;
  double stride_ = 1;             // weight that one point stands for
  double passed_ = 0;             // weight since the stride began
  double next_ = 0;               // where in the stride its point is taken
  bool taken_ = false;            // whether it was
  uint64_t drawn_ = 0;            // pseudo-random numbers until now
  std::vector<KeyBound> points_;  // in the order of time
};

}  // namespace stator::throughput
