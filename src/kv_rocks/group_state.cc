#include "kv_rocks/group_state.h"

#include <algorithm>

namespace stator::kv_rocks {
namespace {

// Counters are kept between groups up to this many; then all are forgotten and read again as they
// are needed.
constexpr size_t kMaxCounters = 16384;

}  // namespace

void GroupState::StartGroup(bool failed) {
  if (failed || counters_.size() > kMaxCounters) counters_.clear();
  dirty_.clear();
  recording_ = false;
  changes_.clear();
  deleted_.clear();
}

GroupState::Place GroupState::PlaceOf(kv::Tablet tablet, std::string_view key) {
  return {FamilyIndex(tablet.space), std::string(PrefixedKey(tablet.id, key).view())};
}

// Nothing for an empty range, which RocksDB would take for an error.
std::optional<GroupState::Span> GroupState::SpanOf(const kv::DeleteRange& range) {
  char room[kTabletBytes];
  Span span{FamilyIndex(range.tablet.space),
            std::string(PrefixedKey(range.tablet.id, range.begin).view()),
            {}};
  if (range.end.empty()) {
    span.end = PrefixedKey::TabletEnd(range.tablet.id, room);
  } else {
    span.end = PrefixedKey(range.tablet.id, range.end).view();
  }
  if (span.begin >= span.end) return std::nullopt;
  return span;
}

void GroupState::RecordChanges(const kv::Batch& batch) {
  for (const kv::DeleteRange& range : batch.range_deletes) {
    std::optional<Span> span = SpanOf(range);
    if (!span) continue;
    changes_.erase(changes_.lower_bound({span->family, span->begin}),
                   changes_.lower_bound({span->family, span->end}));
    deleted_.push_back(std::move(*span));
  }
  for (const kv::Put& put : batch.puts) {
    Change change{kv::StampOf(put.value), std::nullopt};
    if (Result<int64_t> count = kv::CounterOf(put.value); count.ok()) change.count = *count;
    changes_.insert_or_assign(PlaceOf(put.tablet, put.key), change);
  }
  for (const kv::Delete& key : batch.deletes)
    changes_.insert_or_assign(PlaceOf(key.tablet, key.key), Change{});
}

std::optional<GroupState::Change> GroupState::FindChange(const Place& place) const {
  if (auto found = changes_.find(place); found != changes_.end()) return found->second;
  for (const Span& span : deleted_) {
    if (span.Covers(place)) return Change{};
  }
  return std::nullopt;
}

Result<uint64_t> GroupState::CurrentStamp(const Place& place) {
  // A changed counter comes first: whatever else the group did to its key, it did before.
  if (auto found = counters_.find(place); found != counters_.end() && found->second.dirty)
    return found->second.stamp;
  if (std::optional<Change> change = FindChange(place)) return change->stamp;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), families_[place.family], place.key, &value);
  if (status.IsNotFound()) return uint64_t{0};
  if (!status.ok()) return ReadError(status);
  return kv::StampOf(ToView(value));
}

Status GroupState::LoadCounter(const Place& place) {
  if (counters_.contains(place)) return OkStatus();
  if (std::optional<Change> change = FindChange(place)) {
    if (change->stamp != 0 && !change->count)
      return CorruptionError("A batch adds to a value that is no counter.");
    counters_[place].count = change->count.value_or(0);
    return OkStatus();
  }
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), families_[place.family], place.key, &value);
  if (status.IsNotFound()) {
    counters_[place].count = 0;
    return OkStatus();
  }
  if (!status.ok()) return ReadError(status);
  ASSIGN_OR_RETURN(const int64_t count, kv::CounterOf(ToView(value)));
  counters_[place].count = count;
  return OkStatus();
}

