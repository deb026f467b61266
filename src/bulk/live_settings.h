// What a copy of a table from another endpoint is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api_client/endpoint.h"
#include "bulk/mask.h"

namespace stator::bulk {

struct LiveSettings {
  api_client::Endpoint source;
  api_client::Endpoint target;
  std::string table;
  std::string work_dir;    // of the progress file; empty: the current directory
  size_t segments = 8;     // parts of the table that are read at once
  int64_t read_units = 0;  // per second, of the source; 0: no limit
  bool on_demand = false;  // the target's table, if it is made
  bool into = false;       // a target with items is taken
  std::optional<Mask> mask;
};

}  // namespace stator::bulk
