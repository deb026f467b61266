// A table as recordings of requests describe it: see request_log/record.h.
#pragma once

#include "request_log/record.h"
#include "table/store.h"

namespace stator::api {

// Returns the definition, without time and sizes. Indexes that are being deleted are left out.
request_log::TableDefinition RecordedTable(const table::Table& table);

// Sets items and bytes of the table and its indexes, as far as they can be read. May wait for the
// engine.
void AddSizes(table::Store& store, const table::Table& table,
              request_log::TableDefinition* definition);

}  // namespace stator::api
