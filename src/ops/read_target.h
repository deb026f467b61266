// What a Query or Scan reads: a table or one of its indexes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "ops/requests.h"
#include "ops/responses.h"
#include "plan/query_plan.h"
#include "table/index_entries.h"
#include "table/store.h"

namespace stator::ops {

struct ReadTarget {
  table::TablePtr table;
  const table::IndexDescriptor* index = nullptr;  // of `table`; null: the table itself

  bool is_global() const { return index != nullptr && index->is_global(); }
  const model::IndexKeySchema& key() const {
    return index != nullptr ? index->key : table->key_parts;
  }
  kv::Tablet tablet() const {
    return index != nullptr ? table->descriptor.TabletOf(*index) : table->descriptor.tablet();
  }
  char kind() const;
  // Returns the partitions of the global index or of the table: Scan goes through their hash space
  // and is charged to them.
  const throughput::PartitionMap& partitions() const {
    return is_global() ? index->partitions : table->descriptor.partitions;
  }
  // Returns the key of an item or entry in tablet(), made of its key attributes.
  std::string PositionOf(model::ItemView item) const;
  // Returns only the key attributes, as a LastEvaluatedKey has them.
  std::string KeyAttributesOf(model::ItemView item) const;
};

// Finds the table or index that a Query or Scan reads. kValidation if there is no such index, if it
// cannot be read yet, or cannot be read consistently.
Result<ReadTarget> FindReadTarget(table::TablePtr table,
                                  const std::optional<std::string>& index_name, bool consistent);

// Whether the index can answer a request: refuses attributes that a global index does not have.
// True if items have to be fetched from the table for each entry.
Result<bool> NeedsFetch(const ReadTarget& target, const std::optional<Select>& select,
                        const expr::Projection& projection, const expr::Condition& filter);

// kValidation if a Query's filter names an attribute that the index does not project. (A Scan's
// filter may, and a local index then fetches.) [DynamoDB Local]
Status CheckFilterProjected(const ReadTarget& target, const expr::Condition& filter);

// The range of keys [begin, end) of an interval. `end` is never empty.
struct KeyRange {
  std::string begin;
  std::string end;
};
KeyRange RangeOf(const ReadTarget& target, const plan::KeyInterval& interval);

// Whether an ExclusiveStartKey has exactly the key attributes of table and index.
Status CheckStartKey(const ReadTarget& target, model::ItemView key);

// What a read consumed, in half units: of the target, and of items fetched from the table.
std::optional<ConsumedCapacity> ReadCapacity(const std::optional<ReturnConsumedCapacity>& wanted,
                                             const std::string& table_name,
                                             const ReadTarget& target, int64_t halves,
                                             int64_t fetched_halves);

}  // namespace stator::ops
