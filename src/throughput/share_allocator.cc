#include "throughput/share_allocator.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "throughput/units.h"

namespace stator::throughput {
namespace {

constexpr double kLeastDemand = 1e-3;  // units per second; less is none
constexpr double kLeastMoved = 1e-2;   // units
constexpr double kLeastPart = 1e-3;    // by which a part must change to be worth a new grant

// How much of what is asked for in `asked` is meant for `piece`, as far as widths tell.
double PartOf(const KeyRange& asked, const KeyRange& piece) {
  if (!Overlap(asked, piece)) return 0;
  const double width = asked.HashShare();
  return width > 0 ? std::min(1.0, piece.HashShare() / width) : 1;
}

// A bound, or the end of the hash space, which is after all of them.
struct Cut {
  bool end = false;
  KeyBound at;
  auto operator<=>(const Cut&) const = default;
};

}  // namespace

// One round of the allocator: its participants, and the parts that each of them gets.
class ShareAllocator::Round {
 public:
  struct Participant {
    GrantRecord* record;
    const Member* member;
    bool live;   // answers
    bool ready;  // has confirmed its grant, so it may get another one
    Grant next = {};
    bool changed = false;
  };

  Round(const ShareSettings& settings, SharePlan* plan) : settings_(settings), plan_(*plan) {}

  void Add(GrantRecord* record, const Member* member, bool live) {
    participants_.push_back(
        {record, member, live, live && record->confirmed == record->generation});
    if (live) ++live_;
  }
  size_t live() const { return live_; }

  void Run(const LimitsOf& limits) {
    if (live_ == 0) return;
    DivideBase();
    for (const uint32_t tablet : Tablets()) {
      const std::optional<SharedLimits> found = limits(tablet);
      const SharedLimits its = found.value_or(SharedLimits());
      DivideWhole(tablet, its);
      DivideRanges(tablet, its);
    }
    for (size_t i = 0; i < participants_.size(); ++i) Conclude(i);
  }

 private:
  // One limit: by participant what it has, what it may still be using, and what it gets.
  struct Division {
    std::vector<double> now;
    std::vector<double> held;
    std::vector<double> next;
    double left = 0;  // that nobody holds
    double even = 0;  // what everybody would have
  };

  // `part(grant)` is what a grant says of the limit.
  template <typename Part>
  Division Look(const Part& part) const {
    Division d;
    double held = 0, idle = 0;
    for (const Participant& p : participants_) {
      d.now.push_back(part(p.record->grant));
      d.held.push_back(p.record->before ? std::max(d.now.back(), part(*p.record->before))
                                        : d.now.back());
      held += d.held.back();
      if (!p.live) idle += d.held.back();
    }
    d.left = std::max(0.0, 1 - held);
    d.even = std::max(0.0, 1 - idle) / static_cast<double>(live_);
    d.next = d.now;
    return d;
  }

