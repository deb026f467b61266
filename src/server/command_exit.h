// How a command ends that works by itself, without a server of its own.
#pragma once

#include "base/result.h"

namespace stator::server {

// Returns the command's exit status. An error is printed to stderr, and is 1.
int ExitStatus(const Result<int>& outcome);

}  // namespace stator::server
