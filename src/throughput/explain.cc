// Why a request was refused, in words and figures, and what would fix it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "throughput/cause.h"
#include "throughput/key_text.h"
#include "throughput/partitions.h"
#include "throughput/resource.h"
#include "throughput/spread.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

// It is all of it from this part on.
constexpr double kAllShare = 0.995;
// An index with at most this many keys, one of them hot, is said to have a poorly chosen key. [A]
constexpr size_t kFewKeys = 10;
// Superfluous partitions are reported if there are at least this many times the needed ones. [A]
constexpr double kLeftOver = 2;
// Partitions count as busy at the same time if their worst seconds are at most this far apart. [A]
constexpr int64_t kTogetherMicros = 60'000'000;
// The load of three hours of Amazon's example.
constexpr double kSlowLoadSeconds = 3 * 3600;

std::string UnitName(Access access) { return access == Access::kRead ? "read" : "write"; }

std::string CauseOf(const Explanation& e, Access access, Limit limit) {
  const std::string where =
      e.index ? fmt::format("Index {}", e.resource) : fmt::format("Table {}", e.resource);
  const std::string demand = UnitsText(std::round(e.demand)) + (e.so_far ? " (so far)" : "");
  const std::string most = UnitsText(e.granted < 0.999 * e.limit ? e.granted : e.limit);
  const std::string rate = access == Access::kRead ? "read units/s" : "write units/s";
  switch (limit) {
    case Limit::kKeyRange: {
      std::string what = e.index ? where + ": hot" : "Hot";
      if (!IsHot(e)) {
        what += fmt::format(" partition, {}:", RangeText(e.range));
      } else if (e.hottest_share >= kAllShare) {
        what += fmt::format(" key \"{}\":", e.hottest[0].partition);
      } else {
        // The demand is its partition's.
        what +=
            fmt::format(" key \"{}\", {} {}, and others of its partition:", e.hottest[0].partition,
                        UnitsText(std::round(HottestUnits(e))), rate);
      }
      return fmt::format("{} {} of {} {}, on 1 of {} partition{}", what, demand, most, rate,
                         e.partitions, e.partitions == 1 ? "" : "s");
    }
    case Limit::kProvisioned:
      return fmt::format("{}: {} of {} provisioned {}", where, demand, most, rate);
    case Limit::kMaxOnDemand:
      return fmt::format("{}: {} of {} {} that OnDemandThroughput allows", where, demand, most,
                         rate);
    case Limit::kAccount:
      return fmt::format("{}: {} of {} {}, its quota", where, demand, most, rate);
  }
  return where;
}

// "2026-01-01.7".
bool IsDateWithSuffix(std::string_view key) {
  const size_t dot = key.rfind('.');
  return dot != std::string_view::npos && dot + 1 < key.size() &&
         key.find_first_not_of("0123456789", dot + 1) == std::string_view::npos &&
         LooksLikeDate(key.substr(0, dot));
}

// Returns the units that a hot key of an index would take if its entries were small (1 unit each).
double SlimUnits(const Explanation& e, int64_t entry_bytes) {
  return std::round(HottestUnits(e) / static_cast<double>(WriteUnits(entry_bytes)));
}

// Returns the advice to project fewer attributes, for the hot key of an index with large entries.
// Empty if the entries are small or their size is not known (0).
std::string EntryText(const Explanation& e, Access access, int64_t entry_bytes) {
  if (entry_bytes <= kWriteUnitBytes) return "";
  if (access == Access::kRead) {
    return fmt::format(
        "Project less: an entry of the index has about {:.0f} KB, and a Query pays for all of it "
        "(lesson slim-index).",
        static_cast<double>(entry_bytes) / 1024);
  }
  const int64_t units = WriteUnits(entry_bytes);
  const double slim = SlimUnits(e, entry_bytes);
  return fmt::format(
      "Project less: an entry of the index costs about {} units, of at most 1 KB it costs 1, and "
      "this key then takes {}{} (lesson slim-index).",
      units, UnitsText(slim), slim > e.limit ? ", which is still too many" : "");
}

// Returns advice for a hot key that is read: the cures for which the keys need not change. An index
// has no strongly consistent reads, so advice on them is left out.
std::string ReadText(const Explanation& e) {
  constexpr double kSome = 0.1, kAll = 0.995;  // of the reads: strong ones
  if (e.index || (e.strong_share >= 0 && e.strong_share < kSome)) return "Cache what is hot.";
  return fmt::format(
      "Read it eventually consistent: a strongly consistent read costs twice as much{}. Or cache "
      "what is hot.",
      e.strong_share >= kAll
          ? fmt::format(", and this key then takes {}", UnitsText(std::round(HottestUnits(e) / 2)))
          : "");
}

