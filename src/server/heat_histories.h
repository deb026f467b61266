// The heat histories of all tables and global indexes: fed by their throughput meters, kept in the
// store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kv/engine.h"
#include "ops/context.h"
#include "throughput/heat_history.h"

namespace stator::server {

// The tablet of heat histories: tablet 1 of Space::kCatalog. If several processes share a store,
// each has its own histories in memory, which end with the process.
//
//   tablet:4 piece:4, big-endian -> stamp 01 bytes      of the resource's tablet in Space::kItems
//
// The pieces of a history, in order, are HeatHistory::Encode.
inline constexpr kv::Tablet kHeatTablet = {kv::Space::kCatalog, 1};

// Thread-safe.
class HeatHistories {
 public:
  // Reads what was kept, and hears from now on what is used. A history that is damaged is begun
  // anew, and the log says so. With a manual clock, what was used between two looks is what was
  // used at the earlier one. Both outlive this object; to be made before the first
  // Admission::Advance.
  // `most_slot_bytes`: for tests.
  HeatHistories(ops::Environment& environment, bool manual_clock,
                size_t most_slot_bytes = kMostSlotBytes);

  // Writes what has changed since the last call, and forgets what belonged to tables and indexes
  // that are gone. Does not write to an engine that forgets anyway, nor as one of several
  // processes. Waits for the disk.
  void Keep();

  // Returns the heat map of the table or index whose items or entries are in this tablet of
  // Space::kItems. If it was never used, the map has no units.
  throughput::HeatMap Map(uint32_t tablet_id, throughput::HeatHistory::Window window) const;

  // Returns the memory of all histories, in bytes.
  size_t Bytes() const;

  // A bound of the bytes that the slots of all histories take. Beyond it the oldest slots of each
  // history are forgotten, in turn, but for the last few.
  static constexpr size_t kMostSlotBytes = 96 << 20;

 private:
  struct Entry {
    throughput::HeatHistory history;
    bool changed = false;
    uint32_t pieces = 0;  // in the store
  };
  void Load();
  void OnUsage(const ops::Admission::Usage& usage);
  // The next part of what there is to write; empty: all is kept. `written`: the pieces that each
  // history in it will have then; `gone`: how many of its deletes, the first, are of resources that
  // are gone.
  kv::Batch NextBatch(std::map<uint32_t, uint32_t>* written, size_t* gone);
  void ForgetGone();
  void MakeRoom() REQUIRES(mutex_);

  ops::Environment& environment_;
  const throughput::HeatHistory::Settings settings_;
  const size_t most_slot_bytes_;
  mutable Mutex mutex_;
  std::map<uint32_t, Entry> entries_ GUARDED_BY(mutex_);  // by tablet
  size_t slot_bytes_ GUARDED_BY(mutex_) = 0;              // of all of them
  uint32_t thinned_ GUARDED_BY(mutex_) = 0;               // tablet; those behind it are next
  size_t more_than_ GUARDED_BY(mutex_);                   // slot_bytes_ at which room is made
  std::vector<kv::Delete> gone_ GUARDED_BY(mutex_);       // pieces to be deleted
  Mutex keeping_;                                         // held through Keep
};

}  // namespace stator::server
