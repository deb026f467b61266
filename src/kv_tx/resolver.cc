#include "kv_tx/resolver.h"

#include <algorithm>

#include "base/log.h"

namespace stator::kv_tx {
namespace {

constexpr size_t kKnown = 10'000;
constexpr int kTriesAtOnce = 8;

}  // namespace

struct Resolver::Settling {
  Settling(Core& core, TransactionRef ref, Participation place)
      : busy(core), transaction(std::move(ref)), share(std::move(place)) {}
  const Busy busy;
  const TransactionRef transaction;
  const Participation share;
  int64_t since = 0;  // in ticks; guarded by mutex_, like all later members
  int attempt = 0;
  uint64_t posted = 0;  // the number of the latest step; earlier steps are void
  bool stepping = false;
  std::vector<Done> waiting;
};

struct Resolver::Rolling {
  Rolling(Core& core, TransactionRef ref, Participation place, Decision as, Done then)
      : busy(core),
        transaction(std::move(ref)),
        share(std::move(place)),
        decision(as),
        done(std::move(then)) {}
  const Busy busy;
  const TransactionRef transaction;
  const Participation share;
  const Decision decision;
  Done done;
  std::shared_ptr<Settling> settling;  // the settlement that this belongs to, or null
  int attempt = 0;
  std::vector<std::string> bad_counters;  // counters that cannot be added to
};

void Resolver::Begin(TransactionId id) {
  MutexLock lock(mutex_);
  own_[id].since = core_.clock.TicksMicros();
}

void Resolver::End(TransactionId id) {
  std::vector<std::shared_ptr<Settling>> waited_for;
  {
    MutexLock lock(mutex_);
    own_.erase(id);
    for (const auto& [place, settling] : settling_) {
      if (settling->transaction.id == id && !settling->waiting.empty())
        waited_for.push_back(settling);
    }
  }
  for (const auto& settling : waited_for) PostStep(settling, 0);
}

void Resolver::Rolls(TransactionId id, const std::string& note_key, kv::FatePtr fate) {
  MutexLock lock(mutex_);
  own_[id].rolls[note_key] = std::move(fate);
}

kv::FatePtr Resolver::RollOf(TransactionId id, const std::string& note_key) const {
  MutexLock lock(mutex_);
  const auto own = own_.find(id);
  if (own == own_.end()) return nullptr;
  const auto roll = own->second.rolls.find(note_key);
  return roll == own->second.rolls.end() || roll->second->failed ? nullptr : roll->second;
}

bool Resolver::IsOwn(TransactionId id) const {
  MutexLock lock(mutex_);
  return own_.contains(id);
}

int64_t Resolver::OldestMicros() const {
  MutexLock lock(mutex_);
  int64_t oldest = 0;
  for (const auto& [id, own] : own_)
    oldest = std::max(oldest, core_.clock.TicksMicros() - own.since);
  for (const auto& [place, settling] : settling_)
    oldest = std::max(oldest, core_.clock.TicksMicros() - settling->since);
  return oldest;
}

void Resolver::Remember(TransactionId id, Decision decision) {
  MutexLock lock(mutex_);
  if (!known_.emplace(id, decision).second) return;
  known_order_.push_back(id);
  if (known_order_.size() <= kKnown) return;
  known_.erase(known_order_.front());
  known_order_.pop_front();
}

Result<Decision> Resolver::Find(const TransactionRef& transaction, kv::Tier tier) {
  {
    MutexLock lock(mutex_);
    if (const auto known = known_.find(transaction.id); known != known_.end()) return known->second;
  }
  std::string value;
  Result<bool> found = core_.inner.Get(transaction.primary, transaction.record_key, tier, &value);
  if (!found.ok()) {
    // A dropped tablet accepts no commits, and everything committed in it was rolled forward before
    // it was dropped.
    if (found.error().code() == ErrorCode::kFenced) return Decision::kAborted;
    return std::move(found).error();
  }
  if (!*found) return Decision::kUndecided;
  ASSIGN_OR_RETURN(const Record record, DecodeRecord(value));
  if (record.state == Decision::kCommitted) Remember(transaction.id, record.state);
  return record.state;
}

void Resolver::Abort(const TransactionRef& transaction,
                     UniqueFunction<void(Result<Decision>)> done) {
  kv::Batch batch;
  batch.guards.push_back({transaction.primary, transaction.record_key, 0});
  batch.puts.push_back({transaction.primary, transaction.record_key,
                        EncodeRecord({Decision::kAborted, core_.clock.NowMicros(), {}})});
  auto busy = std::make_unique<Busy>(core_);
  core_.inner.Apply(std::move(batch), [this, transaction, busy = std::move(busy),
                                       done = std::move(done)](Result<uint64_t> applied) mutable {
    if (applied.ok()) return done(Decision::kAborted);
    const ErrorCode code = applied.error().code();
    if (code == ErrorCode::kFenced) return done(Decision::kAborted);
    if (code != ErrorCode::kGuardFailed) return done(std::move(applied).error());
    core_.scheduler.Post([this, transaction, busy = std::move(busy),
                          done = std::move(done)]() mutable { done(Find(transaction)); });
  });
}

void Resolver::ResolveUnit(const TransactionRef& transaction, Participation share,
                           int64_t delay_micros, Done done) {
  if (core_.closing) {
    if (done) done(ClosingError());
    return;
  }
  std::shared_ptr<Settling> settling;
  {
    MutexLock lock(mutex_);
    std::shared_ptr<Settling>& place = settling_[{share.tablet, share.note_key}];
    const bool known = place != nullptr;
    if (!known) {
      place = std::make_shared<Settling>(core_, transaction, std::move(share));
      place->since = core_.clock.TicksMicros();
    }
    const bool first = place->waiting.empty();
    const bool urgent = static_cast<bool>(done);
    if (urgent) place->waiting.push_back(std::move(done));
    if (known && (!urgent || !first || place->stepping)) return;
    settling = place;
  }
  PostStep(settling, delay_micros);
}

void Resolver::PostStep(const std::shared_ptr<Settling>& settling, int64_t delay_micros) {
  uint64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = ++settling->posted;
  }
  core_.scheduler.Post(
      [this, settling, number] {
        {
          MutexLock lock(mutex_);
          if (number != settling->posted || settling->stepping) return;
          settling->stepping = true;
        }
        Step(settling);
      },
      delay_micros);
}

