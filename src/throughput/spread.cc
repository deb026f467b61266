#include "throughput/spread.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "throughput/suffixes.h"

namespace stator::throughput {
namespace {

// A collection is called hot when it has this part of its partition's heat.
constexpr double kHotShare = 0.5;
// It is all of it from this part on.
constexpr double kAllShare = 0.995;
constexpr int kMostDoublings = 12;
constexpr size_t kMostHotKeys = 16;  // that one plan spreads
// A plan considers a key by itself only if the key asks for at least this part of a partition's
// maximum (kBusy), and at most kBusyKeys keys.
constexpr double kBusy = 0.1;
constexpr size_t kBusyKeys = 10;
// The maximum number of other keys that a plan gives suffixes before it adds partitions
// (kMostForRoom), and how often it doubles the partitions (kRoomDoublings). Each try takes some
// milliseconds.
constexpr size_t kMostForRoom = 8;
constexpr int kRoomDoublings = 1;
// A load that has this part of what the partitions can do fills them nearly. [A]: chance has to be
// averaged out over dozens of suffixes then.
constexpr double kNearlyFull = 0.65;

double MostOf(const ModelSettings& settings, Access access) {
  return access == Access::kRead ? settings.partition_read_units : settings.partition_write_units;
}

// Why the plan needs just that capacity.
std::string CapacityText(const Spread& spread, Billing billing, size_t partitions) {
  const std::string units = UnitsText(spread.plan.capacity);
  if (billing == Billing::kOnDemand) {
    return fmt::format("{} units are what {} partitions can do; there are {}.", units,
                       spread.plan.partitions, partitions);
  }
  if (spread.least_that_splits) {
    return fmt::format("{} units are the least that make {} partitions of {}.", units,
                       spread.plan.partitions, partitions);
  }
  return fmt::format("{} units are what was asked for and a fifth to spare.", units);
}

}  // namespace

LoadMap MapLoad(const SpreadOn& on, Access access, const UnitsOf& units_of) {
  LoadMap map;
  const double busy = kBusy * MostOf(on.settings, access);
  map.ranges.reserve(on.layout.size());
  for (size_t i = 0; i < on.layout.size(); ++i) {
    Partition& p = on.layout.At(i);
    const double units = units_of(p);
    map.total += units;
    double rest = units;
    if (units >= busy) {
      const ObservationLock look(p);
      HeavyHitters seen = p.seen().last_collections;
      seen.Merge(p.seen().collections);
      for (HeavyKey& key : seen.Top(kBusyKeys)) {
        const double its = units * (key.weight - key.overestimate) / seen.total();
        if (its < busy) continue;
        rest -= its;
        const auto same = std::find_if(map.keys.begin(), map.keys.end(),
                                       [&](const auto& known) { return known.hash == key.hash; });
        if (same != map.keys.end()) {
          same->units += its;
        } else {
          map.keys.push_back({key.hash, its, std::move(key.partition)});
        }
      }
    }
    // A part of one collection ends inside it: keys beside that one lie behind the last part.
    const KeyRange range = on.layout.RangeOf(i);
    if (range.InsideCollection() && !range.from.sort.empty()) continue;
    map.ranges.push_back(
        {range.from.hash + (range.from.sort.empty() ? 0 : 1), std::max(0.0, rest)});
  }
  return map;
}

Spread PlanSpreadBeside(const SpreadOn& on, Access access, const KeyLoadPoint& key, LoadMap all) {
  const ModelSettings& settings = on.settings;
  const ResourceDefinition& definition = on.definition;
  const bool provisioned = definition.billing == Billing::kProvisioned;
  const double most = MostOf(settings, access);
  const Access other = access == Access::kRead ? Access::kWrite : Access::kRead;
  const double other_most = MostOf(settings, other);
  std::vector<KeyLoadPoint> keys = {key};
  Spread spread;
  SpreadPlan& plan = spread.plan;
  for (const KeyLoadPoint& known : all.keys) {
    if (known.hash == key.hash) {
      keys[0].units = std::max(keys[0].units, known.units);  // all parts of its collection
    } else if (known.units >= kSuffixFill * most && keys.size() < kMostHotKeys) {
      // No number of suffixes of the one key makes room for the other.
      keys.push_back(known);
      if (definition.readable_partition) keys.back().key = definition.readable_partition(known.key);
      plan.also.push_back(keys.back().key);
    }
  }
  spread.as_hot = plan.also.size();
  std::vector<KeyLoadPoint> lesser;
  for (const KeyLoadPoint& known : all.keys) {
    if (std::none_of(keys.begin(), keys.end(),
                     [&](const KeyLoadPoint& hot) { return hot.hash == known.hash; }))
      lesser.push_back(known);
  }
  std::stable_sort(lesser.begin(), lesser.end(),
                   [](const KeyLoadPoint& a, const KeyLoadPoint& b) { return a.units > b.units; });
  if (lesser.size() > kMostForRoom) lesser.resize(kMostForRoom);
  for (KeyLoadPoint& known : lesser) {
    if (definition.readable_partition) known.key = definition.readable_partition(known.key);
  }
  double hot = 0;
  for (const KeyLoadPoint& each : keys) hot += each.units;
  const double total = std::max(hot, all.total);
  const double had = definition.provisioned.Of(access);
  double capacity = had;
  if (provisioned && capacity < total) capacity = std::ceil(total / kSuffixFill);
  std::vector<PlannedPartition> partitions;
  std::vector<double> weights;
  const Layout& layout = on.layout;
  for (size_t i = 0; i < layout.size(); ++i) {
    const KeyRange range = layout.RangeOf(i);
    // Suffixes make other collections than the one that is divided here.
    if (!range.from.sort.empty() && range.InsideCollection()) continue;
    partitions.push_back({range.from.hash + (range.from.sort.empty() ? 0 : 1), most, 0});
    weights.push_back(layout.At(i).weight);
  }
  // The part of a partition's maximum that the other kind of units takes of the heaviest one.
  const auto others_of = [&](double heaviest) {
    return provisioned ? definition.provisioned.Of(other) * heaviest / other_most : 0;
  };
  const auto heaviest_of = [&] { return *std::max_element(weights.begin(), weights.end()); };
  // Whether `capacity` makes more partitions than there are now.
  const auto splits_now = [&] {
    const double heaviest = heaviest_of();
    return provisioned && capacity != had &&
           capacity * heaviest / most + others_of(heaviest) > 1 + 1e-9;
  };
  // The least capacity that doubles the partitions.
  const auto least_of = [&] {
    const double heaviest = heaviest_of();
    return std::floor((1 - others_of(heaviest)) * most / heaviest) + 1;
  };
  const auto plan_for = [&](const std::vector<KeyLoadPoint>& spread_keys) {
    for (size_t i = 0; i < partitions.size(); ++i) {
      partitions[i].limit = provisioned && settings.adaptive != Adaptive::kInstant
                                ? std::min(most, std::max(capacity * weights[i], 1e-3))
                                : most;
    }
    AddOthers(all, spread_keys, &partitions);
    return PlanSuffixes(spread_keys, partitions);
  };
  const auto double_all = [&] {
    const std::vector<PlannedPartition> whole_ones =
        std::exchange(partitions, Doubled(partitions, most));
    std::vector<double> halves;
    for (size_t i = 0; i < whole_ones.size(); ++i) {
      const size_t next = halves.size() + 1;  // where the second half is, if there is one
      const bool two =
          next < partitions.size() &&
          (i + 1 == whole_ones.size() || partitions[next].start < whole_ones[i + 1].start);
      halves.insert(halves.end(), two ? 2 : 1, two ? weights[i] / 2 : weights[i]);
    }
    weights = std::move(halves);
  };
  const auto may_double = [&] {
    return 2 * static_cast<int64_t>(partitions.size()) <= settings.most_partitions;
  };
  std::vector<KeyLoadPoint> planned = keys;  // those of the plan
  bool more = false;
  for (int doubled = 0;; ++doubled) {
    const bool splits = splits_now();
    if (!splits) {
      const SuffixPlan found = plan_for(keys);
      plan.values = found.values;
      plan.partitions = static_cast<int64_t>(partitions.size());
      // Suffixes of other keys cost less than more partitions.
      size_t more_keys = 0;
      for (size_t n = 1; plan.values == 0 && doubled <= kRoomDoublings && more_keys < lesser.size();
           n *= 2) {
        more_keys = std::min(n, lesser.size());
        std::vector<KeyLoadPoint> with = keys;
        with.insert(with.end(), lesser.begin(),
                    lesser.begin() + static_cast<std::ptrdiff_t>(more_keys));
        const SuffixPlan roomier = plan_for(with);
        // 1: with suffixes for the others alone; that is no plan for this key.
        if (roomier.values <= 1) continue;
        plan.values = roomier.values;
        planned = std::move(with);
      }
      if (plan.values > 0) {
        for (size_t i = 0; i < more_keys; ++i) plan.also.push_back(lesser[i].key);
      } else {
        spread.others_fill |= found.others_fill;
      }
    }
    if (plan.values > 0 || doubled == kMostDoublings || !may_double()) break;
    if (!splits && provisioned) {
      const double least = least_of();
      if (least > capacity) spread.least_that_splits = true;
      capacity = std::max(capacity, least);
    }
    more = true;
    double_all();
  }
  if (!provisioned && more) capacity = static_cast<double>(partitions.size()) * most;
  if (more || (provisioned && capacity != had)) plan.capacity = capacity;
  double room = 0;
  for (const PlannedPartition& p : partitions) room += p.limit;
  if (plan.values > 1 && total >= kNearlyFull * room && may_double()) {
    plan.filled = total / room;
    if (provisioned) capacity = std::max(capacity, least_of());
    double_all();
    if (splits_now()) return spread;
    if (!provisioned) capacity = static_cast<double>(partitions.size()) * most;
    const SuffixPlan roomier = plan_for(planned);
    if (roomier.values > 1 && 2 * roomier.values <= plan.values) {
      plan.roomier = roomier.values;
      plan.roomier_capacity = capacity;
    }
  }
  return spread;
}

bool IsHot(const Explanation& e) {
  return e.hottest_share >= kHotShare && !e.hottest.empty() && !e.hottest[0].partition.empty();
}

double HottestUnits(const Explanation& e) {
  return e.demand * (e.hottest_share >= kAllShare ? 1 : e.hottest_share);
}

void PlanForHottest(const SpreadOn& on, Access access, const UnitsOf& units_of, Explanation* e) {
  if (!IsHot(*e)) return;
  LoadMap load = MapLoad(on, access, units_of);
  // One of several processes takes the others to be asked for the same, by their parts.
  const double whole = e->granted > 0 ? e->limit / e->granted : 1;
  for (LoadMap::Range& range : load.ranges) range.units *= whole;
  for (KeyLoadPoint& known : load.keys) known.units *= whole;
  load.total *= whole;
  const HeavyKey& hottest = e->hottest[0];
  const Spread spread = PlanSpreadBeside(
      on, access, {hottest.hash, whole * HottestUnits(*e), hottest.partition}, std::move(load));
  e->spread = spread.plan;
  e->advice.clear();
  if (spread.others_fill) e->advice.emplace_back("Other keys alone fill a partition now.");
  if (spread.plan.capacity > 0)
    e->advice.push_back(CapacityText(spread, on.definition.billing, on.layout.size()));
  const auto names = [&](size_t from, size_t to) {
    const auto at = [&](size_t i) {
      return e->spread.also.begin() + static_cast<std::ptrdiff_t>(i);
    };
    return fmt::format("\"{}\"", fmt::join(at(from), at(to), "\", \""));
  };
  const size_t hot = spread.as_hot, all = e->spread.also.size();
  if (hot > 0) {
    e->advice.push_back(fmt::format("Give as many to {}: {} as hot.", names(0, hot),
                                    hot == 1 ? "it is" : "they are"));
  }
  if (all > hot) {
    e->advice.push_back(fmt::format("Give as many to {}, too: undivided {} too little room.",
                                    names(hot, all), all - hot == 1 ? "it leaves" : "they leave"));
  }
}

std::string SpreadText(const SpreadPlan& plan, std::string_view key, double units, Access access,
                       bool on_demand, std::string_view lead, std::string_view things,
                       std::string_view how) {
  if (plan.partitions == 0) {
    return fmt::format("{} {}{}: how many, the log tells once this second has ended.", lead, things,
                       how);
  }
  const auto set_text = [&](double capacity) {
    return fmt::format("{} {} {} units", on_demand ? "set WarmThroughput to" : "provision",
                       UnitsText(capacity), access == Access::kRead ? "read" : "write");
  };
  const std::string first = plan.capacity <= 0 ? "" : set_text(plan.capacity);
  if (plan.values == 0) {
    return fmt::format(
        "No number of {} up to {} is enough, not even on {} partitions: divide the "
        "load over several tables.",
        things, kMostPlannedSuffixes, plan.partitions);
  }
  if (plan.values == 1) {
    if (first.empty()) return "Send its requests more evenly over time: it needs no suffix.";
    return fmt::format("To {} is enough: it makes {} partitions, on which the key needs no suffix.",
                       first, plan.partitions);
  }
  std::string text = fmt::format("{} {} {}, \"{}\" to \"{}\"{}", lead, plan.values, things,
                                 SuffixedKey(key, 1), SuffixedKey(key, plan.values), how);
  if (!first.empty()) text += fmt::format(", on {} partitions: first {}", plan.partitions, first);
  const std::string demand =
      units <= 0 ? ""
                 : fmt::format(" for its {} {} units/s", UnitsText(std::round(units)),
                               access == Access::kRead ? "read" : "write");
  text += fmt::format(
      ". {}{}, because each falls on a random partition, and the fullest of {}, other keys "
      "included, must stay below {:.0f}% of its limit.",
      plan.values, demand, plan.partitions, 100 * kSuffixFill);
  if (plan.roomier > 0) {
    text += fmt::format(
        " They are so many because the load fills {:.0f}% of what {} partitions can do. Cheaper: "
        "first {}; then there are {} partitions, and {} {} are enough.",
        100 * plan.filled, plan.partitions, set_text(plan.roomier_capacity), 2 * plan.partitions,
        plan.roomier, things);
  }
  return text;
}

}  // namespace stator::throughput
