#include "kv_tx/reader.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace stator::kv_tx {
namespace {

constexpr int kTries = 200;
constexpr size_t kHeld = 64;         // cells that a scan keeps from the first intent on
constexpr size_t kLastRecords = 16;  // records that a reverse scan of a log reads at once
// Most transactions under way have ended by then.
constexpr int64_t kKickUndecidedMicros = 100'000;

Error WouldBlock() {
  return Error(ErrorCode::kWouldBlock, "A transaction's decision has to be read first.");
}
Error BusyError() {
  return Error(ErrorCode::kUnavailable,
               "The items changed during every attempt to read them at one moment. Retry.");
}

bool SameCells(const std::vector<std::optional<std::string>>& a,
               const std::vector<std::optional<std::string>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.has_value() == other.has_value() &&
           (!one || kv::StampOf(*one) == kv::StampOf(*other));
  });
}

kv::Range WithoutEngineKeys(kv::Range range) {
  if (range.end.empty() || range.end > kEngineKeys) range.end = kEngineKeys;
  return range;
}
bool IsLogBack(const kv::Range& range) {
  return range.reverse && range.tablet.space == kv::Space::kLog;
}

}  // namespace

void Reader::ScheduleCleanup(kv::Tablet tablet, const Intent& intent, Decision decision) {
  if (resolver_.IsOwn(intent.transaction.id)) return;
  const bool undecided = decision == Decision::kUndecided;
  if (undecided) core_.counts.undecided_met.fetch_add(1);
  resolver_.ResolveUnit(intent.transaction, {tablet, intent.note_key},
                        undecided ? kKickUndecidedMicros : core_.Jitter(20'000), nullptr);
}

Result<Reader::Seen> Reader::See(kv::Tablet tablet, std::string_view key, std::string cell,
                                 Decisions* decisions) {
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(const Intent intent, DecodeIntent(cell));
    const uint64_t stamp = kv::StampOf(cell);
    const auto known = decisions->find(intent.transaction.id);
    Decision decision = Decision::kUndecided;
    if (known != decisions->end()) {
      decision = known->second;
    } else {
      ASSIGN_OR_RETURN(decision, resolver_.Find(intent.transaction));
      if (decision != Decision::kCommitted) {
        // kUndecided and kAborted are also answered for finished transactions. They are right only
        // if the intent still stands.
        std::string again;
        ASSIGN_OR_RETURN(const bool found, core_.inner.Get(tablet, key, kv::Tier::kAny, &again));
        if (!found) return Seen{};
        if (kv::StampOf(again) != stamp) {
          if (!IsIntent(again)) return Seen{std::move(again)};
          cell = std::move(again);
          continue;
        }
      }
      decisions->emplace(intent.transaction.id, decision);
      ScheduleCleanup(tablet, intent, decision);
    }
    if (decision == Decision::kCommitted) return Seen{intent.IfCommitted(stamp)};
    return Seen{intent.IfNot(), decision == Decision::kUndecided};
  }
  return BusyError();
}

Result<bool> Reader::Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                         std::string* value) {
  ASSIGN_OR_RETURN(const bool found, core_.inner.Get(tablet, key, tier, value));
  if (!found || !IsIntent(*value)) return found;
  if (tier != kv::Tier::kAny) return WouldBlock();
  Decisions decisions;
  ASSIGN_OR_RETURN(Seen seen, See(tablet, key, std::move(*value), &decisions));
  if (!seen.value) return false;
  *value = std::move(*seen.value);
  return true;
}

void Reader::GetLater(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done) {
  core_.inner.GetLater(
      tablet, key,
      [this, tablet, key = std::string(key), done = std::move(done),
       busy = std::make_unique<Busy>(core_)](Result<std::optional<std::string>> cell) mutable {
        if (!cell.ok() || !*cell || !IsIntent(**cell)) return done(std::move(cell));
        // Looking up the decision may block.
        core_.scheduler.Post([this, tablet, key = std::move(key), done = std::move(done),
                              cell = std::move(**cell), busy = std::move(busy)]() mutable {
          Decisions decisions;
          Result<Seen> seen = See(tablet, key, std::move(cell), &decisions);
          if (!seen.ok()) return done(std::move(seen).error());
          done(std::move(seen->value));
        });
      });
}