void Resolver::StepLater(const std::shared_ptr<Settling>& settling) {
  int attempt = 0;
  bool long_since = false;
  {
    MutexLock lock(mutex_);
    settling->stepping = false;
    attempt = settling->attempt++;
    long_since = core_.clock.TicksMicros() - settling->since > core_.options.give_up_micros;
  }
  if (long_since) LetGo(settling);
  PostStep(settling, core_.Backoff(attempt));
}

void Resolver::LetGo(const std::shared_ptr<Settling>& settling) {
  std::vector<Done> waiting;
  {
    MutexLock lock(mutex_);
    waiting.swap(settling->waiting);
  }
  for (Done& done : waiting)
    done(Error(ErrorCode::kUnavailable,
               "Timed out waiting for another write to the same items. Retry."));
}

void Resolver::FinishSettling(const std::shared_ptr<Settling>& settling, Status status) {
  std::vector<Done> waiting;
  {
    MutexLock lock(mutex_);
    settling_.erase({settling->share.tablet, settling->share.note_key});
    waiting.swap(settling->waiting);
  }
  for (Done& done : waiting) done(status);
}

void Resolver::Step(const std::shared_ptr<Settling>& settling) {
  if (core_.closing) return FinishSettling(settling, ClosingError());
  const TransactionRef& transaction = settling->transaction;
  bool own = false;
  bool patient = false;
  {
    MutexLock lock(mutex_);
    own = own_.contains(transaction.id);
    patient = core_.clock.TicksMicros() - settling->since < core_.options.patience_micros;
  }
  if (own) return StepLater(settling);
  std::string note;
  const Result<bool> there =
      core_.inner.Get(settling->share.tablet, settling->share.note_key, kv::Tier::kAny, &note);
  if (!there.ok()) {
    if (there.error().code() == ErrorCode::kFenced) return FinishSettling(settling, OkStatus());
    if (there.error().code() == ErrorCode::kCorruption)
      return FinishSettling(settling, there.error());
    LetGo(settling);
    return StepLater(settling);
  }
  if (!*there) return FinishSettling(settling, OkStatus());
  const Result<Decision> decision = Find(transaction);
  if (!decision.ok()) {
    if (decision.error().code() == ErrorCode::kCorruption)
      return FinishSettling(settling, decision.error());
    LetGo(settling);
    return StepLater(settling);
  }
  if (*decision != Decision::kUndecided) return RollSettling(settling, *decision);
  if (patient) return StepLater(settling);
  Abort(transaction, [this, settling](Result<Decision> aborted) {
    if (!aborted.ok()) LetGo(settling);
    if (!aborted.ok() || *aborted == Decision::kUndecided) return StepLater(settling);
    if (*aborted == Decision::kAborted) core_.counts.aborted_others.fetch_add(1);
    RollSettling(settling, *aborted);
  });
}