// The units per second of the hottest key that its plan is for; 0: they are not known, since it is
// another key's plan, or the key has other partitions, too.
double PlannedUnits(const Explanation& e) {
  const std::vector<std::string>& also = e.spread.also;
  const bool part = !e.range.from.sort.empty() || (!e.range.to_end && !e.range.to.sort.empty());
  if (part || std::find(also.begin(), also.end(), e.hottest[0].partition) != also.end()) return 0;
  return HottestUnits(e) * (e.granted > 0 ? e.limit / e.granted : 1);
}

// Returns the sentence that more capacity does not help, if a single key takes more than a
// partition can serve; else "".
std::string NoHelpText(const Explanation& e, Access access, Billing billing, double most) {
  if (!IsHot(e) || e.limit < most || HottestUnits(e) <= most) return "";
  return fmt::format("More {} not help: one partition serves at most {} {} units/s.",
                     billing == Billing::kOnDemand ? "WarmThroughput alone does" : "units alone do",
                     UnitsText(most), UnitName(access));
}

// Returns a sentence on whether a split for heat helps a hot item collection, as far as the order
// of its keys is known.
std::string InsideText(const Explanation& e, Access access) {
  if (e.obstacle == SplitObstacle::kMovingKey || e.order == KeyOrder::kMoves) {
    return access == Access::kWrite
               ? "Splits do not help: the sort keys of this key only rise, so that all of its new "
                 "items lie in the last part."
               : "Splits do not help: its reads move along the sort keys.";
  }
  const std::string_view text =
      "If the heat lasts some minutes, the partition splits inside this key's items";
  return fmt::format("{}{}", text,
                     e.order == KeyOrder::kStays ? "." : ", unless their sort keys only rise.");
}

// Whether the hot key is one of several that had nearly all of the writes in turn: it has little of
// the units of the resource's life, and few others have as much. `leading_seconds`: for how long
// one partition has had nearly all of them.
bool HotInTurn(const Explanation& e, const HeavyHitters& life, int leading_seconds) {
  constexpr int kSeconds = 60;
  constexpr size_t kKeys = 4;
  constexpr double kLittle = 0.25;  // at most that for the hot key
  constexpr double kFew = 0.15;     // at least that for the heaviest four
  const std::vector<HeavyKey> top = life.Top(kKeys);
  if (leading_seconds < kSeconds || top.size() < kKeys) return false;
  double most = 0, its = 0;
  for (const HeavyKey& key : top) {
    most += key.weight - key.overestimate;
    if (key.hash == e.hottest[0].hash) its = key.weight;
  }
  return its < kLittle * life.total() && most >= kFew * life.total();
}

// Whether one key has most of the units of the resource's life: then partitions that lead in turn
// are parts of its own collection, or halves of those before them.
bool IsOneKey(const HeavyHitters& life) {
  constexpr double kMost = 0.5;
  const std::vector<HeavyKey> top = life.Top(1);
  return !top.empty() && top[0].weight - top[0].overestimate >= kMost * life.total();
}

}  // namespace

std::string CauseText(const Explanation& e, Access access, Limit limit) {
  return CauseOf(e, access, limit);
}

