// Converts the index definitions of CreateTable and UpdateTable to descriptors, with the service's
// checks and texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/descriptor.h"

namespace stator::ops {

inline constexpr size_t kMaxLocalIndexes = 5;
inline constexpr size_t kMaxGlobalIndexes = 20;

// The indexes of a new table. `descriptor` has its key schema, attribute definitions and billing
// mode already. Refuses attribute definitions that no key uses.
Status DefineIndexes(const CreateTableRequest& request, const Settings& settings,
                     table::TableDescriptor* descriptor);

// One more global index, in state kCreating, for UpdateTable. The descriptor's attribute
// definitions hold those of the request already.
Result<table::IndexDescriptor> DefineNewGlobalIndex(const GlobalSecondaryIndex& request,
                                                    const Settings& settings, int64_t now_micros,
                                                    const table::TableDescriptor& descriptor);

// Limits that span the indexes of a table: how many there are, their names, their non-key
// attributes.
Status CheckIndexLimits(const table::TableDescriptor& descriptor);

// Throughput given in the wrong billing mode, or lacking. `was_given`: in the request for index
// `name`.
Status CheckIndexThroughput(std::string_view name, bool was_given, bool on_demand);

}  // namespace stator::ops
