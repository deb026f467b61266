// GlobalSecondaryIndexUpdates of UpdateTable.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/descriptor.h"

namespace stator::ops {

// Checks what the request alone decides, without the table.
Status CheckIndexUpdates(const UpdateTableRequest& request);
// Returns kLimitExceeded if the request creates or deletes an index while another index is being
// created or deleted.
Status CheckNoOtherIndexWork(const UpdateTableRequest& request,
                             const table::TableDescriptor& descriptor);
// Returns true if the request deletes an index that is being created. Such a request is accepted
// although the table is UPDATING, if that creation is the only reason.
bool DeletesCreatingIndex(const UpdateTableRequest& request,
                          const table::TableDescriptor& descriptor);
// Applies the index updates to `descriptor`, in which the table's own throughput and billing mode
// are changed already; `was_on_demand` is the mode before. Sets a new index to kCreating and a
// deleted one to kDeleting: the store fills or removes it.
Status ChangeIndexes(const UpdateTableRequest& request, const Settings& settings,
                     bool was_on_demand, int64_t now_micros, table::TableDescriptor* descriptor);

}  // namespace stator::ops
