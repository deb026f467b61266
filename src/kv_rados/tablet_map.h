// Which object holds a key of a tablet. Internal to the room.
//
// The map of every tablet is an omap entry of the store object, and this a cache of it. A stale cache does no harm: an
// operation compares the header of the object it goes to, and is refused if that has another range or epoch than the map said.
// A tablet comes into being with its first write: object first, then entry, then the write. So an object that the map names and that
// is not there was removed by somebody else, and so was the entry of an object that was written to: errors, and never empty tablets.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

// How large the values were that this process read lately: writes rarely read again what they replace. Thread-safe.
class SeenSizes {
 public:
  void Note(std::string_view key, uint64_t stamp, size_t bytes);
  // Of the value that the key had at the stamp; none if it was not seen or is forgotten.
  std::optional<size_t> Find(std::string_view key, uint64_t stamp) const;

 private:
  struct Slot {
    size_t hash = 0;
    uint64_t stamp = 0;
    size_t bytes = 0;
  };
  mutable Mutex mutex_;
  std::array<Slot, 256> slots_ GUARDED_BY(mutex_);
};

// One part of a tablet as operations need it.
struct Part {
  std::string object;
  std::string header;  // encoded, as the object must have it
  // A running mean of the stored bytes of a key and its value, as reads saw them; 0: none was seen. It only sizes reads.
  mutable std::atomic<uint32_t> mean_bytes = 0;
  mutable SeenSizes seen;

  void NoteBytes(size_t bytes) const;
  // How many keys a read of about so many bytes asks for.
  size_t KeysFor(size_t bytes) const;
};
using PartPtr = std::shared_ptr<const Part>;

// What one read of a long range aims at.
inline constexpr size_t kReadBytes = 1 << 20;

// Thread-safe. Calls wait for the network unless the part is cached.
class TabletMap {
 public:
  explicit TabletMap(Cluster& cluster) : cluster_(cluster) {}

  // The part that holds `key`; null if the tablet was never written to. Today every tablet has one part; a map with more is
  // refused with kUnavailable. kCorruption: the map lost its entry.
  Result<PartPtr> Find(kv::Tablet tablet, std::string_view key);
  // The same; creates the tablet if it was never written to.
  Result<PartPtr> FindOrCreate(kv::Tablet tablet, std::string_view key);
  PartPtr FindCached(kv::Tablet tablet);
  // The object refused `part`: it is looked up again. Returns why, if the object itself is at fault (missing, damaged, of a newer
  // format, another tablet's).
  Status Recheck(kv::Tablet tablet, const PartPtr& part);

 private:
  // The map has no entry of it. Whether somebody wrote to it all the same.
  Result<bool> WasWritten(kv::Tablet tablet);
  Status Create(kv::Tablet tablet);
  // What the map says now; null: nothing.
  Result<PartPtr> Look(kv::Tablet tablet, const std::string& name);

  Cluster& cluster_;
  Mutex mutex_;
  std::map<kv::Tablet, PartPtr> parts_ GUARDED_BY(mutex_);
};

}  // namespace stator::kv_rados
