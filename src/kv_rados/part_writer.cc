#include "kv_rados/part_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

// A process that opens the tablet removes ledger cells that were not written for this time. So a
// process that looks after an operation in doubt later than half of this time does not trust a
// missing cell.
constexpr int64_t kLedgerKeepMicros = 24 * 3'600'000'000LL;
constexpr size_t kMaxLedgersSeen = 200;
constexpr int64_t kCountIntervalMicros = 1'000'000;
constexpr int64_t kFullIntervalMicros = 1'000'000;  // a full pool is asked after so often

// Reads all of a part. Not from one state: what is written meanwhile makes it a little wrong. None
// if the object refused the header.
Result<std::optional<Amount>> CountPart(Cluster& cluster, const Part& part,
                                        const HeaderPtr& header) {
  Amount amount;
  ASSIGN_OR_RETURN(const bool read, WalkPart(cluster, part, header,
                                             [&amount](std::string_view, size_t bytes, uint64_t) {
                                               amount.bytes += bytes;
                                               ++amount.keys;
                                             }));
  return read ? std::optional(amount) : std::nullopt;
}

uint64_t Minus(uint64_t a, uint64_t b) { return a - std::min(a, b); }
PartSize Without(const PartSize& size, const Amount& given) {
  return {Minus(size.bytes, given.bytes), Minus(size.keys, given.keys), size.unsure};
}
Amount Together(const Amount& a, const Amount& b) { return {a.bytes + b.bytes, a.keys + b.keys}; }
PartSize With(const PartSize& size, const Amount& given) {
  return {size.bytes + given.bytes, size.keys + given.keys, size.unsure};
}

}  // namespace

Error LateError() {
  return Error(ErrorCode::kUnavailable,
               "The Ceph cluster did not answer in time. The write was not applied.");
}

void FanOutBatch::Take(const Result<uint64_t>& outcome) {
  --left;
  if (outcome.ok()) {
    stamp = std::max(stamp, *outcome);
  } else if (!error || outcome.error().code() == ErrorCode::kOutcomeUnknown) {
    error = outcome.error();
  }
}

Result<uint64_t> FanOutBatch::Outcome() const {
  if (!error) return stamp;
  if (stamp == 0 || error->code() == ErrorCode::kOutcomeUnknown) return *error;
  return Error(ErrorCode::kOutcomeUnknown,
               "Some parts of the tablet applied it, but not all: " + error->message());
}

void PartWriter::Enter(State to) {
  const auto follows = [this](State next) {
    switch (state_) {
      case State::kIdle: return next == State::kInLine;
      case State::kInLine: return next == State::kChoosing;
      case State::kChoosing: return next != State::kChoosing && next != State::kInLine;
      case State::kReading:
      case State::kAwaiting:
      case State::kWriting: return next == State::kChoosing;
    }
    return false;
  };
  CHECK(follows(to), "a part took a step that does not follow the state of its writes");
  state_ = to;
}

template <typename T>
void PartWriter::Await(UniqueFunction<T()> work, UniqueFunction<void(T)> next) {
  Enter(State::kAwaiting);
  UniqueFunction<void()> task = [this, work = std::move(work), next = std::move(next)]() mutable {
    context_.strand.Run([this, result = work(), next = std::move(next)]() mutable {
      Enter(State::kChoosing);
      next(std::move(result));
      Start();
    });
  };
  if (!context_.workers.TryPost(task)) FailForWantOfWorkers();
}

void PartWriter::FailForWantOfWorkers() {
  Enter(State::kChoosing);
  Fail(Error(ErrorCode::kUnavailable, "Too many tablets are being opened."));
}

bool PartWriter::Expired(const QueuedBatch& batch) const {
  return batch.done && context_.cluster.PastDeadline(batch.arrived);
}

bool PartWriter::AnyExpired() const {
  return std::any_of(batches_.begin(), batches_.end(),
                     [this](const QueuedBatch& batch) { return Expired(batch); });
}

