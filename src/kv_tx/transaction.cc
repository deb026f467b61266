#include "kv_tx/transaction.h"

#include <algorithm>

#include "base/check.h"

namespace stator::kv_tx {
namespace {

// Returns true if nothing says when the store will answer, or accept writes, again.
bool GivesNoWay(const Error& error) {
  return error.code() == ErrorCode::kOutcomeUnknown || error.code() == ErrorCode::kUnavailable;
}

}  // namespace

void Transaction::Enter(State to) {
  const bool follows = [this, to] {
    switch (state_) {
      case State::kPlanning:
        return to == State::kPreparing || to == State::kDirect || to == State::kWaiting ||
               to == State::kOver;
      case State::kPreparing: return to == State::kCommitting || to == State::kRollingBack;
      case State::kCommitting:
        return to == State::kRollingForward || to == State::kFindingOut ||
               to == State::kRollingBack;
      case State::kFindingOut:
        return to == State::kRollingForward || to == State::kRollingBack || to == State::kOver;
      case State::kRollingBack:
        return to == State::kWaiting || to == State::kDiagnosing || to == State::kOver;
      case State::kDiagnosing: return to == State::kWaiting || to == State::kOver;
      case State::kWaiting: return to == State::kPlanning || to == State::kOver;
      case State::kDirect:
      case State::kRollingForward: return to == State::kOver;
      case State::kOver: return false;
    }
    return false;
  }();
  CHECK(follows, "a transaction took a step that does not follow its state");
  state_ = to;
}

void Transaction::Finish(Result<uint64_t> outcome, Tracker::Left left) {
  Enter(State::kOver);
  End(std::move(outcome), std::move(left));
}

Transaction::Transaction(Core& core, Resolver& resolver, Tracker& tracker, ApplyDirect direct,
                         kv::Batch batch, kv::ApplyDone done, Tracker::EntryPtr entry)
    : core_(core),
      resolver_(resolver),
      tracker_(tracker),
      direct_(std::move(direct)),
      busy_(core),
      batch_(std::move(batch)),
      done_(std::move(done)),
      entry_(std::move(entry)),
      began_(core.clock.TicksMicros()) {}

void Transaction::Start(bool here) {
  if (here) return Attempt(kv::Tier::kMemory);
  core_.scheduler.Post([self = shared_from_this()] { self->Attempt(kv::Tier::kAny); });
}

bool Transaction::late() const {
  return core_.clock.TicksMicros() - began_ > core_.options.give_up_micros;
}

std::string Transaction::ActualKey(const Change& change, const Part& part) const {
  std::string key = change.key;
  if (change.stamp_offset >= 0)
    kv::SetKeyStamp(&key, static_cast<size_t>(change.stamp_offset), part.stamp);
  return key;
}

void Transaction::Attempt(kv::Tier tier) {
  if (core_.closing) return Finish(ClosingError());
  if (kv::IsVoid(batch_)) return Finish(kv::VoidBatchError());
  if (late())
    return Finish(Error(
        ErrorCode::kUnavailable,
        "Timed out: other writes to the same items were in the way at every attempt. Retry."));
  error_.reset();
  diagnose_ = false;
  Result<Plan> plan = Divide(core_, batch_, apart_, tier);
  if (!plan.ok() && plan.error().code() == ErrorCode::kWouldBlock) return Start(false);
  if (!plan.ok()) return Finish(std::move(plan).error());
  plan_ = std::move(*plan);
  if (plan_.participants.empty()) {
    Enter(State::kDirect);
    return direct_(std::move(batch_), [self = shared_from_this()](Result<uint64_t> outcome) {
      self->Finish(std::move(outcome));
    });
  }
  Result<std::optional<BlockingTransaction>> met = ReadOld(core_, resolver_, guess_, tier, &plan_);
  if (!met.ok()) {
    if (met.error().code() == ErrorCode::kWouldBlock) return Start(false);
    if (met.error().code() == ErrorCode::kSpansUnits) return Again(false);
    return Finish(std::move(met).error());
  }
  if (*met) return WaitFor(**met);
  self_.id = {core_.random.Next(), core_.random.Next()};
  self_.primary = plan_.primary;
  self_.record_key = RecordKeyOf(plan_.route, self_.id);
  core_.inner.NoteUnused(self_.primary, self_.record_key);
  parts_.assign(plan_.participants.size(), Part());
  for (size_t i = 0; i < parts_.size(); ++i) {
    // Each has its own, also where a unit has two participants of one route (keys, and ranges).
    parts_[i].note_key = NoteKeyOf(plan_.participants[i].route, {self_.id.high, self_.id.low + i});
  }
  Prepare();
}

kv::Batch Transaction::PrepareBatch(const Participant& participant, const Part& part) const {
  const kv::Tablet tablet = participant.unit.tablet;
  kv::Batch batch;
  batch.fences = participant.fences;
  Note note{self_, core_.clock.NowMicros(), {}, participant.adds, participant.ranges};
  for (const Change& change : participant.changes) {
    if (change.stamp_offset < 0)
      batch.guards.push_back({tablet, change.key, change.cell_stamp, change.cell_left_by});
    if (change.rolling != nullptr) batch.after.push_back(change.rolling);
    Intent intent{self_, part.note_key, change.kind, {}, {}};
    if (change.kind == Intent::New::kPut)
      intent.fresh = std::string_view(change.fresh).substr(kv::kStampBytes);
    if (change.old) intent.old = *change.old;
    batch.puts.push_back({tablet, change.key, EncodeIntent(intent), change.stamp_offset});
    note.keys.push_back({change.key, change.stamp_offset});
  }
  batch.puts.push_back({tablet, part.note_key, EncodeNote(note)});
  return batch;
}

void Transaction::Prepare() {
  Enter(State::kPreparing);
  resolver_.Begin(self_.id);
  waiting_ = parts_.size() + 1;
  const auto answered = [this] {
    if (waiting_.fetch_sub(1) == 1) Prepared();
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    core_.inner.Apply(PrepareBatch(plan_.participants[i], parts_[i]),
                      [self = shared_from_this(), answered, i](Result<uint64_t> applied) {
                        Part& part = self->parts_[i];
                        if (applied.ok()) {
                          part.phase = Phase::kPrepared;
                          part.stamp = *applied;
                        } else {
                          if (applied.error().code() == ErrorCode::kOutcomeUnknown)
                            part.phase = Phase::kUnsure;
                          part.error = std::move(applied).error();
                        }
                        answered();
                      });
  }
  answered();
}

void Transaction::Prepared() {
  std::optional<Error> error;
  bool again = false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!part.error) continue;
    switch (part.error->code()) {
      case ErrorCode::kUnavailable: {
        // Perhaps because the roll-forward that the prepare was queued behind has failed.
        const std::vector<Change>& changes = plan_.participants[i].changes;
        const bool alone = std::none_of(changes.begin(), changes.end(), [](const Change& change) {
          return change.rolling != nullptr && change.rolling->failed;
        });
        if (!alone) {
          again = true;
        } else if (!error) {
          error = part.error;
        }
        break;
      }
      case ErrorCode::kGuardFailed:
      case ErrorCode::kSpansUnits: again = true; break;
      case ErrorCode::kOutcomeUnknown:
        // The outcome is known: the batch was not committed, so no reader will see any of it.
        error = Error(ErrorCode::kUnavailable, part.error->message());
        break;
      default:
        if (!error) error = part.error;
    }
  }
  if (error) return Abort(std::move(error));
  if (again) return Abort(std::nullopt);
  if (core_.closing) return Abort(ClosingError());
  if (late())
    return Abort(Error(ErrorCode::kUnavailable,
                       "Timed out before the write was decided; it was not applied. Retry."));
  Commit();
}

