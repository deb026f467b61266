// Which object holds a key of a tablet. Internal to the room.
//
// The map of every tablet is an omap entry of the store object, and this a cache of it. A stale cache does no harm: an
// operation compares the header of the object it goes to, and is refused if that has another range or epoch than the map said.
// A tablet comes into being with its first write: object first, then entry. So an object that the map names and that is not there
// was removed by somebody else, and is an error and never an empty tablet.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

// One part of a tablet as operations need it.
struct Part {
  std::string object;
  std::string header;  // encoded, as the object must have it
  // A running mean of the stored bytes of a key and its value, as reads saw them; 0: none was seen. It only sizes reads.
  mutable std::atomic<uint32_t> mean_bytes = 0;
};
using PartPtr = std::shared_ptr<const Part>;

// Thread-safe. Calls wait for the network unless the part is cached.
class TabletMap {
 public:
  explicit TabletMap(Cluster& cluster) : cluster_(cluster) {}

  // The part that holds `key`; null if the tablet was never written to. Today every tablet has one part; a map with more is
  // refused with kUnavailable.
  Result<PartPtr> Find(kv::Tablet tablet, std::string_view key);
  // The same; creates the tablet if it was never written to.
  Result<PartPtr> FindOrCreate(kv::Tablet tablet, std::string_view key);
  PartPtr FindCached(kv::Tablet tablet);
  // The object refused `part`: it is looked up again. Returns why, if the object itself is at fault (missing, of a newer format,
  // another tablet's).
  Status Recheck(kv::Tablet tablet, const PartPtr& part);

 private:
  Status Create(kv::Tablet tablet);

  Cluster& cluster_;
  Mutex mutex_;
  std::map<kv::Tablet, PartPtr> parts_ GUARDED_BY(mutex_);
};

}  // namespace stator::kv_rados
