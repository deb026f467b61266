// GET /_stator/console/boot: what the console asks once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/context.h"

namespace stator::management {

struct BootSettings {
  std::string engine;
  std::optional<std::string> durability;  // of engines that have a choice
  bool loopback = true;                   // the server is reached from its own machine only
  bool access_control = false;
  bool manual_clock = false;
  std::string title;  // this and the next: empty: none
  std::string colour;
  bool production = false;
  bool read_only = false;
  std::vector<std::string> features;
};

std::string Boot(const ops::Environment& environment, const BootSettings& settings);

}  // namespace stator::management