void Transaction::Commit() {
  Enter(State::kCommitting);
  kv::Batch batch = std::move(plan_.commit);
  batch.after = batch_.after;
  batch.fate = batch_.fate;
  batch.guards.push_back({plan_.primary, self_.record_key, 0});
  Record record{Decision::kCommitted, core_.clock.NowMicros(), {}};
  for (size_t i = 0; i < parts_.size(); ++i)
    record.shares.push_back({plan_.participants[i].unit.tablet, parts_[i].note_key});
  batch.puts.push_back({plan_.primary, self_.record_key, EncodeRecord(record)});
  looking_since_ = core_.clock.TicksMicros();
  core_.inner.Apply(std::move(batch), [self = shared_from_this()](Result<uint64_t> applied) {
    if (applied.ok()) return self->Committed(*applied);
    switch (applied.error().code()) {
      case ErrorCode::kOutcomeUnknown:
        self->Enter(State::kFindingOut);
        if (self->LookedForLong()) self->TellUnknown();
        return self->core_.scheduler.Post([self] { self->FindOut(); });
      case ErrorCode::kGuardFailed: self->diagnose_ = true; return self->Abort(std::nullopt);
      case ErrorCode::kSpansUnits: self->apart_ = true; return self->Abort(std::nullopt);
      default: return self->Abort(std::move(applied).error());
    }
  });
}

