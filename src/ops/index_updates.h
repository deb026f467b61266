// GlobalSecondaryIndexUpdates of UpdateTable.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/descriptor.h"

namespace stator::ops {

// What can be said without the table.
Status CheckIndexUpdates(const UpdateTableRequest& request);
// kLimitExceeded for a request that creates or deletes an index while another one is created or
// deleted.
Status CheckNoOtherIndexWork(const UpdateTableRequest& request,
                             const table::TableDescriptor& descriptor);
// Whether the request deletes an index that is being created: a table that is UPDATING for that
// alone takes it.
bool DeletesCreatingIndex(const UpdateTableRequest& request,
                          const table::TableDescriptor& descriptor);
// Applies the updates; the table's own throughput and billing mode are changed already,
// `was_on_demand` is its mode before. A new index is kCreating, a deleted one kDeleting: the store
// sees to the rest.
Status ChangeIndexes(const UpdateTableRequest& request, const Settings& settings,
                     bool was_on_demand, int64_t now_micros, table::TableDescriptor* descriptor);

}  // namespace stator::ops
