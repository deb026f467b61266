#include "kv_tx/plan.h"

#include <algorithm>
#include <map>

#include "kv/fixed_bytes.h"
#include "kv/remembered.h"

namespace stator::kv_tx {
namespace {

constexpr size_t kMostKeysOfRanges = 20'000;

bool Covers(const kv::DeleteRange& range, kv::Tablet tablet, std::string_view key) {
  return range.tablet == tablet && key >= range.begin && (range.end.empty() || key < range.end);
}

class Division {
 public:
  Division(Core& core, const kv::Batch& batch, bool apart, kv::Tier tier)
      : core_(core), batch_(batch), apart_(apart), tier_(tier) {}

  Result<Plan> Run() {
    TRY(ChoosePrimary());
    TRY(Ranges());
    for (const kv::Guard& guard : batch_.guards) {
      ASSIGN_OR_RETURN(Participant* const of, Of(guard.tablet, guard.key));
      if (of == nullptr) {
        plan_.commit.guards.push_back(guard);
      } else {
        ChangeOf(of, guard.tablet, guard.key).guard = guard;
      }
    }
    for (const kv::Put& put : batch_.puts) TRY(AddPut(put));
    for (const kv::Delete& gone : batch_.deletes) {
      const bool covered = std::any_of(
          batch_.range_deletes.begin(), batch_.range_deletes.end(),
          [&](const kv::DeleteRange& range) { return Covers(range, gone.tablet, gone.key); });
      if (!covered || emptied_.contains({gone.tablet, gone.key}))
        TRY(AddDelete(gone.tablet, gone.key));
    }
    for (const auto& [place, unused] : emptied_) TRY(AddEmptied(place.first, place.second));
    for (const kv::Add& add : batch_.adds) TRY(AddAdd(add));
    for (const kv::Fence& fence : batch_.fences) TRY(AddFence(fence));
    return std::move(plan_);
  }

 private:
  using Place = std::pair<kv::Tablet, std::string>;

  // Returns the key that determines the unit of a put.
  static std::string RouteOfPut(const kv::Put& put) {
    std::string route = put.key;
    if (put.key_stamp_offset >= 0)
      kv::SetKeyStamp(&route, static_cast<size_t>(put.key_stamp_offset), UINT64_MAX);
    return route;
  }

  Status ChoosePrimary() {
    if (!batch_.guards.empty())
      return SetPrimary(batch_.guards.front().tablet, batch_.guards.front().key);
    if (!batch_.puts.empty())
      return SetPrimary(batch_.puts.front().tablet, RouteOfPut(batch_.puts.front()));
    if (!batch_.deletes.empty())
      return SetPrimary(batch_.deletes.front().tablet, batch_.deletes.front().key);
    if (!batch_.adds.empty())
      return SetPrimary(batch_.adds.front().tablet, batch_.adds.front().key);
    if (!batch_.range_deletes.empty())
      return SetPrimary(batch_.range_deletes.front().tablet, batch_.range_deletes.front().begin);
    return InternalError("a batch of fences alone is no batch.");
  }
  Status SetPrimary(kv::Tablet tablet, std::string route) {
    ASSIGN_OR_RETURN(unit_, core_.inner.UnitOf(tablet, route, tier_));
    TRY(ChooseUnit(&unit_, &route));
    plan_.primary = tablet;
    plan_.route = RouteOf(route);
    return OkStatus();
  }

  // Replaces a unit without a part (a counter that may be in any unit) by the tablet's first unit,
  // if there are several.
  Status ChooseUnit(kv::Unit* unit, std::string* route) {
    if (!unit->part.empty()) return OkStatus();
    ASSIGN_OR_RETURN(kv::Unit first, core_.inner.UnitOf(unit->tablet, {}, tier_));
    if (first.part.empty()) return OkStatus();
    *unit = std::move(first);
    route->clear();
    return OkStatus();
  }

  // Returns the participant for a unit, which is added if it is new; null for the primary unit.
  Result<Participant*> For(kv::Unit unit, std::string route) {
    const auto fits = [&](const kv::Unit& other) {
      return other.tablet == unit.tablet && (other.part == unit.part || unit.part.empty());
    };
    if (fits(unit_)) return nullptr;
    for (Participant& each : plan_.participants) {
      if (fits(each.unit) && each.ranges.empty()) return &each;
    }
    TRY(ChooseUnit(&unit, &route));
    // The unit of an earlier key may have been divided since it was looked up. Two participants
    // with the same route would share one note key.
    for (Participant& each : plan_.participants) {
      if (each.unit.tablet == unit.tablet && each.route == RouteOf(route) && each.ranges.empty())
        return &each;
    }
    return &Add(std::move(unit), route);
  }
  Participant& Add(kv::Unit unit, std::string_view route) {
    Participant& added = plan_.participants.emplace_back();
    added.unit = std::move(unit);
    added.route = RouteOf(route);
    return added;
  }
  Result<Participant*> Of(kv::Tablet tablet, std::string_view key) {
    ASSIGN_OR_RETURN(kv::Unit unit, core_.inner.UnitOf(tablet, key, tier_));
    return For(std::move(unit), std::string(key));
  }

