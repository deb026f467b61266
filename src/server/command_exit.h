// Exit statuses of commands that do not serve.
#pragma once

#include "base/result.h"

namespace stator::server {

// Returns the command's exit status. Prints an error to stderr and returns 1 for it.
int ExitStatus(const Result<int>& outcome);

}  // namespace stator::server