void Resolver::RollSettling(const std::shared_ptr<Settling>& settling, Decision decision) {
  core_.counts.resolved.fetch_add(1);
  auto rolling = std::make_shared<Rolling>(
      core_, settling->transaction, settling->share, decision,
      [this, settling](Status status) { FinishSettling(settling, std::move(status)); });
  rolling->settling = settling;
  core_.scheduler.Post([this, rolling] { RollOnce(rolling); });
}

void Resolver::Roll(const TransactionRef& transaction, Participation share, Decision decision,
                    Done done) {
  auto rolling =
      std::make_shared<Rolling>(core_, transaction, std::move(share), decision, std::move(done));
  core_.scheduler.Post([this, rolling] { RollOnce(rolling); });
}

void Resolver::RollAgain(const std::shared_ptr<Rolling>& rolling, bool at_once) {
  if (core_.closing && (!at_once || rolling->attempt > kTriesAtOnce))
    return rolling->done(ClosingError());
  if (!at_once && rolling->settling != nullptr) LetGo(rolling->settling);
  const int attempt = rolling->attempt++;
  core_.scheduler.Post([this, rolling] { RollOnce(rolling); },
                       at_once && attempt < kTriesAtOnce ? 0 : core_.Backoff(attempt));
}

// Returns the batch that rolls the unit, guarded by everything it depends on. Sets *gone if the
// note is gone: then there is nothing to roll.
Result<kv::Batch> Resolver::RollBatch(Rolling& rolling, bool* gone) {
  const kv::Tablet tablet = rolling.share.tablet;
  std::string value;
  ASSIGN_OR_RETURN(const bool there,
                   core_.inner.Get(tablet, rolling.share.note_key, kv::Tier::kAny, &value));
  *gone = !there;
  if (!there) return kv::Batch();
  ASSIGN_OR_RETURN(Note note, DecodeNote(tablet, value));
  if (note.transaction.id != rolling.transaction.id)
    return CorruptionError("a note belongs to another transaction than its key says.");
  const bool committed = rolling.decision == Decision::kCommitted;
  kv::Batch batch;
  batch.guards.push_back({tablet, rolling.share.note_key, kv::StampOf(value)});
  batch.deletes.push_back({tablet, rolling.share.note_key});
  std::vector<kv::Point> points;
  for (const NoteKey& key : note.keys) points.push_back({tablet, key.key});
  std::vector<std::optional<std::string>> cells;
  if (Status read = core_.inner.MultiGet(points, kv::Tier::kAny, &cells); !read.ok()) {
    if (read.error().code() != ErrorCode::kSpansUnits) return std::move(read).error();
    cells.assign(points.size(), std::nullopt);
    for (size_t i = 0; i < points.size(); ++i) {
      std::string cell;
      ASSIGN_OR_RETURN(const bool found,
                       core_.inner.Get(tablet, points[i].key, kv::Tier::kAny, &cell));
      if (found) cells[i] = std::move(cell);
    }
  }
  for (size_t i = 0; i < points.size(); ++i) {
    if (!cells[i] || !IsIntent(*cells[i])) continue;
    ASSIGN_OR_RETURN(const Intent intent, DecodeIntent(*cells[i]));
    if (intent.transaction.id != rolling.transaction.id) continue;
    std::optional<std::string> becomes = committed ? intent.IfCommitted(0) : intent.IfNot();
    batch.guards.push_back({tablet, note.keys[i].key, kv::StampOf(*cells[i])});
    if (becomes) {
      batch.puts.push_back({tablet, std::move(note.keys[i].key), std::move(*becomes)});
    } else {
      batch.deletes.push_back({tablet, std::move(note.keys[i].key)});
    }
  }
  if (!committed) return batch;
  batch.range_deletes = std::move(note.ranges);
  for (kv::Add& add : note.adds) {
    if (std::find(rolling.bad_counters.begin(), rolling.bad_counters.end(), add.key) ==
        rolling.bad_counters.end()) {
      batch.adds.push_back(std::move(add));
    }
  }
  return batch;
}

