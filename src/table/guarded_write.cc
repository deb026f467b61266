#include "table/guarded_write.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/out_of_memory.h"
#include "kv/remembered.h"
#include "table/item_value.h"

namespace stator::table {
namespace {

// For how long a write starts over because other processes are faster, or waits for others of this
// one.
constexpr int64_t kPatienceMicros = 10'000'000;
// For how long a fence is above that of the catalog before nobody waits for its process any more.
constexpr int64_t kFencePatienceMicros = 2'000'000;
constexpr int kRunsAtOnce = 3;
constexpr int kMostDoublings = 6;

Error Ended() {
  return Error(ErrorCode::kUnavailable, "The server that handed the write over does not wait.");
}

Error Closing() { return Error(ErrorCode::kUnavailable, "The store is closing."); }

}  // namespace

void GuardedWrite::GoOnLatched() {
  LookAtTargets();
  Enter(State::kReading);
  const bool known = token_ == nullptr &&
                     std::all_of(images_.begin(), images_.end(),
                                 [](const OldImage& image) { return image.pending != nullptr; });
  if (builds_ || (rereads_ && !known)) return ReadPresent();
  ReadAndDecide(kv::Tier::kGuarded);
}

void GuardedWrite::ReadAndDecide(kv::Tier tier) {
  const MustNotFail region("a write reads its items");
  Status read = TryRead(tier);
  if (read.ok()) return Decide();
  if (tier == kv::Tier::kGuarded && kv::IsNotRemembered(read.error())) return ReadPresent();
  GoOnWithout(std::move(read).error());
}

void GuardedWrite::ReadPresent() {
  if (!CanReadLater()) return ReadOnWorker();
  if (GivesUp()) return;
  Status read = ReadLater();
  if (!read.ok()) GoOnWithout(std::move(read).error());
}

bool GuardedWrite::CanReadLater() const {
  if (builds_ || (token_ != nullptr && rereads_)) return false;
  size_t wanted = 0;
  bool several_tablets = false;
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].table->descriptor.HasLocalIndexes()) return false;
    if (images_[i].pending != nullptr) continue;
    ++wanted;
    several_tablets |= EarlierOfTable(i) == nullptr && i > 0;
  }
  return wanted == 1 || several_tablets;
}

Status GuardedWrite::ReadLater() {
  fresh_ = true;
  one_state_ = targets_.size() == 1;
  later_.clear();
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (images_[i].pending != nullptr) continue;
    if (!rereads_) {
      if (images_[i].was_read) {
        fresh_ = false;
        continue;
      }
      std::string value;
      const Result<bool> found = store_.engine().Get(targets_[i].table->descriptor.tablet(),
                                                     targets_[i].key, kv::Tier::kGuarded, &value);
      if (found.ok()) {
        TRY(TakeValue(i, *found ? &value : nullptr));
        fresh_ = false;
        continue;
      }
    }
    later_.emplace_back(i, std::nullopt);
  }
  later_left_.store(later_.size() + 1);
  for (Later& later : later_) {
    const WriteTarget& target = targets_[later.first];
    store_.engine().GetLater(target.table->descriptor.tablet(), target.key,
                             [this, &later](Result<std::optional<std::string>> value) {
                               later.second.emplace(std::move(value));
                               CameLater();
                             });
  }
  CameLater();
  return OkStatus();
}

void GuardedWrite::CameLater() {
  if (later_left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  // Not on the engine's thread, which other reads wait for: TakeLaterAndDecide may take long, and
  // runs the writes to which it grants latches.
  store_.tasks().Post([this] { TakeLaterAndDecide(); });
}

void GuardedWrite::TakeLaterAndDecide() {
  if (GivesUp()) return;
  Status taken;
  for (Later& later : later_) {
    Result<std::optional<std::string>>& value = *later.second;
    taken = value.ok() ? TakeValue(later.first, *value ? &**value : nullptr)
                       : Status(std::move(value).error());
    if (!taken.ok()) break;
  }
  if (taken.ok() && token_ != nullptr) {
    taken = ReadToken(true);
    fresh_ = false;
  }
  if (!taken.ok()) return GoOnWithout(std::move(taken).error());
  Decide();
}

void GuardedWrite::ReadOnWorker() {
  store_.tasks().Post([this] {
    if (!GivesUp()) ReadAndDecide(kv::Tier::kAny);
  });
}

Status GuardedWrite::Read(kv::Tier tier) {
  fresh_ = tier == kv::Tier::kAny;
  TRY(ReadItems(tier));
  if (token_ != nullptr) {
    // After the items: where they have what was done under the token, the token is there. (A
    // condition that fails because of that is no answer to who tries again.) It is hardly ever
    // used twice.
    TRY(ReadToken(!fresh_ || !rereads_));
    fresh_ &= rereads_;
  }
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (!targets_[i].table->descriptor.HasLocalIndexes()) continue;
    // A limit of 10 GB need not be exact.
    Result<int64_t> bytes =
        store_.CollectionBytes(*targets_[i].table, targets_[i].key, kv::Tier::kGuarded);
    if (!bytes.ok() && kv::IsNotRemembered(bytes.error()) && tier == kv::Tier::kAny)
      bytes = store_.CollectionBytes(*targets_[i].table, targets_[i].key, kv::Tier::kAny);
    ASSIGN_OR_RETURN(images_[i].collection_bytes, std::move(bytes));
  }
  return OkStatus();
}

