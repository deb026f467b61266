#include "kv_rocks/write_queue.h"

#include <algorithm>
#include <utility>

namespace stator::kv_rocks {

bool WriteQueue::Follows(const QueuedBatch& queued) const {
  const kv::Batch& batch = queued.batch;
  if (queued.restoring != nullptr) return true;
  if (batch.after.empty()) return batch.empty();  // such a barrier follows everything
  return std::any_of(batch.after.begin(), batch.after.end(),
                     [this](const kv::FatePtr& fate) { return large_fates_.contains(fate.get()); });
}

void WriteQueue::Push(QueuedBatch queued) {
  queued.number = next_number_++;
  const bool is_small = queued.bytes <= kSmallBytes;
  if (is_small && (large_.empty() || !Follows(queued))) {
    small_.push_back(std::move(queued));
    return;
  }
  large_bytes_ += queued.bytes;
  if (queued.batch.fate != nullptr) large_fates_.insert(queued.batch.fate.get());
  large_.push_back(std::move(queued));
}

std::vector<QueuedBatch> WriteQueue::TakeGroup() {
  std::vector<QueuedBatch> group;
  group.reserve(small_.size() + (large_.empty() ? 0 : 1));
  size_t bytes = 0;
  while (!small_.empty() && bytes + small_.front().bytes <= kMaxGroupBytes) {
    bytes += small_.front().bytes;
    group.push_back(std::move(small_.front()));
    small_.pop_front();
  }
  if (large_.empty()) return group;
  // Small batches that came while large ones were written wait for the disk once, not twice.
  if (took_large_ && !group.empty() && large_bytes_ > kLightBytes) {
    took_large_ = false;
  } else {
    TakeLarge(bytes, &group);
  }
  return group;
}

void WriteQueue::TakeLarge(size_t bytes, std::vector<QueuedBatch>* group) {
  took_large_ = false;
  while (!large_.empty()) {
    QueuedBatch& oldest = large_.front();
    if (!small_.empty() && small_.front().number < oldest.number) return;
    if (took_large_ && bytes + oldest.bytes > kMaxGroupBytes) return;
    bytes += oldest.bytes;
    large_bytes_ -= oldest.bytes;
    if (oldest.batch.fate != nullptr) large_fates_.erase(oldest.batch.fate.get());
    group->push_back(std::move(oldest));
    large_.pop_front();
    took_large_ = true;
  }
}

}  // namespace stator::kv_rocks
