// The engine that settings name.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "crypt/file_keys.h"
#include "kv/engine.h"
#include "server/settings.h"

namespace stator::server {

// Opens it; a data directory that is not there is made. `keys` are those of settings.encryption
// (OpenFileKeys). kUnavailable and others, with what is wrong.
Result<std::unique_ptr<kv::Engine>> OpenEngine(
    const ServeSettings& settings, std::shared_ptr<const crypt::FileKeys> keys = nullptr);
// Where the data is, for people.
std::string PlaceOf(const ServeSettings& settings);

// The name that a caller repeats to reset a store which outlives the server: the last part of the
// data directory, or POOL or POOL/NAMESPACE. Empty in memory.
std::string StoreNameOf(const ServeSettings& settings);

}  // namespace stator::server
