#include "kv_rados/group.h"

#include <fmt/format.h>

#include <algorithm>

namespace stator::kv_rados {
namespace {

bool Covers(std::string_view begin, std::string_view end, std::string_view key) {
  return key >= begin && (end.empty() || key < end);
}

// The assumed size of a removed value whose size is not known.
constexpr size_t kGuessedBytes = 1024;

Error TooLargeError(uint64_t max_bytes) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("The write was not applied: its part of the tablet would pass {} bytes "
                           "and was not split yet, or cannot be. "
                           "Reads and deletes go on.",
                           max_bytes));
}

// What a put's cells take once its batch has the stamp: where the key holds it, other bytes are
// escaped than now.
size_t BytesOfPut(const kv::Put& put, uint64_t stamp) {
  const size_t bytes = CellBytes(put.key, put.value.size());
  if (put.key_stamp_offset < 0) return bytes;
  const auto offset = static_cast<size_t>(put.key_stamp_offset);
  std::string stamped(kv::kStampBytes, '\0');
  kv::SetKeyStamp(&stamped, 0, stamp);
  const std::string_view now = std::string_view(put.key).substr(offset, kv::kStampBytes);
  return bytes + 2 * EscapedBytes(stamped) - 2 * EscapedBytes(now);
}

bool CoveredBy(const kv::Batch& batch, std::string_view key) {
  const auto covers = [key](const kv::DeleteRange& range) {
    return Covers(range.begin, range.end, key);
  };
  return std::any_of(batch.range_deletes.begin(), batch.range_deletes.end(), covers);
}

Error GuardError() {
  return Error(ErrorCode::kGuardFailed, "A key has changed since it was read.");
}

}  // namespace

KeyState StateOfValue(std::string_view value) {
  KeyState state{.stamp = kv::StampOf(value), .bytes = value.size()};
  if (const Result<int64_t> count = kv::CounterOf(value); count.ok()) state.count = *count;
  return state;
}

void Group::KeysOf(const kv::Batch& batch, bool with_changes, std::vector<std::string>* keys) {
  if (with_changes) {
    for (const kv::Put& put : batch.puts) keys->push_back(put.key);
    for (const kv::Delete& gone : batch.deletes) keys->push_back(gone.key);
  }
  for (const kv::Guard& guard : batch.guards) keys->push_back(guard.key);
  for (const kv::Add& add : batch.adds) keys->push_back(add.key);
}

std::optional<KeyState> Group::Changed(std::string_view key) const {
  if (auto found = changes_.find(key); found != changes_.end()) return found->second.state;
  for (const Span& span : deleted_) {
    if (Covers(span.begin, span.end, key)) return KeyState{};
  }
  return std::nullopt;
}

Group::Verdict Group::Join(kv::Batch* batch, Error* refusal) {
  if (Status status = kv::CheckBatch(*batch); !status.ok()) {
    *refusal = std::move(status).error();
    return Verdict::kRefused;
  }
  // A failed guard that rests on the durable state is certain, if that was read after the batch
  // came. One that rests on the group is not: the group may yet fail.
  bool later = false, read = false;
  std::map<std::string_view, uint64_t> asked;
  for (const kv::Guard& guard : batch->guards) {
    if (const std::optional<KeyState> changed = Changed(guard.key)) {
      later |= changed->stamp != guard.expected();
    } else if (auto known = known_.find(guard.key); known != known_.end()) {
      if (known->second.stamp != guard.expected()) {
        if (!known_is_fresh_) {
          read = true;
          continue;
        }
        *refusal = GuardError();
        return Verdict::kRefused;
      }
    } else if (auto other = guards_.find(guard.key); other != guards_.end()) {
      read |= other->second != guard.expected();
    } else if (asked.try_emplace(guard.key, guard.expected()).first->second != guard.expected()) {
      *refusal = GuardError();  // the batch contradicts itself
      return Verdict::kRefused;
    }
  }
  std::vector<int64_t> counts(batch->adds.size(), 0);
  for (size_t i = 0; i < batch->adds.size(); ++i) {
    const std::string& key = batch->adds[i].key;
    if (CoveredBy(*batch, key)) continue;
    const std::optional<KeyState> changed = Changed(key);
    const auto known = known_.find(key);
    if (!changed && known == known_.end()) {
      read = true;
      continue;
    }
    const KeyState& state = changed ? *changed : known->second;
    if (state.stamp != 0 && !state.count) {
      if (!changed && !known_is_fresh_) {
        read = true;
        continue;
      }
      if (!changed) {
        *refusal = CorruptionError("A batch adds to a value that is no counter.");
        return Verdict::kRefused;
      }
      later = true;
    }
    counts[i] = state.count.value_or(0);
  }
  if (later) {
    if (!empty()) return Verdict::kNextGroup;
    *refusal = GuardError();  // cannot be: an empty group has changed nothing
    return Verdict::kRefused;
  }
  if (read) return Verdict::kRead;

  // Too large is no more certain than a failed guard is.
  uint64_t changed_bytes = 0;
  const PartSize size = SizeWith(*batch, asked, &changed_bytes);
  if (size.bytes > limits_.max_bytes && size.bytes > size_.bytes) {
    if (!empty()) return Verdict::kNextGroup;
    if (!known_is_fresh_) return Verdict::kRead;
    if (size.unsure > 0 && !limits_.is_final) return Verdict::kCount;
    *refusal = TooLargeError(limits_.max_bytes);
    return Verdict::kRefused;
  }

  size_ = size;
  changed_bytes_ += changed_bytes;
  guards_.insert(asked.begin(), asked.end());
  const uint64_t stamp = ++last_stamp_;
  for (const kv::DeleteRange& range : batch->range_deletes) {
    if (!range.end.empty() && range.begin >= range.end) continue;
    const Span span{range.begin, range.end};
    changes_.erase(changes_.lower_bound(span.begin),
                   span.end.empty() ? changes_.end() : changes_.lower_bound(span.end));
    deleted_.push_back(span);
  }
  for (kv::Put& put : batch->puts) {
    kv::SetStamp(&put.value, stamp);
    const bool once = put.key_stamp_offset >= 0;
    if (once) kv::SetKeyStamp(&put.key, static_cast<size_t>(put.key_stamp_offset), stamp);
    Record(put.key, put.value, StateOfValue(put.value), once);
  }
  for (const kv::Delete& gone : batch->deletes) Record(gone.key, std::nullopt, {});
  for (size_t i = 0; i < batch->adds.size(); ++i) {
    const kv::Add& add = batch->adds[i];
    const int64_t count =
        static_cast<int64_t>(static_cast<uint64_t>(counts[i]) + static_cast<uint64_t>(add.delta));
    Record(add.key, counters_.emplace_back(kv::EncodeCounter(stamp, count)),
           {stamp, count, kv::kCounterBytes});
  }
  return Verdict::kJoined;
}

