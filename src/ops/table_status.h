// What a table looks like from outside at this moment.
#pragma once

#include <string>

#include "ops/context.h"
#include "ops/responses.h"
#include "table/store.h"

namespace stator::ops {

// How long CREATING, UPDATING and DELETING are shown with Settings::delay_transient_statuses.
inline constexpr int64_t kTransientStatusMicros = 3'000'000;

TableStatus StatusOf(const table::TableDescriptor& descriptor, const Environment& env);
// As of another moment of the clock, as far as time tells.
TableStatus StatusAt(const table::TableDescriptor& descriptor, const Environment& env,
                     int64_t at_micros);
// Whether item operations find the table.
inline bool TakesItems(TableStatus status) {
  return status == TableStatus::kActive || status == TableStatus::kUpdating;
}

// The table of an operation on its definition, in any status; else an error of code `missing`.
// kValidation for a bad ARN.
Result<table::TablePtr> FindTableOfAnyStatus(const Environment& env, std::string_view name_or_arn,
                                             ErrorCode missing);

std::string TableArn(const Environment& env, std::string_view table_name);

// The description with the given status; counts come from the store.
TableDescription Describe(const Environment& env, const table::Table& table, TableStatus status);

}  // namespace stator::ops
