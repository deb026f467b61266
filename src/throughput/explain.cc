// Why a request was refused, in words and figures, and what would fix it.
#include <fmt/format.h>

#include <algorithm>

#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

// A collection is called hot when it has this part of its partition's heat.
constexpr double kHotShare = 0.5;

std::string UnitName(Access access) { return access == Access::kRead ? "read" : "write"; }

}  // namespace

Explanation Resource::Explain(int64_t now_micros, const Verdict& refusal) const {
  Explanation e;
  e.resource = name();
  e.index = is_index();
  e.reason = ReasonCode(is_index(), refusal.access, refusal.limit);
  e.exception = ThrottleException(billing(), refusal.limit);
  e.partition = refusal.partition;
  const size_t a = static_cast<size_t>(refusal.access);
  {
    const MutexLock lock(mutex_);
    const Layout& layout = layout_.Current();
    const double since =
        std::max(0.0, static_cast<double>(now_micros - window_start_micros_) / 1e6);
    // Units asked for per second: since the window began or in the last one. While the window is
    // shorter than a second, what it has seen until now is the least that this second asks for.
    const auto demand_of = [&](const Partition& p) {
      int64_t asked = p.side[a].consumed.load(std::memory_order_relaxed) - p.consumed_at_window[a] -
                      p.refused_at_window[a];
      for (const auto& counter : p.refused[a]) asked += counter.load(std::memory_order_relaxed);
      const double current = HalvesToUnits(asked) / std::max(since, 1.0);
      return std::max(current, p.last_rate[a] + p.last_refused[a]);
    };
    for (size_t i = 0; i < layout.size(); ++i) {
      Partition& p = layout.At(i);
      const bool mine = p.id == refusal.partition;
      if (mine || refusal.limit != Limit::kKeyRange) e.demand += demand_of(p);
      if (!mine) continue;
      e.range = layout.RangeOf(i);
      e.obstacle = p.obstacle;
      if (definition_.billing == Billing::kProvisioned)
        e.partition_share = definition_.provisioned.Of(refusal.access) * p.weight;
      const ObservationLock look(p);
      HeavyHitters seen = p.seen.last_collections;
      seen.Merge(p.seen.collections);
      // What a split would find, if it has not been tried yet.
      const std::vector<HeavyKey> items = p.seen.items.Top(1);
      if (e.obstacle == SplitObstacle::kNone && !items.empty() &&
          items[0].weight - items[0].overestimate >
              (1 - settings_.heat_min_side) * p.seen.items.total()) {
        e.obstacle = SplitObstacle::kSingleKey;
      }
      e.hottest = Readable(seen.Top(10));
      if (!e.hottest.empty() && seen.total() > 0)
        e.hottest_share = std::min(1.0, e.hottest[0].weight / seen.total());
    }
    const double most = refusal.access == Access::kRead ? settings_.partition_read_units
                                                        : settings_.partition_write_units;
    double part = shared() ? definition_.grant->Whole(definition_.tablet)[a] : 1;
    switch (refusal.limit) {
      case Limit::kProvisioned:
        e.limit = definition_.billing == Billing::kProvisioned
                      ? definition_.provisioned.Of(refusal.access)
                      : capacity_[a].rate();
        break;
      case Limit::kMaxOnDemand:
        e.limit = (refusal.access == Access::kRead ? definition_.max_read : definition_.max_write)
                      .value_or(capacity_[a].rate());
        break;
      case Limit::kAccount:
        e.limit = refusal.access == Access::kRead ? settings_.table_quota_read_units
                                                  : settings_.table_quota_write_units;
        break;
      case Limit::kKeyRange:
        e.limit =
            definition_.billing == Billing::kProvisioned && settings_.adaptive != Adaptive::kInstant
                ? std::min(most, e.partition_share)
                : most;
        if (shared()) part = definition_.grant->Least(definition_.tablet, e.range)[a];
        break;
    }
    e.granted = e.limit * part;
  }
  e.advice = Advice(e, refusal);
  return e;
}

std::vector<std::string> Resource::Advice(const Explanation& e, const Verdict& refusal) const {
  std::vector<std::string> advice;
  const bool write = refusal.access == Access::kWrite;
  const std::string units = UnitName(refusal.access);
  const std::string what = is_index() ? "index" : "table";
  if (is_index() && write) {
    advice.push_back(
        fmt::format("Writes of the table wait for its index {}: the index needs as many write "
                    "units as its entries take.",
                    e.resource));
  }
  switch (refusal.limit) {
    case Limit::kProvisioned:
      advice.push_back(
          fmt::format("Raise the {} capacity of the {} to {:.0f} units or more (it has {:.0f}), "
                      "let auto scaling do it, "
                      "or switch to on-demand.",
                      units, what, std::max(e.demand, e.limit + 1), e.limit));
      break;
    case Limit::kMaxOnDemand:
      advice.push_back(
          fmt::format("OnDemandThroughput allows {:.0f} {} units per second and at least {:.0f} "
                      "are asked for: raise or remove it.",
                      e.limit, units, std::max(e.demand, e.limit + 1)));
      break;
    case Limit::kAccount:
      advice.push_back(
          fmt::format("The quota of the {} is {:.0f} {} units per second: ask for a higher one, or "
                      "spread the data over "
                      "several tables.",
                      what, e.limit, units));
      break;
    case Limit::kKeyRange: {
      const double most = write ? settings_.partition_write_units : settings_.partition_read_units;
      const bool hot = e.hottest_share >= kHotShare && !e.hottest.empty();
      if (e.limit < most) {
        advice.push_back(
            fmt::format("The partition has {:.0f} of the table's {} units as its share: spread the "
                        "load over more partition keys{}.",
                        e.limit, units,
                        settings_.adaptive == Adaptive::kOff
                            ? ""
                            : ", or let adaptive capacity lend it what others leave"));
      }
      if (hot && (write || e.obstacle == SplitObstacle::kSingleKey ||
                  e.obstacle == SplitObstacle::kMovingKey)) {
        const double heat = e.demand * e.hottest_share;
        const EvenLoad even = ValuesForEvenLoad(heat, most, partition_count());
        advice.push_back(fmt::format(
            "{:.0f}% of the partition's heat is the partition key \"{}\": spread it over at least "
            "{} values with a random or computed suffix{}.",
            100 * e.hottest_share, e.hottest[0].partition,
            std::max<int64_t>(2, ShardsNeeded(heat, refusal.access, settings_)),
            even.partitions < 2 ? ""
                                : fmt::format(", better {}, which load {} partitions evenly",
                                              even.values, even.partitions)));
      }
      if (hot && !write) {
        advice.push_back(
            "Cache the hot items, or read them eventually consistent: that costs half.");
      }
      if (settings_.split_for_heat &&
          (e.obstacle == SplitObstacle::kNone || e.obstacle == SplitObstacle::kTooFewSamples)) {
        advice.push_back(
            hot ? "If the heat lasts some minutes, the partition splits inside this key's items, "
                  "unless their sort keys only rise."
                : "The partition splits by itself when the heat lasts some minutes; set "
                  "WarmThroughput "
                  "(or create the table "
                  "with more capacity) before traffic that is known to come.");
      }
      if (e.obstacle == SplitObstacle::kLocalIndexes) {
        advice.push_back(
            "Without local indexes the collection could be split along its sort key: use global "
            "ones.");
      }
      break;
    }
  }
  return advice;
}

}  // namespace stator::throughput
