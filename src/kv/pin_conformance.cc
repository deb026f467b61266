#include "kv/pin_conformance.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "kv/pin.h"

namespace stator::kv {
namespace {

constexpr Tablet kTablet = {Space::kItems, 7};
constexpr Tablet kOther = {Space::kItems, 8};
constexpr size_t kPinsAtOnce = 3;
constexpr uint64_t kKeys = 400;
constexpr size_t kValueBytes = 20'000;  // so that a range takes several stretches

using Model = std::map<std::string, std::string>;  // without stamps

struct Reading {
  std::unique_ptr<PinnedRange> range;
  std::string begin;
  std::string end;
  Model expected;
  Model seen;
};

class Check {
 public:
  Check(Engine& engine, uint64_t seed) : engine_(engine), seed_(seed), random_(seed) {}

  Status Run(int rounds) {
    pinner_ = engine_.pinner();
    if (pinner_ == nullptr) return InternalError("the engine is no Pinner");
    for (int round = 0; round < rounds; ++round) {
      TRY(Write());
      if (readings_.size() < kPinsAtOnce && Below(4) == 0) TRY(Begin());
      if (!readings_.empty() && Below(2) == 0) TRY(Step(Below(readings_.size())));
    }
    while (!readings_.empty()) TRY(Step(0));
    return OkStatus();
  }

 private:
  uint64_t Below(uint64_t bound) { return random_.Next() % bound; }
  std::string Key() { return fmt::format("k{:03}", Below(kKeys)); }

  Status Write() {
    Batch batch;
    if (Below(20) == 0) {
      std::string begin = Key();
      std::string end = Below(4) == 0 ? "" : Key();
      batch.range_deletes.push_back({kTablet, begin, end});
      const auto from = model_.lower_bound(begin);
      const auto to = end.empty() ? model_.end() : model_.lower_bound(end);
      if (end.empty() || begin < end) model_.erase(from, to);
    } else {
      for (uint64_t i = Below(5); i > 0; --i) {
        std::string key = Key();
        std::string value = fmt::format("{}-{}", key, random_.Next());
        value.resize(Below(4) == 0 ? kValueBytes : value.size(), 'v');
        batch.puts.push_back({kOther, key, std::string(kStampBytes, '\0') + "other"});
        if (Below(4) == 0) {
          if (!Named(batch, key)) batch.deletes.push_back({kTablet, key});
        } else if (!Named(batch, key)) {
          batch.puts.push_back({kTablet, key, std::string(kStampBytes, '\0') + value});
        }
      }
      for (const Delete& gone : batch.deletes) model_.erase(gone.key);
      for (const Put& put : batch.puts)
        if (put.tablet == kTablet) model_[put.key] = put.value.substr(kStampBytes);
    }
    const Result<uint64_t> applied = ApplyAndWait(engine_, std::move(batch));
    return applied.ok() ? OkStatus() : Status(applied.error());
  }

  static bool Named(const Batch& batch, const std::string& key) {
    for (const Put& put : batch.puts)
      if (put.tablet == kTablet && put.key == key) return true;
    for (const Delete& gone : batch.deletes)
      if (gone.key == key) return true;
    return false;
  }

  Status Begin() {
    Reading reading;
    if (Below(2) == 0) reading.begin = Key();
    if (Below(2) == 0) reading.end = Key();
    if (!reading.end.empty() && reading.begin > reading.end) std::swap(reading.begin, reading.end);
    Range range;
    range.tablet = kTablet;
    range.begin = reading.begin;
    range.end = reading.end;
    ASSIGN_OR_RETURN(reading.range, pinner_->Pin(range));
    reading.expected = Model(model_.lower_bound(reading.begin),
                             reading.end.empty() ? model_.end() : model_.lower_bound(reading.end));
    readings_.push_back(std::move(reading));
    return OkStatus();
  }

  Status Step(size_t at) {
    Reading& reading = readings_[at];
    std::string last = reading.seen.empty() ? "" : reading.seen.rbegin()->first;
    ASSIGN_OR_RETURN(const bool more,
                     reading.range->Next([&](std::string_view key, std::string_view value) {
                       if (!last.empty() && key <= last) return Status(Wrong("order"));
                       last = key;
                       reading.seen.emplace(key, value.substr(kStampBytes));
                       return OkStatus();
                     }));
    if (more) return OkStatus();
    if (reading.seen != reading.expected) return Wrong("contents");
    readings_.erase(readings_.begin() + static_cast<ptrdiff_t>(at));
    return OkStatus();
  }

  Error Wrong(std::string_view what) const {
    return InternalError(fmt::format("a pinned range has the wrong {}; seed {}", what, seed_));
  }

  Engine& engine_;
  const uint64_t seed_;
  SeededRandom random_;
  Pinner* pinner_ = nullptr;
  Model model_;
  std::vector<Reading> readings_;
};

}  // namespace

Status CheckPins(Engine& engine, uint64_t seed, int rounds) {
  return Check(engine, seed).Run(rounds);
}

}  // namespace stator::kv
