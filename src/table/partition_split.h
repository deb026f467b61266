// Splits a partition of a table when a management call asks for it (splits for heat or size:
// throughput/resource_control.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "table/store.h"

namespace stator::table {

// Splits one partition in two, for good: `at` becomes the first hash of the right half. Without
// `at` it splits the widest partition (the first of several) in its middle. If the table has a
// stream, the partition's shard is closed and two children continue it. Calls `done` with the
// table; kResourceNotFound if there is none, kValidation if a partition already begins at the hash.
void SplitPartition(Store& store, std::string table_name, std::optional<uint64_t> at,
                    Store::CatalogDone done);

}  // namespace stator::table