void Transaction::Committed(uint64_t stamp) {
  Enter(State::kRollingForward);
  stamp_ = stamp;
  core_.counts.commits.fetch_add(1);
  resolver_.Remember(self_.id, Decision::kCommitted);
  bool ranges = false;
  for (const Participant& participant : plan_.participants) ranges |= !participant.ranges.empty();
  // Answer the caller now only if the batch deletes no ranges. The keys of deleted ranges remain
  // visible until every unit is rolled forward.
  if (!ranges && done_) std::exchange(done_, nullptr)(stamp_);
  RollForward();
}

kv::Batch Transaction::ForwardBatch(size_t i) const {
  const Participant& participant = plan_.participants[i];
  const Part& part = parts_[i];
  const kv::Tablet tablet = participant.unit.tablet;
  const bool forward = committed();
  kv::Batch batch;
  batch.guards.push_back({tablet, part.note_key, part.stamp});
  batch.deletes.push_back({tablet, part.note_key});
  for (const Change& change : participant.changes) {
    std::string key = ActualKey(change, part);
    batch.guards.push_back({tablet, key, part.stamp});
    if (forward && change.kind == Intent::New::kPut) {
      batch.puts.push_back({tablet, std::move(key), change.fresh});
    } else if (change.old && !(forward && change.kind == Intent::New::kDelete)) {
      batch.puts.push_back({tablet, std::move(key), *change.old});
    } else {
      batch.deletes.push_back({tablet, std::move(key)});
    }
  }
  if (!forward) return batch;
  batch.adds = participant.adds;
  batch.range_deletes = participant.ranges;
  return batch;
}

