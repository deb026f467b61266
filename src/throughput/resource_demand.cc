// Demand: the units that requests ask for in a second under a limit that refuses some of them.
// Measured between two calls of Advance, from counters that requests update anyway.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "throughput/key_hash.h"
#include "throughput/resource.h"
#include "throughput/spread.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

// A second counts as ended after this time. It is shorter than a second because Advance is called
// about once a second, sometimes earlier.
constexpr int64_t kSecondMicros = 950'000;
// A partition is the leader of a second if it has this part of the second's requests.
constexpr double kLeads = 0.6;
constexpr size_t kLeastPartitions = 3;  // of which one can lead
constexpr int kLeaderSeconds = 128;     // at this number, counts are halved: old ones fade

double RatioOf(const Explanation& e) { return e.granted > 0 ? e.demand / e.granted : 0; }

// Whether what was refused at that time belongs to a second before the one that began then.
bool HasEnded(int64_t at_micros, int64_t second_start_micros) {
  return at_micros < second_start_micros;
}

// Whether the account of the open second, which began at that time, is to be told in place of the
// one that is known. Of equal seconds the first is told; of one second, the newest account.
bool IsWorse(const Explanation& open, const Explanation& known, int64_t second_start_micros) {
  if (RatioOf(open) == RatioOf(known)) return !HasEnded(known.at_micros, second_start_micros);
  return RatioOf(open) > RatioOf(known);
}

// Returns the end of the time to which the counted demand belongs; the last refusal was at
// `refused_at`. It is now, because requests were served after the refusal, too. But if the clock
// has jumped since, or goes in steps, it is the time of the refusal.
int64_t CountedUntil(const ModelSettings& settings, int64_t refused_at, int64_t now_micros) {
  constexpr int64_t kJumpMicros = 2'000'000;
  const bool jumped = settings.moment_seconds > 0 || now_micros - refused_at > kJumpMicros;
  return jumped ? refused_at : std::max(refused_at, now_micros);
}

// Whether the plan of the second's worst partition names the hot key of this other one, which was
// refused in the same second: then both have one number of suffixes.
bool PlansFor(const Explanation& worst, const Explanation& other, int64_t other_at_micros) {
  if (!IsHot(other) || std::abs(worst.at_micros - other_at_micros) > kSecondMicros) return false;
  const std::vector<std::string>& also = worst.spread.also;
  return std::find(also.begin(), also.end(), other.hottest[0].partition) != also.end();
}

}  // namespace

double Resource::SecondsOfDemand(int64_t until_micros) const {
  const double seconds =
      static_cast<double>(until_micros - second_start_micros_) / 1e6 + settings_.moment_seconds;
  return std::max(1.0, seconds);
}

int64_t Resource::AskedInSecond(const Partition& p, size_t a) const {
  int64_t asked = p.side[a].consumed.load(std::memory_order_relaxed) - p.consumed_at_second[a];
  for (size_t l = 0; l < kLimits; ++l)
    asked += p.refused[a][l].load(std::memory_order_relaxed) - p.refused_at_second[a][l];
  return asked;
}

bool Resource::IsKept(int64_t at_micros, int64_t now_micros) const {
  return static_cast<double>(now_micros - at_micros) <= settings_.worst_kept_seconds * 1e6;
}

double Resource::LimitOf(Access access, Limit limit, const Partition* p) const {
  const size_t a = static_cast<size_t>(access);
  const double most =
      access == Access::kRead ? settings_.partition_read_units : settings_.partition_write_units;
  switch (limit) {
    case Limit::kProvisioned:
      return definition_.billing == Billing::kProvisioned ? definition_.provisioned.Of(access)
                                                          : capacity_[a].rate();
    case Limit::kMaxOnDemand:
      return (access == Access::kRead ? definition_.max_read : definition_.max_write)
          .value_or(capacity_[a].rate());
    case Limit::kAccount:
      return access == Access::kRead ? settings_.table_quota_read_units
                                     : settings_.table_quota_write_units;
    case Limit::kKeyRange:
      if (p == nullptr || definition_.billing != Billing::kProvisioned ||
          settings_.adaptive == Adaptive::kInstant) {
        return most;
      }
      return std::min(most, definition_.provisioned.Of(access) * p->weight);
  }
  return most;
}