  // Moves parts towards an even division, or to one by demand (units per second, of `limit`).
  void Divide(const std::vector<double>* demand, double limit, Division* d) {
    const double total = d->even * static_cast<double>(live_);
    double asked = 0;
    if (demand != nullptr) {
      for (size_t i = 0; i < participants_.size(); ++i)
        if (participants_[i].live) asked += (*demand)[i];
    }
    const double wanted = asked * (1 + settings_.headroom);
    const auto target = [&](size_t i) {
      if (demand == nullptr || asked <= 0 || limit <= 0) return d->even;
      if (wanted <= total * limit) {
        return (*demand)[i] * (1 + settings_.headroom) / limit +
               (total - wanted / limit) / static_cast<double>(live_);
      }
      return settings_.floor * d->even + (1 - settings_.floor) * total * (*demand)[i] / asked;
    };
    double raises = 0;
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (!participants_[i].ready) continue;
      d->next[i] = target(i);
      raises += std::max(0.0, d->next[i] - d->now[i]);
    }
    // Only capacity that is free now can be granted. The rest follows when the processes that give
    // capacity up have confirmed it.
    const double scale = raises > d->left ? d->left / raises : 1;
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (!participants_[i].ready) continue;
      if (d->next[i] > d->now[i]) d->next[i] = d->now[i] + (d->next[i] - d->now[i]) * scale;
      const double least = std::max(kLeastPart, settings_.least_change * d->now[i]);
      if (std::abs(d->next[i] - d->now[i]) > least) participants_[i].changed = true;
    }
  }

  void DivideBase() {
    Division d = Look([](const Grant& grant) { return grant.base; });
    Divide(nullptr, 0, &d);
    for (size_t i = 0; i < participants_.size(); ++i) participants_[i].next.base = d.next[i];
  }

  // Those of which anything is to be decided.
  std::set<uint32_t> Tablets() const {
    std::set<uint32_t> tablets;
    for (const auto& [tablet, units] : plan_.pool) tablets.insert(tablet);
    for (const Participant& p : participants_) {
      for (const auto& [tablet, of] : p.record->grant.resources) tablets.insert(tablet);
      if (p.record->before) {
        for (const auto& [tablet, of] : p.record->before->resources) tablets.insert(tablet);
      }
      for (const auto& [tablet, demand] : p.member->demand) tablets.insert(tablet);
    }
    return tablets;
  }

  template <typename Wanted>
  std::vector<double> DemandOf(const Wanted& wanted) const {
    std::vector<double> demand;
    for (const Participant& p : participants_) demand.push_back(wanted(*p.member));
    return demand;
  }

  // What a process asks for in `piece`.
  static double DemandIn(const Member& member, uint32_t tablet, const KeyRange& piece, size_t a) {
    const auto found = member.demand.find(tablet);
    double units = 0;
    if (found == member.demand.end()) return units;
    for (const auto& [range, its] : found->second.ranges) units += its[a] * PartOf(range, piece);
    return units;
  }

  // Where some process asks for more of a partition than `above` even shares of what it can do.
  std::vector<KeyRange> Hot(uint32_t tablet, const SharedLimits& limits, double above) const {
    const double even = 1.0 / static_cast<double>(live_);
    std::vector<KeyRange> hot;
    for (const Participant& p : participants_) {
      const auto found = p.member->demand.find(tablet);
      if (!p.live || found == p.member->demand.end()) continue;
      for (const auto& [range, units] : found->second.ranges) {
        bool its = false;
        for (size_t a = 0; a < kAccesses; ++a) its |= units[a] > above * even * limits.partition[a];
        if (its) hot.push_back(range);
      }
    }
    return hot;
  }

  // Cuts the key space at all bounds of `covers`, and calls visit(piece) for each piece that lies
  // in one of `covers`.
  template <typename Visit>
  static void ForEachPiece(const std::vector<KeyRange>& covers, const Visit& visit) {
    std::set<Cut> cuts;
    for (const KeyRange& range : covers) {
      cuts.insert({false, range.from});
      cuts.insert({range.to_end, range.to_end ? KeyBound() : range.to});
    }
    for (auto cut = cuts.begin(); cut != cuts.end() && std::next(cut) != cuts.end(); ++cut) {
      const Cut& end = *std::next(cut);
      const KeyRange piece{cut->at, end.at, end.end};
      if (std::any_of(covers.begin(), covers.end(),
                      [&piece](const KeyRange& range) { return Overlap(range, piece); }))
        visit(piece);
    }
  }

  // By participant what it asks for of the table or index. What all together ask of a partition
  // beyond what that can do is not part of it, in proportion to who asks. It does not depend on
  // what they have: else two limits that refuse in turn would make the parts swing.
  std::array<std::vector<double>, kAccesses> WholeDemand(uint32_t tablet,
                                                         const SharedLimits& limits) const {
    std::array<std::vector<double>, kAccesses> demand;
    for (size_t a = 0; a < kAccesses; ++a) {
      demand[a] = DemandOf([tablet, a](const Member& member) {
        const auto found = member.demand.find(tablet);
        return found != member.demand.end() ? found->second.whole[a] : 0;
      });
    }
    ForEachPiece(Hot(tablet, limits, 1), [&](const KeyRange& piece) {
      for (size_t a = 0; a < kAccesses; ++a) {
        const std::vector<double> asked =
            DemandOf([&, a](const Member& member) { return DemandIn(member, tablet, piece, a); });
        double sum = 0;
        for (size_t i = 0; i < asked.size(); ++i) sum += participants_[i].live ? asked[i] : 0;
        if (limits.partition[a] <= 0 || sum <= limits.partition[a]) continue;
        const double in_vain = 1 - limits.partition[a] / sum;
        for (size_t i = 0; i < asked.size(); ++i)
          demand[a][i] = std::max(0.0, demand[a][i] - asked[i] * in_vain);
      }
    });
    return demand;
  }

  // Whether a limit is to be divided by demand.
  bool Listed(const std::vector<double>& demand, double limit, double even, bool already) const {
    if (limit <= 0) return false;
    const double above = (already ? settings_.listed_below : settings_.listed_above) * even * limit;
    for (size_t i = 0; i < participants_.size(); ++i)
      if (participants_[i].live && demand[i] > above) return true;
    return false;
  }

  void DivideWhole(uint32_t tablet, const SharedLimits& limits) {
    const auto entry_of = [tablet](const Grant& grant) {
      const auto found = grant.resources.find(tablet);
      return found != grant.resources.end() && found->second.whole.has_value();
    };
    const bool already =
        std::any_of(participants_.begin(), participants_.end(), [&](const Participant& p) {
          return entry_of(p.record->grant) || (p.record->before && entry_of(*p.record->before));
        });
    std::array<Division, kAccesses> d;
    const std::array<std::vector<double>, kAccesses> demand = WholeDemand(tablet, limits);
    bool listed = false;
    for (size_t a = 0; a < kAccesses; ++a) {
      d[a] = Look([tablet, a](const Grant& grant) { return grant.Whole(tablet)[a]; });
      listed |= Listed(demand[a], limits.whole[a], d[a].even, already);
    }
    for (size_t a = 0; a < kAccesses; ++a) {
      Divide(listed ? &demand[a] : nullptr, limits.whole[a], &d[a]);
      Pool(tablet, a, limits, d[a]);
    }
    for (size_t i = 0; i < participants_.size(); ++i)
      Write(listed, d, i,
            [&](const Parts& parts) { participants_[i].next.resources[tablet].whole = parts; });
  }

  // What is in the pool follows the capacity that it was saved of.
  void Pool(uint32_t tablet, size_t a, const SharedLimits& limits, const Division& d) {
    const auto found = plan_.pool.find(tablet);
    if (found == plan_.pool.end()) return;
    double& pool = found->second[a];
    pool = std::min(pool, d.left * limits.whole[a] * limits.window_seconds);
    if (pool < kLeastMoved) return;
    for (size_t i = 0; i < participants_.size(); ++i) {
      if (d.next[i] > d.now[i])
        moves_.push_back({i, tablet, a, pool * (d.next[i] - d.now[i]) / d.left});
    }
  }

  void DivideRanges(uint32_t tablet, const SharedLimits& limits) {
    std::vector<KeyRange> covers;
    const auto entries = [&](const Grant& grant) {
      const auto found = grant.resources.find(tablet);
      if (found == grant.resources.end()) return;
      for (const Grant::RangeParts& entry : found->second.ranges) covers.push_back(entry.range);
    };
    for (const Participant& p : participants_) {
      entries(p.record->grant);
      if (p.record->before) entries(*p.record->before);
    }
    const std::vector<KeyRange> listed_before = covers;
    const std::vector<KeyRange> hot = Hot(tablet, limits, settings_.listed_above);
    covers.insert(covers.end(), hot.begin(), hot.end());
    ForEachPiece(covers, [&](const KeyRange& piece) {
      DividePiece(tablet, limits, piece,
                  std::any_of(listed_before.begin(), listed_before.end(),
                              [&piece](const KeyRange& range) { return Overlap(range, piece); }));
    });
  }

  void DividePiece(uint32_t tablet, const SharedLimits& limits, const KeyRange& piece,
                   bool already) {
    std::array<Division, kAccesses> d;
    std::array<std::vector<double>, kAccesses> demand;
    bool listed = false;
    for (size_t a = 0; a < kAccesses; ++a) {
      d[a] = Look([&, a](const Grant& grant) { return grant.Most(tablet, piece)[a]; });
      demand[a] =
          DemandOf([&, a](const Member& member) { return DemandIn(member, tablet, piece, a); });
      listed |= Listed(demand[a], limits.partition[a], d[a].even, already);
    }
    for (size_t a = 0; a < kAccesses; ++a)
      Divide(listed ? &demand[a] : nullptr, limits.partition[a], &d[a]);
    for (size_t i = 0; i < participants_.size(); ++i)
      Write(listed, d, i, [&](const Parts& parts) {
        participants_[i].next.resources[tablet].ranges.push_back({piece, parts});
      });
  }

  // Calls `set` with the next parts of participant `i`. Leaves it out if the participant's base
  // part, which holds for everything that is not listed, is not larger.
  template <typename Set>
  void Write(bool listed, const std::array<Division, kAccesses>& d, size_t i, const Set& set) {
    Parts parts{};
    bool more = listed;
    for (size_t a = 0; a < kAccesses; ++a) {
      parts[a] = d[a].next[i];
      more |= parts[a] < participants_[i].next.base;
    }
    if (more) set(parts);
  }

  void Conclude(size_t i) {
    Participant& p = participants_[i];
    if (!p.ready || !p.changed) return;
    GrantRecord& record = *p.record;
    // The first grant of a session takes the place of none.
    if (record.generation > 0) record.before = std::move(record.grant);
    record.grant = std::move(p.next);
    ++record.generation;
    for (const Move& move : moves_) {
      if (move.participant != i) continue;
      record.moved[move.tablet][move.access] = move.units;
      plan_.pool[move.tablet][move.access] -= move.units;
    }
  }

  struct Move {
    size_t participant;
    uint32_t tablet;
    size_t access;
    double units;
  };

  const ShareSettings& settings_;
  SharePlan& plan_;
  std::vector<Participant> participants_;
  size_t live_ = 0;
  std::vector<Move> moves_;
};

