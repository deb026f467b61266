#include "simulate/key_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "throughput/key_hash.h"
#include "throughput/suffixes.h"

namespace stator::simulate {
namespace {

constexpr int64_t kKnownKeys = 512;     // most keys that are played one by one
constexpr int64_t kParcels = 200;       // most parcels of the rest in a step
constexpr int64_t kPiecesPerStep = 64;  // most parcels of different sort keys in a step

// Returns the sum of the Zipf weights of the ranks `from` to `to`, approximated if they are many.
double ZipfSum(double exponent, int64_t from, int64_t to) {
  double sum = 0;
  constexpr int64_t kExact = 4096;
  int64_t n = from;
  for (; n <= to && n < from + kExact; ++n) sum += std::pow(static_cast<double>(n), -exponent);
  if (n > to) return sum;
  const double a = static_cast<double>(n) - 0.5, b = static_cast<double>(to) + 0.5;
  if (std::abs(exponent - 1) < 1e-9) return sum + std::log(b / a);
  return sum + (std::pow(b, 1 - exponent) - std::pow(a, 1 - exponent)) / (1 - exponent);
}

std::string BigEndian(uint64_t n) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; n >>= 8) bytes[i] = static_cast<char>(n & 0xff);
  return bytes;
}

}  // namespace

uint64_t HashOfName(std::string_view name) { return throughput::HashOfStringKey(name); }