void Transaction::RollForward() {
  waiting_ = parts_.size() + 1;
  const auto answered = [this] {
    if (waiting_.fetch_sub(1) == 1) RolledForward();
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Participant& participant = plan_.participants[i];
    kv::Batch batch = ForwardBatch(i);
    batch.fate = std::make_shared<kv::BatchFate>();
    batch.may_wait_micros = core_.options.clean_up_micros;
    for (const kv::Put& put : batch.puts) left_[{put.tablet, put.key}] = batch.fate;
    for (const kv::Add& add : batch.adds) left_[{add.tablet, add.key}] = batch.fate;
    for (const kv::Delete& gone : batch.deletes) left_[{gone.tablet, gone.key}] = nullptr;
    const std::shared_ptr<kv::BatchFate> fate = batch.fate;
    const Participation share{participant.unit.tablet, parts_[i].note_key};
    core_.inner.Apply(std::move(batch),
                      [self = shared_from_this(), answered, share, fate](Result<uint64_t> applied) {
                        if (applied.ok()) return answered();
                        fate->failed.store(true, std::memory_order_release);
                        // A caller still waiting (its batch deletes ranges) gets kOutcomeUnknown
                        // now, not when the store recovers.
                        if (GivesNoWay(applied.error())) {
                          self->unanswered_ = true;
                          if (self->all_sent_) self->TellUnknown();
                        }
                        self->resolver_.Roll(self->self_, share, Decision::kCommitted,
                                             [self, answered](Status status) {
                                               if (!status.ok()) {
                                                 MutexLock lock(self->guards_mutex_);
                                                 self->error_ = std::move(status).error();
                                               }
                                               answered();
                                             });
                      });
    // Only after Apply: a process that learns of the operation queues others behind it.
    resolver_.Rolls(self_.id, share.note_key, fate);
  }
  // Batches that wait for this one are queued behind these operations.
  if (!done_ && !ended_) {
    ended_ = true;
    tracker_.End(entry_, true, std::move(left_));
  }
  all_sent_ = true;
  if (unanswered_) TellUnknown();
  answered();
}

void Transaction::RolledForward() {
  resolver_.End(self_.id);
  Finish(stamp_, std::move(left_));
  // Keep the record if a roll-forward failed: readers of leftover intents look up the decision in
  // it.
  if (!error_) RemoveRecord(0);
}

void Transaction::RemoveRecord(int attempt) {
  kv::Batch batch;
  batch.deletes.push_back({self_.primary, self_.record_key});
  batch.may_wait_micros = core_.options.clean_up_micros;
  core_.inner.Apply(
      std::move(batch), [self = shared_from_this(), attempt](Result<uint64_t> applied) {
        if (applied.ok() || applied.error().code() == ErrorCode::kFenced || self->core_.closing)
          return;
        self->core_.scheduler.Post([self, attempt] { self->RemoveRecord(attempt + 1); },
                                   self->core_.Backoff(attempt));
      });
}

void Transaction::Abort(std::optional<Error> error) {
  error_ = std::move(error);
  core_.counts.aborted.fetch_add(1);
  if (!error_) core_.counts.conflicts.fetch_add(1);
  // Answer the caller before the roll-back, which may have to wait for the store. No reader takes
  // the prepared intents for committed.
  if (error_) End(*error_);
  RollBack();
}

void Transaction::RollBack() {
  Enter(State::kRollingBack);
  waiting_ = parts_.size() + 1;
  const auto answered = [this] {
    if (waiting_.fetch_sub(1) == 1) RolledBack();
  };
  // Another process may have rolled the unit back, so the new stamps of the guarded keys are
  // unknown.
  const auto lost = [this](const Participant& participant) {
    MutexLock lock(guards_mutex_);
    for (const Change& change : participant.changes) {
      if (change.guard && change.old && !error_) error_ = InTheWayError();
    }
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Participant& participant = plan_.participants[i];
    const Participation share{participant.unit.tablet, parts_[i].note_key};
    if (parts_[i].phase == Phase::kNotPrepared) {
      answered();
    } else if (parts_[i].phase == Phase::kUnsure) {
      // The prepare may still be applied later. With an aborted record, a transaction that then
      // meets its intents need not wait.
      resolver_.Abort(self_,
                      [self = shared_from_this(), answered, lost, share, i](Result<Decision>) {
                        self->resolver_.Roll(self->self_, share, Decision::kAborted,
                                             [self, answered, lost, i](Status) {
                                               lost(self->plan_.participants[i]);
                                               answered();
                                             });
                      });
    } else {
      core_.inner.Apply(ForwardBatch(i), [self = shared_from_this(), answered, lost, share,
                                          i](Result<uint64_t> applied) {
        const Participant& participant = self->plan_.participants[i];
        if (!applied.ok()) {
          if (GivesNoWay(applied.error())) self->RefuseNow(applied.error());
          return self->resolver_.Roll(self->self_, share, Decision::kAborted,
                                      [self, answered, lost, i](Status) {
                                        lost(self->plan_.participants[i]);
                                        answered();
                                      });
        }
        {
          // No writer could change these keys since they were read: only their stamps are new.
          MutexLock lock(self->guards_mutex_);
          for (const Change& change : participant.changes) {
            if (!change.guard || !change.old) continue;
            for (kv::Guard& guard : self->batch_.guards) {
              if (guard.tablet != share.tablet || guard.key != change.key) continue;
              guard.stamp = *applied;
              guard.left_by = nullptr;
            }
          }
        }
        answered();
      });
    }
  }
  answered();
}