void ShareAllocator::Average(Member* member, const Report& report, size_t fresh) const {
  double seconds = 0;
  for (size_t t = 0; t < fresh; ++t) seconds += static_cast<double>(report.ticks[t].micros) / 1e6;
  if (seconds <= 0) return;
  const double weight = 1 - std::exp(-seconds / settings_.smooth_seconds);
  const auto asked = [&](const LimitUse& use, size_t a) {
    return HalvesToUnits(use.used[a] + use.refused[a]) / seconds * weight;
  };
  for (auto& [tablet, demand] : member->demand) {
    for (size_t a = 0; a < kAccesses; ++a) {
      demand.whole[a] *= 1 - weight;
      for (auto& [range, units] : demand.ranges) units[a] *= 1 - weight;
    }
  }
  for (size_t t = 0; t < fresh; ++t) {
    for (const auto& [tablet, use] : report.ticks[t].use) {
      Demand& demand = member->demand[tablet];
      for (size_t a = 0; a < kAccesses; ++a) demand.whole[a] += asked(use.whole, a);
      for (const RangeUse& of : use.ranges) {
        auto found = std::find_if(demand.ranges.begin(), demand.ranges.end(),
                                  [&of](const auto& entry) { return entry.first == of.range; });
        if (found == demand.ranges.end()) found = demand.ranges.insert(found, {of.range, Units{}});
        for (size_t a = 0; a < kAccesses; ++a) found->second[a] += asked(of.use, a);
      }
    }
  }
  const auto none = [](const Units& units) {
    return std::all_of(units.begin(), units.end(), [](double u) { return u < kLeastDemand; });
  };
  for (auto& [tablet, demand] : member->demand)
    std::erase_if(demand.ranges, [&none](const auto& of) { return none(of.second); });
  std::erase_if(member->demand, [&none](const auto& entry) {
    return none(entry.second.whole) && entry.second.ranges.empty();
  });
}