Status GuardedWrite::ReadItems(kv::Tier tier) {
  std::map<kv::Tablet, std::vector<size_t>>
      wanted;  // a tablet's items are mostly read in one operation
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (images_[i].pending == nullptr) wanted[targets_[i].table->descriptor.tablet()].push_back(i);
  }
  for (const auto& [tablet, items] : wanted) {
    if (tier == kv::Tier::kGuarded || items.size() == 1) {
      for (const size_t i : items) {
        std::string value;
        ASSIGN_OR_RETURN(const bool found,
                         store_.engine().Get(tablet, targets_[i].key, tier, &value));
        TRY(TakeValue(i, found ? &value : nullptr));
      }
      continue;
    }
    std::vector<kv::Point> points;
    for (const size_t i : items) points.push_back({tablet, targets_[i].key});
    std::vector<std::optional<std::string>> values;
    TRY(store_.engine().MultiGet(points, tier, &values));
    for (size_t k = 0; k < items.size(); ++k) {
      TRY(TakeValue(items[k], values[k] ? &*values[k] : nullptr));
    }
  }
  one_state_ = wanted.size() <= 1;
  return OkStatus();
}

Status GuardedWrite::TakeValue(size_t target, const std::string* value) {
  OldImage& image = images_[target];
  image.was_read = true;
  image.found = value != nullptr;
  image.stamp = 0;
  if (value == nullptr) return OkStatus();
  image.stamp = kv::StampOf(*value);
  ASSIGN_OR_RETURN(const std::string_view item, DecodeItemValue(*value));
  image.bytes = item;
  return OkStatus();
}

Status GuardedWrite::ReadToken(bool guess) {
  token_guards_.clear();
  token_->earlier.reset();
  earlier_token_ = store_.latches().Pending(token_latch_);
  std::optional<std::string> entry;
  if (earlier_token_ != nullptr) {
    entry = earlier_token_->item;
    // It has expired before it was durable: nothing is known of what will be there.
    if (!store_.tokens().RecordOf(*entry))
      return Error(ErrorCode::kTransactionConflict, "The token is in use.");
  } else {
    ASSIGN_OR_RETURN(entry, store_.tokens().FindGuarded(token_->token, guess, &token_guards_));
  }
  if (entry) token_->earlier = store_.tokens().RecordOf(*entry);
  return OkStatus();
}

GuardedWrite::Doubt GuardedWrite::DoubtOfAnswer() const {
  if (!fresh_) return Doubt::kOfAge;
  const bool of_several = !one_state_ && !error_ && !(token_ != nullptr && token_->earlier);
  return of_several ? Doubt::kOfMoment : Doubt::kNone;
}

void GuardedWrite::ReadAgain() {
  rereads_ = true;
  error_.reset();
  Enter(State::kReading);
  ReadPresent();
}

void GuardedWrite::Protect(bool writes, kv::Batch* batch) {
  std::vector<kv::Guard> guards;
  // What was computed from one image alone is true when that is durable.
  if (writes || targets_.size() > 1 || token_ != nullptr) {
    for (size_t i = 0; i < targets_.size(); ++i) {
      const OldImage& image = images_[i];
      const bool pending = image.pending != nullptr;
      guards.push_back({targets_[i].table->descriptor.tablet(), targets_[i].key,
                        pending ? image.pending->stamp : image.stamp,
                        pending ? image.pending->left_by : nullptr});
      if (guards.back().left_by != nullptr && guards.back().left_by != image.pending->fate)
        batch->after.push_back(guards.back().left_by);
    }
    std::move(token_guards_.begin(), token_guards_.end(), std::back_inserter(guards));
    // Those of entries that were looked up.
    std::move(batch->guards.begin(), batch->guards.end(), std::back_inserter(guards));
  }
  batch->guards = std::move(guards);
  if (writes) {
    for (size_t i = 0; i < targets_.size(); ++i) {
      const TableDescriptor& table = targets_[i].table->descriptor;
      if (EarlierOfTable(i) == nullptr) batch->fences.push_back({table.tablet(), table.fence});
    }
  }
  saw_ = batch->after;
}

uint64_t GuardedWrite::PlaceOf(uint64_t) const {
  // Stamps of different tablets cannot be compared. UINT64_MAX is safe because batches that depend
  // on each other finish in their order.
  return UINT64_MAX;
}

