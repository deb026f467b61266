// The batches that wait for the committer, and the order in which it takes them: small batches pass
// large ones. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

#include "kv/engine.h"

namespace stator::kv_rocks {

class Restoring;  // rewind_points.h

struct QueuedBatch {
  kv::Batch batch;
  kv::ApplyDone done;
  size_t bytes = 0;     // about what the batch adds to the log
  uint64_t stamp = 0;   // set by the committer
  uint64_t number = 0;  // set by the queue: rises with every batch
  // Not null: the batch of a return, a group of its own, which comes after everything before it.
  Restoring* restoring = nullptr;
};

// A small batch may pass earlier large batches. It passes none that it names in `after`, directly
// or through others, and no batch passes a small one. A batch that is empty and names nothing
// passes nothing. Not thread-safe.
class WriteQueue {
 public:
  // A batch up to this size is small, as Engine::Apply says.
  static constexpr size_t kSmallBytes = 64 << 10;
  // The bytes of a group are bounded for memory, for the time that small batches wait for the group
  // before theirs, and for the time that a reader of the log waits at the next start.
  static constexpr size_t kMaxGroupBytes = 4 << 20;
  // Large batches that have at most kLightBytes together are not held back for small ones.
  static constexpr size_t kLightBytes = 1 << 20;

  void Push(QueuedBatch queued);
  // Removes the batches of the next group, in the order in which they take effect. The group has at
  // most kMaxGroupBytes, or that and one large batch. After a group with large batches comes one
  // without, if small ones wait. The oldest large batch is in one of two groups in a row, unless
  // earlier small batches fill them.
  std::vector<QueuedBatch> TakeGroup();

  bool empty() const { return small_.empty() && large_.empty(); }
  size_t size() const { return small_.size() + large_.size(); }

 private:
  // Whether the batch must come after one that is in large_.
  bool Follows(const QueuedBatch& queued) const;
  void TakeLarge(size_t bytes, std::vector<QueuedBatch>* group);

  std::deque<QueuedBatch> small_;
  // Large batches, and small ones that must come after one of them.
  std::deque<QueuedBatch> large_;
  std::unordered_set<const kv::BatchFate*> large_fates_;  // of the batches in large_
  size_t large_bytes_ = 0;
  uint64_t next_number_ = 0;
  bool took_large_ = false;  // the last group had batches of large_
};

}  // namespace stator::kv_rocks
