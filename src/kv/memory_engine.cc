#include "kv/memory_engine.h"

#include <mutex>

namespace stator::kv {

const std::string* MemoryEngine::Find(Tablet tablet, std::string_view key) const {
  auto keys = tablets_.find(tablet);
  return keys == tablets_.end() ? nullptr : keys->second.Find(key);
}

Result<bool> MemoryEngine::Get(Tablet tablet, std::string_view key, Tier, std::string* value) {
  std::shared_lock lock(mutex_);
  const std::string* found = Find(tablet, key);
  if (found == nullptr) return false;
  value->assign(*found);
  return true;
}

Status MemoryEngine::MultiGet(std::span<const Point> points, Tier,
                              std::vector<std::optional<std::string>>* values) {
  values->assign(points.size(), std::nullopt);
  std::shared_lock lock(mutex_);
  for (size_t i = 0; i < points.size(); ++i) {
    if (const std::string* found = Find(points[i].tablet, points[i].key)) values->at(i) = *found;
  }
  return OkStatus();
}

Status MemoryEngine::Scan(const Range& range, Tier,
                          FunctionRef<bool(std::string_view, std::string_view)> visit) {
  std::shared_lock lock(mutex_);
  if (const auto found = tablets_.find(range.tablet); found != tablets_.end()) {
    found->second.Scan(range.begin, range.end, range.reverse, visit);
  }
  return OkStatus();
}

void MemoryEngine::EraseRange(const DeleteRange& range) {
  if (const auto found = tablets_.find(range.tablet); found != tablets_.end()) {
    found->second.EraseRange(range.begin, range.end);
  }
}

Result<uint64_t> MemoryEngine::ApplyLocked(Batch& batch) {
  if (IsVoid(batch)) return VoidBatchError();
  if (batch.empty()) return last_stamp_;
  TRY(CheckBatch(batch));
  for (const Guard& guard : batch.guards) {
    const std::string* found = Find(guard.tablet, guard.key);
    if ((found == nullptr ? 0 : StampOf(*found)) != guard.expected()) {
      return Error(ErrorCode::kGuardFailed, "A key has changed since it was read.");
    }
  }
  // Counters are read before anything changes, so that a bad one refuses the whole batch. Range
  // deletes come first.
  std::vector<int64_t> counts(batch.adds.size(), 0);
  for (size_t i = 0; i < batch.adds.size(); ++i) {
    const Add& add = batch.adds[i];
    bool deleted = false;
    for (const DeleteRange& range : batch.range_deletes) {
      deleted |= range.tablet == add.tablet && add.key >= range.begin &&
                 (range.end.empty() || add.key < range.end);
    }
    const std::string* found = deleted ? nullptr : Find(add.tablet, add.key);
    if (found != nullptr) {
      ASSIGN_OR_RETURN(counts[i], CounterOf(*found));
    }
  }

  const uint64_t stamp = next_stamp_ ? next_stamp_(batch) : last_stamp_ + 1;
  last_stamp_ = stamp;
  if (batch.fate != nullptr) batch.fate->stamp.store(stamp, std::memory_order_release);
  for (const DeleteRange& range : batch.range_deletes) EraseRange(range);
  for (Put& put : batch.puts) {
    SetStamp(&put.value, stamp);
    if (put.key_stamp_offset >= 0) SetKeyStamp(&put.key, put.key_stamp_offset, stamp);
    tablets_[put.tablet].Put(put.key, std::move(put.value));
  }
  for (const Delete& key : batch.deletes) {
    if (auto keys = tablets_.find(key.tablet); keys != tablets_.end()) keys->second.Erase(key.key);
  }
  for (size_t i = 0; i < batch.adds.size(); ++i) {
    const Add& add = batch.adds[i];
    tablets_[add.tablet].Put(add.key, EncodeCounter(stamp, counts[i] + add.delta));
  }
  return stamp;
}

void MemoryEngine::Apply(Batch batch, ApplyDone done) {
  Result<uint64_t> outcome = [&] {
    std::unique_lock lock(mutex_);
    return ApplyLocked(batch);
  }();
  done(std::move(outcome));
}

uint64_t MemoryEngine::ApproximateBytes(Tablet tablet) const {
  std::shared_lock lock(mutex_);
  const auto found = tablets_.find(tablet);
  return found == tablets_.end() ? 0 : found->second.bytes();
}

std::map<std::string, double> MemoryEngine::Statistics() const {
  std::shared_lock lock(mutex_);
  size_t keys = 0;
  for (const auto& tablet : tablets_) keys += tablet.second.size();
  return {{"kv_keys", static_cast<double>(keys)},
          {"kv_last_stamp", static_cast<double>(last_stamp_)}};
}

Status MemoryEngine::Checkpoint(const std::string&) {
  return Error(
      ErrorCode::kUnavailable,
      "A store in memory cannot be copied to a directory. Start the server with a data directory.");
}

}  // namespace stator::kv