// The store does not answer, or accepts no writes: the caller gets the error now, and the roll-back
// goes on without it.
void Transaction::RefuseNow(const Error& why) {
  const Error error(ErrorCode::kUnavailable, why.message());
  {
    MutexLock lock(guards_mutex_);
    if (!error_) error_ = error;
  }
  End(error);
}

void Transaction::RolledBack() {
  resolver_.End(self_.id);
  if (error_) return Finish(*error_);
  if (diagnose_) {
    Enter(State::kDiagnosing);
    core_.scheduler.Post([self = shared_from_this()] { self->Diagnose(); });
  } else {
    Again(true);
  }
}

void Transaction::Diagnose() {
  if (core_.closing) return Finish(ClosingError());
  for (const kv::Guard& guard : batch_.guards) {
    if (guard.tablet != plan_.primary) continue;
    std::string cell;
    const Result<bool> found = core_.inner.Get(guard.tablet, guard.key, kv::Tier::kAny, &cell);
    if (!found.ok()) return Finish(found.error());
    const uint64_t stamp = *found ? kv::StampOf(cell) : 0;
    if (!*found || !IsIntent(cell)) {
      if (stamp != guard.expected())
        return Finish(Error(ErrorCode::kGuardFailed, "A key has changed since it was read."));
      continue;
    }
    Result<Intent> intent = DecodeIntent(cell);
    if (!intent.ok()) return Finish(std::move(intent).error());
    const Result<Decision> decision = resolver_.Find(intent->transaction);
    if (!decision.ok()) return Finish(decision.error());
    const BlockingTransaction met{intent->transaction, {guard.tablet, intent->note_key}};
    if (*decision == Decision::kUndecided) return WaitFor(met);
    if (*decision == Decision::kCommitted && stamp == guard.expected()) continue;
    // The state that the guard expects is gone, or will come back with another stamp.
    return resolver_.ResolveUnit(
        met.transaction, met.share, 0,
        [self = shared_from_this()](Status) { self->Finish(InTheWayError()); });
  }
  // Another process aborted the transaction. Its record is not needed any more: every unit is
  // rolled back, and the commit was refused for certain.
  std::string record;
  const Result<bool> found =
      core_.inner.Get(self_.primary, self_.record_key, kv::Tier::kAny, &record);
  if (found.ok() && *found) RemoveRecord(0);
  Again(false);
}

void Transaction::Again(bool at_once) {
  Enter(State::kWaiting);
  PlanAgain(at_once);
}

void Transaction::PlanAgain(bool at_once) {
  guess_ = false;
  const int attempt = attempt_++;
  const auto plan = [self = shared_from_this()] {
    self->Enter(State::kPlanning);
    self->Attempt(kv::Tier::kAny);
  };
  core_.scheduler.Post(plan, at_once && attempt < 2 ? 0 : core_.Backoff(attempt));
}

