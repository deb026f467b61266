// The batches of this process that are on their way in the transaction engine, so that others which were computed from them, or
// want to come after them, wait for them. Batches that went straight to the inner engine are ordered there and are not known here.
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
  // Stamps of keys that a batch wrote in other units than its primary one; 0 where somebody else brought the key in order.
  using Stamps = std::map<std::pair<kv::Tablet, std::string>, uint64_t>;
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  // A batch begins its way. `fate` may be null.
  EntryPtr Begin(std::shared_ptr<kv::BatchFate> fate);
  // It was handed to the inner engine as a whole, or (`done`) its `done` has run. `keys`: those of which it will know the stamps
  // later.
  void Decided(const EntryPtr& entry, bool done, Stamps keys = {});
  // It is all done; `stamps` has what Decided named.
  void Settled(const EntryPtr& entry, Stamps stamps = {});

  // False if nothing that `batch` was computed from is on its way here. Else runs `then` when it is time to ask again, perhaps
  // inline.
  bool WaitFor(const kv::Batch& batch, UniqueFunction<void()>* then);
  // Replaces what guards expect of batches that were on their way here by the stamps that these left. After WaitFor said false.
  void Translate(kv::Batch* batch);
  // Whether the `done`s of all that `batch` was computed from are known to have run.
  bool AllDone(const kv::Batch& batch);
  // Runs `then` once all that are on their way now are decided, perhaps inline.
  void AfterAll(UniqueFunction<void()> then);

  // False if there is certainly nothing to wait for or to translate.
  bool active() const { return active_.load(std::memory_order_acquire) > 0; }

 private:
  Entry* Find(const kv::FatePtr& fate) REQUIRES(mutex_);
  void Clean() REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<size_t> active_ = 0;  // entries under way or findable by their fate
  std::map<const kv::BatchFate*, EntryPtr> by_fate_ GUARDED_BY(mutex_);
  std::map<const Entry*, EntryPtr> undecided_ GUARDED_BY(mutex_);
  std::deque<EntryPtr> settled_ GUARDED_BY(mutex_);  // which somebody may still name
};

}  // namespace stator::kv_tx
