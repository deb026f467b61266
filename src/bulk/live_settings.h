// The settings of a copy of a table from another endpoint.
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
  std::string work_dir;        // of the progress file; empty: the current directory
  size_t segments = 8;         // parts of the table that are read at once
  int64_t read_units = 0;      // per second, of the source; 0: no limit
  bool on_demand = false;      // the target's table, if it is made
  bool into = false;           // a target with items is taken
  bool follow = false;         // the source's stream, after the scan
  bool enable_stream = false;  // on the source, if it has none
  bool finish = false;         // of a copy that follows: the writers of the source rest
  enum class Check { kAll, kSample, kNone } check = Check::kAll;
  std::optional<Mask> mask;
};

}  // namespace stator::bulk
