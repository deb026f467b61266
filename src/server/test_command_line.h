// Command lines of `stator serve` in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/command_line.h"

namespace stator::server {

// Reads `stator serve` with these arguments. What it prints goes to *error.
inline CommandLine ParseServe(std::vector<const char*> arguments, std::string* error) {
  arguments.insert(arguments.begin(), {"stator", "serve"});
  testing::internal::CaptureStderr();
  CommandLine line = ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
  *error = testing::internal::GetCapturedStderr();
  return line;
}

}  // namespace stator::server
