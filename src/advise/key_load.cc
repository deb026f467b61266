#include "advise/key_load.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "request_log/keyed_hash.h"
#include "throughput/key_point.h"
#include "throughput/key_text.h"
#include "throughput/model_settings.h"

namespace stator::advise {
namespace {

constexpr size_t kLifeKeys = 256;   // counters: whoever has 1/256 of the units is among them
constexpr size_t kSecondKeys = 64;  // of a second, and of a stretch
constexpr size_t kLabelBytes = 80;  // of a key that is shown
constexpr size_t kPeakKeys = 256;   // keys whose busiest second is kept
constexpr size_t kSortKeys = 64;    // collections whose sort keys are watched
constexpr size_t kLeaders = 64;
constexpr int64_t kStretchSeconds = 10;

// Compares two keys; returns -1, 0 or 1. Numbers are compared by value, with the precision of a
// double, other keys by bytes.
int Compare(std::string_view a, std::string_view b) {
  if (a.starts_with("N:") && b.starts_with("N:")) {
    double x = 0, y = 0;
    std::from_chars(a.data() + 2, a.data() + a.size(), x);
    std::from_chars(b.data() + 2, b.data() + b.size(), y);
    if (x != y) return x < y ? -1 : 1;
  }
  const int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

}  // namespace

uint64_t HashOfKey(std::string_view key) {
  return request_log::KeyedHash({0x73746174, 0x6f72}, key);  // the same in every run
}

void DistinctCounter::Add(uint64_t hash) {
  uint8_t& reg = registers_[hash >> (64 - kBits)];
  const uint64_t rest = hash << kBits | uint64_t{1} << (kBits - 1);
  reg = std::max(reg, static_cast<uint8_t>(std::countl_zero(rest) + 1));
}

double DistinctCounter::Estimate() const {
  const double m = static_cast<double>(registers_.size());
  double sum = 0;
  int64_t zeros = 0;
  for (const uint8_t reg : registers_) {
    sum += std::ldexp(1, -reg);
    zeros += reg == 0 ? 1 : 0;
  }
  const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  if (raw <= 2.5 * m && zeros > 0) return m * std::log(m / static_cast<double>(zeros));
  return raw;
}

void Trend::Add(std::string_view key) {
  if (key.empty() || key[0] == '#') return;
  if (!last.empty()) {
    const int order = Compare(last, key);
    up += order < 0 ? 1 : 0;
    down += order > 0 ? 1 : 0;
    if (order == 0) return;
  }
  last.assign(key);
}

KeyLoad::KeyLoad(throughput::Access access)
    : access_(access),
      life_(throughput::HeavyHitters::Of::kCollections, kLifeKeys, kLabelBytes),
      second_(throughput::HeavyHitters::Of::kCollections, kSecondKeys, kLabelBytes),
      stretch_(throughput::HeavyHitters::Of::kCollections, kSecondKeys, kLabelBytes) {}

void KeyLoad::Add(int64_t at_micros, std::string_view partition, std::string_view sort,
                  double units) {
  const int64_t second = at_micros / 1'000'000;
  if (second != second_at_) {
    CloseSecond();
    second_at_ = second;
    if (second / kStretchSeconds != stretch_at_) {
      CloseStretch();
      stretch_at_ = second / kStretchSeconds;
    }
  }
  const throughput::KeyPoint point{HashOfKey(partition), {}, partition};
  life_.Add(point, units);
  second_.Add(point, units);
  stretch_.Add(point, units);
  distinct_.Add(point.hash);
  ++added_;
  partitions_.Add(partition);
  if (access_ == throughput::Access::kWrite && !sort.empty()) SeeSort(point.hash, sort);
}

// A newcomer takes the place of the collection that was seen least.
void KeyLoad::SeeSort(uint64_t hash, std::string_view sort) {
  auto found = sorts_.find(hash);
  if (found == sorts_.end()) {
    if (sorts_.size() >= kSortKeys) {
      sorts_.erase(std::min_element(sorts_.begin(), sorts_.end(), [](const auto& a, const auto& b) {
        return a.second.up + a.second.down < b.second.up + b.second.down;
      }));
    }
    found = sorts_.try_emplace(hash).first;
  }
  found->second.Add(sort);
}

void KeyLoad::CloseSecond() {
  if (second_.total() == 0) return;
  seen_.peak_per_second = std::max(seen_.peak_per_second, second_.total());
  const throughput::ModelSettings model;
  const double most = access_ == throughput::Access::kRead ? model.partition_read_units
                                                           : model.partition_write_units;
  for (const throughput::HeavyKey& key : second_.Top(kSecondKeys)) {
    const double weight = key.weight - key.overestimate;
    if (weight > seen_.peak_key_per_second) {
      seen_.peak_key_per_second = weight;
      seen_.peak_key = key.partition;
      seen_.peak_key_micros = second_at_ * 1'000'000;
    }
    if (weight < most / 100) break;
    const auto found = peaks_.find(key.hash);
    if (found != peaks_.end()) {
      found->second = std::max(found->second, weight);
    } else if (peaks_.size() < kPeakKeys) {
      peaks_[key.hash] = weight;
    }
  }
  second_.Clear();
}

void KeyLoad::CloseStretch() {
  const std::vector<throughput::HeavyKey> top = stretch_.Top(1);
  const bool leads = !top.empty() && top[0].weight - top[0].overestimate >= stretch_.total() / 2;
  stretch_.Clear();
  if (!leads || (!leaders_.empty() && leaders_.back() == top[0].hash)) return;
  ++seen_.leaders;
  const auto before = std::find(leaders_.begin(), leaders_.end(), top[0].hash);
  if (before != leaders_.end()) {
    ++seen_.leaders_again;
    leaders_.erase(before);
  }
  leaders_.push_back(top[0].hash);
  if (leaders_.size() > kLeaders) leaders_.pop_front();
}

KeyLoadSummary KeyLoad::Finish() {
  CloseSecond();
  CloseStretch();
  KeyLoadSummary out = seen_;
  out.units = life_.total();
  if (out.units <= 0) return out;
  const std::vector<throughput::HeavyKey> top = life_.Top(kLifeKeys);
  // With a counter to spare each key has its own.
  // No more keys than were asked for, whatever is estimated.
  out.distinct = top.size() < kLifeKeys
                     ? static_cast<double>(top.size())
                     : std::clamp(distinct_.Estimate(), double{kLifeKeys},
                                  std::max(double{kLifeKeys}, static_cast<double>(added_)));
  double squares = 0, known = 0;
  for (const throughput::HeavyKey& key : top) {
    const double share = (key.weight - key.overestimate) / out.units;
    squares += share * share;
    known += share;
  }
  // What no counter is sure of is taken as spread evenly over the other keys.
  const double rest = std::max(0.0, 1 - known);
  const double others = out.distinct - static_cast<double>(top.size());
  if (rest > 0) squares += rest * rest / std::max(1.0, others);
  out.effective = std::min(out.distinct, squares > 0 ? 1 / squares : out.distinct);
  for (size_t i = 0; i < top.size() && i < 5; ++i) {
    KeyLoadSummary::Key key;
    key.key = top[i].partition;
    key.share = (top[i].weight - top[i].overestimate) / out.units;
    if (const auto peak = peaks_.find(top[i].hash); peak != peaks_.end()) {
      key.peak_per_second = peak->second;
    }
    const auto sorts = sorts_.find(top[i].hash);
    key.sort_rises = sorts != sorts_.end() && sorts->second.Rises(20);
    out.hottest.push_back(std::move(key));
  }
  std::map<std::string, SuffixUse> bases;
  for (const throughput::HeavyKey& key : top) {
    const std::string_view text = key.partition;
    const size_t dot = text.find_last_of(".#");
    if (!text.starts_with("S:") || dot == std::string_view::npos || dot < 3 ||
        dot + 1 == text.size() ||
        text.find_first_not_of("0123456789", dot + 1) != std::string_view::npos ||
        (text[dot] == '#' && !throughput::LooksLikeDate(text.substr(2, dot - 2)))) {
      continue;
    }
    SuffixUse& base = bases[std::string(text.substr(0, dot))];
    const double weight = key.weight - key.overestimate;
    ++base.suffixes;
    base.units += weight;
    if (weight <= base.hottest_share) continue;
    base.hottest_share = weight;
    base.hottest = text.substr(dot);
  }
  for (auto& [name, base] : bases) {
    if (base.units <= out.suffixes.units) continue;
    out.suffixes = base;
    out.suffixes.key = name;
    out.suffixes.hottest_share /= base.units;
  }
  out.rises = partitions_.Rises(3);
  return out;
}

}  // namespace stator::advise
