// What requests on one version of a table draw their throughput from, and where its keys are in the
// model's key space.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/key_schema.h"
#include "throughput/key_point.h"
#include "throughput/meter.h"

namespace stator::table {

struct IndexDescriptor;

// Meters live as long as a version that has them; versions of one table share them.
struct Meters {
  std::shared_ptr<throughput::Meter> table;  // local indexes too; null: nobody measures
  // In the order of the descriptor's indexes; null for local ones.
  std::vector<std::shared_ptr<throughput::Meter>> indexes;
};

// The place of an item in its table, from EncodeItemKey or the beginning of such a key. A view of
// `item_key`.
throughput::KeyPoint PointOfItem(const model::KeySchema& schema, std::string_view item_key);
// The place of an entry in its global index, from EncodeEntryKey. A view of `entry_key`.
throughput::KeyPoint PointOfEntry(const IndexDescriptor& index, std::string_view entry_key);

// What people read for a KeyPoint's keys, which may have been cut: text as it is, numbers as
// numbers, other bytes escaped; "..." stands for what is missing.
std::string ReadablePartition(const std::vector<model::KeyAttribute>& partition,
                              std::string_view bytes);
std::string ReadableSort(const model::IndexKeySchema& key, bool of_global_index,
                         std::string_view bytes);

}  // namespace stator::table
