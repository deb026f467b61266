#include "table/write_operation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace stator::table {
namespace {

// Distinct tables may hold equal keys: the tablet is part of the latch's name.
std::string LatchKey(const WriteTarget& target) {
  const uint32_t id = target.table->descriptor.tablet_id;
  std::string key;
  key.reserve(5 + target.key.size());
  key.push_back('i');
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(id >> shift));
  key.append(target.key);
  return key;
}

}  // namespace

WriteOperation::WriteOperation(Store& store, WriteCall call)
    : store_(store),
      targets_(std::move(call.targets)),
      permit_(std::move(call.permit)),
      token_(std::move(call.token)),
      body_(std::move(call.body)),
      done_(std::move(call.done)),
      extra_(std::move(call.extra)),
      detour_(std::move(call.detour)) {}

void WriteOperation::Enter(State to) {
  const auto follows = [this](State next) {
    switch (state_) {
      case State::kLatching:
        return next == State::kEntering || next == State::kReading || next == State::kOver;
      case State::kEntering: return next == State::kReading || next == State::kOver;
      case State::kReading:
        return next == State::kDeciding || next == State::kPausing || next == State::kOver;
      case State::kDeciding:
        return next == State::kApplying || next == State::kReading || next == State::kPausing ||
               next == State::kOver;
      case State::kApplying: return next == State::kPausing || next == State::kOver;
      case State::kPausing: return next == State::kLatching || next == State::kOver;
      case State::kOver: return false;
    }
    return false;
  };
  CHECK(follows(to), "a write took a step that does not follow its state");
  state_ = to;
}

void WriteOperation::Start() {
  const MustNotFail region("the latches of a write are taken");
  TakeLatches();
}

const WriteTarget* WriteOperation::EarlierOfTable(size_t i) const {
  const uint32_t id = targets_[i].table->descriptor.tablet_id;
  for (size_t k = 0; k < i; ++k) {
    if (targets_[k].table->descriptor.tablet_id == id) return &targets_[k];
  }
  return nullptr;
}

