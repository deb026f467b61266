// Keys that a command prints.
#pragma once

#include <string>

#include "base/result.h"

namespace stator::server {

// Returns what `command` prints when /bin/sh runs it, for kKeyCommandSeconds at most. kValidation,
// naming the option that the command is of, if it fails, takes longer or prints much.
inline constexpr int kKeyCommandSeconds = 30;
Result<std::string> ReadFromCommand(const std::string& option, const std::string& command);

}  // namespace stator::server