  // Returns the Change of this key in the plan, and adds an empty one to `of` if there is none. (A
  // batch may both guard and write one key.)
  Change& ChangeOf(Participant* of, kv::Tablet tablet, const std::string& key) {
    const auto number = static_cast<size_t>(of - plan_.participants.data());
    const auto [found, fresh] = changes_.try_emplace({tablet, key}, number, of->changes.size());
    if (fresh) of->changes.emplace_back().key = key;
    return plan_.participants[found->second.first].changes[found->second.second];
  }

  Status Ranges() {
    for (const kv::DeleteRange& range : batch_.range_deletes) {
      ASSIGN_OR_RETURN(const kv::Unit first, core_.inner.UnitOf(range.tablet, range.begin, tier_));
      if (InPrimary(range)) {
        plan_.commit.range_deletes.push_back(range);
        native_.push_back(&range);
      } else if (!WrittenInto(range)) {
        // A participant of its own, even in the primary unit: its range is deleted after the
        // decision, together with the note, and may reach beyond the unit.
        Add(first, range.begin).ranges.push_back(range);
      } else {
        TRY(Empty(range));
      }
    }
    return OkStatus();
  }

  bool InPrimary(const kv::DeleteRange& range) const {
    if (range.tablet != plan_.primary || apart_) return false;
    kv::Batch together;
    together.guards.push_back({plan_.primary, plan_.route, 0});
    together.range_deletes.push_back(range);
    return !core_.inner.SpansUnits(together);
  }

  bool WrittenInto(const kv::DeleteRange& range) const {
    const auto any = [&](const auto& named) {
      return std::any_of(named.begin(), named.end(),
                         [&](const auto& each) { return Covers(range, each.tablet, each.key); });
    };
    return any(batch_.guards) || any(batch_.puts) || any(batch_.adds);
  }

  Status Empty(const kv::DeleteRange& range) {
    TRY(core_.inner.Scan({range.tablet, range.begin, range.end}, tier_,
                         [&](std::string_view key, std::string_view) {
                           emptied_.emplace(Place{range.tablet, std::string(key)}, true);
                           return emptied_.size() <= kMostKeysOfRanges;
                         }));
    if (emptied_.size() > kMostKeysOfRanges) {
      return Error(ErrorCode::kUnavailable, "Not applied: it deletes a range of more than " +
                                                std::to_string(kMostKeysOfRanges) +
                                                " keys and writes into the same range.");
    }
    return OkStatus();
  }

  bool Emptied(kv::Tablet tablet, const std::string& key) const {
    return std::any_of(batch_.range_deletes.begin(), batch_.range_deletes.end(),
                       [&](const kv::DeleteRange& range) {
                         return Covers(range, tablet, key) &&
                                std::find(native_.begin(), native_.end(), &range) == native_.end();
                       });
  }

  Status AddPut(const kv::Put& put) {
    const std::string route = RouteOfPut(put);
    ASSIGN_OR_RETURN(Participant* const of, Of(put.tablet, route));
    emptied_.erase({put.tablet, put.key});
    if (of == nullptr) {
      plan_.commit.puts.push_back(put);
      return OkStatus();
    }
    Change& change =
        put.key_stamp_offset < 0 ? ChangeOf(of, put.tablet, put.key) : of->changes.emplace_back();
    change.key = route;
    change.stamp_offset = put.key_stamp_offset;
    change.kind = Intent::New::kPut;
    change.fresh = put.value;
    return OkStatus();
  }

  Status AddDelete(kv::Tablet tablet, const std::string& key) {
    ASSIGN_OR_RETURN(Participant* const of, Of(tablet, key));
    emptied_.erase({tablet, key});
    if (of == nullptr) {
      plan_.commit.deletes.push_back({tablet, key});
    } else {
      ChangeOf(of, tablet, key).kind = Intent::New::kDelete;
    }
    return OkStatus();
  }

  // Adds the delete of one key of a range delete that Empty has divided into its keys. Does nothing
  // if the batch also has a kv::Add for this key: AddAdd then starts the counter again from 0.
  Status AddEmptied(kv::Tablet tablet, const std::string& key) {
    const bool added = std::any_of(batch_.adds.begin(), batch_.adds.end(), [&](const kv::Add& add) {
      return add.tablet == tablet && add.key == key;
    });
    if (added) return OkStatus();
    ASSIGN_OR_RETURN(Participant* const of, Of(tablet, key));
    if (of == nullptr) {
      plan_.commit.deletes.push_back({tablet, key});
    } else {
      ChangeOf(of, tablet, key).kind = Intent::New::kDelete;
    }
    return OkStatus();
  }