// A stale answer that is an intent is read again with GetLater: its transaction may have ended
// since, and the record of its decision may have been removed.
void Reader::GetRecent(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done) {
  core_.inner.GetRecent(
      tablet, key,
      [this, tablet, key = std::string(key), done = std::move(done),
       busy = std::make_unique<Busy>(core_)](Result<std::optional<std::string>> cell) mutable {
        if (cell.ok() && *cell && IsIntent(**cell)) return GetLater(tablet, key, std::move(done));
        done(std::move(cell));
      });
}

struct Reader::UnitRead {
  explicit UnitRead(Core& core) : busy(core) {}
  const Busy busy;
  std::vector<size_t> members;  // indexes into the points
  std::vector<kv::Point> points;
  Values cells;
  Status status;
};

// Reads the cells of all points. The cells of one unit are of one state; those of different units
// are not.
Status Reader::ReadCells(std::span<const kv::Point> points, Values* cells, bool* one_unit) {
  const bool one_tablet = std::all_of(points.begin(), points.end(), [&](const kv::Point& point) {
    return point.tablet == points.front().tablet;
  });
  if (one_tablet) {
    Status read = core_.inner.MultiGet(points, kv::Tier::kAny, cells);
    *one_unit = read.ok();
    if (read.ok() || read.error().code() != ErrorCode::kSpansUnits) return read;
  }
  std::map<kv::Unit, std::shared_ptr<UnitRead>> units;
  for (size_t i = 0; i < points.size(); ++i) {
    ASSIGN_OR_RETURN(kv::Unit unit,
                     core_.inner.UnitOf(points[i].tablet, points[i].key, kv::Tier::kAny));
    std::shared_ptr<UnitRead>& read = units[std::move(unit)];
    if (read == nullptr) read = std::make_shared<UnitRead>(core_);
    read->members.push_back(i);
    read->points.push_back(points[i]);
  }
  *one_unit = false;
  cells->assign(points.size(), std::nullopt);
  // Reads all units at once, the last one on this thread.
  const auto left = std::make_shared<std::atomic<size_t>>(units.size());
  size_t begun = 0;
  for (const auto& [unit, read] : units) {
    const auto run = [this, read = read, left] {
      read->status = core_.inner.MultiGet(read->points, kv::Tier::kAny, &read->cells);
      if (left->fetch_sub(1) == 1) core_.scheduler.Wake();
    };
    if (++begun == units.size()) {
      run();
    } else {
      core_.scheduler.Post(run);
    }
  }
  core_.scheduler.Await([&] { return *left == 0; });
  if (*left > 0) return ClosingError();
  for (const auto& [unit, read] : units) {
    TRY(std::move(read->status));
    for (size_t k = 0; k < read->members.size(); ++k)
      cells->at(read->members[k]) = std::move(read->cells[k]);
  }
  return OkStatus();
}

Status Reader::MultiGet(std::span<const kv::Point> points, kv::Tier tier, Values* values) {
  values->clear();
  if (points.empty()) return OkStatus();
  if (tier != kv::Tier::kAny) {
    const bool one_tablet = std::all_of(points.begin(), points.end(), [&](const kv::Point& point) {
      return point.tablet == points.front().tablet;
    });
    if (!one_tablet) return WouldBlock();
    if (Status read = core_.inner.MultiGet(points, tier, values); !read.ok()) {
      return read.error().code() == ErrorCode::kSpansUnits ? Status(WouldBlock()) : read;
    }
    for (const auto& value : *values) {
      if (value && IsIntent(*value)) return WouldBlock();
    }
    return OkStatus();
  }
  for (int i = 0; i < kTries; ++i) {
    const Status read = Snapshot(points, values);
    // A unit was divided between the lookup of units and the read, or other writers change the keys
    // all the time.
    if (read.ok() || read.error().code() != ErrorCode::kSpansUnits) return read;
  }
  return BusyError();
}

