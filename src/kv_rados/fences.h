// Raises a tablet's fence, which is stored in the header of each of its parts. Internal to the
// room.
#pragma once

#include "kv_rados/tablet_map.h"

namespace stator::kv_rados {

// Raises the fence as Engine::RaiseFence does. Waits for the network.
Status RaiseFence(Cluster& cluster, TabletMap& map, kv::Tablet tablet, uint64_t fence);

}  // namespace stator::kv_rados