void ShareAllocator::Receive(int64_t ticks, const std::string& name, const Report& report,
                             Outcome* outcome) {
  const auto [found, first] = members_.try_emplace(name);
  Member& member = found->second;
  if (!first && member.session == report.session && member.ask == report.ask) return;
  // From a process that was not known, only the last tick is certain not to have been counted
  // before.
  const uint64_t asks = first ? 1 : report.ask - std::min(report.ask, member.ask);
  member.session = report.session;
  member.ask = report.ask;
  member.seen_at = ticks;
  const size_t fresh = std::min<size_t>(asks, report.ticks.size());
  Average(&member, report, fresh);
  if (name == self_) return;
  for (size_t t = 0; t < fresh; ++t) {
    for (const auto& [tablet, use] : report.ticks[t].use) outcome->used.emplace_back(tablet, use);
  }
}

bool ShareAllocator::Ended(int64_t ticks, const std::string& name,
                           const GrantRecord& record) const {
  const auto valid = static_cast<double>(std::max(record.valid_micros, settings_.valid_micros));
  return static_cast<double>(ticks - members_.at(name).seen_at) >
         valid * (1 + settings_.clock_tolerance);
}

ShareAllocator::Outcome ShareAllocator::Step(int64_t ticks,
                                             const std::map<std::string, Report>& reports,
                                             State state, const LimitsOf& limits) {
  Outcome outcome;
  for (const auto& [name, report] : reports) Receive(ticks, name, report, &outcome);
  std::erase_if(members_,
                [&reports](const auto& member) { return !reports.contains(member.first); });

  SharePlan& plan = state.plan;
  plan.allocator = self_;
  ++plan.round;
  for (auto& [name, record] : state.grants) {
    // Who has gone deletes its report last of all.
    if (!reports.contains(name)) outcome.gone.push_back(name);
  }
  for (const std::string& name : outcome.gone) state.grants.erase(name);

  Round round(settings_, &plan);
  for (const auto& [name, report] : reports) {
    GrantRecord& record = state.grants[name];
    if (Ended(ticks, name, record)) {
      outcome.gone.push_back(name);
      state.grants.erase(name);
      continue;
    }
    bool current = report.session >= record.session;
    if (report.session > record.session) {
      // It says itself that it holds nothing any more.
      record = GrantRecord{};
      record.session = report.session;
    }
    // A grant that nobody here knows of: it is left to end.
    if (report.holds > record.generation) current = false;
    if (current && report.holds == record.generation && record.confirmed != record.generation) {
      record.confirmed = record.generation;
      record.before.reset();
      record.moved.clear();
      for (const auto& [tablet, units] : report.surrendered) {
        for (size_t a = 0; a < kAccesses; ++a) plan.pool[tablet][a] += std::max(0.0, units[a]);
      }
    }
    const Member& member = members_.at(name);
    if (current) {
      record.answers = report.ask;
      record.valid_micros = settings_.valid_micros;
    }
    round.Add(&record, &member, current && ticks - member.seen_at <= settings_.silent_micros);
  }
  round.Run(limits);
  std::erase_if(plan.pool, [](const auto& entry) {
    return entry.second[0] < kLeastMoved && entry.second[1] < kLeastMoved;
  });
  outcome.live = round.live();
  outcome.next = std::move(state);
  return outcome;
}

}  // namespace stator::throughput