std::optional<Explanation> Resource::WorstOfSecond(Access access, Limit limit) const {
  const size_t a = static_cast<size_t>(access), l = static_cast<size_t>(limit);
  const Layout& layout = layout_.Current();
  int64_t all = 0, its = 0, last = second_start_micros_;
  double worst = -1;
  const Partition* found = nullptr;
  for (size_t i = 0; i < layout.size(); ++i) {
    const Partition& p = layout.At(i);
    const int64_t asked = AskedInSecond(p, a);
    all += asked;
    const int64_t refused =
        p.refused[a][l].load(std::memory_order_relaxed) - p.refused_at_second[a][l];
    if (refused <= 0) continue;
    last = std::max(last, p.refused_at[a].load(std::memory_order_relaxed));
    const double ratio = limit == Limit::kKeyRange
                             ? static_cast<double>(asked) / LimitOf(access, limit, &p)
                             : static_cast<double>(refused);
    if (ratio <= worst) continue;
    worst = ratio;
    its = asked;
    found = &p;
  }
  if (found == nullptr) return std::nullopt;
  Explanation e = Describe(access, limit, found->id);
  e.at_micros = last;
  const double seconds = SecondsOfDemand(CountedUntil(settings_, last, advanced_micros_));
  e.demand = std::max(e.granted, HalvesToUnits(limit == Limit::kKeyRange ? its : all) / seconds);
  return e;
}

// Counts the second for the partition that has nearly all of its requests.
void Resource::FollowLeader(Access access) {
  const size_t a = static_cast<size_t>(access);
  const Layout& layout = layout_.Current();
  if (layout.size() < kLeastPartitions) return;
  int64_t all = 0, most = 0;
  uint64_t id = 0;
  for (size_t i = 0; i < layout.size(); ++i) {
    const int64_t asked = AskedInSecond(layout.At(i), a);
    all += asked;
    if (asked <= most) continue;
    most = asked;
    id = layout.At(i).id;
  }
  if (all == 0 || static_cast<double>(most) < kLeads * static_cast<double>(all)) return;
  Leader& leader = leaders_[a];
  if (leader.partition != 0 && leader.partition != id) ++leader.changes;
  leader.partition = id;
  if (++leader.seconds < kLeaderSeconds) return;
  leader.seconds /= 2;
  leader.changes /= 2;
}

void Resource::CloseSecond(int64_t now_micros, bool begin_next) {
  const Layout& layout = layout_.Current();
  const bool over = begin_next || now_micros - second_start_micros_ >= kSecondMicros;
  std::array<std::array<bool, kLimits>, kAccesses> refused{};
  for (size_t i = 0; i < layout.size(); ++i) {
    const Partition& p = layout.At(i);
    for (size_t a = 0; a < kAccesses; ++a) {
      for (size_t l = 0; l < kLimits; ++l)
        refused[a][l] |=
            p.refused[a][l].load(std::memory_order_relaxed) != p.refused_at_second[a][l];
    }
  }
  for (size_t a = 0; a < kAccesses; ++a) {
    const Access access = static_cast<Access>(a);
    for (size_t l = 0; l < kLimits; ++l) {
      if (!refused[a][l]) continue;
      const Limit limit = static_cast<Limit>(l);
      std::optional<Explanation> now = WorstOfSecond(access, limit);
      if (!now) continue;
      Moment& moment = moments_[{access, limit}];
      const bool kept = moment.what.demand > 0 && moment.epoch == capacity_epoch_ &&
                        IsKept(moment.what.at_micros, now_micros);
      // The account of a second that has ended stands until a worse one has ended.
      if (kept && !over && HasEnded(moment.what.at_micros, second_start_micros_)) continue;
      if (kept && !IsWorse(*now, moment.what, second_start_micros_)) continue;
      // Once a second, because it takes a moment; what is asked for meanwhile is planned anew.
      if (limit == Limit::kKeyRange && over) {
        const double seconds = SecondsOfDemand(now->at_micros);
        PlanForHottest(
            {settings_, definition_, layout}, access,
            [&](const Partition& p)
                REQUIRES(mutex_) { return HalvesToUnits(AskedInSecond(p, a)) / seconds; },
            &*now);
      }
      moment = {std::move(*now), capacity_epoch_};
    }
    constexpr size_t kRange = static_cast<size_t>(Limit::kKeyRange);
    for (size_t i = 0; refused[a][kRange] && i < layout.size(); ++i) {
      Partition& p = layout.At(i);
      if (p.refused[a][kRange].load(std::memory_order_relaxed) == p.refused_at_second[a][kRange])
        continue;
      const int64_t at = p.refused_at[a].load(std::memory_order_relaxed);
      const double seconds = SecondsOfDemand(CountedUntil(settings_, at, now_micros));
      const double demand = HalvesToUnits(AskedInSecond(p, a)) / seconds;
      Partition::Worst& worst = p.worst[a];
      const bool kept = worst.epoch == capacity_epoch_ && IsKept(worst.at_micros, now_micros);
      if (kept && !over && HasEnded(worst.at_micros, second_start_micros_)) continue;
      if (!kept || demand > worst.demand ||
          (demand == worst.demand && !HasEnded(worst.at_micros, second_start_micros_))) {
        worst = {demand, at, capacity_epoch_};
      }
    }
  }
  if (!over) return;
  for (size_t a = 0; a < kAccesses; ++a) FollowLeader(static_cast<Access>(a));
  second_start_micros_ = now_micros;
  for (size_t i = 0; i < layout.size(); ++i) {
    Partition& p = layout.At(i);
    for (size_t a = 0; a < kAccesses; ++a) {
      p.consumed_at_second[a] = p.side[a].consumed.load(std::memory_order_relaxed);
      for (size_t l = 0; l < kLimits; ++l)
        p.refused_at_second[a][l] = p.refused[a][l].load(std::memory_order_relaxed);
    }
  }
}

