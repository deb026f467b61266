// Which part of a tablet a key belongs to: each part has a range of *routes*, and every key has
// one. Pure. Internal to the room.
//
// What the layer above changes together shall not come apart, so a key's route is not the key
// itself:
//   catalog   a tablet has one part
//   items     the key without its first byte, its kind. All kinds of a partition key (the item, its
//             collection's size, entries of local indexes) begin with the same 16 bytes then, the
//             hash, and where there are more kinds than items no boundary lies inside a hash.
//             Counters (kind 02) have no hash and no route: each part has one of its own, and a
//             read adds them up.
//   log       the key
// Keys of the engine above (FF kind K id:16) stand beside what they are about: they have the route
// of K.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kv/engine.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

// The route of a key; none: it is a counter that every part has for itself.
std::optional<std::string_view> RouteOf(kv::Space space, std::string_view key);
// The route of what is put. A key that will have the batch's stamp in it belongs to the part that
// has the highest stamps there.
std::optional<std::string> RouteOfPut(const kv::Put& put);

// Visits what the keys of a batch's guards, puts, deletes and adds have as routes, each with its
// tablet. None: no part has all of that key. A counter of every part that is added to has no say:
// it goes where the others go.
void ForEachRoute(const kv::Batch& batch,
                  FunctionRef<void(kv::Tablet, std::optional<std::string_view> route)> visit);

// Keys [begin, end), which are not all of one kind, or not in the order of their routes: the range
// is read and deleted in every part. Otherwise the routes that its keys have.
std::optional<RouteRange> RoutesOfKeys(kv::Space space, std::string_view begin,
                                       std::string_view end);
// The first key that is in `keys` (of which RoutesOfKeys knows the routes) and not below the route.
std::string KeyAtRoute(kv::Space space, std::string_view keys_begin, std::string_view route);

// Within so many bytes of a route no part begins, in a tablet that has keys of several kinds with
// the same hash.
inline constexpr size_t kHashBytes = 16;
// Whether it is one of the engine above.
bool IsEngineKey(std::string_view key);
// Whether keys of this kind stand beside an item and must not be parted from it.
bool BelongsToAnItem(kv::Space space, std::string_view key);

}  // namespace stator::kv_rados
