// The engine that settings name.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kv/engine.h"
#include "server/settings.h"

namespace stator::server {

// Opens it; a data directory that is not there is made. kUnavailable and others, with what is
// wrong.
Result<std::unique_ptr<kv::Engine>> OpenEngine(const ServeSettings& settings);
// Where the data is, for people.
std::string PlaceOf(const ServeSettings& settings);

}  // namespace stator::server
