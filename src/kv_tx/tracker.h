// The batches of this process that are on their way in the transaction engine, so that others which
// were computed from them, or want to come after them, wait for them. Batches that went straight to
// the inner engine are ordered there and are not known here.
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
  // Which later operation left a key that a batch wrote in another unit than its primary one. Null:
  // nobody knows here.
  using Left = std::map<std::pair<kv::Tablet, std::string>, kv::FatePtr>;
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  // A batch begins its way. `fate` may be null.
  EntryPtr Begin(std::shared_ptr<kv::BatchFate> fate);
  // It ends here: it was handed to the inner engine as a whole, or (`done`) its `done` has run. The
  // operations of `left` have been handed to the inner engine.
  void End(const EntryPtr& entry, bool done, Left left = {});

  // False if nothing that `batch` was computed from is on its way here. Else runs `then` when it is
  // time to ask again, perhaps inline.
  bool WaitFor(const kv::Batch& batch, UniqueFunction<void()>* then);
  // Whether the `done`s of all that `batch` was computed from are known to have run, or, with
  // `in_order`, to run before the inner engine looks at the batch because of a key that it guards.
  bool KnowsAll(const kv::Batch& batch, bool in_order);
  // Guards on keys that a batch left which ended here are made to guard what left them in the end.
  // After WaitFor said false. Returns the operations that did; the batch comes after them.
  std::vector<kv::FatePtr> Translate(kv::Batch* batch);
  // Runs `then` once all that are on their way now have ended, perhaps inline.
  void AfterAll(UniqueFunction<void()> then);

  // False if there is certainly nothing to wait for or to translate.
  bool active() const { return active_.load(std::memory_order_acquire) > 0; }

 private:
  Entry* Find(const kv::FatePtr& fate) REQUIRES(mutex_);
  void Clean() REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<size_t> active_ = 0;  // entries under way or findable by their fate
  std::map<const kv::BatchFate*, EntryPtr> by_fate_ GUARDED_BY(mutex_);
  std::map<const Entry*, EntryPtr> under_way_ GUARDED_BY(mutex_);
  std::deque<EntryPtr> ended_ GUARDED_BY(mutex_);  // which somebody may still name
};

}  // namespace stator::kv_tx