Explanation Resource::Describe(Access access, Limit limit, uint64_t partition) const {
  Explanation e;
  e.resource = name();
  e.index = is_index();
  e.reason = ReasonCode(is_index(), access, limit);
  e.exception = ThrottleException(billing(), limit);
  e.partition = partition;
  const size_t a = static_cast<size_t>(access);
  const Layout& layout = layout_.Current();
  e.partitions = layout.size();
  double part = shared() ? definition_.grant->Whole(definition_.tablet)[a] : 1;
  const Partition* mine = nullptr;
  for (size_t i = 0; i < layout.size(); ++i) {
    Partition& p = layout.At(i);
    if (p.id != partition) continue;
    mine = &p;
    e.range = layout.RangeOf(i);
    e.obstacle = p.obstacle;
    if (definition_.billing == Billing::kProvisioned)
      e.partition_share = definition_.provisioned.Of(access) * p.weight;
    const ObservationLock look(p);
    HeavyHitters seen = p.seen().last_collections;
    seen.Merge(p.seen().collections);
    // A split would find this; it has not been tried yet.
    const std::vector<HeavyKey> items = p.seen().items.Top(1);
    if (e.obstacle == SplitObstacle::kNone && !items.empty() &&
        items[0].weight - items[0].overestimate >
            (1 - settings_.heat_min_side) * p.seen().items.total()) {
      e.obstacle = SplitObstacle::kSingleKey;
    }
    e.hottest = Readable(seen.Top(10));
    if (!e.hottest.empty() && seen.total() > 0) {
      e.hottest_share = std::min(1.0, e.hottest[0].least() / seen.total());
      e.order = p.seen().heat.OrderWithin(e.hottest[0].hash);
    }
    const double reads = p.seen().strong + p.seen().eventual;
    if (reads > 0) e.strong_share = p.seen().strong / reads;
    if (shared() && limit == Limit::kKeyRange)
      part = definition_.grant->Least(definition_.tablet, e.range)[a];
  }
  e.limit = LimitOf(access, limit, mine);
  e.granted = e.limit * part;
  return e;
}

int64_t Resource::EntryBytes() const {
  if (definition_.entry_bytes > 0) return definition_.entry_bytes;
  int64_t items = 0;
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i)
    items += layout.At(i).items.load(std::memory_order_relaxed);
  return items > 0 ? StoredBytes() / items : 0;
}

