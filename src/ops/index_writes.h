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

// Whether a put item's attributes suit the keys of the table's indexes.
Status CheckPutIndexKeys(const table::Table& table, model::ItemView item);

// Whether a put item is within its limit of size, together with its entries in local indexes.
Status CheckPutSize(const table::Table& table, model::ItemView item);

// Write units by index, in the order of the descriptor's; empty for a table without indexes.
using IndexUnits = std::vector<int64_t>;
// What a change of an item costs in each index; empty if the changes of its entries were not
// derived.
IndexUnits UnitsOf(const table::EntryChanges& entries);

// `units` of the table and of its indexes. Absent for NONE.
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