void Transaction::WaitFor(const BlockingTransaction& met) {
  Enter(State::kWaiting);
  core_.counts.undecided_met.fetch_add(1);
  resolver_.ResolveUnit(met.transaction, met.share, core_.Jitter(300),
                        [self = shared_from_this()](Status settled) {
                          if (!settled.ok() && settled.error().code() == ErrorCode::kCorruption)
                            return self->Finish(std::move(settled).error());
                          self->PlanAgain(true);
                        });
}

void Transaction::FindOut() {
  kv::Batch batch;
  batch.guards.push_back({self_.primary, self_.record_key, 0});
  batch.puts.push_back({self_.primary, self_.record_key,
                        EncodeRecord({Decision::kAborted, core_.clock.NowMicros(), {}})});
  core_.inner.Apply(std::move(batch), [self = shared_from_this()](Result<uint64_t> applied) {
    const ErrorCode code = applied.ok() ? ErrorCode::kInternal : applied.error().code();
    if (!applied.ok() && code != ErrorCode::kGuardFailed) {
      if (code != ErrorCode::kFenced) return self->LookLater();
      // The tablet was dropped, and the record with it.
      self->resolver_.End(self->self_.id);
      return self->Finish(
          Error(ErrorCode::kOutcomeUnknown, "The table in which it was decided has been dropped."));
    }
    self->core_.scheduler.Post([self, written = applied.ok()] {
      if (written) return self->FoundAborted();
      std::string value;
      const Result<bool> found = self->core_.inner.Get(self->self_.primary, self->self_.record_key,
                                                       kv::Tier::kAny, &value);
      if (!found.ok() || !*found) return self->LookLater();
      const Result<Record> record = DecodeRecord(value);
      if (!record.ok()) {
        self->resolver_.End(self->self_.id);
        return self->Finish(Error(ErrorCode::kOutcomeUnknown, record.error().message()));
      }
      if (record->state != Decision::kCommitted) return self->FoundAborted();
      const uint64_t stamp = kv::StampOf(value);
      if (self->batch_.fate != nullptr)
        self->batch_.fate->stamp.store(stamp, std::memory_order_release);
      self->Committed(stamp);
    });
  });
}

void Transaction::FoundAborted() {
  // The record may have been that of a commit that another process has rolled forward and removed:
  // a sweeper goes by its own clock, and this machine may have been suspended in between. In that
  // case no note is left.
  bool any = false;
  for (size_t i = 0; i < parts_.size() && !any; ++i) {
    std::string note;
    const Result<bool> found = core_.inner.Get(plan_.participants[i].unit.tablet,
                                               parts_[i].note_key, kv::Tier::kAny, &note);
    if (!found.ok()) return LookLater();
    any = *found;
  }
  if (!any) {
    resolver_.End(self_.id);
    return Finish(
        Error(ErrorCode::kOutcomeUnknown, "Another process has already removed the record of it."));
  }
  // After kOutcomeUnknown was reported, the batch must not be retried.
  Abort(done_ ? std::nullopt : std::optional<Error>(InTheWayError()));
}

bool Transaction::LookedForLong() const {
  return core_.clock.TicksMicros() - looking_since_ > core_.options.find_out_micros;
}

void Transaction::TellUnknown() {
  End(Error(ErrorCode::kOutcomeUnknown, "The store did not answer in time."));
}

void Transaction::LookLater() {
  if (core_.closing || LookedForLong()) TellUnknown();
  if (core_.closing) return Enter(State::kOver);
  core_.scheduler.Post([self = shared_from_this()] { self->FindOut(); }, core_.Backoff(looks_++));
}

void Transaction::End(Result<uint64_t> outcome, Tracker::Left left) {
  kv::ApplyDone done;
  {
    MutexLock lock(guards_mutex_);
    done = std::exchange(done_, nullptr);
  }
  if (!done) return;
  if (!outcome.ok() && batch_.fate != nullptr)
    batch_.fate->failed.store(true, std::memory_order_release);
  done(std::move(outcome));
  ended_ = true;
  tracker_.End(entry_, true, std::move(left));
}

}  // namespace stator::kv_tx
