#include "table/local_write.h"

#include <utility>

#include "base/out_of_memory.h"

namespace stator::table {

void LocalWrite::GoOnLatched() {
  Enter(State::kEntering);
  PassGates();
}

// Holds all latches meanwhile, so that the holder of a gate waits for writes that run and for none
// that waits for a latch. This cannot deadlock: the holder of a gate needs no latch of an item and
// holds the catalog's, so that no two gates are held at a time, and a write that waits for the gate
// of one table is waited for at no other.
void LocalWrite::PassGates() {
  while (entered_ < targets_.size()) {
    if (const WriteTarget* first = EarlierOfTable(entered_); first != nullptr) {
      // A write that is inside the gate of one version of a table uses that version for all its
      // items. It must not wait for the next version's gate, which opens only when the first is
      // empty.
      targets_[entered_++].table = first->table;
      continue;
    }
    UniqueFunction<void()> later = [this] {
      const MustNotFail region("a write passes the gates of its tables");
      PassGates();
    };
    switch (targets_[entered_].table->gate->EnterOrWait(&later, &places_[entered_].turn)) {
      case Gate::Entry::kEntered: ++entered_; break;
      case Gate::Entry::kLater: return;
      case Gate::Entry::kClosed:
        if (TakeCurrentVersion(&targets_[entered_])) break;
        return Abandon(Error(ErrorCode::kResourceNotFound, "Requested resource not found"));
    }
  }
  LookAtTargets();
  Enter(State::kReading);
  // Entries of an index that is being built are looked up too, from wherever they are.
  if (builds_) return ReadFromAnywhere();
  ReadAndDecide(kv::Tier::kMemory);
}

void LocalWrite::LeaveGates() {
  for (size_t i = 0; i < entered_; ++i) {
    if (EarlierOfTable(i) == nullptr) targets_[i].table->gate->Leave(places_[i].turn);
  }
}

bool LocalWrite::TakeCurrentVersion(WriteTarget* target) {
  TablePtr current = store_.Find(target->table->descriptor.name);
  if (current == nullptr || current->gate == target->table->gate ||
      current->descriptor.tablet_id != target->table->descriptor.tablet_id) {
    return false;
  }
  target->table = std::move(current);
  return true;
}

void LocalWrite::ReadFromAnywhere() {
  UniqueFunction<void()> cold = [this] { ReadAndDecide(kv::Tier::kAny); };
  if (!store_.workers().TryPost(cold)) cold();
}

void LocalWrite::ReadAndDecide(kv::Tier tier) {
  const MustNotFail region("a write reads its items");
  Status read = TryRead(tier);
  if (read.ok()) return Decide();
  if (read.error().code() == ErrorCode::kWouldBlock) return ReadFromAnywhere();
  Abandon(std::move(read).error());
}

Status LocalWrite::Read(kv::Tier tier) {
  if (token_ != nullptr && !token_read_) {
    TRY(ReadToken(tier));
    token_read_ = true;
  }
  for (; read_ < targets_.size(); ++read_) {
    OldImage& image = images_[read_];
    const WriteTarget& target = targets_[read_];
    if (target.table->descriptor.HasLocalIndexes()) {
      ASSIGN_OR_RETURN(image.collection_bytes,
                       store_.CollectionBytes(*target.table, target.key, tier));
    }
    if (image.pending != nullptr) continue;
    ASSIGN_OR_RETURN(image.found, store_.Get(*target.table, target.key, tier, &image.bytes));
  }
  return OkStatus();
}

Status LocalWrite::ReadToken(kv::Tier tier) {
  earlier_token_ = store_.latches().Pending(token_latch_);
  std::optional<std::string> entry;
  if (earlier_token_ != nullptr) {
    entry = earlier_token_->item;
  } else {
    ASSIGN_OR_RETURN(entry, store_.tokens().Find(token_->token, tier));
  }
  if (entry) token_->earlier = store_.tokens().RecordOf(*entry);
  return OkStatus();
}

}  // namespace stator::table
