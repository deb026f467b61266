// Decides to which part of a tablet a key belongs: each part has a range of *routes*, and every key
// has a route. Pure. Internal to the room.
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

// Returns the route of a key. nullopt: the key is a counter of which every part has its own.
std::optional<std::string_view> RouteOf(kv::Space space, std::string_view key);
// Returns the route of a put. A key into which the engine will write the batch's stamp gets the
// route of the highest possible stamp.
std::optional<std::string> RouteOfPut(const kv::Put& put);

// Calls `visit` with tablet and route for each guard, put, delete and add of a batch. nullopt:
// every part has a key of this name. An add to a counter of which every part has its own is not
// visited: it goes to the part to which the rest of the batch goes.
void ForEachRoute(const kv::Batch& batch,
                  FunctionRef<void(kv::Tablet, std::optional<std::string_view> route)> visit);

// Keys [begin, end), which are not all of one kind, or not in the order of their routes: the range
// is read and deleted in every part. Otherwise the routes that its keys have.
std::optional<RouteRange> RoutesOfKeys(kv::Space space, std::string_view begin,
                                       std::string_view end);
// Returns the first key that is not below the route, in a range that begins at `keys_begin` and
// whose routes RoutesOfKeys knows.
std::string KeyAtRoute(kv::Space space, std::string_view keys_begin, std::string_view route);

// In a tablet that has keys of several kinds with the same hash, parts are divided only between
// different first kHashBytes of routes.
inline constexpr size_t kHashBytes = 16;
// Whether it is one of the engine above.
bool IsEngineKey(std::string_view key);
// Whether keys of this kind stand beside an item and must not be parted from it.
bool BelongsToAnItem(kv::Space space, std::string_view key);

}  // namespace stator::kv_rados
