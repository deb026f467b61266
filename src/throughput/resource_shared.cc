// A resource of which other processes have a part: grants, and what is told to and heard from them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

// The least part of a grant whose use is reported to the other processes.
constexpr double kLeastUse = 1.0 / 64;
// The least part of a partition's maximum that a process must use for its keys to be considered in
// a split.
constexpr double kLeastHeat = 0.05;

bool Any(const Halves& halves) { return halves[0] != 0 || halves[1] != 0; }

// What was added since the last call.
Halves Since(const Halves& now, Halves* last) {
  Halves since;
  for (size_t a = 0; a < kAccesses; ++a) since[a] = now[a] - (*last)[a];
  *last = now;
  return since;
}

}  // namespace

// Sets the weights of the partitions to their parts of the hash space. Partitions inside a divided
// item collection share the part of that collection's range evenly.
void Resource::Reweigh(const Layout& layout) {
  for (size_t i = 0; i < layout.size();) {
    size_t end = i + 1;
    while (end < layout.size() && !layout.RangeOf(end).from.sort.empty()) ++end;
    const KeyRange first = layout.RangeOf(i);
    const KeyRange last = layout.RangeOf(end - 1);
    const double share = KeyRange{first.from, last.to, last.to_end}.HashShare();
    for (size_t k = i; k < end; ++k) layout.At(k).weight = share / static_cast<double>(end - i);
    i = end;
  }
}

Units Resource::SetGrant(int64_t now_micros, std::shared_ptr<const Grant> grant,
                         const Units& moved) {
  const MutexLock lock(mutex_);
  const int64_t now = Nanos(now_micros);
  definition_.grant = std::move(grant);
  Units before{};
  for (size_t a = 0; a < kAccesses; ++a) before[a] = capacity_[a].Tokens(now);
  SetBuckets(now);
  Units surrendered{};
  if (definition_.billing != Billing::kProvisioned) return surrendered;
  for (size_t a = 0; a < kAccesses; ++a) {
    surrendered[a] = std::max(0.0, before[a] - capacity_[a].Tokens(now));
    if (moved[a] > 0) capacity_[a].Give(now, moved[a]);
  }
  return surrendered;
}

void Resource::EndGrant(int64_t now_micros) {
  static const auto kNothing = std::make_shared<const Grant>();
  const MutexLock lock(mutex_);
  const int64_t now = Nanos(now_micros);
  definition_.grant = kNothing;
  SetBuckets(now);
  const Layout& layout = layout_.Current();
  for (size_t a = 0; a < kAccesses; ++a) {
    capacity_[a].Empty(now);
    quota_[a].Empty(now);
    for (size_t i = 0; i < layout.size(); ++i) {
      layout.At(i).side[a].maximum.Empty(now);
      layout.At(i).side[a].share.Empty(now);
    }
  }
}

void Resource::SetDecides(bool decides) {
  const MutexLock lock(mutex_);
  decides_ = decides;
}

std::optional<ResourceUse> Resource::TakeUse(double seconds) {
  const MutexLock lock(mutex_);
  ResourceUse use;
  use.whole.used = Since(ConsumedHalves(), &consumed_at_use_);
  Halves refused{};
  for (size_t l = 0; l < kLimits; ++l) {
    const Halves its = RefusedHalves(static_cast<Limit>(l));
    for (size_t a = 0; a < kAccesses; ++a) refused[a] += its[a];
  }
  use.whole.refused = Since(refused, &refused_at_use_);

  const auto matters = [seconds](const LimitUse& of, size_t a, const TokenBucket& bucket) {
    return HalvesToUnits(of.used[a] + of.refused[a]) > kLeastUse * seconds * bucket.rate();
  };
  bool worth_it = false;
  for (size_t a = 0; a < kAccesses; ++a) {
    worth_it |= matters(use.whole, a, capacity_[a].unlimited() ? quota_[a] : capacity_[a]);
  }
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i) {
    Partition& p = layout.At(i);
    RangeUse of;
    bool hot = false, used = false;
    for (size_t a = 0; a < kAccesses; ++a) {
      const int64_t consumed = p.side[a].consumed.load(std::memory_order_relaxed);
      int64_t refusals = 0;
      for (const auto& of_limit : p.refused[a])
        refusals += of_limit.load(std::memory_order_relaxed);
      of.use.used[a] = consumed - std::exchange(p.consumed_at_use[a], consumed);
      of.use.refused[a] = refusals - std::exchange(p.refused_at_use[a], refusals);
      const double most = a == 0 ? settings_.partition_read_units : settings_.partition_write_units;
      hot |= HalvesToUnits(of.use.used[a]) > kLeastHeat * seconds * most;
      used |= matters(of.use, a, p.side[a].maximum);
    }
    if (!Any(of.use.used) && !Any(of.use.refused)) continue;
    {
      const ObservationLock look(p);
      if (KeyObservation* const seen = p.observation.get(); seen != nullptr && seen->last) {
        if (hot) of.keys = seen->last->points();
        seen->last->Clear();
      }
    }
    if (!used) continue;
    of.range = layout.RangeOf(i);
    use.ranges.push_back(std::move(of));
  }
  if (!worth_it && use.ranges.empty()) return std::nullopt;
  return use;
}