std::string DateName(int64_t micros, double period_seconds) {
  using std::chrono::days;
  const int64_t period = std::max<int64_t>(1, std::llround(period_seconds * 1e6));
  const int64_t start = micros / period * period;
  const std::chrono::sys_days day{days(start / 86'400'000'000LL)};
  const std::chrono::year_month_day date(day);
  std::string name =
      fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  if (period % 86'400'000'000LL == 0) return name;
  const int64_t seconds = start / 1'000'000 % 86'400;
  name += fmt::format("T{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
  if (period % 60'000'000 != 0) name += fmt::format(":{:02}", seconds % 60);
  return name;
}

std::vector<double> SharesOfSuffixes(KeySpace::Suffix function, const std::string& ids,
                                     int64_t suffixes) {
  constexpr int64_t kIds = 10'000;
  std::vector<double> shares(static_cast<size_t>(suffixes));
  const uint64_t modulus = static_cast<uint64_t>(suffixes);
  const size_t percent = ids.find('%'), end = ids.find('d', percent);
  for (int64_t n = 1; n <= kIds; ++n) {
    std::string digits = std::to_string(n);
    const size_t width = static_cast<size_t>(std::atoi(ids.c_str() + percent + 1));
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    const std::string id = ids.substr(0, percent) + digits + ids.substr(end + 1);
    uint64_t value = 1;
    if (function == KeySpace::Suffix::kProduct) {
      for (const char c : id) value = value * static_cast<unsigned char>(c) % modulus;
    } else {
      value = throughput::HashOfStringKey(id) % modulus;
    }
    shares[static_cast<size_t>(value)] += 1.0 / kIds;
  }
  return shares;
}

KeyStream::KeyStream(const KeySpace& keys, bool all_suffixes, uint64_t seed, int64_t cache_items)
    : keys_(keys),
      all_suffixes_(all_suffixes && keys.suffixes > 1),
      cache_items_(cache_items),
      random_(seed) {
  switch (keys.kind) {
    case KeySpace::Kind::kUniform:
    case KeySpace::Kind::kZipf: {
      const double exponent = keys.kind == KeySpace::Kind::kZipf ? keys.exponent : 0;
      const bool all = keys.count * keys.suffixes <= kKnownKeys;
      // Play the hot ranks one by one, unless suffixes make too many keys of them.
      const int64_t ranks = all            ? keys.count
                            : exponent > 0 ? std::min(keys.count, kKnownKeys / keys.suffixes)
                                           : 0;
      const double sum =
          exponent > 0 ? ZipfSum(exponent, 1, keys.count) : static_cast<double>(keys.count);
      std::vector<std::pair<std::string, double>> names;
      double known = 0;
      for (int64_t n = 1; n <= ranks; ++n) {
        const double share = (exponent > 0 ? std::pow(static_cast<double>(n), -exponent) : 1) / sum;
        names.emplace_back(fmt::format("key-{}", n), share);
        known += share;
      }
      MakeKnown(names);
      rest_share_ = ranks == keys.count ? 0 : std::max(0.0, 1 - known);
      const double others = static_cast<double>((keys.count - ranks) * keys.suffixes);
      const double cached = static_cast<double>(cache_items - ranks * keys.suffixes);
      if (rest_share_ > 0 && exponent > 0 && cached > 0) {
        // The hottest of the rest.
        const int64_t last = std::min(keys.count, cache_items / keys.suffixes);
        rest_cached_ =
            ZipfSum(exponent, ranks + 1, last) / ZipfSum(exponent, ranks + 1, keys.count);
      } else if (rest_share_ > 0 && cached > 0) {
        rest_cached_ = std::min(1.0, cached / others);
      }
      break;
    }
    case KeySpace::Kind::kSingle:
    case KeySpace::Kind::kWeighted: {
      double sum = 0;
      for (const double weight : keys.weights) sum += weight;
      std::vector<std::pair<std::string, double>> names;
      for (size_t i = 0; i < keys.names.size(); ++i)
        names.emplace_back(keys.names[i], keys.weights[i] / sum);
      MakeKnown(names);
      break;
    }
    case KeySpace::Kind::kDate: break;
    case KeySpace::Kind::kUpload: remaining_ = keys.count * keys.items_per_user; break;
  }
}

void KeyStream::MakeKnown(const std::vector<std::pair<std::string, double>>& names) {
  known_.clear();
  std::vector<double> shares;  // of each suffix; empty: all alike
  if (keys_.suffixes > 1 &&
      (keys_.suffix == KeySpace::Suffix::kProduct || keys_.suffix == KeySpace::Suffix::kHash)) {
    shares = SharesOfSuffixes(keys_.suffix, keys_.ids, keys_.suffixes);
  }
  for (const auto& [name, share] : names) {
    if (keys_.suffixes == 1) {
      known_.push_back({HashOfName(name), name, share});
      continue;
    }
    for (int64_t s = 1; s <= keys_.suffixes; ++s) {
      const std::string suffixed = throughput::SuffixedKey(name, s);
      const double part = all_suffixes_ ? 1 : 1 / static_cast<double>(keys_.suffixes);
      known_.push_back({HashOfName(suffixed), suffixed,
                        shares.empty() || all_suffixes_
                            ? share * part
                            : share * shares[static_cast<size_t>(s - 1)]});
    }
  }
  std::erase_if(known_, [](const Known& key) { return key.share <= 0; });
  if (cache_items_ > 0) {
    std::stable_sort(known_.begin(), known_.end(),
                     [](const Known& a, const Known& b) { return a.share > b.share; });
    for (size_t i = 0; i < known_.size() && static_cast<int64_t>(i) < cache_items_; ++i)
      known_[i].cached = true;
  }
  // Keys start at different places of their rounding, or all would come in the same step.
  for (Known& key : known_) key.owed = random_.Unit();
}

void KeyStream::FollowDate(int64_t now_micros) {
  const int64_t period =
      now_micros / std::max<int64_t>(1, std::llround(keys_.period_seconds * 1e6));
  if (period == period_) return;
  period_ = period;
  MakeKnown({{DateName(now_micros, keys_.period_seconds), 1}});
}

std::string KeyStream::SortKey(int64_t now_micros, double place) {
  switch (keys_.sort) {
    case KeySpace::Sort::kNone: return {};
    case KeySpace::Sort::kUniform: return BigEndian(static_cast<uint64_t>(place * 0x1p64));
    case KeySpace::Sort::kIncreasing:
      return BigEndian(static_cast<uint64_t>(now_micros)) +
             BigEndian(static_cast<uint64_t>(++increasing_));
  }
  return {};
}

void KeyStream::Add(std::vector<Parcel>* out, uint64_t hash, const std::string& name, int64_t count,
                    int64_t pieces, int64_t now_micros) {
  pieces = keys_.sort == KeySpace::Sort::kNone
               ? 1
               : std::clamp<int64_t>(pieces, 1, std::max<int64_t>(1, count));
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t part = count * (i + 1) / pieces - count * i / pieces;
    const double place = (static_cast<double>(i) + random_.Unit()) / static_cast<double>(pieces);
    if (part > 0) out->push_back({hash, name, SortKey(now_micros, place), part});
  }
}

int64_t KeyStream::Round(int64_t left, std::vector<int64_t>* counts) {
  std::vector<size_t> order;
  for (size_t k = 0; k < known_.size(); ++k) {
    if (left > 0 || (*counts)[k] > 0) order.push_back(k);
  }
  const size_t changed = std::min(order.size(), static_cast<size_t>(std::abs(left)));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(changed),
                    order.end(), [&](size_t a, size_t b) {
                      const double x = known_[a].owed, y = known_[b].owed;
                      return x != y ? (left > 0 ? x > y : x < y) : a < b;
                    });
  const int64_t one = left > 0 ? 1 : -1;
  for (size_t i = 0; i < changed; ++i) {
    (*counts)[order[i]] += one;
    known_[order[i]].owed -= static_cast<double>(one);
    left -= one;
  }
  return left;
}

std::vector<Parcel> KeyStream::Next(int64_t now_micros, int64_t requests) {
  if (is_upload()) return NextUpload(now_micros, requests);
  if (keys_.kind == KeySpace::Kind::kDate) FollowDate(now_micros);
  std::vector<Parcel> out;
  const int64_t pieces = kPiecesPerStep / std::max<int64_t>(1, static_cast<int64_t>(known_.size()));
  std::vector<int64_t> counts(known_.size());
  int64_t left = requests;
  for (size_t k = 0; k < known_.size(); ++k) {
    Known& key = known_[k];
    key.owed += static_cast<double>(requests) * key.share;
    counts[k] = static_cast<int64_t>(key.owed);
    key.owed -= static_cast<double>(counts[k]);
    left -= counts[k];
  }
  // The requests of a step are as many as its rate says, however their keys are rounded.
  if (!all_suffixes_ && (rest_share_ <= 0 || left < 0)) left = Round(left, &counts);
  for (size_t k = 0; k < known_.size(); ++k) {
    const Known& key = known_[k];
    if (counts[k] == 0) continue;
    const size_t first = out.size();
    Add(&out, key.hash, key.name, counts[k], pieces, now_micros);
    for (size_t i = first; key.cached && i < out.size(); ++i) out[i].cached = out[i].count;
  }
  if (rest_share_ > 0) {
    int64_t count = left;
    if (all_suffixes_) {
      rest_owed_ +=
          static_cast<double>(requests) * rest_share_ * static_cast<double>(keys_.suffixes);
      count = static_cast<int64_t>(rest_owed_);
      rest_owed_ -= static_cast<double>(count);
    }
    const int64_t parcels = std::min(count, kParcels);
    for (int64_t i = 0; i < parcels; ++i) {
      const double place = (static_cast<double>(i) + random_.Unit()) / static_cast<double>(parcels);
      const uint64_t hash = static_cast<uint64_t>(place * 0x1p64);
      Add(&out, hash, fmt::format("key-{}", hash % static_cast<uint64_t>(keys_.count) + 1),
          count * (i + 1) / parcels - count * i / parcels, 1, now_micros);
      if (rest_cached_ <= 0 || out.empty()) continue;
      Parcel& last = out.back();
      cached_owed_ += static_cast<double>(last.count) * rest_cached_;
      last.cached = std::min(last.count, static_cast<int64_t>(cached_owed_));
      cached_owed_ -= static_cast<double>(last.cached);
    }
  }
  return out;
}

std::vector<Parcel> KeyStream::NextUpload(int64_t now_micros, int64_t requests) {
  std::vector<Parcel> out;
  int64_t left = std::min(requests, remaining_);
  if (!keys_.interleaved) {
    for (int64_t at = written_; left > 0;) {
      const int64_t count = std::min(left, keys_.items_per_user - at % keys_.items_per_user);
      const std::string name = fmt::format("user-{}", at / keys_.items_per_user + 1);
      Add(&out, HashOfName(name), name, count, 1, now_micros);
      at += count;
      left -= count;
    }
    return out;
  }
  if (keys_.count <= kKnownKeys) {
    const int64_t first = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(keys_.count)));
    for (int64_t i = 0; i < keys_.count; ++i) {
      const int64_t count = left * (i + 1) / keys_.count - left * i / keys_.count;
      const std::string name = fmt::format("user-{}", (first + i) % keys_.count + 1);
      if (count > 0) Add(&out, HashOfName(name), name, count, 1, now_micros);
    }
    return out;
  }
  const int64_t parcels = std::min(left, kParcels);
  for (int64_t i = 0; i < parcels; ++i) {
    const double place = (static_cast<double>(i) + random_.Unit()) / static_cast<double>(parcels);
    const uint64_t hash = static_cast<uint64_t>(place * 0x1p64);
    Add(&out, hash, fmt::format("user-{}", hash % static_cast<uint64_t>(keys_.count) + 1),
        left * (i + 1) / parcels - left * i / parcels, 1, now_micros);
  }
  return out;
}

void KeyStream::Passed(int64_t passed) {
  if (!is_upload()) return;
  remaining_ -= passed;
  written_ += passed;
}

}  // namespace stator::simulate
