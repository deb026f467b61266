// Which object holds a key of a tablet. Internal to the room.
//
// The map of every tablet is an omap entry of the store object, and this a cache of it. A stale cache does no harm: an
// operation compares the header of the object it goes to, which alone says what the object holds.
// A tablet comes into being with its first write: object first, then entry, then the write. So an object that the map names and that
// is not there was removed by somebody else, and so was the entry of an object that was written to: errors, and never empty tablets.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"
#include "kv_rados/part.h"

namespace stator::kv_rados {

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
  // The part's object is not there: it is looked up again. kCorruption if the map still names it.
  Status Recheck(const PartPtr& part);

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
