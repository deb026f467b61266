// The batches of this process that are on their way through the transaction engine, so that batches
// which were computed from them, or must follow them, can wait. Batches that went straight to the
// inner engine are ordered there; the tracker does not know them.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kv/engine.h"

namespace stator::kv_tx {

// Thread-safe.
class Tracker {
 public:
  // For each key that a batch wrote outside its primary unit: the operation that leaves the key's
  // final stamp. Null: unknown to this process.
  using Left = std::map<std::pair<kv::Tablet, std::string>, kv::FatePtr>;
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  // Registers a batch. `fate` may be null.
  EntryPtr Begin(std::shared_ptr<kv::BatchFate> fate);
  // Ends a batch: it was handed to the inner engine as a whole or, with `done`, its `done` has run.
  // The operations in `left` have been handed to the inner engine.
  void End(const EntryPtr& entry, bool done, Left left = {});

  // Returns false if no batch in `batch.after` is on its way here. Else runs `then` when the caller
  // should ask again, perhaps inline.
  bool WaitFor(const kv::Batch& batch, UniqueFunction<void()>* then);
  // Returns true if the `done` of each batch in `batch.after` is known to have run. With `in_order`
  // it is enough that it will run before the inner engine looks at `batch`, because of a key that
  // `batch` guards.
  bool KnowsAll(const kv::Batch& batch, bool in_order);
  // Rewrites guards on keys that an ended batch left in other units: they now guard the operation
  // that leaves the final stamp. Call it after WaitFor returned false. Returns those operations;
  // the batch comes after them.
  std::vector<kv::FatePtr> Translate(kv::Batch* batch);
  // Runs `then` once all batches that are on their way now have ended, perhaps inline.
  void AfterAll(UniqueFunction<void()> then);

  // Returns false if there is certainly no batch to wait for and no guard to rewrite.
  bool active() const { return active_.load(std::memory_order_acquire) > 0; }

 private:
  Entry* Find(const kv::FatePtr& fate) REQUIRES(mutex_);
  void Clean() REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<size_t> active_ = 0;  // entries under way, or that can still be found by their fate
  std::map<const kv::BatchFate*, EntryPtr> by_fate_ GUARDED_BY(mutex_);
  std::map<const Entry*, EntryPtr> under_way_ GUARDED_BY(mutex_);
  std::deque<EntryPtr> ended_ GUARDED_BY(mutex_);  // entries that a batch may still name
};

}  // namespace stator::kv_tx
