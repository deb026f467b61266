// A store in memory that several engines share, as processes share a Ceph pool. For tests of the
// guarantees that hold among processes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "kv/engine.h"
#include "kv/memory_engine.h"

namespace stator::kv {

// Thread-safe. Outlives its engines.
class SharedMemory {
 public:
  // Returns the part of a tablet to which a key belongs. It must always be the same part, and each
  // part must be one range of keys. Null: tablets are not divided.
  using PartOf = std::function<std::string(Tablet tablet, std::string_view key)>;
  explicit SharedMemory(PartOf part_of = nullptr) : part_of_(std::move(part_of)) {}

  // Returns a new engine that behaves like another process. It applies batches and answers inline.
  // With Tier::kGuarded it returns the value that it last read or wrote itself; every few reads it
  // fails with kGuardFailed.
  std::unique_ptr<Engine> Attach();

 private:
  class Member;

  const PartOf part_of_;
  // Returns the next stamp of the batch's tablet. Stamps of different tablets are not related.
  uint64_t NextStamp(const Batch& batch);

  Mutex mutex_;                        // held while a batch is checked and applied
  std::map<Tablet, uint64_t> stamps_;  // under mutex_
  MemoryEngine memory_{[this](const Batch& batch) { return NextStamp(batch); }};
  std::map<Tablet, uint64_t> fences_ GUARDED_BY(mutex_);
  Mutex listeners_mutex_;
  std::map<const Member*, Bulletin::Listener> listeners_ GUARDED_BY(listeners_mutex_);
};

}  // namespace stator::kv