Status GroupState::Check(const kv::Batch& batch, const std::vector<const kv::Batch*>& accepted) {
  TRY(kv::CheckBatch(batch));
  const auto record = [&] {
    if (recording_) return;
    recording_ = true;
    for (const kv::Batch* earlier : accepted) RecordChanges(*earlier);
  };
  for (const kv::Guard& guard : batch.guards) {
    record();
    ASSIGN_OR_RETURN(const uint64_t stamp, CurrentStamp(PlaceOf(guard.tablet, guard.key)));
    if (stamp != guard.expected())
      return Error(ErrorCode::kGuardFailed, "A key has changed since it was read.");
  }
  if (batch.adds.empty()) return OkStatus();
  std::vector<Span> own;
  for (const kv::DeleteRange& range : batch.range_deletes) {
    if (std::optional<Span> span = SpanOf(range)) own.push_back(std::move(*span));
  }
  for (const kv::Add& add : batch.adds) {
    const Place place = PlaceOf(add.tablet, add.key);
    if (counters_.contains(place)) continue;
    if (std::any_of(own.begin(), own.end(), [&](const Span& span) { return span.Covers(place); }))
      continue;
    record();
    TRY(LoadCounter(place));
  }
  return OkStatus();
}

void GroupState::Join(kv::Batch* batch, uint64_t stamp, rocksdb::WriteBatch* writes) {
  for (const kv::DeleteRange& range : batch->range_deletes) {
    std::optional<Span> span = SpanOf(range);
    if (!span) continue;
    counters_.erase(counters_.lower_bound({span->family, span->begin}),
                    counters_.lower_bound({span->family, span->end}));
    writes->DeleteRange(families_[span->family], span->begin, span->end);
  }
  for (kv::Put& put : batch->puts) {
    kv::SetStamp(&put.value, stamp);
    if (put.key_stamp_offset >= 0)
      kv::SetKeyStamp(&put.key, static_cast<size_t>(put.key_stamp_offset), stamp);
    const PrefixedKey key(put.tablet.id, put.key);
    if (!counters_.empty()) counters_.erase(PlaceOf(put.tablet, put.key));
    writes->Put(families_[FamilyIndex(put.tablet.space)], key.slice(), put.value);
  }
  for (const kv::Delete& gone : batch->deletes) {
    const PrefixedKey key(gone.tablet.id, gone.key);
    if (!counters_.empty()) counters_.erase(PlaceOf(gone.tablet, gone.key));
    writes->Delete(families_[FamilyIndex(gone.tablet.space)], key.slice());
  }
  for (const kv::Add& add : batch->adds) {
    Place place = PlaceOf(add.tablet, add.key);
    Counter& counter = counters_[place];  // absent: deleted by a range of this batch
    counter.count = static_cast<int64_t>(static_cast<uint64_t>(counter.count) +
                                         static_cast<uint64_t>(add.delta));
    counter.stamp = stamp;
    if (!counter.dirty) dirty_.push_back(std::move(place));
    counter.dirty = true;
  }
  if (recording_) RecordChanges(*batch);
}

void GroupState::JoinAsIs(const kv::Batch& batch, rocksdb::WriteBatch* writes) {
  for (const kv::Put& put : batch.puts) {
    if (!counters_.empty()) counters_.erase(PlaceOf(put.tablet, put.key));
    writes->Put(families_[FamilyIndex(put.tablet.space)],
                PrefixedKey(put.tablet.id, put.key).slice(), put.value);
  }
  for (const kv::Delete& gone : batch.deletes) {
    if (!counters_.empty()) counters_.erase(PlaceOf(gone.tablet, gone.key));
    writes->Delete(families_[FamilyIndex(gone.tablet.space)],
                   PrefixedKey(gone.tablet.id, gone.key).slice());
  }
  if (recording_) RecordChanges(batch);
}

void GroupState::FinishGroup(rocksdb::WriteBatch* writes) {
  for (const Place& place : dirty_) {
    auto found = counters_.find(place);
    // Gone, or already written: the group deleted or replaced it (and perhaps added to it again)
    // after it got dirty.
    if (found == counters_.end() || !found->second.dirty) continue;
    found->second.dirty = false;
    writes->Put(families_[place.family], place.key,
                kv::EncodeCounter(found->second.stamp, found->second.count));
  }
}

}  // namespace stator::kv_rocks
