// Finds the object that holds a key of a tablet. Internal to the room.
//
// The map of every tablet is an omap entry of the store object, and this a cache of it. A stale
// cache does no harm: an operation compares the header of the object it goes to, which alone says
// what the object holds. The cache is healed from such headers: a part that has given up a range
// says to which part, until the map of the store says so too. Parts are split and never joined, so
// what the cache knows stays true as far as it goes. A tablet comes into being with its first read
// or write: object first, then entry, then the write. So an object that the map names and that is
// not there was removed by somebody else, and so was the entry of an object that was written to:
// errors, and never empty tablets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"
#include "kv_rados/part.h"

namespace stator::kv_rados {

// The parts of a tablet by their first routes, never empty.
using PartList = std::map<std::string, PartPtr, std::less<>>;
using PartListPtr = std::shared_ptr<const PartList>;
// The part that holds a route, and the header that operations on it compare. Both null: the tablet
// was never written to.
struct Place {
  PartPtr part;
  HeaderPtr header;
};

// Thread-safe. Calls wait for the network unless what they need is cached.
class TabletMap {
 public:
  // `notice` is told of parts whose header says that they are being split; `on_unwritten` of
  // tablets that were looked for and have never been written to, each time. They must not wait.
  TabletMap(Cluster& cluster, std::function<void(const PartPtr&)> notice,
            std::function<void(kv::Tablet)> on_unwritten)
      : cluster_(cluster), notice_(std::move(notice)), on_unwritten_(std::move(on_unwritten)) {}

  // The part that holds the route. While that is being opened the call waits, up to the deadline:
  // kUnavailable. kFenced: the tablet was dropped. kCorruption: the map lost its entry, or a
  // header. When an operation at the place is refused: Part::Forget, and again.
  Result<Place> Locate(kv::Tablet tablet, std::string_view route);
  // Locates the part that holds the last routes below `end`; with an empty `end`, the last part.
  // Waits and fails like Locate.
  Result<Place> LocateBelow(kv::Tablet tablet, std::string_view end);
  // Reads the map again after an operation did not find the part's object. kCorruption if the map
  // has lost the tablet, or names an object that does not exist.
  Status Recheck(const PartPtr& part);

  // Returns the known parts of a tablet; their headers may be newer. Null: the tablet was never
  // written to (for Cached: as far as this process knows).
  Result<PartListPtr> Parts(kv::Tablet tablet);
  // Returns the parts, and creates the tablet if it was never written to.
  Result<PartListPtr> PartsOrCreate(kv::Tablet tablet);
  PartListPtr Cached(kv::Tablet tablet) const;
  // Adds to the known parts the child to which the part has given up routes, as the part's header
  // says.
  Status Heal(const PartPtr& part, const HeaderPtr& header);
  // Takes a header that was read from an object (Part::Learn), and returns the latest one.
  Result<HeaderPtr> Learn(const PartPtr& part, std::string_view header);
  // Adds a child that the store's map has now.
  void Add(kv::Tablet tablet, const std::string& begin, uint32_t number);

 private:
  // Returns what Parts returns, but does not call `on_unwritten_`.
  Result<PartListPtr> Find(kv::Tablet tablet);
  Result<Place> LocateWhere(kv::Tablet tablet, std::string_view route, bool below);
  // Called for a tablet that has no entry in the map. Returns true if it was written to
  // nevertheless.
  Result<bool> WasWritten(kv::Tablet tablet);
  Status Create(kv::Tablet tablet);
  // Reads the tablet's entry in the store's map, and merges it with the known parts. Null: there is
  // no entry.
  Result<PartListPtr> Load(kv::Tablet tablet);
  PartListPtr Merge(kv::Tablet tablet, const std::map<std::string, uint32_t>& parts);

  Cluster& cluster_;
  const std::function<void(const PartPtr&)> notice_;
  const std::function<void(kv::Tablet)> on_unwritten_;
  const std::shared_ptr<SeenSizes> seen_ = std::make_shared<SeenSizes>();
  mutable Mutex mutex_;
  std::map<kv::Tablet, PartListPtr> tablets_ GUARDED_BY(mutex_);
};

// What stands in the map of the store; none: the tablet has no entry.
Result<std::optional<MapEntry>> ReadMapEntry(Cluster& cluster, kv::Tablet tablet);

}  // namespace stator::kv_rados