std::optional<Explanation> Resource::Worst(int64_t now_micros, Access access, Limit limit) const {
  const MutexLock lock(mutex_);
  std::optional<Explanation> e = WorstOfSecond(access, limit);
  if (e && !IsKept(e->at_micros, now_micros)) e.reset();
  const bool over = now_micros - second_start_micros_ >= kSecondMicros;
  const auto found = moments_.find({access, limit});
  if (found != moments_.end() && IsKept(found->second.what.at_micros, now_micros)) {
    const Moment& moment = found->second;
    const bool stands = !over && HasEnded(moment.what.at_micros, second_start_micros_);
    const bool newer = e && (moment.epoch != capacity_epoch_ ||
                             (!stands && IsWorse(*e, moment.what, second_start_micros_)));
    if (!newer) e = moment.what;
  }
  if (!e) return std::nullopt;
  const Layout& layout = layout_.Current();
  e->so_far = !over && !HasEnded(e->at_micros, second_start_micros_);
  // Make no plan from a second that has not ended: a moment later the plan would be another one.
  if (limit == Limit::kKeyRange && e->spread.partitions == 0 && !e->so_far) {
    const double seconds = SecondsOfDemand(e->at_micros);
    const size_t a = static_cast<size_t>(access);
    PlanForHottest(
        {settings_, definition_, layout}, access,
        [&](const Partition& p)
            REQUIRES(mutex_) { return HalvesToUnits(AskedInSecond(p, a)) / seconds; },
        &*e);
  }
  // Why the partition is not split is known minutes later, and more of the order of its keys. Where
  // it was split since, the one that has its hottest key knows.
  size_t at = layout.size();
  for (size_t i = 0; i < layout.size() && at == layout.size(); ++i) {
    if (layout.At(i).id == e->partition) at = i;
  }
  if (at == layout.size() && !e->hottest.empty()) at = layout.Find({e->hottest[0].hash, {}, {}});
  if (at < layout.size()) {
    Partition& p = layout.At(at);
    if (p.obstacle != SplitObstacle::kNone) e->obstacle = p.obstacle;
    if (!e->hottest.empty()) {
      const ObservationLock look(p);
      const KeyOrder order = p.seen().heat.OrderWithin(e->hottest[0].hash);
      if (order != KeyOrder::kUnknown) e->order = order;
    }
  }
  Advise(access, limit, &*e);
  return e;
}

std::optional<Explanation> Resource::Busiest(int64_t until_micros, Access access,
                                             double least) const {
  const MutexLock lock(mutex_);
  const size_t a = static_cast<size_t>(access);
  const Layout& layout = layout_.Current();
  int64_t most = 0;
  uint64_t id = 0;
  for (size_t i = 0; i < layout.size(); ++i) {
    const int64_t asked = AskedInSecond(layout.At(i), a);
    if (asked <= most) continue;
    most = asked;
    id = layout.At(i).id;
  }
  const double seconds = SecondsOfDemand(until_micros);
  const double demand = HalvesToUnits(most) / seconds;
  if (most == 0 || demand < least) return std::nullopt;
  Explanation e = Describe(access, Limit::kKeyRange, id);
  e.at_micros = until_micros;
  e.demand = demand;
  PlanForHottest(
      {settings_, definition_, layout}, access,
      [&](const Partition& p)
          REQUIRES(mutex_) { return HalvesToUnits(AskedInSecond(p, a)) / seconds; },
      &e);
  Advise(access, Limit::kKeyRange, &e);
  return e;
}

