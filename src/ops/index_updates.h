// GlobalSecondaryIndexUpdates of UpdateTable.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "ops/requests.h"
#include "table/descriptor.h"

namespace stator::ops {

// What can be said without the table.
Status CheckIndexUpdates(const UpdateTableRequest& request);
// kLimitExceeded for a request that creates or deletes an index while another one is created or deleted.
Status CheckNoOtherIndexWork(const UpdateTableRequest& request, const table::TableDescriptor& descriptor);
// Whether the request deletes an index that is being created: a table that is UPDATING for that alone takes it.
bool DeletesCreatingIndex(const UpdateTableRequest& request, const table::TableDescriptor& descriptor);
// Applies the updates; the table's own throughput and billing mode are changed already. A new index is kCreating, a deleted
// one kDeleting: the store sees to the rest.
Status ChangeIndexes(const UpdateTableRequest& request, int64_t now_micros, table::TableDescriptor* descriptor);

// Sets the provisioned units of a table or an index and remembers when they went up or down.
template <typename Throughput>
void SetProvisionedUnits(int64_t read_units, int64_t write_units, int64_t now_micros, Throughput* t) {
  constexpr int64_t kDayMicros = 86'400 * int64_t{1'000'000};
  if (read_units > t->read_units || write_units > t->write_units) t->last_increase_micros = now_micros;
  if (read_units < t->read_units || write_units < t->write_units) {
    t->last_decrease_micros = now_micros;
    const int64_t today = now_micros / kDayMicros;
    t->decreases_today = t->decreases_day == today ? t->decreases_today + 1 : 1;
    t->decreases_day = today;
  }
  t->read_units = read_units;
  t->write_units = write_units;
}

}  // namespace stator::ops