std::optional<Parts> Resource::Granted() const {
  const MutexLock lock(mutex_);
  if (!shared()) return std::nullopt;
  return definition_.grant->Whole(definition_.tablet);
}

SharedLimits Resource::Limits() const {
  const MutexLock lock(mutex_);
  const bool provisioned = definition_.billing == Billing::kProvisioned;
  SharedLimits limits;
  limits.window_seconds = provisioned ? settings_.burst_seconds : settings_.maximum_burst_seconds;
  for (size_t a = 0; a < kAccesses; ++a) {
    const Access access = static_cast<Access>(a);
    const std::optional<double>& most = a == 0 ? definition_.max_read : definition_.max_write;
    const double quota =
        a == 0 ? settings_.table_quota_read_units : settings_.table_quota_write_units;
    limits.whole[a] = provisioned         ? definition_.provisioned.Of(access)
                      : most && quota > 0 ? std::min(*most, quota)
                                          : most.value_or(quota);
    limits.partition[a] = a == 0 ? settings_.partition_read_units : settings_.partition_write_units;
    // The shares of partitions are divided as their maxima are.
    if (provisioned && settings_.adaptive != Adaptive::kInstant) {
      limits.partition[a] = std::min(
          limits.partition[a], limits.whole[a] / static_cast<double>(layout_.Current().size()));
    }
  }
  return limits;
}

void Resource::AddForeign(const ResourceUse& use) {
  const MutexLock lock(mutex_);
  for (size_t a = 0; a < kAccesses; ++a) {
    foreign_[a] += use.whole.used[a];
    foreign_let_pass_[a] += use.let_pass[a];
  }
  const Layout& layout = layout_.Current();
  for (const RangeUse& of : use.ranges) {
    const double weight =
        (HalvesToUnits(of.use.used[0]) + HalvesToUnits(of.use.used[1]) * write_weight_) /
        static_cast<double>(std::max<size_t>(1, of.keys.size()));
    for (const KeyBound& key : of.keys) {
      const KeyPoint point{key.hash, key.sort, {}};
      Partition& p = layout.At(layout.Find(point));
      const ObservationLock look(p);
      Observed(p).heat.Add(point, weight);
    }
    // The other process may not have heard yet of how this range was split.
    const size_t first = layout.Find({of.range.from.hash, of.range.from.sort, {}});
    size_t end = first + 1;
    while (end < layout.size() && Overlap(layout.RangeOf(end), of.range)) ++end;
    for (size_t i = first; i < end; ++i) {
      for (size_t a = 0; a < kAccesses; ++a)
        layout.At(i).foreign[a] += of.use.used[a] / static_cast<int64_t>(end - first);
    }
  }
}

Rates Resource::foreign() const {
  const MutexLock lock(mutex_);
  return {HalvesToUnits(foreign_[0] + foreign_let_pass_[0]),
          HalvesToUnits(foreign_[1] + foreign_let_pass_[1])};
}

void Resource::SetTotals(int64_t bytes, int64_t items) {
  const MutexLock lock(mutex_);
  const Layout& layout = layout_.Current();
  int64_t more_bytes = bytes, more_items = items, written = 0;
  for (size_t i = 0; i < layout.size(); ++i) {
    const Partition& p = layout.At(i);
    more_bytes -= p.bytes.load(std::memory_order_relaxed);
    more_items -= p.items.load(std::memory_order_relaxed);
    written += p.foreign[1] - p.foreign_at_totals;
  }
  double before = 0;
  for (size_t i = 0; i < layout.size(); ++i) {
    Partition& p = layout.At(i);
    // Where others have written since the last time, or evenly.
    const int64_t its = p.foreign[1] - std::exchange(p.foreign_at_totals, p.foreign[1]);
    const double part =
        written > 0 ? static_cast<double>(its) / static_cast<double>(written) : p.weight;
    // Each partition gets its part of the remainder, so that rounding loses nothing.
    const double of_rest =
        i + 1 == layout.size() || before >= 1 ? 1 : std::min(1.0, part / (1 - before));
    const int64_t its_bytes = std::llround(of_rest * static_cast<double>(more_bytes));
    const int64_t its_items = std::llround(of_rest * static_cast<double>(more_items));
    before += part;
    more_bytes -= its_bytes;
    more_items -= its_items;
    p.bytes.fetch_add(its_bytes, std::memory_order_relaxed);
    p.items.fetch_add(its_items, std::memory_order_relaxed);
  }
}

void Resource::RaiseReady(Rates ready) {
  const MutexLock lock(mutex_);
  ready_.read = std::max(ready_.read, ready.read);
  ready_.write = std::max(ready_.write, ready.write);
}

std::vector<KeyBound> Resource::InnerBounds() const {
  const Pin layout(layout_);
  std::vector<KeyBound> bounds;
  for (size_t i = 0; i < layout->size(); ++i) {
    KeyBound from = layout->RangeOf(i).from;
    if (!from.sort.empty()) bounds.push_back(std::move(from));
  }
  return bounds;
}

}  // namespace stator::throughput