void Resolver::RollOnce(const std::shared_ptr<Rolling>& rolling) {
  bool gone = false;
  Result<kv::Batch> batch = RollBatch(*rolling, &gone);
  if (!batch.ok()) {
    switch (batch.error().code()) {
      case ErrorCode::kFenced: return rolling->done(OkStatus());
      case ErrorCode::kCorruption: return rolling->done(batch.error());
      default: return RollAgain(rolling, false);
    }
  }
  if (gone) return rolling->done(OkStatus());
  if (core_.inner.SpansUnits(*batch)) return RollApart(rolling, std::move(*batch));
  std::vector<kv::Add> adds = batch->adds;
  core_.inner.Apply(
      std::move(*batch), [this, rolling, adds = std::move(adds)](Result<uint64_t> applied) mutable {
        if (applied.ok()) return rolling->done(OkStatus());
        switch (applied.error().code()) {
          case ErrorCode::kFenced: return rolling->done(OkStatus());
          case ErrorCode::kGuardFailed: return RollAgain(rolling, true);
          case ErrorCode::kSpansUnits:
            return core_.scheduler.Post([this, rolling] {
              bool gone = false;
              Result<kv::Batch> batch = RollBatch(*rolling, &gone);
              if (!batch.ok() || gone) return RollAgain(rolling, false);
              RollApart(rolling, std::move(*batch));
            });
          case ErrorCode::kCorruption:
            if (adds.empty()) return rolling->done(std::move(applied).error());
            return core_.scheduler.Post([this, rolling, adds = std::move(adds)]() mutable {
              FreeCounters(rolling, std::move(adds));
            });
          default: return RollAgain(rolling, false);
        }
      });
}

// Rolls a unit that was divided since the note was written, so that one batch cannot hold all its
// keys any more. Writes first each key in a batch of its own, in any order, and at last the note
// and the adds.
void Resolver::RollApart(const std::shared_ptr<Rolling>& rolling, kv::Batch batch) {
  // A range may be deleted again if this process dies before it removes the note. Writers that
  // delete ranges across units promise not to write there again.
  kv::Batch rest;
  const auto take_guard = [&](const std::string& key) {
    const auto found = std::find_if(batch.guards.begin(), batch.guards.end(),
                                    [&](const kv::Guard& guard) { return guard.key == key; });
    return *found;
  };
  std::vector<kv::Batch> parts;
  for (kv::Put& put : batch.puts) {
    kv::Batch part;
    part.guards.push_back(take_guard(put.key));
    part.puts.push_back(std::move(put));
    parts.push_back(std::move(part));
  }
  for (kv::Delete& gone : batch.deletes) {
    kv::Batch& part = gone.key == rolling->share.note_key ? rest : parts.emplace_back();
    part.guards.push_back(take_guard(gone.key));
    part.deletes.push_back(std::move(gone));
  }
  for (kv::DeleteRange& range : batch.range_deletes)
    parts.emplace_back().range_deletes.push_back(std::move(range));
  rest.adds = std::move(batch.adds);
  struct Parts {
    std::atomic<size_t> left;
    std::atomic<bool> failed = false;
    kv::Batch rest;
  };
  auto all = std::make_shared<Parts>();
  all->left = parts.size() + 1;
  all->rest = std::move(rest);
  const auto finished = [this, rolling, all](bool ok) {
    if (!ok) all->failed = true;
    if (all->left.fetch_sub(1) > 1) return;
    if (all->failed) return RollAgain(rolling, false);
    apply_(std::move(all->rest), [this, rolling](Result<uint64_t> applied) {
      if (applied.ok()) return rolling->done(OkStatus());
      RollAgain(rolling, applied.error().code() == ErrorCode::kGuardFailed);
    });
  };
  for (kv::Batch& part : parts) {
    core_.inner.Apply(std::move(part),
                      [finished](Result<uint64_t> applied) { finished(applied.ok()); });
  }
  finished(true);
}

// Called when an add failed. Removes an intent from the counter first; skips a counter that is
// damaged.
void Resolver::FreeCounters(const std::shared_ptr<Rolling>& rolling, std::vector<kv::Add> adds) {
  for (const kv::Add& add : adds) {
    std::string value;
    const Result<bool> found = core_.inner.Get(add.tablet, add.key, kv::Tier::kAny, &value);
    if (!found.ok()) return RollAgain(rolling, false);
    if (!*found || value.size() == kv::kCounterBytes) continue;
    if (!IsIntent(value)) {
      LogError("counter_damaged", {{"space", static_cast<int>(add.tablet.space)},
                                   {"tablet", add.tablet.id},
                                   {"lost_delta", add.delta}});
      rolling->bad_counters.push_back(add.key);
      continue;
    }
    const Result<Intent> intent = DecodeIntent(value);
    if (!intent.ok()) return rolling->done(intent.error());
    return ResolveUnit(intent->transaction, {add.tablet, intent->note_key}, 0,
                       [this, rolling](Status settled) {
                         if (!settled.ok() && settled.error().code() == ErrorCode::kCorruption)
                           return rolling->done(std::move(settled));
                         RollAgain(rolling, settled.ok());
                       });
  }
  RollAgain(rolling, true);
}

}  // namespace stator::kv_tx
