#include "kv/rewind_conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kv/pin.h"
#include "kv/rewind.h"

namespace stator::kv {
namespace {

constexpr Tablet kTable = {Space::kItems, 21};
constexpr Tablet kQueue = {Space::kLog, 22};
constexpr Tablet kTokens = {Space::kItems, 23};  // of groups: the first letter of a key
constexpr Tablet kOther = {Space::kItems, 24};
constexpr Tablet kTablets[] = {kTable, kQueue, kTokens, kOther};
constexpr size_t kPointsAtOnce = 4;

using Model = std::map<std::pair<Tablet, std::string>, std::string>;  // with stamps

std::string_view GroupOf(std::string_view key) { return key.substr(0, 1); }

struct Moment {
  std::unique_ptr<RewindPoint> point;
  std::string group;
  Model then;  // of what is watched
};

class Check {
 public:
  Check(Engine& engine, uint64_t seed) : engine_(engine), seed_(seed), random_(seed) {}

  Status Run(int rounds) {
    rewinder_ = engine_.rewinder();
    if (rewinder_ == nullptr) return InternalError("the engine is no Rewinder");
    for (int round = 0; round < rounds; ++round) {
      const uint64_t what = Below(40);
      if (what == 0) {
        TRY(Set());
      } else if (what <= 2 && !moments_.empty()) {
        TRY(Return(moments_[Below(moments_.size())]));
      } else {
        TRY(Apply(RandomBatch()));
        // Warms what the engine has in memory.
        if (Below(4) == 0) TRY(CompareRange());
      }
      if (Below(50) == 0) TRY(Compare());
    }
    TRY(Compare());
    moments_.clear();
    if (budget_->held() != 0) return Wrong("bytes held");
    return OkStatus();
  }

 private:
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  std::string Key() {
    std::string key = fmt::format("{}{:02}", static_cast<char>('a' + Below(3)), Below(30));
    if (Below(8) == 0) key += std::string(600, 'k');
    return key;
  }
  static bool IsWatched(const Moment& moment, Tablet tablet, std::string_view key) {
    if (tablet == kTokens) return GroupOf(key) == moment.group;
    return tablet == kTable || tablet == kQueue;
  }

