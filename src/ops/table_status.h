// What a table looks like from outside at this moment.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// OK if item operations find the table; else kResourceInUse, for a change of its settings.
Status CheckTakesItems(const table::TableDescriptor& descriptor, const Environment& env);

// Finds the table of an operation on definitions, in any status. Returns an error with code
// `missing` if there is none; kValidation for an invalid ARN.
Result<table::TablePtr> FindTableOfAnyStatus(const Context& ctx, std::string_view name_or_arn,
                                             ErrorCode missing);

// Convert a key and a projection to their form in the API.
std::vector<KeySchemaElement> KeyElementsOf(const model::IndexKeySchema& key);
Projection ApiProjectionOf(const table::IndexDescriptor& index);
ScalarAttributeType ToScalar(model::Type type);
// Returns the maxima of a table or of an index's throughput: both have members of these names.
template <typename Throughput>
std::optional<OnDemandThroughput> MaximaOf(const Throughput& units) {
  if (!units.max_read_request_units && !units.max_write_request_units) return std::nullopt;
  return OnDemandThroughput{units.max_read_request_units, units.max_write_request_units};
}

// Returns the ARN of a table by its name in the store, with the account of the table.
std::string TableArn(const Environment& env, std::string_view store_name);

// Returns a table's description with the given status. Item count and size come from the store.
TableDescription Describe(const Environment& env, const table::Table& table, TableStatus status);

}  // namespace stator::ops
