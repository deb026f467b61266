// Keys that a command prints.
#pragma once

#include <string>

#include "base/result.h"

namespace stator::server {

// Runs `command` by /bin/sh, for at most kKeyCommandSeconds, and returns its output. kValidation,
// with the name of the option that gave the command, if it fails, takes longer or prints too much.
inline constexpr int kKeyCommandSeconds = 30;
Result<std::string> ReadFromCommand(const std::string& option, const std::string& command);

}  // namespace stator::server
