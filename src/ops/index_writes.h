// What writes owe to the indexes of their table: checks, capacity and the metrics of item
// collections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/requests.h"
#include "ops/responses.h"
#include "table/store.h"

namespace stator::ops {

// Returns OK if the attributes of an item to be put have the types that the keys of the table's
// indexes need.
Status CheckPutIndexKeys(const table::Table& table, model::ItemView item);

// Returns OK if an item to be put is within the size limit, together with its entries in local
// indexes.
Status CheckPutSize(const table::Table& table, model::ItemView item);

// Write units by index, in the order of the descriptor's; empty for a table without indexes.
using IndexUnits = std::vector<int64_t>;
// Returns the write units of a change in each index; empty if the changes of its index entries were
// not derived.
IndexUnits UnitsOf(const table::EntryChanges& entries);

// Returns the ConsumedCapacity of a write: `units` of the table and those of its indexes. nullopt
// if the client wants NONE.
std::optional<ConsumedCapacity> WriteCapacity(const std::optional<ReturnConsumedCapacity>& wanted,
                                              const std::string& table_name,
                                              const table::Table& table, int64_t units,
                                              const IndexUnits& index_units);

// Returns the item collection that the written item belongs to: its partition key and an estimate
// of its size. Absent if the client did not ask for it or the table has no local index.
std::optional<ItemCollectionMetrics> CollectionMetrics(
    table::Store& store, const table::Table& table,
    const std::optional<ReturnItemCollectionMetrics>& wanted, model::ItemView key_attributes,
    std::string_view item_key);

}  // namespace stator::ops
