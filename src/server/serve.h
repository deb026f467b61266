// Puts the parts together and serves until a signal.
#pragma once

#include "server/settings.h"

namespace stator::server {

// Serves until SIGTERM or SIGINT comes, which it blocks for the process, and then drains. Returns
// the exit code. Errors are logged.
int Serve(const ServeSettings& settings);

}  // namespace stator::server