void WriteOperation::TakeLatches() {
  places_.reserve(targets_.size());
  for (const WriteTarget& target : targets_) places_.push_back({LatchKey(target)});
  order_.resize(targets_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (order_.size() > 1) {
    std::sort(order_.begin(), order_.end(),
              [this](size_t a, size_t b) { return places_[a].latch < places_[b].latch; });
  }
  if (token_ == nullptr) {
    TakeTargetLatches();
  } else {
    TakeTokenLatch();
  }
}

void WriteOperation::TakeTokenLatch() {
  token_latch_ = "t" + token_->token;
  UniqueFunction<void()> granted = [this] {
    token_latched_ = true;
    if (WaitedForLong()) return Abandon(Behind());
    TakeTargetLatches();
  };
  if (!store_.latches().Acquire(token_latch_, &granted)) return;
  token_latched_ = true;
  TakeTargetLatches();
}

void WriteOperation::TakeTargetLatches() {
  while (latched_ < order_.size()) {
    UniqueFunction<void()> granted = [this] {
      ++latched_;
      if (WaitedForLong()) return Abandon(Behind());
      TakeTargetLatches();
    };
    if (!store_.latches().Acquire(places_[order_[latched_]].latch, &granted)) return;
    ++latched_;
  }
  GoOnLatched();
}

void WriteOperation::LookAtTargets() {
  for (const WriteTarget& target : targets_) {
    for (const IndexDescriptor& index : target.table->descriptor.indexes) {
      builds_ |= index.state == IndexDescriptor::State::kCreating;
    }
  }
  images_.resize(targets_.size());
  for (size_t i = 0; i < targets_.size(); ++i)
    images_[i].pending = store_.latches().Pending(places_[i].latch);
}

Status WriteOperation::TryRead(kv::Tier tier) {
  Status read;
  const bool had_memory = RunOrOutOfMemory("a read before a write", [&] {
    const MayFail allowed;
    read = Read(tier);
  });
  if (!had_memory) return OutOfMemory();
  return read;
}

std::vector<model::ItemView> WriteOperation::OldItems() const {
  std::vector<model::ItemView> old_items;
  old_items.reserve(images_.size());
  for (const OldImage& image : images_) old_items.push_back(image.view());
  return old_items;
}

void WriteOperation::Decide() {
  Enter(State::kDeciding);
  if (detour_) {
    // A copy: once `run` is handed on, this object may be gone.
    const WriteDetour detour = detour_;
    Result<bool> taken = detour(OldItems(), [this] { DecideNow(); });
    if (!taken.ok()) return Abandon(std::move(taken).error());
    if (*taken) return;
  }
  DecideNow();
}

void WriteOperation::DecideNow() {
  const MustNotFail region("a write is handed to the engine");
  const std::vector<model::ItemView> old_items = OldItems();
  kv::Batch batch;
  for (const OldImage& image : images_) {
    if (image.pending != nullptr) batch.after.push_back(image.pending->fate);
  }
  if (earlier_token_ != nullptr) batch.after.push_back(earlier_token_->fate);
  if (token_ != nullptr) token_->record.reset();
  Status filled;
  const bool had_memory = RunOrOutOfMemory("evaluation", [&] {
    const MayFail allowed;
    Result<std::vector<Change>> changes = body_(old_items);
    if (!changes.ok()) {
      error_ = std::move(changes).error();
      return;
    }
    Result<WriteEffects> effects = FillBatch(store_, targets_, images_, *changes, fate_, &batch);
    if (effects.ok()) {
      effects_ = std::move(*effects);
      if (extra_) extra_(&batch);
    } else {
      filled = std::move(effects).error();
    }
  });
  if (!had_memory) filled = OutOfMemory();
  if (error_) {
    // The body's.
  } else if (filled.ok()) {
    for (const auto& [i, image] : effects_.images)
      store_.latches().SetPending(places_[i].latch, image);
    if (token_ != nullptr && token_->record) RecordToken(&batch);
  } else {
    Error error = std::move(filled).error();
    if (GoesOnWithoutBatch(&error)) return;
    error_ = std::move(error);
    std::vector<kv::FatePtr> saw = std::move(batch.after);
    batch = kv::Batch();
    batch.after = std::move(saw);
  }
  const bool writes = !batch.puts.empty() || !batch.deletes.empty();
  if (!writes && batch.after.empty()) {
    switch (DoubtOfAnswer()) {
      case Doubt::kNone: ReleaseLatches(); return Finish(TakeOutcome());
      case Doubt::kOfAge: return ReadAgain();
      case Doubt::kOfMoment: break;
    }
  }
  Protect(writes, &batch);
  batch.fate = fate_;
  if (permit_ != nullptr) batch.after.push_back(permit_);
  if (!effects_.before.empty()) recording_ = store_.history().Record(std::move(effects_.before));
  Enter(State::kApplying);
  // Without changes this is a barrier: an answer derived from a pending image waits until that
  // image is durable.
  store_.engine().Apply(std::move(batch),
                        [this](Result<uint64_t> applied) { Applied(std::move(applied)); });
  ReleaseLatches();
  EndPart();
}

void WriteOperation::RecordToken(kv::Batch* batch) {
  auto pending = std::make_shared<PendingImage>();
  pending->item = store_.tokens().Record(token_->token, *token_->record, batch);
  pending->fate = fate_;
  store_.latches().SetPending(token_latch_, pending);
  written_token_ = std::move(pending);
}

void WriteOperation::Applied(Result<uint64_t> applied) {
  const bool ok = applied.ok();
  store_.history().Settle(recording_,
                          ok ? std::optional<uint64_t>(PlaceOf(*applied)) : std::nullopt);
  if (!ok) {
    fate_->failed.store(true);
    Refused(applied.error());
    error_ = std::move(applied).error();
  }
  for (const auto& [i, image] : effects_.images)
    store_.latches().CommitOrDrop(places_[i].latch, image.get(), ok);
  if (written_token_ != nullptr)
    store_.latches().CommitOrDrop(token_latch_, written_token_.get(), ok);
  for (const auto& [mark, time] : effects_.expiries) mark->Added(time);
  if (ok) effects_.CountGrowths();
  EndPart();
}

void WriteOperation::EndPart() {
  if (parts_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  EndApplied();
}

void WriteOperation::ReleaseLatches() {
  const size_t latched = std::exchange(latched_, 0);
  const bool token_latched = std::exchange(token_latched_, false);
  for (size_t i = 0; i < latched; ++i) store_.latches().Release(places_[order_[i]].latch);
  if (token_latched) store_.latches().Release(token_latch_);
}

void WriteOperation::Reset() {
  error_.reset();
  images_.clear();
  effects_ = {};
  recording_.clear();
  earlier_token_ = nullptr;
  written_token_ = nullptr;
  places_.clear();
  fate_ = std::make_shared<kv::BatchFate>();
  parts_.store(2);
}

Status WriteOperation::TakeOutcome() {
  if (error_) return std::move(*error_);
  return OkStatus();
}

Error WriteOperation::OutOfMemory() {
  return InternalError("Out of memory while handling a write");
}

Error WriteOperation::Behind() {
  return Error(ErrorCode::kUnavailable, "Earlier writes do not come to an end.");
}

void WriteOperation::Abandon(Error error) {
  ReleaseLatches();
  Finish(std::move(error));
}

void WriteOperation::Finish(Status status) {
  Enter(State::kOver);
  LeaveGates();
  // The callback is destroyed by unwinding if it runs out of memory.
  RunOrOutOfMemory("the answer to a write", [&] {
    const MayFail allowed;
    WriteDone done = std::move(done_);
    delete this;
    done(std::move(status));
  });
}

}  // namespace stator::table