void PartWriter::Enqueue(QueuedBatch batch) {
  const int64_t may_wait = batch.batch.may_wait_micros;
  hurry_ |= may_wait <= 0;
  if (!hurry_) wait_until_ = std::min(wait_until_, batch.arrived + may_wait);
  queue_.push_back(std::move(batch));
  if (!hurry_) AwaitOthers();
}

void PartWriter::NoteUnused(std::string_view key) {
  if (context_.known_keys >= context_.cluster.limits().known_keys) return;
  known_.emplace(key, KeyState{});  // at whatever stamp
  CountKnown(false);
}

void PartWriter::AwaitOthers() {
  if (waiting_ <= wait_until_) return;
  const auto [begin, end] = context_.waiting.equal_range(waiting_);
  const auto mine =
      std::find_if(begin, end, [this](const auto& entry) { return entry.second == this; });
  if (mine != end) context_.waiting.erase(mine);
  context_.waiting.emplace(wait_until_, this);
  waiting_ = wait_until_;
}

void PartWriter::Hurry(int64_t now, bool all) {
  waiting_ = INT64_MAX;
  if (hurry_ || queue_.empty()) return;
  if (!all && wait_until_ > now) return AwaitOthers();  // who waited until now has gone with others
  hurry_ = true;
  Start();
}

void PartWriter::Start() {
  if (state_ != State::kIdle || queue_.empty() || !hurry_) return;
  Enter(State::kInLine);
  context_.line.Stand(this);
}

void PartWriter::SetOut(Window::Ticket ticket) {
  Enter(State::kChoosing);
  ticket_ = ticket;
  ++context_.groups;
  TakeGroup();
  Advance();
}