  Batch RandomBatch() {
    Batch batch;
    const uint64_t what = Below(60);
    if (what == 0) batch.range_deletes.push_back({kTablets[Below(4)], "", ""});
    if (what == 1) batch.range_deletes.push_back({kTablets[Below(4)], Key(), ""});
    if (what < 6) batch.range_deletes.push_back({kTablets[Below(4)], Key(), Key()});
    std::map<std::pair<Tablet, std::string>, bool> named;
    for (uint64_t i = Below(5); i > 0; --i) {
      const Tablet tablet = kTablets[Below(4)];
      std::string key = Key();
      if (Below(12) == 0) {
        key = fmt::format("{}counter", static_cast<char>('a' + Below(3)));
        if (named.emplace(std::pair(tablet, key), true).second)
          batch.adds.push_back({tablet, key, static_cast<int64_t>(Below(100)) - 50});
        continue;
      }
      if (!named.emplace(std::pair(tablet, key), true).second) continue;
      if (Below(4) == 0) {
        batch.deletes.push_back({tablet, key});
      } else {
        std::string value(kStampBytes, '\0');
        value += fmt::format("{}", random_.Next());
        if (Below(6) == 0) value.resize(3'000, 'v');
        batch.puts.push_back({tablet, key, std::move(value)});
      }
    }
    return batch;
  }

  void ApplyToModel(const Batch& batch, uint64_t stamp) {
    for (const DeleteRange& range : batch.range_deletes) {
      std::erase_if(model_, [&](const auto& entry) {
        const auto& [tablet, key] = entry.first;
        return tablet == range.tablet && key >= range.begin &&
               (range.end.empty() || key < range.end);
      });
    }
    for (const Put& put : batch.puts) {
      std::string value = put.value;
      SetStamp(&value, stamp);
      model_[{put.tablet, put.key}] = std::move(value);
    }
    for (const Delete& gone : batch.deletes) model_.erase({gone.tablet, gone.key});
    for (const Add& add : batch.adds) {
      std::string& value = model_[{add.tablet, add.key}];
      const int64_t count = value.empty() ? 0 : CounterOf(value).value();
      value = EncodeCounter(stamp, count + add.delta);
    }
  }

  Status Apply(Batch batch) {
    if (batch.empty()) return OkStatus();
    const Batch copy = batch;
    ASSIGN_OR_RETURN(const uint64_t stamp, ApplyAndWait(engine_, std::move(batch)));
    ApplyToModel(copy, stamp);
    return OkStatus();
  }

  Status Set() {
    if (moments_.size() == kPointsAtOnce) moments_.erase(moments_.begin() + Below(kPointsAtOnce));
    Moment moment;
    moment.group = std::string(1, static_cast<char>('a' + Below(3)));
    std::vector<Watched> watched;
    watched.push_back({.tablet = kTable});
    watched.push_back({.tablet = kQueue});
    watched.push_back({.tablet = kTokens, .group_of = &GroupOf, .group = moment.group});
    moment.point = rewinder_->SetPoint(std::move(watched), budget_);
    for (const auto& [place, value] : model_) {
      if (IsWatched(moment, place.first, place.second)) moment.then.emplace(place, value);
    }
    moments_.push_back(std::move(moment));
    return OkStatus();
  }

  Status Return(Moment& moment) {
    const Model before = model_;
    Batch batch;
    if (Below(2) == 0) {
      batch.puts.push_back({kOther, Key(), std::string(kStampBytes, '\0') + "other"});
      if (Below(3) == 0) batch.range_deletes.push_back({kOther, "", ""});
      if (Below(3) == 0) {
        batch.guards.push_back({kOther, "b-guard", 1});
        bool visited = false;
        const Result<uint64_t> refused =
            moment.point->Rewind(batch, [&](Tablet, std::string_view, const std::string*,
                                            const std::string*) { visited = true; });
        if (refused.ok() || refused.error().code() != ErrorCode::kGuardFailed || visited)
          return Wrong("refusal");
        TRY(Compare());
        batch.guards.clear();
      }
    }
    const Batch copy = batch;
    // A reader from before sees what was.
    std::unique_ptr<PinnedRange> pin;
    if (Below(3) == 0 && engine_.pinner() != nullptr) {
      ASSIGN_OR_RETURN(pin, engine_.pinner()->Pin({kTable, "", ""}));
    }
    std::map<std::pair<Tablet, std::string>, int> visits;
    Status shown;
    const Result<uint64_t> stamp = moment.point->Rewind(
        std::move(batch),
        [&](Tablet tablet, std::string_view key, const std::string* now, const std::string* then) {
          const std::pair<Tablet, std::string> place(tablet, key);
          if (!IsWatched(moment, tablet, key) || ++visits[place] > 1) shown = Wrong("visit");
          if (!Same(before, place, now)) shown = Wrong("value before the return");
          if (!Same(moment.then, place, then)) shown = Wrong("value of the moment");
        });
    TRY(stamp);
    TRY(shown);
    for (const auto& [place, value] : before) {
      if (!IsWatched(moment, place.first, place.second)) continue;
      const auto then = moment.then.find(place);
      const bool differs = then == moment.then.end() || then->second != value;
      if (differs && !visits.contains(place)) return Wrong("number of visits");
    }
    ApplyToModel(copy, *stamp);
    std::erase_if(model_, [&](const auto& entry) {
      return IsWatched(moment, entry.first.first, entry.first.second);
    });
    for (const auto& [place, value] : moment.then) model_.emplace(place, value);
    if (moment.point->bytes() != 0) return Wrong("bytes after a return");
    if (pin != nullptr) TRY(ComparePin(*pin, before));
    return Compare();
  }

  static bool Same(const Model& model, const std::pair<Tablet, std::string>& place,
                   const std::string* value) {
    const auto found = model.find(place);
    return found == model.end() ? value == nullptr : value != nullptr && *value == found->second;
  }

  Status ComparePin(PinnedRange& pin, const Model& model) {
    size_t seen = 0;
    bool same = true;
    for (bool more = true; more;) {
      ASSIGN_OR_RETURN(more, pin.Next([&](std::string_view key, std::string_view value) {
        ++seen;
        const auto found = model.find({kTable, std::string(key)});
        same &= found != model.end() && found->second == value;
        return OkStatus();
      }));
    }
    const auto expected = static_cast<size_t>(std::count_if(
        model.begin(), model.end(), [](const auto& entry) { return entry.first.first == kTable; }));
    return same && seen == expected ? OkStatus() : Status(Wrong("pin"));
  }

  // Reads a range and some keys as a client does.
  Status CompareRange() {
    const Tablet tablet = kTablets[Below(4)];
    const std::string prefix(1, static_cast<char>('a' + Below(3)));
    std::string end = prefix;
    ++end.back();
    Model found;
    TRY(engine_.Scan({tablet, prefix, end, Below(2) == 0}, Tier::kAny,
                     [&](std::string_view key, std::string_view value) {
                       found.emplace(std::pair(tablet, std::string(key)), value);
                       return true;
                     }));
    const Model expected(model_.lower_bound({tablet, prefix}), model_.lower_bound({tablet, end}));
    if (found != expected) return Wrong("range");
    for (int i = 0; i < 4; ++i) {
      const std::pair<Tablet, std::string> place(tablet, Key());
      std::string value;
      ASSIGN_OR_RETURN(const bool there, engine_.Get(tablet, place.second, Tier::kAny, &value));
      if (!Same(model_, place, there ? &value : nullptr)) return Wrong("value");
    }
    return OkStatus();
  }

  Status Compare() {
    Model found;
    for (const Tablet tablet : kTablets) {
      TRY(engine_.Scan({tablet, "", ""}, Tier::kAny,
                       [&](std::string_view key, std::string_view value) {
                         found.emplace(std::pair(tablet, std::string(key)), value);
                         return true;
                       }));
    }
    if (found != model_) return Wrong("contents");
    return CompareRange();
  }

  Error Wrong(std::string_view what) const {
    return InternalError(fmt::format("a return has the wrong {}; seed {}", what, seed_));
  }

  Engine& engine_;
  const uint64_t seed_;
  SeededRandom random_;
  Rewinder* rewinder_ = nullptr;
  const std::shared_ptr<RewindBudget> budget_ = std::make_shared<RewindBudget>(64 << 20);
  Model model_;
  std::vector<Moment> moments_;
};

std::unique_ptr<RewindPoint> PointOf(Engine& engine, Tablet tablet,
                                     const std::shared_ptr<RewindBudget>& budget) {
  std::vector<Watched> watched;
  watched.push_back({.tablet = tablet});
  return engine.rewinder()->SetPoint(std::move(watched), budget);
}

Result<uint64_t> Return(RewindPoint& point) {
  return point.Rewind({}, [](Tablet, std::string_view, const std::string*, const std::string*) {});
}

Status PutMany(Engine& engine, Tablet tablet, int keys) {
  for (int from = 0; from < keys; from += 100) {
    Batch batch;
    for (int i = from; i < from + 100; ++i)
      batch.puts.push_back({tablet, fmt::format("k{}", i), std::string(kStampBytes + 10, 'v')});
    TRY(ApplyAndWait(engine, std::move(batch)));
  }
  return OkStatus();
}

}  // namespace

Status CheckRewinds(Engine& engine, uint64_t seed, int rounds) {
  return Check(engine, seed).Run(rounds);
}

Status CheckGivingUp(Engine& engine) {
  constexpr Tablet kLarge = {Space::kItems, 31}, kSmall = {Space::kItems, 32};
  const auto budget = std::make_shared<RewindBudget>(1 << 20);
  const std::unique_ptr<RewindPoint> large = PointOf(engine, kLarge, budget);
  const std::unique_ptr<RewindPoint> small = PointOf(engine, kSmall, budget);
  const std::unique_ptr<RewindPoint> idle = PointOf(engine, kLarge, budget);
  TRY(PutMany(engine, kSmall, 100));
  TRY(PutMany(engine, kLarge, 20'000));
  if (!large->given_up() || !idle->given_up()) return InternalError("a large point stays");
  if (small->given_up()) return InternalError("a small point is given up");
  if (large->bytes() != 0 || budget->held() != small->bytes())
    return InternalError("what was given up is held");
  const Result<uint64_t> returned = Return(*large);
  if (returned.ok() || returned.error().code() != ErrorCode::kUnavailable)
    return InternalError("a point that was given up returns");
  const std::unique_ptr<RewindPoint> anew = PointOf(engine, kLarge, budget);
  TRY(PutMany(engine, kLarge, 100));
  TRY(Return(*anew));
  TRY(Return(*small));
  bool any = false;
  TRY(engine.Scan({kSmall, "", ""}, Tier::kAny,
                  [&](std::string_view, std::string_view) { return any = true; }));
  return any ? Status(InternalError("keys are left")) : OkStatus();
}

}  // namespace stator::kv
