// The definition of a table, from what DescribeTable says of another one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::bulk {

// Returns the body of a CreateTable that makes a table like the one in `description`,
// DescribeTable's member Table: its keys, indexes, billing mode, throughput and class. `on_demand`:
// in that mode instead. Stream, time to live, tags and protection are left out. kValidation, if it
// is no description.
Result<std::string> CreateTableJson(std::string_view description, bool on_demand);

// The settings that a table gets after its items are there.
struct LateSettings {
  std::string stream;       // the StreamSpecification as JSON; empty: no stream
  std::string stream_view;  // such as "NEW_IMAGE"; empty: no stream
  std::string stream_arn;   // the latest one; it may be disabled
  bool protect = false;     // DeletionProtectionEnabled
  std::string arn;          // of the table
};
Result<LateSettings> LateSettingsOf(std::string_view description);

}  // namespace stator::bulk
