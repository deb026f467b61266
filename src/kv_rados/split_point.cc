#include "kv_rados/split_point.h"

#include <algorithm>

#include "kv_rados/routing.h"

namespace stator::kv_rados {

void PartSurvey::Note(std::string_view key, size_t bytes) {
  amount_.bytes += bytes;
  ++amount_.keys;
  keep_hashes_whole_ |= BelongsToAnItem(space_, key);
  const std::optional<std::string_view> route = RouteOf(space_, key);
  // Keys of the engine above come and go, and what they are about need not exist.
  if (route && !IsEngineKey(key)) entries_.push_back({std::string(*route), bytes});
}

std::optional<std::string> PartSurvey::Middle() {
  const auto less = [](const Entry& a, const Entry& b) { return a.route < b.route; };
  std::sort(entries_.begin(), entries_.end(), less);
  uint64_t total = 0;
  for (const Entry& entry : entries_) total += entry.bytes;
  std::optional<std::string> best;
  uint64_t best_distance = 0, below = 0;
  for (size_t i = 0; i + 1 < entries_.size(); ++i) {
    below += entries_[i].bytes;
    std::string_view last = entries_[i].route, next = entries_[i + 1].route;
    if (keep_hashes_whole_) {
      last = last.substr(0, kHashBytes);
      next = next.substr(0, kHashBytes);
    }
    if (last >= next) continue;
    const uint64_t distance = std::max(2 * below, total) - std::min(2 * below, total);
    if (best && distance >= best_distance) continue;
    // The shortest beginning of `next` that is greater than `last`.
    const auto shared = std::mismatch(last.begin(), last.end(), next.begin(), next.end()).first - last.begin();
    best = std::string(next.substr(0, static_cast<size_t>(shared) + 1));
    best_distance = distance;
  }
  return best;
}

bool Moves(kv::Space space, std::string_view boundary, std::string_view key) {
  const std::optional<std::string_view> route = RouteOf(space, key);
  return route && *route >= boundary;
}

std::string NextThatMoves(kv::Space space, std::string_view boundary, std::string_view key) {
  if (IsEngineKey(key)) return {};
  if (space != kv::Space::kItems) return StartAt(boundary);
  std::string next(key.empty() ? std::string_view("\0", 1) : key.substr(0, 1));
  if (!RouteOf(space, key)) ++next[0];  // all counters stay
  return StartAt(next.append(boundary));
}

}  // namespace stator::kv_rados