Explanation Resource::Explain(int64_t now_micros, const Verdict& refusal) const {
  const MutexLock lock(mutex_);
  const size_t a = static_cast<size_t>(refusal.access);
  Explanation e = Describe(refusal.access, refusal.limit, refusal.partition);
  e.at_micros = now_micros;
  int64_t asked = 0;
  Partition::Worst worst;
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i) {
    const Partition& p = layout.At(i);
    if (refusal.limit != Limit::kKeyRange || p.id == refusal.partition)
      asked += AskedInSecond(p, a);
    if (p.id == refusal.partition) worst = p.worst[a];
  }
  const auto found = moments_.find({refusal.access, refusal.limit});
  if (refusal.limit != Limit::kKeyRange) {
    worst = {};
    if (found != moments_.end())
      worst = {found->second.what.demand, found->second.what.at_micros, found->second.epoch};
  }
  const double seconds = SecondsOfDemand(now_micros);
  e.demand = HalvesToUnits(asked) / seconds;
  const bool key_range = refusal.limit == Limit::kKeyRange;
  const bool known = worst.epoch == capacity_epoch_ && IsKept(worst.at_micros, now_micros);
  // The plan for a hot key is made from a second that has ended. So the demand that is reported
  // with the plan is that second's.
  const bool over = now_micros - second_start_micros_ >= kSecondMicros;
  const bool ended = known && HasEnded(worst.at_micros, second_start_micros_);
  if (known && (worst.demand > e.demand || (ended && !over))) {
    e.demand = worst.demand;
    e.at_micros = worst.at_micros;
  }
  e.demand = std::max(e.demand, e.granted);
  e.so_far = !over && !HasEnded(e.at_micros, second_start_micros_);
  if (key_range && (ended || over)) {
    // Use the plan of the resource's worst second, if that second was also this partition's worst.
    const Explanation* of_all = found != moments_.end() && found->second.epoch == capacity_epoch_ &&
                                        found->second.what.spread.partitions > 0 &&
                                        worst.demand >= e.demand
                                    ? &found->second.what
                                    : nullptr;
    if (of_all != nullptr && of_all->partition == refusal.partition) {
      e.spread = of_all->spread;
      e.advice = of_all->advice;
    } else if (of_all != nullptr && PlansFor(*of_all, e, worst.at_micros)) {
      e.spread = of_all->spread;
      e.advice = {
          fmt::format("Give as many to \"{}\": it is hotter.", of_all->hottest[0].partition)};
    } else {
      // A second that has just begun knows little of other partitions: the last window does.
      PlanForHottest(
          {settings_, definition_, layout}, refusal.access,
          [&](const Partition& p) REQUIRES(mutex_) {
            return std::max(HalvesToUnits(AskedInSecond(p, a)) / seconds,
                            p.last_rate[a] + p.last_refused[a]);
          },
          &e);
    }
  }
  Advise(refusal.access, refusal.limit, &e);
  return e;
}

SpreadPlan Resource::PlanSpread(std::string_view key, Access access,
                                double units_per_second) const {
  const MutexLock lock(mutex_);
  return PlanSpreadLocked(key, access, units_per_second);
}

// Plans the spread beside the load of the last window or of the open one, whichever is larger.
SpreadPlan Resource::PlanSpreadLocked(std::string_view key, Access access,
                                      double units_per_second) const {
  const size_t a = static_cast<size_t>(access);
  const double open = static_cast<double>(advanced_micros_ - window_start_micros_) / 1e6;
  const SpreadOn on{settings_, definition_, layout_.Current()};
  LoadMap load = MapLoad(on, access, [&](const Partition& p) {
    double units = p.last_rate[a] + p.last_refused[a];
    if (open < 1) return units;
    int64_t asked = p.side[a].consumed.load(std::memory_order_relaxed) - p.consumed_at_window[a] -
                    p.refused_at_window[a];
    for (size_t l = 0; l < kLimits; ++l) asked += p.refused[a][l].load(std::memory_order_relaxed);
    return std::max(units, HalvesToUnits(asked) / open);
  });
  // A key that is no string has another hash than its text.
  uint64_t hash = HashOfStringKey(key);
  for (const KeyLoadPoint& known : load.keys) {
    if (known.key == key ||
        (definition_.readable_partition && definition_.readable_partition(known.key) == key))
      hash = known.hash;
  }
  return PlanSpreadBeside(on, access, {hash, units_per_second, std::string(key)}, std::move(load))
      .plan;
}

}  // namespace stator::throughput
