// Latches on keys: queues of continuations, never blocked threads, with the images of writes that
// are not durable yet.
//
// A writer takes the latches of its keys in sorted order, reads the old images, and lets the
// latches go as soon as its batch is queued at the engine. The next writer of a key evaluates on
// the pending image that it finds here. Readers take no latch. A gate (table/gate.h) is waited for
// with latches held, never a latch inside a gate.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/string_hash.h"
#include "base/unique_function.h"
#include "kv/engine.h"

namespace stator::table {

// An image that is queued at the engine and not durable yet.
struct PendingImage {
  std::optional<std::string> item;      // encoded; nullopt: deleted
  std::shared_ptr<kv::BatchFate> fate;  // of its batch: what is computed from it fails with it
  bool kept = false;                    // the change that led to it is in the history
  // For engines that several processes write: the members of a guard on the item (kv::Guard).
  uint64_t stamp = 0;
  kv::FatePtr left_by = nullptr;
  uint64_t fence = 0;  // of the table's version that it was written by
};

// Thread-safe.
class LatchTable {
 public:
  // Takes the latch of `key`. Returns true if the caller holds it now. Otherwise `granted` runs
  // later, on the thread that released the latch, and the caller holds it then.
  bool Acquire(std::string_view key, UniqueFunction<void()>* granted);
  // Releases a held latch, and gives it to the next caller in the queue.
  void Release(std::string_view key);

  // Returns the latest pending image of a key whose latch the caller holds; null if the durable
  // image is the latest.
  std::shared_ptr<const PendingImage> Pending(std::string_view key);
  // Declares the image of a batch that is about to be queued. The caller holds the latch.
  void SetPending(std::string_view key, std::shared_ptr<const PendingImage> image);
  // The batch of an earlier SetPending is durable (applied) or refused. Each image was computed
  // from the one before it, so a refusal takes the later ones of the key away too: their batches
  // will be refused, and the next writer must not build on them. To settle those again changes
  // nothing.
  void CommitOrDrop(std::string_view key, const PendingImage* image, bool applied);

  // Keys with a holder, a queue or a pending image; for tests and metrics.
  size_t size();

 private:
  struct Entry {
    bool held = false;
    std::vector<std::shared_ptr<const PendingImage>>
        images;  // not settled, in the order of their batches
    // Made only when somebody has to wait: a deque allocates even when it is empty.
    std::unique_ptr<std::deque<UniqueFunction<void()>>> waiting;
    bool contended() const { return waiting != nullptr && !waiting->empty(); }
  };
  struct Shard {
    Mutex mutex;
    std::unordered_map<std::string, Entry, StringHash, std::equal_to<>> entries GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 64;

  Shard& ShardOf(std::string_view key) { return shards_[StringHash()(key) % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace stator::table