std::optional<size_t> Group::BytesOf(std::string_view key,
                                     const std::map<std::string_view, uint64_t>& asked,
                                     bool* present) const {
  *present = false;
  std::optional<KeyState> state = Changed(key);
  if (!state) {
    if (auto known = known_.find(key); known != known_.end()) state = known->second;
  }
  if (state) return state->stamp == 0 ? 0 : CellBytes(key, state->bytes);
  std::optional<uint64_t> stamp;
  if (auto guard = guards_.find(key); guard != guards_.end()) {
    stamp = guard->second;
  } else if (auto other = asked.find(key); other != asked.end()) {
    stamp = other->second;
  }
  if (stamp == 0u) return 0;
  const std::optional<size_t> bytes = limits_.seen ? limits_.seen(key, stamp) : std::nullopt;
  *present = stamp || bytes;
  return stamp && bytes ? std::optional(CellBytes(key, *bytes)) : std::nullopt;
}

PartSize Group::SizeWith(const kv::Batch& batch, const std::map<std::string_view, uint64_t>& asked,
                         uint64_t* changed_bytes) const {
  PartSize size = size_;
  for (const kv::DeleteRange& range : batch.range_deletes) {
    if (!range.end.empty() && range.begin >= range.end) continue;
    *changed_bytes += size.bytes;
    if (range.begin.empty() && range.end.empty()) {
      size = {};
    } else {
      size.unsure += size.bytes;
    }
  }
  const auto replace = [&size, changed_bytes](size_t before, size_t after) {
    *changed_bytes += before + after;
    size.bytes = size.bytes + after - std::min<uint64_t>(size.bytes, before);
    if (before == 0 && after > 0) ++size.keys;
    if (before > 0 && after == 0 && size.keys > 0) --size.keys;
  };
  for (const kv::Put& put : batch.puts) {
    const size_t after = BytesOfPut(put, last_stamp_ + 1);
    bool present = false;
    const bool is_new =
        put.key_stamp_offset >= 0 || CoveredBy(batch, put.key);  // stamps are unique
    const std::optional<size_t> before = is_new ? 0 : BytesOf(put.key, asked, &present);
    replace(before.value_or(present ? after : 0), after);
    if (!before) size.unsure += after;
  }
  for (const kv::Delete& gone : batch.deletes) {
    if (CoveredBy(batch, gone.key)) continue;
    bool present = false;
    const std::optional<size_t> before = BytesOf(gone.key, asked, &present);
    const size_t guess = CellBytes(gone.key, kGuessedBytes);
    replace(before.value_or(present ? guess : 0), 0);
    if (!before) size.unsure += guess;
  }
  for (const kv::Add& add : batch.adds) {
    bool present = false;
    replace(CoveredBy(batch, add.key) ? 0 : BytesOf(add.key, asked, &present).value_or(0),
            CellBytes(add.key, kv::kCounterBytes));
  }
  return size;
}

void Group::Record(std::string_view key, std::optional<std::string_view> value, KeyState state,
                   bool once) {
  bool was_there = false;
  if (const std::optional<KeyState> changed = Changed(key)) {
    was_there = changed->stamp != 0;
  } else if (auto known = known_.find(key); known != known_.end()) {
    was_there = known->second.stamp != 0;
  } else if (auto guard = guards_.find(key); guard != guards_.end()) {
    was_there = guard->second != 0;
  }
  // A put that this one replaces may have been the one that made the key.
  auto [change, first] = changes_.try_emplace(key);
  const bool is_new = !was_there || (!first && change->second.value && change->second.is_new);
  change->second = {value, is_new, once, state};
}

void Group::Learn(KnownKeys* known) const {
  for (const Span& span : deleted_) {
    std::erase_if(*known,
                  [&span](const auto& entry) { return Covers(span.begin, span.end, entry.first); });
  }
  for (const auto& [key, change] : changes_) {
    if (auto found = known->find(key); found != known->end()) {
      found->second = change.state;
    } else if (change.value ? !change.once : guards_.contains(key)) {
      known->emplace(key, change.state);
    }
  }
}

}  // namespace stator::kv_rados
