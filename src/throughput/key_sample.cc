#include "throughput/key_sample.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/heap_bytes.h"

namespace stator::throughput {

// In [0, 1): SplitMix64 over a counter.
double KeySample::Draw() {
  uint64_t z = ++drawn_ * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

void KeySample::Take(const KeyPoint& point) {
  if (points_.size() >= most_points_) {
    // One of each pair stays, and from now on a point stands for twice as much.
    size_t kept = 0;
    for (size_t i = 0; i + 1 < points_.size(); i += 2) {
      const size_t chosen = Draw() < 0.5 ? i : i + 1;
      if (kept != chosen) points_[kept] = std::move(points_[chosen]);
      ++kept;
    }
    points_.resize(kept);
    stride_ *= 2;
  }
  points_.push_back({point.hash, std::string(point.sort.substr(0, sort_bytes_))});
}

void KeySample::Add(const KeyPoint& point, double weight) {
  // A weight that alone would fill the sample many times over needs no more than that many points.
  while (weight > 2 * stride_ * static_cast<double>(most_points_)) {
    stride_ *= 2;
    for (size_t i = points_.size() / 2; i-- > 0;)
      points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(2 * i));
  }
  passed_ += weight;
  for (;;) {
    if (!taken_ && passed_ > next_) {
      Take(point);
      taken_ = true;
    }
    if (passed_ < stride_) return;
    passed_ -= stride_;
    taken_ = false;
    next_ = Draw() * stride_;
  }
}

void KeySample::Clear() {
  points_.clear();
  passed_ = 0;
  taken_ = false;
  stride_ = std::max(1.0, stride_ / 2);  // the next stretch of time is likely as busy as this one
  next_ = Draw() * stride_;
}

size_t KeySample::Bytes() const {
  size_t bytes = points_.capacity() * sizeof(KeyBound);
  for (const KeyBound& point : points_) bytes += HeapBytes(point.sort);
  return bytes;
}

KeySample KeySample::Within(const KeyRange& range) const {
  KeySample out(most_points_, sort_bytes_);
  out.stride_ = stride_;
  for (const KeyBound& point : points_) {
    if (range.Contains({point.hash, point.sort, {}})) out.points_.push_back(point);
  }
  return out;
}

KeyOrder KeySample::OrderWithin(uint64_t hash) const {
  constexpr size_t kLeast = 16;      // points
  constexpr size_t kEdge = 20;       // a 20th of the earlier half may lie beyond its edges
  constexpr double kMoving = 0.9;    // of the later half, beyond one edge of the earlier one
  constexpr double kStaying = 0.65;  // at most that, to say that they do not move
  std::vector<std::string_view> sorts;
  for (const KeyBound& point : points_) {
    if (point.hash == hash && !point.sort.empty()) sorts.push_back(point.sort);
  }
  if (sorts.size() < kLeast) return KeyOrder::kUnknown;
  const auto half = sorts.begin() + static_cast<std::ptrdiff_t>(sorts.size() / 2);
  std::sort(sorts.begin(), half);
  const size_t early = sorts.size() / 2;
  const std::string_view low = sorts[early / kEdge], high = sorts[early - 1 - early / kEdge];
  double behind = 0, before = 0;
  for (auto at = half; at != sorts.end(); ++at) {
    behind += *at > high ? 1 : 0;
    before += *at < low ? 1 : 0;
  }
  const double share = std::max(behind, before) / static_cast<double>(sorts.size() - early);
  return share >= kMoving    ? KeyOrder::kMoves
         : share <= kStaying ? KeyOrder::kStays
                             : KeyOrder::kUnknown;
}

double KeySample::ShareBefore(const KeyBound& bound) const {
  if (points_.empty()) return 0.5;
  const auto before = std::count_if(points_.begin(), points_.end(),
                                    [&](const KeyBound& point) { return point < bound; });
  return static_cast<double>(before) / static_cast<double>(points_.size());
}

SplitChoice KeySample::ChooseBound(const KeyRange& range, const SplitRules& rules) const {
  SplitChoice choice;
  const size_t n = points_.size();
  if (n < std::max<size_t>(2, rules.min_samples)) {
    choice.obstacle = SplitObstacle::kTooFewSamples;
    return choice;
  }
  std::vector<size_t> order(n);  // indices of points_, that is times, in the order of keys
  for (size_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
    return points_[a] != points_[b] ? points_[a] < points_[b] : a < b;
  });
  const double early_total = static_cast<double>(n / 2);
  const double late_total = static_cast<double>(n - n / 2);
  const auto least_side = [](double left, double total) {
    return std::min(left, total - left) / total;
  };
  // How much of the weight is in one collection (or, with a sort key to tell them apart, in one
  // item) around `at`.
  const auto share_of = [&](size_t at, bool whole_collection) {
    const KeyBound& key = points_[order[at]];
    const auto same = [&](size_t i) {
      return points_[i].hash == key.hash && (whole_collection || points_[i].sort == key.sort);
    };
    return static_cast<double>(std::count_if(order.begin(), order.end(), same)) /
           static_cast<double>(n);
  };

  double best = 0;
  bool blocked_by_index = false, blocked_by_movement = false, blocked_by_stream = false;
  size_t left = 0, early_left = 0;
  for (size_t i = 0; i + 1 < n; ++i) {
    ++left;
    if (order[i] < n / 2) ++early_left;
    const KeyBound& a = points_[order[i]];
    const KeyBound& b = points_[order[i + 1]];
    if (a == b) continue;
    const double side = least_side(static_cast<double>(left), static_cast<double>(n));
    if (side < rules.min_side) continue;
    if (a.hash == b.hash && !rules.inside_collections) {
      blocked_by_index = true;
      continue;
    }
    if (!rules.heat_may_move) {
      const double early = least_side(static_cast<double>(early_left), early_total);
      const double late = least_side(static_cast<double>(left - early_left), late_total);
      if (std::min(early, late) < rules.min_side) {
        blocked_by_movement = true;
        continue;
      }
    }
    if (side <= best) continue;
    const bool left_is_hot = share_of(i, a.hash != b.hash) >= rules.isolation_share;
    const bool right_is_hot = share_of(i + 1, a.hash != b.hash) >= rules.isolation_share;
    if (!rules.isolate && (left_is_hot || right_is_hot)) {
      blocked_by_stream = true;
      continue;
    }
    KeyBound bound;
    if (a.hash == b.hash) {
      bound = b;
    } else if (right_is_hot) {
      bound = {b.hash, {}};
    } else if (left_is_hot) {
      bound = {a.hash + 1, {}};  // a.hash < b.hash, so this does not overflow
    } else {
      bound = {a.hash + (b.hash - a.hash + 1) / 2, {}};
    }
    const KeyPoint as_point{bound.hash, bound.sort, {}};
    if (bound == range.from || !range.Contains(as_point)) continue;
    best = side;
    choice.bound = std::move(bound);
    choice.left_share = static_cast<double>(left) / static_cast<double>(n);
  }
  if (!choice.bound) {
    choice.obstacle = blocked_by_movement ? SplitObstacle::kMovingKey
                      : blocked_by_index  ? SplitObstacle::kLocalIndexes
                      : blocked_by_stream ? SplitObstacle::kStreams
                                          : SplitObstacle::kSingleKey;
  }
  return choice;
}

}  // namespace stator::throughput