void Resource::Advise(Access access, Limit limit, Explanation* e) const {
  const bool write = access == Access::kWrite;
  const size_t a = static_cast<size_t>(access);
  const std::string units = UnitName(access);
  const std::string what = is_index() ? "index" : "table";
  const double most = write ? settings_.partition_write_units : settings_.partition_read_units;
  // PlanForHottest has left there what is to be said of the plan.
  const std::vector<std::string> beside = std::exchange(e->advice, {});
  std::vector<std::string>& advice = e->advice;
  e->cause = CauseOf(*e, access, limit);
  const auto say = [&](std::string_view lesson, std::string sentence) {
    if (e->lesson.empty()) e->lesson = lesson;
    advice.push_back(std::move(sentence));
  };
  // The hottest key of the busiest partition, with its units. (The keys of the explanation are
  // those of the partition with the most refusals, and its demand is that of all partitions.)
  struct Hottest {
    HeavyKey key;
    double units = 0;
  };
  const auto hottest_of_all = [&]() REQUIRES(mutex_) {
    Hottest found;
    double most_asked = 0;
    Partition* busiest = nullptr;
    const double seconds = SecondsOfDemand(e->at_micros);
    const Layout& layout = layout_.Current();
    for (size_t i = 0; i < layout.size(); ++i) {
      Partition& p = layout.At(i);
      const Partition::Worst& worst = p.worst[a];
      const bool together = worst.epoch == capacity_epoch_ &&
                            std::abs(worst.at_micros - e->at_micros) <= kTogetherMicros;
      const double asked =
          std::max({HalvesToUnits(AskedInSecond(p, a)) / seconds,
                    p.last_rate[a] + p.last_refused[a], together ? worst.demand : 0});
      if (asked <= most_asked) continue;
      most_asked = asked;
      busiest = &p;
    }
    if (busiest == nullptr) return found;
    const ObservationLock look(*busiest);
    HeavyHitters seen = busiest->seen().last_collections;
    seen.Merge(busiest->seen().collections);
    const std::vector<HeavyKey> top = Readable(seen.Top(1));
    if (top.empty() || top[0].partition.empty() || seen.total() <= 0) return found;
    const double share = std::min(1.0, top[0].least() / seen.total());
    found = {top[0], std::min(e->demand, most_asked) * (share >= kAllShare ? 1 : share)};
    return found;
  };
  switch (limit) {
    case Limit::kProvisioned:
      say("auto-scaling",
          fmt::format(
              "Raise the {} capacity of the {} to {} units or more, let auto scaling do it, "
              "or switch to on-demand.",
              units, what, UnitsText(std::ceil(std::max(e->demand, e->limit + 1)))));
      // Units that are raised for one key alone meet the limit of its partition next.
      if (const Hottest hot = hottest_of_all(); hot.units > most) {
        const auto planned = moments_.find({access, Limit::kKeyRange});
        const bool has_plan = planned != moments_.end() && IsHot(planned->second.what) &&
                              planned->second.what.hottest[0].hash == hot.key.hash &&
                              planned->second.what.spread.values > 1;
        const std::string_view things = write ? "suffixes" : "copies";
        advice.back() += fmt::format(
            " That alone is not enough: \"{}\" takes {} of them, and one partition serves {}. {} "
            "it over {}, too.",
            hot.key.partition, UnitsText(std::round(hot.units)), UnitsText(most),
            write ? "Spread" : "Cache it, or spread",
            has_plan ? fmt::format("{} {}", planned->second.what.spread.values, things)
                     : std::string(things));
      }
      break;
    case Limit::kMaxOnDemand:
      say("", fmt::format("Raise OnDemandThroughput to {} {} units per second or more, or remove "
                          "it.",
                          UnitsText(std::ceil(std::max(e->demand, e->limit + 1))), units));
      break;
    case Limit::kAccount:
      say("", fmt::format("Ask for a higher quota, or spread the data over several {}s.", what));
      break;
    case Limit::kKeyRange: {
      const bool hot = IsHot(*e);
      const bool shares = e->limit < most;
      // Entries of an index are items of their own, even where their sort keys are not known.
      const bool one_item = e->obstacle == SplitObstacle::kSingleKey && !is_index();
      const std::string key = hot ? e->hottest[0].partition : "";
      const auto spread_text = [&](std::string_view lead, std::string_view things,
                                   std::string_view how) REQUIRES(mutex_) {
        std::string text = SpreadText(e->spread, key, PlannedUnits(*e), access,
                                      definition_.billing == Billing::kOnDemand, lead, things, how);
        for (const std::string& sentence : beside) text.append(" ").append(sentence);
        return text;
      };
      // Partitions that an earlier, higher capacity has left.
      const int64_t needed = std::max(
          InitialPartitionsProvisioned(
              settings_, static_cast<int64_t>(std::ceil(definition_.provisioned.read)),
              static_cast<int64_t>(std::ceil(definition_.provisioned.write))),
          PartitionsForBytes(StoredBytes(), static_cast<int64_t>(settings_.partition_bytes)));
      const bool left_over =
          shares && static_cast<double>(e->partitions) >= kLeftOver * static_cast<double>(needed) &&
          peak_provisioned_.Of(access) > definition_.provisioned.Of(access);
      if (left_over) {
        std::string text = fmt::format(
            "The {} was given {} {} units once and keeps the {} partitions of then: {} units are "
            "{} "
            "for each, and alone would need {}.",
            what, UnitsText(peak_provisioned_.Of(access)), units, e->partitions,
            UnitsText(definition_.provisioned.Of(access)), UnitsText(std::floor(e->limit)),
            needed == 1 ? "1 partition" : fmt::format("{} partitions", needed));
        const double loaded = HalvesToUnits(ConsumedHalves()[1]);
        const int64_t slowly = InitialPartitionsProvisioned(
            settings_, 1, static_cast<int64_t>(std::ceil(loaded / kSlowLoadSeconds)));
        if (write && slowly < static_cast<int64_t>(e->partitions)) {
          text += fmt::format(" Loaded in 3 hours it has {}.",
                              slowly == 1 ? "1" : std::to_string(slowly));
        }
        text += " Copy it into a new table of the right size, or let adaptive capacity lend.";
        say("bulk-load", std::move(text));
      }
      const HeavyHitters life = write
                                    ? Lifetime(lifetime_collections_, &KeyObservation::collections)
                                    : lifetime_collections_;
      if (write && !LooksLikeDate(key) && !IsOneKey(life) &&
          (leaders_[a].Moves() || (hot && HotInTurn(*e, life, leaders_[a].seconds)))) {
        say("upload-by-user",
            fmt::format("The writes go to one key after the other{}: write in another order, one "
                        "item of each key in turn, and all {} partitions work at once.",
                        hot ? fmt::format(" (\"{}\" now)", key) : "", e->partitions));
        break;
      }
      e->no_help = NoHelpText(*e, access, definition_.billing, most);
      if (hot && !write) say("cache", ReadText(*e));
      // A projection that is not enough alone is told together with the next cure.
      std::string entries;
      bool slim = false;
      if (hot && is_index()) {
        const int64_t bytes = EntryBytes();
        entries = EntryText(*e, access, bytes);
        slim = !entries.empty();
        if (slim && (!write || SlimUnits(*e, bytes) <= e->limit))
          say("slim-index", std::exchange(entries, {}));
        if (!entries.empty()) entries += " ";
      }
      const std::vector<HeavyKey> all_keys =
          is_index()
              ? Lifetime(lifetime_collections_, &KeyObservation::collections).Top(kFewKeys + 1)
              : std::vector<HeavyKey>();
      if (hot && write && is_index() && all_keys.size() <= kFewKeys) {
        say(entries.empty() ? "status-index" : "slim-index",
            fmt::format("{}The index has only {} key{}: give it another partition key, of two "
                        "attributes; who wants all of \"{}\" then asks once for each value of the "
                        "second (lesson status-index).",
                        entries, all_keys.size(), all_keys.size() == 1 ? "" : "s", key));
        say("status-index", spread_text("Or spread this one over", "suffixes", ""));
      } else if (hot && write && IsDateWithSuffix(key)) {
        say("hot-date",
            fmt::format("The suffixes of \"{}\" are uneven, and this one has more than its part: "
                        "compute them from a hash, or draw them at random.",
                        key.substr(0, key.rfind('.'))));
      } else if (hot && (write || one_item)) {
        std::string text;
        if (one_item && write) {
          text = spread_text("Divide the item into", "shards", ", and add them up when reading");
        } else if (!write) {
          text = spread_text("If that is not enough, keep", "copies", ", and read any");
        } else {
          text = entries + spread_text(slim ? "Or spread it over" : "Spread it over", "suffixes",
                                       ", random or computed");
        }
        say(one_item && write  ? "vote-counter"
            : !entries.empty() ? "slim-index"
                               : "hot-date",
            std::move(text));
      } else if (shares && !left_over) {
        say("hot-date",
            fmt::format("Each partition has its share, this one {} of {} units: spread the load "
                        "over more partition keys{}.",
                        UnitsText(std::floor(e->limit)),
                        UnitsText(definition_.provisioned.Of(access)),
                        settings_.adaptive == Adaptive::kOff
                            ? ""
                            : ", or wait until adaptive capacity lends it what others leave"));
      }
      // Where the whole lacks units its partitions are busy no longer than those last that it has
      // kept: too short for a split, and more partitions do not help.
      double asked = 0;
      const double seconds = SecondsOfDemand(e->at_micros);
      const Layout& layout = layout_.Current();
      for (size_t i = 0; i < layout.size(); ++i) {
        const Partition& p = layout.At(i);
        const Partition::Worst& worst = p.worst[a];
        const bool together = worst.epoch == capacity_epoch_ &&
                              std::abs(worst.at_micros - e->at_micros) <= kTogetherMicros;
        asked += p.id == e->partition
                     ? e->demand
                     : std::max({HalvesToUnits(AskedInSecond(p, a)) / seconds,
                                 p.last_rate[a] + p.last_refused[a], together ? worst.demand : 0});
      }
      const bool lacks_units = !hot && !shares && definition_.billing == Billing::kProvisioned &&
                               asked > definition_.provisioned.Of(access);
      if (lacks_units) {
        say("three-hundred-seconds",
            fmt::format("Raise the {} capacity of the {} to {} units or more, let auto scaling do "
                        "it, or switch to on-demand: it has {} units, and beyond them it spends "
                        "what it has kept of {:.0f} seconds.",
                        units, what, UnitsText(std::ceil(asked)),
                        UnitsText(definition_.provisioned.Of(access)), settings_.burst_seconds));
      }
      if (settings_.split_for_heat && !lacks_units &&
          (e->obstacle == SplitObstacle::kNone || e->obstacle == SplitObstacle::kTooFewSamples)) {
        if (hot && definition_.has_sort_key) {
          e->notes.push_back(InsideText(*e, access));
        } else if (!hot) {
          say("on-demand-growth",
              "Set WarmThroughput, or create the table with more capacity, before traffic that is "
              "known to come: both make more partitions.");
          e->notes.emplace_back("The partition splits by itself when the heat lasts some minutes.");
        }
      }
      if (hot && definition_.has_sort_key && settings_.split_for_heat &&
          e->obstacle == SplitObstacle::kMovingKey)
        e->notes.push_back(InsideText(*e, access));
      if (e->obstacle == SplitObstacle::kLocalIndexes) {
        say("",
            "Without local indexes the collection could be split along its sort key: use "
            "global ones.");
      }
      break;
    }
  }
  if (is_index() && write) {
    e->notes.push_back(
        fmt::format("Writes of the table wait for its index {}: the table refuses what an index "
                    "refuses.",
                    e->resource));
  }
}

}  // namespace stator::throughput
