// The secret of a store. Its processes use it to seal texts that clients keep and send back, such
// as page tokens (base/seal.h).
//
// Tablet 6 of Space::kCatalog has
//
//   "seal"  -> 32 random bytes, behind the header of table/item_value.h; never changed
//
// A store of an older version gets one from the first process that finds none. A process of an
// older version does not look there.
#pragma once

#include <string>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::server {

inline constexpr kv::Tablet kSecretTablet = {kv::Space::kCatalog, 6};

// Returns the store's secret, and stores one first if there is none. Several processes that do so
// at once return the same secret. kUnavailable if the store takes no writes, kCorruption. Blocks.
Result<std::string> StoreSecret(kv::Engine& engine);

}  // namespace stator::server