// Reads the cells again until two reads in a row are equal: then all cells stood there at one
// moment between the two reads. The decisions about their intents must be known for that moment
// too:
// - a final decision that was found before the moment holds at it;
// - "undecided", found after the moment, held at it if the intent still stood there when the next
//   read began.
// So with decisions of only one kind, the moment is before or after the lookups. With both kinds,
// the undecided transactions are looked up again after the moment, and the cells are read once
// more. The same is done if some are undecided and a key is absent: the last of them may have
// created and deleted the key between the reads.
Status Reader::Snapshot(std::span<const kv::Point> points, Values* values) {
  bool one_unit = false;
  Values cells;
  TRY(ReadCells(points, &cells, &one_unit));
  Decisions final;
  for (int i = 0; i < kTries; ++i) {
    std::map<TransactionId, TransactionRef> undecided;
    bool intents = false;
    for (size_t k = 0; k < points.size(); ++k) {
      if (!cells[k] || !IsIntent(*cells[k])) continue;
      intents = true;
      ASSIGN_OR_RETURN(const Intent intent, DecodeIntent(*cells[k]));
      const TransactionId id = intent.transaction.id;
      if (final.contains(id) || undecided.contains(id)) continue;
      ASSIGN_OR_RETURN(const Decision decision, resolver_.Find(intent.transaction));
      ScheduleCleanup(points[k].tablet, intent, decision);
      if (decision == Decision::kUndecided) {
        undecided.emplace(id, intent.transaction);
      } else {
        final.emplace(id, decision);
      }
    }
    if (!intents && one_unit) break;
    // Several absent keys: a key that was created and deleted between the reads leaves no stamp. A
    // second read misses that only if it happens at the right moment three times, a third read only
    // if five times.
    const auto absent = std::count(cells.begin(), cells.end(), std::nullopt);
    const bool mixed = !undecided.empty() && (!final.empty() || absent > 0);
    const int more = mixed || absent > 1 ? 2 : 1;
    bool same = true;
    for (int read = 0; read < more && same; ++read) {
      Values next;
      TRY(ReadCells(points, &next, &one_unit));
      same = SameCells(cells, next);
      cells = std::move(next);
      if (!same || read > 0 || !mixed) continue;
      for (const auto& [id, transaction] : undecided) {
        ASSIGN_OR_RETURN(const Decision decision, resolver_.Find(transaction));
        if (decision == Decision::kUndecided) continue;
        final.emplace(id, decision);
        same = false;
      }
    }
    if (!same) continue;
    values->assign(cells.size(), std::nullopt);
    for (size_t k = 0; k < cells.size(); ++k) {
      if (!cells[k] || !IsIntent(*cells[k])) {
        values->at(k) = std::move(cells[k]);
        continue;
      }
      ASSIGN_OR_RETURN(const Intent intent, DecodeIntent(*cells[k]));
      const auto decided = final.find(intent.transaction.id);
      const bool committed = decided != final.end() && decided->second == Decision::kCommitted;
      values->at(k) = committed ? intent.IfCommitted(kv::StampOf(*cells[k])) : intent.IfNot();
    }
    return OkStatus();
  }
  if (one_unit && std::none_of(cells.begin(), cells.end(),
                               [](const auto& cell) { return cell && IsIntent(*cell); })) {
    *values = std::move(cells);
    return OkStatus();
  }
  return BusyError();
}

Status Reader::Scan(const kv::Range& range, kv::Tier tier,
                    FunctionRef<bool(std::string_view, std::string_view)> visit) {
  const kv::Range own = WithoutEngineKeys(range);
  if (own.begin >= own.end) return OkStatus();
  if (IsLogBack(own)) return tier == kv::Tier::kAny ? ScanLogBack(own, visit) : WouldBlock();
  return ScanForward(own, tier, visit);
}

void Reader::ReadAhead(const kv::Range& range, kv::Engine::AheadDone done) {
  const kv::Range own = WithoutEngineKeys(range);
  if (own.begin >= own.end || IsLogBack(own)) return done(nullptr);
  core_.inner.ReadAhead(own, std::move(done));
}

