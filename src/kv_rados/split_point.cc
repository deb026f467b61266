#include "kv_rados/split_point.h"

#include <algorithm>

#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

constexpr size_t kParts = 8;  // the newest, and the last, are one of so many
constexpr size_t kFewEntries = 32;
constexpr double kHalf = 0.5;
// The share of the limit that a part keeps in a split. It is below 1, so that the remaining part
// does not reach the limit again with the next changed key.
constexpr double kKept = 1.0 - 1.0 / kParts;

}  // namespace

void PartSurvey::Note(std::string_view key, size_t bytes, uint64_t stamp) {
  amount_.bytes += bytes;
  ++amount_.keys;
  keep_hashes_whole_ |= BelongsToAnItem(space_, key);
  const std::optional<std::string_view> route = RouteOf(space_, key);
  // Keys of the engine above come and go, and what they are about need not exist.
  if (!route || IsEngineKey(key)) return;
  entries_.push_back({std::string(*route), bytes, stamp});
  entry_bytes_ += bytes;
}

std::optional<PartSurvey::Cut> PartSurvey::CutAt(double share) const {
  const auto bytes = static_cast<uint64_t>(share * static_cast<double>(entry_bytes_));
  std::optional<Cut> best;
  uint64_t best_distance = 0, before = 0;
  for (size_t i = 0; i + 1 < entries_.size(); ++i) {
    before += entries_[i].bytes;
    std::string_view last = entries_[i].route, next = entries_[i + 1].route;
    if (keep_hashes_whole_) {
      last = last.substr(0, kHashBytes);
      next = next.substr(0, kHashBytes);
    }
    if (last >= next) continue;
    const uint64_t distance = std::max(before, bytes) - std::min(before, bytes);
    if (best && distance >= best_distance) continue;
    // The shortest beginning of `next` that is greater than `last`.
    const auto shared =
        std::mismatch(last.begin(), last.end(), next.begin(), next.end()).first - last.begin();
    best = Cut{std::string(next.substr(0, static_cast<size_t>(shared) + 1)),
               static_cast<double>(before) / static_cast<double>(entry_bytes_)};
    best_distance = distance;
  }
  return best;
}

bool PartSurvey::IsAppendedTo() const {
  if (entries_.size() < kFewEntries) return false;
  const size_t count = entries_.size() / kParts;
  std::vector<uint64_t> stamps;
  for (const Entry& entry : entries_) stamps.push_back(entry.stamp);
  const auto newest = stamps.end() - static_cast<std::ptrdiff_t>(count);
  std::nth_element(stamps.begin(), newest, stamps.end());
  const auto last = entries_.end() - static_cast<std::ptrdiff_t>(count);
  // Entries of one batch have one stamp, and where the line goes through a batch it is left out.
  const auto is_new = [line = *newest](const Entry& entry) { return entry.stamp > line; };
  const auto before = static_cast<size_t>(std::count_if(entries_.begin(), last, is_new));
  const auto behind = static_cast<size_t>(std::count_if(last, entries_.end(), is_new));
  return behind >= count / 2 && before <= behind / kParts;
}

double PartSurvey::ShareToKeep(const Amount& limit) const {
  if (!IsAppendedTo()) return kHalf;
  const double share =
      kKept * std::min({1.0, static_cast<double>(limit.bytes) / static_cast<double>(amount_.bytes),
                        static_cast<double>(limit.keys) / static_cast<double>(amount_.keys)});
  return std::max(share, kHalf);  // less: several parts will be needed
}

std::optional<std::string> PartSurvey::Boundary(const std::optional<Amount>& limit) {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.route < b.route; });
  const double share = limit ? ShareToKeep(*limit) : kHalf;
  std::optional<Cut> cut = CutAt(share);
  // Keys that have to stay together may leave no such place.
  if (cut && cut->share > share + (1 - kKept) / 2) cut = CutAt(kHalf);
  return cut ? std::optional(std::move(cut->route)) : std::nullopt;
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
