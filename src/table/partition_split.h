// Splitting the partitions of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "table/store.h"

namespace stator::table {

// Where to split. Without a hash: in the middle of the partition. Without a partition: the one that
// the hash is in, or the widest, the first of several.
struct SplitPoint {
  std::optional<size_t> partition;
  std::optional<uint64_t> hash;  // the lowest one of the upper half
};

// Splits one partition in two, for good. If the table has a stream, the partition's shard is closed
// and two children go on. Answers with the table; kResourceNotFound if there is none, kValidation
// if there is no such partition or it can't be split there.
void SplitPartition(Store& store, std::string table_name, SplitPoint point,
                    Store::CatalogDone done);

}  // namespace stator::table