// Scans forward, and backward outside of queues.
Status Reader::ScanForward(kv::Range range, kv::Tier tier,
                           FunctionRef<bool(std::string_view, std::string_view)> visit) {
  std::string bound;  // where the scan continues
  while (true) {
    std::vector<std::pair<std::string, std::string>> held;
    bool stopped = false;
    TRY(core_.inner.Scan(range, tier, [&](std::string_view key, std::string_view value) {
      if (held.empty() && !IsIntent(value)) {
        stopped = !visit(key, value);
        return !stopped;
      }
      held.emplace_back(key, value);
      return held.size() < kHeld && tier == kv::Tier::kAny;
    }));
    if (stopped || held.empty()) return OkStatus();
    if (tier != kv::Tier::kAny) return WouldBlock();
    Decisions decisions;
    for (auto& [key, value] : held) {
      if (!IsIntent(value)) {
        if (!visit(key, value)) return OkStatus();
        continue;
      }
      ASSIGN_OR_RETURN(const Seen seen, See(range.tablet, key, std::move(value), &decisions));
      // Later records may have been written by a process that knew this one would be committed.
      if (seen.undecided && range.tablet.space == kv::Space::kLog) return OkStatus();
      if (seen.value && !visit(key, *seen.value)) return OkStatus();
    }
    if (held.size() < kHeld) return OkStatus();
    bound = held.back().first;
    if (range.reverse) {
      range.end = bound;
    } else {
      bound.push_back('\0');
      range.begin = bound;
    }
    if (range.begin >= range.end) return OkStatus();
  }
}

Result<std::optional<std::string>> Reader::FirstUndecided(const kv::Range& range) {
  const kv::Tablet tablet = range.tablet;
  std::vector<std::pair<std::string, std::string>> notes;
  const std::string begin = FirstOfKind(kNoteKind), end = EndOfKind(kNoteKind);
  TRY(core_.inner.Scan({tablet, begin, end}, kv::Tier::kAny,
                       [&](std::string_view key, std::string_view value) {
                         notes.emplace_back(key, value);
                         return true;
                       }));
  std::optional<std::string> first;
  for (auto& [key, value] : notes) {
    ASSIGN_OR_RETURN(const Note note, DecodeNote(tablet, value));
    ASSIGN_OR_RETURN(const Decision decision, resolver_.Find(note.transaction));
    if (decision != Decision::kUndecided) continue;
    // kUndecided is also answered for a finished transaction, whose keys a reader may have seen. It
    // is right only if the note is still there.
    std::string again;
    ASSIGN_OR_RETURN(const bool there, core_.inner.Get(tablet, key, kv::Tier::kAny, &again));
    if (!there) continue;
    for (const NoteKey& named : note.keys) {
      if (named.key < range.begin || named.key >= range.end) continue;
      if (!first || named.key < *first) first = named.key;
    }
  }
  return first;
}

// A scan of a queue ends before the first undecided key, from either end. So this reads the last
// keys first, then the notes of all transactions: a transaction that was undecided at the time of
// the keys has its note, unless it was prepared later than those keys and is above them.
Status Reader::ScanLogBack(kv::Range range,
                           FunctionRef<bool(std::string_view, std::string_view)> visit) {
  std::string bound;
  while (true) {
    std::vector<std::pair<std::string, std::string>> held;
    TRY(core_.inner.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
      held.emplace_back(key, value);
      return held.size() < kLastRecords;
    }));
    ASSIGN_OR_RETURN(const std::optional<std::string> limit, FirstUndecided(range));
    if (limit && !held.empty() && *limit <= held.back().first) {
      // All keys read are behind an undecided one.
      bound = *limit;
      range.end = bound;
      continue;
    }
    Decisions decisions;
    for (auto& [key, value] : held) {
      if (limit && key >= *limit) continue;
      if (!IsIntent(value)) {
        if (!visit(key, value)) return OkStatus();
        continue;
      }
      ASSIGN_OR_RETURN(const Seen seen, See(range.tablet, key, std::move(value), &decisions));
      if (seen.undecided) continue;
      if (seen.value && !visit(key, *seen.value)) return OkStatus();
    }
    if (held.size() < kLastRecords) return OkStatus();
    bound = held.back().first;
    range.end = bound;
    if (range.begin >= range.end) return OkStatus();
  }
}

}  // namespace stator::kv_tx