  Status AddAdd(const kv::Add& add) {
    ASSIGN_OR_RETURN(Participant* const of, Of(add.tablet, add.key));
    const bool emptied = Emptied(add.tablet, add.key);
    if (of == nullptr) {
      if (emptied) {
        plan_.commit.puts.push_back({add.tablet, add.key, kv::EncodeCounter(0, add.delta)});
      } else {
        plan_.commit.adds.push_back(add);
      }
      return OkStatus();
    }
    if (!emptied && !changes_.contains({add.tablet, add.key})) {
      of->adds.push_back(add);
      return OkStatus();
    }
    Change& change = ChangeOf(of, add.tablet, add.key);
    change.kind = Intent::New::kPut;
    change.delta = add.delta;
    change.emptied = emptied;
    return OkStatus();
  }

  Status AddFence(const kv::Fence& fence) {
    if (fence.tablet == plan_.primary) plan_.commit.fences.push_back(fence);
    bool named = fence.tablet == plan_.primary;
    for (Participant& each : plan_.participants) {
      if (each.unit.tablet != fence.tablet) continue;
      each.fences.push_back(fence);
      named = true;
    }
    if (named) return OkStatus();
    ASSIGN_OR_RETURN(kv::Unit unit, core_.inner.UnitOf(fence.tablet, {}, tier_));
    Add(std::move(unit), {}).fences.push_back(fence);
    return OkStatus();
  }

