// A store in memory that several engines share, as processes share a Ceph pool: for tests of what
// has to hold among processes.
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
  // Which part of its tablet a key is in; the same answer every time, and one stretch of keys to a
  // part. Null: tablets are not divided.
  using PartOf = std::function<std::string(Tablet tablet, std::string_view key)>;
  explicit SharedMemory(PartOf part_of = nullptr) : part_of_(std::move(part_of)) {}

  // An engine of its own process. It applies and answers inline. With Tier::kGuarded it answers
  // what it last read or wrote itself, but for some reads.
  std::unique_ptr<Engine> Attach();

 private:
  class Member;

  const PartOf part_of_;
  // Stamps of different tablets say nothing about each other.
  uint64_t NextStamp(const Batch& batch);

  Mutex mutex_;                        // held while a batch is checked and applied
  std::map<Tablet, uint64_t> stamps_;  // under mutex_
  MemoryEngine memory_{[this](const Batch& batch) { return NextStamp(batch); }};
  std::map<Tablet, uint64_t> fences_ GUARDED_BY(mutex_);
  Mutex listeners_mutex_;
  std::map<const Member*, Bulletin::Listener> listeners_ GUARDED_BY(listeners_mutex_);
};

}  // namespace stator::kv