// Handles a batch that the engine refused. If another process has won a race, the write starts
// over, and the client sees nothing of it.
void GuardedWrite::Refused(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kGuardFailed:
    case ErrorCode::kTransactionConflict: again_ = true; break;
    case ErrorCode::kFenced:
      fenced_ = true;
      again_ = true;
      break;
    case ErrorCode::kUnavailable:
      again_ = std::any_of(saw_.begin(), saw_.end(),
                           [](const kv::FatePtr& fate) { return fate->failed.load(); });
      break;
    default: break;
  }
}

void GuardedWrite::EndApplied() {
  if (again_) return StartOver();
  Finish(TakeOutcome());
}

bool GuardedWrite::GoesOnWithoutBatch(Error* error) {
  // An index that was being built is gone.
  if (error->code() != ErrorCode::kFenced) return false;
  GoOnWithout(std::move(*error));
  return true;
}

void GuardedWrite::GoOnWithout(Error error) {
  switch (error.code()) {
    case ErrorCode::kFenced: fenced_ = true; break;
    case ErrorCode::kTransactionConflict: break;
    default: return Abandon(std::move(error));
  }
  ReleaseLatches();
  StartOver();
}

void GuardedWrite::StartOver() {
  Enter(State::kPausing);
  const bool fenced = std::exchange(fenced_, false);
  const bool behind = error_ && error_->code() == ErrorCode::kUnavailable;
  Reset();
  again_ = false;
  saw_.clear();
  token_guards_.clear();
  rereads_ = true;
  ++runs_;
  if (permit_ != nullptr && permit_->failed.load()) return Finish(Ended());
  if (WaitedForLong()) return Finish(behind ? Behind() : Conflict());
  store_.tasks().Post([this, fenced] { RunAgain(fenced); }, Pause(fenced));
}

void GuardedWrite::RunAgain(bool fenced) {
  if (store_.tasks().stopped()) return Finish(Closing());
  if (fenced) {
    if (Status followed = FollowCatalog(); !followed.ok()) return Finish(std::move(followed));
  }
  Enter(State::kLatching);
  TakeLatches();
}

std::chrono::microseconds GuardedWrite::Pause(bool fenced) const {
  const int doublings = runs_ - (fenced ? 1 : kRunsAtOnce);
  if (doublings <= 0) return {};
  const uint64_t most = uint64_t{1000} << std::min(doublings, kMostDoublings);
  // Different for writes that have failed together.
  uint64_t mixed = reinterpret_cast<uintptr_t>(this) + static_cast<uint64_t>(runs_);
  mixed = (mixed ^ (mixed >> 29)) * 0x9e3779b97f4a7c15;
  return std::chrono::microseconds(most / 2 + (mixed >> 32) % (most / 2));
}

Status GuardedWrite::FollowCatalog() {
  ASSIGN_OR_RETURN(const bool moved, TakeCurrentVersions());
  if (moved) {
    stuck_since_.reset();
    return OkStatus();
  }
  const int64_t now = store_.clock().TicksMicros();
  if (!stuck_since_) stuck_since_ = now;
  if (now - *stuck_since_ < kFencePatienceMicros) return OkStatus();
  stuck_since_.reset();
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (EarlierOfTable(i) != nullptr) continue;
    TRY(store_.AcceptFence(targets_[i].table->descriptor));
  }
  ASSIGN_OR_RETURN([[maybe_unused]] const bool accepted, TakeCurrentVersions());
  return OkStatus();
}

Result<bool> GuardedWrite::TakeCurrentVersions() {
  TRY(store_.Refresh());
  bool moved = false;
  for (size_t i = 0; i < targets_.size(); ++i) {
    WriteTarget& target = targets_[i];
    if (const WriteTarget* first = EarlierOfTable(i); first != nullptr) {
      target.table = first->table;
      continue;
    }
    TablePtr current = store_.Find(target.table->descriptor.name);
    if (current == nullptr || current->descriptor.tablet_id != target.table->descriptor.tablet_id)
      return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
    moved |= current->descriptor.fence != target.table->descriptor.fence;
    target.table = std::move(current);
  }
  return moved;
}

Error GuardedWrite::Conflict() const {
  constexpr const char* kText = "Others have changed the items again and again";
  const bool transaction = targets_.size() > 1 || token_ != nullptr;
  return Error(transaction ? ErrorCode::kTransactionConflict : ErrorCode::kUnavailable, kText);
}

// While the store does not answer, each of those that wait for one latch, or for a worker, would
// wait for it anew.
bool GuardedWrite::WaitedForLong() const {
  return store_.clock().TicksMicros() - started_ > kPatienceMicros;
}

bool GuardedWrite::GivesUp() {
  const bool stopped = store_.tasks().stopped();
  if (!stopped && !WaitedForLong()) return false;
  Abandon(stopped ? Closing() : Behind());
  return true;
}

}  // namespace stator::table