  Core& core_;
  const kv::Batch& batch_;
  const bool apart_;
  const kv::Tier tier_;
  Plan plan_;
  kv::Unit unit_;                               // the primary unit
  std::vector<const kv::DeleteRange*> native_;  // ranges deleted by the commit
  std::map<Place, bool> emptied_;  // keys of other ranges that the batch does not name itself
  std::map<Place, std::pair<size_t, size_t>> changes_;  // participant, index of its change
};

// Stores in *change the state of a key as its cell shows it. Returns false and sets *met if the
// cell has the intent of an undecided transaction.
Result<bool> TakeCell(Resolver& resolver, kv::Tier tier, std::optional<std::string> cell,
                      kv::Tablet tablet, Change* change, std::optional<BlockingTransaction>* met) {
  change->cell_stamp = cell ? kv::StampOf(*cell) : 0;
  change->cell_left_by = change->rolling = nullptr;
  if (!cell || !IsIntent(*cell)) {
    change->old = std::move(cell);
    return true;
  }
  ASSIGN_OR_RETURN(const Intent intent, DecodeIntent(*cell));
  ASSIGN_OR_RETURN(const Decision decision, resolver.Find(intent.transaction, tier));
  if (decision == Decision::kUndecided) {
    met->emplace(BlockingTransaction{intent.transaction, {tablet, intent.note_key}});
    return false;
  }
  // The prepare guards the intent's stamp. If the intent still stands then, this decision was
  // right.
  change->old =
      decision == Decision::kCommitted ? intent.IfCommitted(change->cell_stamp) : intent.IfNot();
  change->rolling = resolver.RollOf(intent.transaction.id, intent.note_key);
  if (change->rolling != nullptr) {
    change->cell_stamp = 0;
    if (change->old) change->cell_left_by = change->rolling;
  }
  return true;
}

bool IsRolling(const Resolver& resolver, std::string_view cell) {
  const Result<Intent> intent = DecodeIntent(cell);
  return intent.ok() && resolver.RollOf(intent->transaction.id, intent->note_key) != nullptr;
}

// Returns whether a guard of the batch holds for what was read.
bool Holds(const kv::Guard& guard, const Change& change) {
  const uint64_t stamp = change.old ? kv::StampOf(*change.old) : 0;
  if (guard.left_by == nullptr) return guard.stamp == stamp;
  return guard.left_by == change.cell_left_by || (stamp != 0 && guard.expected() == stamp);
}

Status CheckChange(Change* change) {
  if (change->guard && !Holds(*change->guard, *change)) {
    return Error(ErrorCode::kGuardFailed, "A key has changed since it was read.");
  }
  if (!change->delta) return OkStatus();
  int64_t count = 0;
  if (change->old && !change->emptied) {
    ASSIGN_OR_RETURN(count, kv::CounterOf(*change->old));
  }
  change->fresh = kv::EncodeCounter(0, count + *change->delta);
  return OkStatus();
}

// Checks that keys to be added to are counters. Adds outside the primary unit happen after the
// decision, too late to report an error to the caller.
Status CheckCounters(Core& core, kv::Tier tier, kv::Tablet tablet,
                     const std::vector<kv::Add>& adds) {
  for (const kv::Add& add : adds) {
    if (core.counters.Has(tablet, add.key)) continue;
    std::string value;
    Result<bool> found = core.inner.Get(tablet, add.key, kv::Tier::kGuarded, &value);
    if (!found.ok() && kv::IsNotRemembered(found.error()))
      found = core.inner.Get(tablet, add.key, tier, &value);
    if (!found.ok()) return std::move(found).error();
    if (*found && IsIntent(value)) continue;
    if (*found) TRY(kv::CounterOf(value));
    core.counters.Add(tablet, add.key);
  }
  return OkStatus();
}

// Checks the guards on the primary unit early. The commit would find the same, but only after the
// prepares.
Result<std::optional<BlockingTransaction>> CheckPrimaryGuards(Core& core, Resolver& resolver,
                                                              kv::Tier tier, const Plan& plan) {
  for (const kv::Guard& guard : plan.commit.guards) {
    if (guard.left_by != nullptr) continue;
    std::string cell;
    Result<bool> found = core.inner.Get(guard.tablet, guard.key, kv::Tier::kGuarded, &cell);
    if (!found.ok() || (*found ? kv::StampOf(cell) : 0) == guard.expected()) continue;
    found = core.inner.Get(guard.tablet, guard.key, tier, &cell);
    if (!found.ok() && found.error().code() == ErrorCode::kWouldBlock)
      return std::move(found).error();
    // The read has already waited for long: do not wait again for each further guard and for the
    // commit.
    if (!found.ok() && found.error().code() == ErrorCode::kUnavailable)
      return std::move(found).error();
    if (!found.ok() || (*found ? kv::StampOf(cell) : 0) == guard.expected()) continue;
    if (!*found || !IsIntent(cell))
      return Error(ErrorCode::kGuardFailed, "A key has changed since it was read.");
    ASSIGN_OR_RETURN(const Intent intent, DecodeIntent(cell));
    ASSIGN_OR_RETURN(const Decision decision, resolver.Find(intent.transaction, tier));
    if (decision == Decision::kUndecided)
      return std::optional(
          BlockingTransaction{intent.transaction, {guard.tablet, intent.note_key}});
  }
  return std::optional<BlockingTransaction>();
}

}  // namespace

Result<Plan> Divide(Core& core, const kv::Batch& batch, bool apart, kv::Tier tier) {
  return Division(core, batch, apart, tier).Run();
}

Result<std::optional<BlockingTransaction>> ReadOld(Core& core, Resolver& resolver, bool guess,
                                                   kv::Tier tier, Plan* plan) {
  ASSIGN_OR_RETURN(std::optional<BlockingTransaction> met,
                   CheckPrimaryGuards(core, resolver, tier, *plan));
  if (met) return met;
  for (Participant& participant : plan->participants) {
    const kv::Tablet tablet = participant.unit.tablet;
    TRY(CheckCounters(core, tier, tablet, participant.adds));
    std::vector<Change*> cold;
    std::vector<kv::Point> points;
    bool guessed = guess;
    for (Change& change : participant.changes) {
      if (change.stamp_offset >= 0) continue;
      std::string cell;
      Result<bool> found = core.inner.Get(tablet, change.key, kv::Tier::kGuarded, &cell);
      if (found.ok()) {
        // A cached cell that does not fit the guard may be stale. A cached intent may be one that
        // this process is just rolling forward.
        if (guess && (!*found || !IsIntent(cell) || IsRolling(resolver, cell))) {
          const std::optional<std::string> remembered =
              *found ? std::optional(std::move(cell)) : std::nullopt;
          ASSIGN_OR_RETURN(const bool taken,
                           TakeCell(resolver, tier, remembered, tablet, &change, &met));
          if (taken && (!change.guard || Holds(*change.guard, change))) continue;
          met.reset();
        }
      } else if (!kv::IsNotRemembered(found.error())) {
        return std::move(found).error();
      }
      const bool expects_absence =
          change.guard && change.guard->stamp == 0 && change.guard->left_by == nullptr;
      // A key that others change often is likely to be present.
      guessed &=
          !found.ok() && found.error().code() == ErrorCode::kWouldBlock &&
          (change.guard ? expects_absence : change.kind == Intent::New::kPut && !change.delta);
      cold.push_back(&change);
      points.push_back({tablet, change.key});
    }
    if (guessed || cold.empty()) continue;
    std::vector<std::optional<std::string>> cells;
    TRY(core.inner.MultiGet(points, tier, &cells));
    for (size_t i = 0; i < cold.size(); ++i) {
      ASSIGN_OR_RETURN(const bool taken,
                       TakeCell(resolver, tier, std::move(cells[i]), tablet, cold[i], &met));
      if (!taken) return met;
    }
  }
  for (Participant& participant : plan->participants) {
    for (Change& change : participant.changes) TRY(CheckChange(&change));
  }
  return met;
}

}  // namespace stator::kv_tx