void PartWriter::TakeGroup() {
  served_ = 0;
  state_is_fresh_ = counted_for_group_ = in_doubt_ = false;
  size_t bytes = 0;
  const Limits& limits = context_.cluster.limits();
  while (!queue_.empty() && batches_.size() < limits.group_batches &&
         (batches_.empty() || bytes + queue_.front().bytes <= limits.group_bytes)) {
    bytes += queue_.front().bytes;
    batches_.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  hurry_ = !queue_.empty();
  wait_until_ = INT64_MAX;
}

// The next step of the group under way. Every step ends with EndGroup or in an operation whose
// completion goes on.
void PartWriter::Advance() {
  if (in_doubt_) {
    if (AnyExpired()) return Fail(context_.cluster.ErrorOf(-ETIMEDOUT, part_->object, true));
  } else {
    for (QueuedBatch& batch : batches_) {
      if (Expired(batch)) Refuse(batch, LateError());
    }
    if (std::none_of(batches_.begin(), batches_.end(),
                     [](const QueuedBatch& batch) { return bool(batch.done); })) {
      return EndGroup();
    }
  }
  if (context_.full && !in_doubt_) {
    if (context_.clock.TicksMicros() - context_.full_asked < kFullIntervalMicros)
      return Fail(*context_.full);
    return AskWhetherFull([this] { Advance(); });
  }
  if (!stamp_) return ReadState();
  Build();
}

// When all OSDs are gone, all parts ask, and the monitors may be slow to answer.
void PartWriter::AskWhetherFull(UniqueFunction<void()> next) {
  Enter(State::kAwaiting);
  context_.asking.push_back([this, next = std::move(next)]() mutable {
    Enter(State::kChoosing);
    next();
    Start();
  });
  if (context_.asking.size() > 1) return;
  UniqueFunction<void()> task = [&context = context_] {
    context.strand.Run([&context, full = context.cluster.WhyFull()]() mutable {
      context.full = std::move(full);
      context.full_asked = context.clock.TicksMicros();
      for (UniqueFunction<void()>& each : std::exchange(context.asking, {})) each();
    });
  };
  if (context_.workers.TryPost(task)) return;
  context_.asking.clear();
  FailForWantOfWorkers();
}

// Reads, from one state of the object: the header, the stamp, this process's ledger cell and every
// key on which the group's batches depend.
void PartWriter::ReadState() {
  Enter(State::kReading);
  std::vector<std::string> keys;
  for (const QueuedBatch& batch : batches_) {
    if (batch.done) Group::KeysOf(batch.batch, counted_for_group_, &keys);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<std::string> cells = {LedgerKey(context_.process)};
  for (const std::string& key : keys) cells.push_back(KeyCell(key));

  auto read = std::make_shared<ReadOp>(context_.cluster.api());
  read->Attributes();
  const size_t own = read->Keys(cells);
  std::optional<size_t> ledgers;
  if (!ledger_looked_through_) ledgers = read->Range(LedgerKey(""), LedgerKey(""), kMaxLedgersSeen);
  context_.cluster.ReadLater(
      part_->object, *read, [this, read, own, ledgers, keys = std::move(keys)](int result) mutable {
        context_.strand.Run([this, read, own, ledgers, keys = std::move(keys), result] {
          Enter(State::kChoosing);
          OnState(result, *read, own, ledgers, keys);
          Start();
        });
      });
}

void PartWriter::OnState(int result, ReadOp& read, size_t cells, std::optional<size_t> ledgers,
                         const std::vector<std::string>& keys) {
  if (result == -ETIMEDOUT) {
    if (AnyExpired()) context_.set_health(LateError());
    return Advance();
  }
  if (result == -ENOENT) return Recheck();
  if (result < 0) return Fail(context_.cluster.ErrorOf(result, part_->object, false));
  std::optional<LedgerCell> own;
  if (Status status = TakeState(read, cells, ledgers, keys, &own); !status.ok())
    return Fail(status.error());
  if (header_->bytes !=
      read.attribute(kHeaderAttribute)) {  // somebody has read a later state meanwhile
    stamp_.reset();
    return Advance();
  }
  if (in_doubt_) {
    if (own && own->seq == seq_) {
      context_.statistics.found_in_ledger.fetch_add(1, std::memory_order_relaxed);
      return Succeed();
    }
    // The ledger cell does not name the operation, and the stamp that it was built on has passed,
    // or its guards do not hold. So the operation was not applied and never will be. Only if the
    // cell itself may have been removed meanwhile (it is kept for kLedgerKeepMicros), the outcome
    // is unknown.
    if (!own && context_.clock.TicksMicros() - first_sent_ > kLedgerKeepMicros / 2) {
      return Fail(context_.cluster.ErrorOf(-ETIMEDOUT, part_->object, true));
    }
    in_doubt_ = false;
  }
  Advance();
}

Status PartWriter::TakeState(ReadOp& read, size_t cells, std::optional<size_t> ledgers,
                             const std::vector<std::string>& keys, std::optional<LedgerCell>* own) {
  const std::string header = read.attribute(kHeaderAttribute);
  if (header_ != nullptr && header_->bytes != header) {
    part_->Forget(header_);
    counted_.reset();
    count_.reset();
  }
  ASSIGN_OR_RETURN(header_, context_.map.Learn(part_, header));
  ASSIGN_OR_RETURN(const uint64_t stamp, DecodeStamp(read.attribute(kStampAttribute)));
  ASSIGN_OR_RETURN(size_, DecodeSize(read.attribute(kSizeAttribute)));
  // Raise an unsure size to at least `given` (what the part has given away), because no group
  // stores a smaller one.
  size_ = With(Without(size_, header_->header.given), header_->header.given);
  stamp_ = stamp;
  if (const std::optional<uint64_t> refused = std::exchange(refused_at_, std::nullopt);
      refused && *refused != stamp) {
    context_.lost(kv::Unit{part_->tablet, std::to_string(part_->number)});
  }
  if (counted_ && size_.unsure < counted_->said.unsure)
    counted_.reset();  // another process has counted since
  // Keep the known keys that are not read here if the stamp shows that no other process has written
  // since.
  if (std::exchange(known_at_, stamp) != stamp) known_ = {};
  for (const std::string& key : keys) known_.insert_or_assign(key, KeyState{});
  Status status;
  read.ForEach(cells, [&](std::string_view cell, std::string_view value) {
    status = [&]() -> Status {
      if (cell[0] == kLedgerCell) {
        ASSIGN_OR_RETURN(*own, DecodeLedger(value));
        return OkStatus();
      }
      ASSIGN_OR_RETURN(const std::string key, KeyOfCell(cell));
      ASSIGN_OR_RETURN(const std::string loaded, LoadedValue(value));
      known_.insert_or_assign(key, StateOfValue(loaded));
      return OkStatus();
    }();
    return status.ok();
  });
  CountKnown(false);
  TRY(std::move(status));
  // The attribute is corrected already, by an operation whose answer was lost.
  if (counted_ && counted_->told_by != 0 && *own && (*own)->seq >= counted_->told_by) Told();
  if (counted_) Correct();
  state_is_fresh_ = true;
  stale_ledgers_.clear();  // of another state
  if (ledgers) {
    const int64_t now = context_.clock.NowMicros();
    read.ForEach(*ledgers, [&](std::string_view key, std::string_view value) {
      const Result<LedgerCell> cell = DecodeLedger(value);
      if (cell.ok() && now - cell->time_micros > kLedgerKeepMicros)
        stale_ledgers_.emplace_back(key);
      return true;
    });
  }
  return OkStatus();
}

// Notes that the part's size was corrected. A running count began with the size from before the
// correction, so its result is discarded.
void PartWriter::Told() {
  counted_.reset();
  count_.reset();
  ++told_;
}

PartSize PartWriter::SaidNow() const {
  if (!counted_) return size_;
  return {Minus(size_.bytes + counted_->said.bytes, counted_->amount.bytes),
          Minus(size_.keys + counted_->said.keys, counted_->amount.keys),
          Minus(size_.unsure + counted_->said.unsure, counted_->unsure)};
}

void PartWriter::Correct() {
  size_ = {Minus(counted_->amount.bytes + size_.bytes, counted_->said.bytes),
           Minus(counted_->amount.keys + size_.keys, counted_->said.keys),
           Minus(size_.unsure, counted_->said.unsure) + counted_->unsure};
}

void PartWriter::Count() {
  context_.statistics.counts.fetch_add(1, std::memory_order_relaxed);
  Await<Result<std::optional<Amount>>>(
      [this, header = header_] { return CountPart(context_.cluster, *part_, header); },
      [this, said = SaidNow(), header = header_](Result<std::optional<Amount>> amount) {
        if (!amount.ok()) return Fail(amount.error());
        counted_.reset();
        if (*amount) {
          counted_ = Counted{.said = said, .amount = Together(**amount, header->header.given)};
        }
        stamp_.reset();  // other processes may have written meanwhile
        Advance();
      });
}

// What groups change meanwhile may be counted or not, so it is unsure. That includes the group that
// is built now, and one whose outcome stays unknown.
void PartWriter::CountMeanwhile() {
  const int64_t now = context_.clock.TicksMicros();
  if (counting_ || counted_ || now < count_not_before_) return;
  count_not_before_ = now + kCountIntervalMicros;
  counting_ = true;
  changed_since_ = 0;
  UniqueFunction<void()> task = [this, said = size_, header = header_, told = told_] {
    context_.strand.Run(
        [this, said, header, told, amount = CountPart(context_.cluster, *part_, header)]() mutable {
          counting_ = false;
          if (!amount.ok() || !*amount || told != told_) return;
          count_ = Counted{.said = said,
                           .amount = Together(**amount, header->header.given),
                           .unsure = changed_since_};
        });
  };
  if (context_.workers.TryPost(task)) {
    context_.statistics.counts.fetch_add(1, std::memory_order_relaxed);
  } else {
    counting_ = false;
  }
}

void PartWriter::Build() {
  if (const HeaderPtr now = part_->header(); now != nullptr && now != header_) {
    header_ = now;
    counted_.reset();
    count_.reset();
    stamp_.reset();
    return ReadState();
  }
  const PartHeader& header = header_->header;
  const uint64_t fence = header.fence;
  if (fence == kv::kDroppedFence) return Fail(FencedError(header));
  if (header.state == PartHeader::State::kFilling) return AwaitOpening();
  if (header.routes != routes_) return HandBack();
  if (header.state == PartHeader::State::kLeaving && opened_ != header_->bytes &&
      std::any_of(batches_.begin(), batches_.end(), [](const QueuedBatch& batch) {
        return batch.done && !batch.batch.range_deletes.empty();
      })) {
    return AwaitChild();
  }
  if (std::optional<Counted> count = std::exchange(count_, std::nullopt);
      count && !counted_ && size_.unsure >= count->said.unsure) {
    counted_ = count;
    Correct();
  }
  context_.before_group();
  const PartSize has = Without(size_, header.given);
  if (has.unsure > std::max(context_.cluster.limits().unsure_bytes, has.bytes / 2))
    CountMeanwhile();
  group_.emplace(*stamp_, known_, state_is_fresh_,
                 GroupSize{.before = has,
                           .max_bytes = context_.cluster.options().max_tablet_bytes,
                           .is_final = counted_for_group_,
                           .seen = [this](std::string_view key, std::optional<uint64_t> stamp) {
                             const std::optional<size_t> bytes = part_->SeenBytes(key, stamp);
                             return bytes || !stamp
                                        ? bytes
                                        : context_.cache.SizeOf(part_->tablet, key, *stamp);
                           }});
  for (size_t i = 0; i < batches_.size(); ++i) {
    QueuedBatch& queued = batches_[i];
    if (!queued.done) continue;
    // A refusal is answered at once: batches that were computed from the refused one name it in
    // `after`, and are refused, too.
    if (kv::IsVoid(queued.batch)) {
      Refuse(queued, kv::VoidBatchError());
      continue;
    }
    // Fences only rise, so a known fence may refuse a batch for good. The operation itself checks
    // that the fence has not become higher.
    if (std::any_of(queued.batch.fences.begin(), queued.batch.fences.end(),
                    [fence](const kv::Fence& asked) { return fence > asked.most; })) {
      Refuse(queued, FencedError(header_->header));
      continue;
    }
    Error refusal = kv::VoidBatchError();
    const Group::Verdict verdict = group_->Join(&queued.batch, &refusal);
    if (verdict == Group::Verdict::kJoined) {
      queued.stamp = group_->last_stamp();
      if (queued.batch.fate != nullptr)
        queued.batch.fate->stamp.store(queued.stamp, std::memory_order_release);
    } else if (verdict == Group::Verdict::kRefused) {
      Refuse(queued, std::move(refusal));
    } else if (verdict == Group::Verdict::kRead && !state_is_fresh_) {
      group_.reset();
      return ReadState();
    } else if (verdict == Group::Verdict::kCount) {
      counted_for_group_ = true;
      group_.reset();
      return size_.unsure > 0 ? Count() : ReadState();
    } else {
      // It waits for the outcome of those before it, and those behind it wait with it.
      for (size_t back = batches_.size(); back > i; --back) {
        if (batches_[back - 1].done) queue_.push_front(std::move(batches_[back - 1]));
      }
      hurry_ = true;
      batches_.resize(i);
      break;
    }
  }
  if (group_->empty()) return EndGroup();
  ++seq_;
  if (counted_ && counted_->told_by == 0) counted_->told_by = seq_;
  changed_since_ += group_->changed_bytes();
  first_sent_ = context_.clock.TicksMicros();
  Send();
}

void PartWriter::FillOperation(WriteOp* op) const {
  op->GuardAttribute(kHeaderAttribute, header_->bytes);
  op->GuardAttribute(kStampAttribute, EncodeStamp(group_->base_stamp()));
  for (const auto& [key, stamp] : group_->guards()) {
    if (stamp == 0) {
      op->GuardAbsent(KeyCell(key));
    } else {
      op->GuardBetween(KeyCell(key), GuardAbove(stamp), GuardBelow(stamp));
    }
  }
  for (const Group::Span& span : group_->deleted()) {
    const CellRange forward = KeyCellRange(span.begin, span.end),
                    reverse = ReverseCellRange(span.begin, span.end);
    op->RemoveRange(forward.begin, forward.end);
    op->RemoveRange(reverse.begin, reverse.end);
  }
  std::vector<std::string> keys, values, gone;
  for (const auto& [key, change] : group_->changes()) {
    if (!change.value) {
      gone.push_back(KeyCell(key));
      gone.push_back(ReverseCell(key));
      continue;
    }
    keys.push_back(KeyCell(key));
    values.push_back(StoredValue(*change.value));
    if (change.is_new) {
      keys.push_back(ReverseCell(key));
      values.emplace_back();
    }
  }
  if (header_->header.state == PartHeader::State::kCopying) MarkChanges(&keys, &values);
  keys.push_back(LedgerKey(context_.process));
  values.push_back(EncodeLedger({.seq = seq_, .time_micros = context_.clock.NowMicros()}));
  op->Set(keys, values);
  if (!gone.empty()) op->Remove(gone);
  if (!stale_ledgers_.empty()) op->Remove(stale_ledgers_);
  op->SetAttribute(kStampAttribute, EncodeStamp(group_->last_stamp()));
  op->SetAttribute(kSizeAttribute, EncodeSize(With(group_->size(), header_->header.given)));
}

// What changes while a part is copied is copied again.
void PartWriter::MarkChanges(std::vector<std::string>* cells,
                             std::vector<std::string>* values) const {
  const uint64_t stamp = group_->last_stamp();
  for (const auto& [key, change] : group_->changes()) {
    const std::optional<std::string_view> route = RouteOf(part_->tablet.space, key);
    if (!route || *route < header_->header.boundary) continue;
    cells->push_back(MarkCell(stamp, key));
    values->emplace_back();
  }
  size_t number = 0;
  for (const Group::Span& span : group_->deleted()) {
    cells->push_back(RangeMarkCell(stamp, number++));
    values->push_back(EncodeRangeMark({span.begin, span.end}));
  }
}

void PartWriter::Send() {
  Enter(State::kWriting);
  WriteOp op(context_.cluster.api());
  FillOperation(&op);
  context_.cluster.WriteLater(part_->object, op, [this](int result) {
    if (const auto& replace = context_.cluster.options().write_result) result = replace(result);
    context_.strand.Run([this, result] {
      Enter(State::kChoosing);
      OnWritten(result);
      Start();
    });
  });
}

void PartWriter::OnWritten(int result) {
  switch (result) {
    case 0: return Succeed();
    case -ETIMEDOUT:
      in_doubt_ = true;
      if (AnyExpired()) return Fail(context_.cluster.ErrorOf(result, part_->object, true));
      return AskWhetherFull([this] {
        if (context_.full) return Fail(*context_.full);
        // As it was, stamp and ledger included: at most one of the two is applied.
        context_.statistics.sent_again.fetch_add(1, std::memory_order_relaxed);
        Send();
      });
    case -ECANCELED:
      // Either another writer won the race, or a guard of a key failed, or the operation was sent
      // twice and the first copy was applied. Read the part's state to find out.
      context_.statistics.races.fetch_add(1, std::memory_order_relaxed);
      if (!in_doubt_) refused_at_ = group_->base_stamp();
      stamp_.reset();
      return ReadState();
    case -ESHUTDOWN:
    case -EPERM:
    case -EACCES:
      // An OSD checks the client's permission before it checks whether it has done the operation
      // already. So librados may get this error for an operation that was applied and then sent
      // again.
      in_doubt_ = true;
      return Fail(context_.cluster.ErrorOf(result, part_->object, true));
    default:
      if (result == -ENOENT && !in_doubt_) return Recheck();
      return Fail(context_.cluster.ErrorOf(result, part_->object, true));
  }
}

void PartWriter::Recheck() {
  stamp_.reset();
  Await<Status>([this] { return context_.map.Recheck(part_); },
                [this](Status status) {
                  if (!status.ok()) return Fail(status.error());
                  Advance();
                });
}

// Its keys are still in another object. That takes some milliseconds, unless who does it has died.
void PartWriter::AwaitOpening() {
  stamp_.reset();
  Await<Result<Place>>(
      [this] {
        return part_->Forget(part_->header()), context_.map.Locate(part_->tablet, routes_.begin);
      },
      [this](Result<Place> place) {
        if (!place.ok()) return Fail(place.error());
        Advance();
      });
}

// A range may hold cells that the child has not copied yet. The child gets the same batch when it
// is open.
void PartWriter::AwaitChild() {
  stamp_.reset();
  Await<Result<Place>>(
      [this, header = header_] {
        return context_.map.Locate(part_->tablet, header->header.routes.end);
      },
      [this, header = header_](Result<Place> place) {
        if (!place.ok()) return Fail(place.error());
        opened_ = header->bytes;
        Advance();
      });
}

void PartWriter::HandBack() {
  stamp_.reset();
  known_ = {};
  CountKnown();
  std::deque<QueuedBatch> batches;
  for (QueuedBatch& batch : batches_) {
    if (batch.done) batches.push_back(std::move(batch));
  }
  EndGroup();
  for (QueuedBatch& batch : queue_) batches.push_back(std::move(batch));
  queue_.clear();
  moved_(*this, header_, std::move(batches));
}

void PartWriter::Succeed() {
  CHECK(group_, "a part was told of a group of writes that it had not sent");
  // A stamp that was reset says that the state read since then is younger than the group: it knows
  // more.
  const bool latest = stamp_ && *stamp_ == group_->base_stamp();
  if (latest) {
    group_->Learn(&known_);
    stamp_ = known_at_ = group_->last_stamp();
    CountKnown();
    size_ = With(group_->size(), header_->header.given);
    if (counted_) Told();
    if (header_->header.state == PartHeader::State::kOpen) context_.grown(part_, group_->size());
  }
  std::vector<SeenSizes::Seen> seen;
  seen.reserve(group_->changes().size());
  for (const auto& [key, change] : group_->changes()) {
    seen.push_back(part_->SeenOf(key, change.value ? kv::StampOf(*change.value) : 0,
                                 change.value ? change.value->size() : 0));
  }
  part_->NoteSeen(seen);
  ledger_looked_through_ = true;
  stale_ledgers_.clear();
  WriterStatistics& statistics = context_.statistics;
  statistics.groups.fetch_add(1, std::memory_order_relaxed);
  context_.set_health(OkStatus());
  for (QueuedBatch& batch : batches_) {
    if (!batch.done) continue;
    ++served_;
    statistics.batches.fetch_add(1, std::memory_order_relaxed);
    statistics.bytes.fetch_add(batch.bytes, std::memory_order_relaxed);
    context_.finish(batch, batch.stamp);
  }
  EndGroup();
}

void PartWriter::CountKnown(bool may_forget) {
  const size_t all = context_.known_keys - known_counted_ + known_.size();
  if (may_forget && all > context_.cluster.limits().known_keys) known_ = {};
  context_.known_keys = context_.known_keys - known_counted_ + known_.size();
  known_counted_ = known_.size();
}

void PartWriter::Refuse(QueuedBatch& batch, Error error) {
  context_.statistics.refusals.fetch_add(1, std::memory_order_relaxed);
  context_.finish(batch, std::move(error));
}

void PartWriter::Fail(const Error& error) {
  // Before anything was sent, or after it was surely refused, a lost answer means that the writes
  // were not applied.
  const bool unknown = error.code() == ErrorCode::kOutcomeUnknown;
  const bool of_this_part =
      error.code() == ErrorCode::kCorruption || error.code() == ErrorCode::kFenced;
  if (!of_this_part) context_.set_health(error);
  stamp_.reset();
  known_ = {};
  CountKnown();
  for (QueuedBatch& batch : batches_) {
    if (!batch.done) continue;
    if (unknown) {
      context_.statistics.unknown.fetch_add(1, std::memory_order_relaxed);
      context_.finish(batch, error);
    } else if (in_doubt_) {
      context_.statistics.unknown.fetch_add(1, std::memory_order_relaxed);
      context_.finish(batch, Error(ErrorCode::kOutcomeUnknown, error.message()));
    } else {
      Refuse(batch, error);
    }
  }
  EndGroup();
}

void PartWriter::EndGroup() {
  Enter(State::kIdle);
  group_.reset();
  batches_.clear();
  --context_.groups;
  context_.window.Ended(ticket_, context_.clock.TicksMicros(), served_);
}

}  // namespace stator::kv_rados
