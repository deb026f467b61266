// Puts the parts together and serves until a signal.
#pragma once

#include "server/settings.h"

namespace stator::server {

// Blocks SIGTERM and SIGINT for the process and serves until one comes, then drains. Returns the
// exit code; what went wrong is logged in a sentence.
int Serve(const ServeSettings& settings);

}  // namespace stator::server
