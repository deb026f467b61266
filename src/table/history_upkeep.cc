#include "table/history_upkeep.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/pump.h"
#include "history/change_log.h"
#include "kv/features.h"
#include "table/store.h"

namespace stator::table {
namespace {

Status Trim(Store& store, const TableDescriptor& table, int64_t day, int64_t earliest) {
  Pump pump;
  std::optional<Status> outcome;
  store.TrimChangeLog(
      table.name, table.change_log->tablet_id, day, earliest, [&](Result<TablePtr> trimmed) {
        // A log that is gone needs no trimming.
        Status status = trimmed.ok() || trimmed.error().code() == ErrorCode::kResourceNotFound
                            ? OkStatus()
                            : Status(std::move(trimmed).error());
        pump.Post(
            [&outcome, status = std::move(status)]() mutable { outcome = std::move(status); });
      });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return std::move(*outcome);
}

}  // namespace

Status RequireChangeLogs(Store& store) {
  return kv::RequireFeature(store.engine(), kChangeLogFeature);
}

Status MaintainChangeLogs(Store& store) {
  Status outcome;
  const int64_t now = store.clock().NowMicros();
  const std::vector<TablePtr> tables = store.List();
  for (const TablePtr& table : tables) {
    const std::optional<history::ChangeLog>& log = table->descriptor.change_log;
    if (!log) continue;
    const int64_t earliest = log->EarliestAt(now);
    int64_t day = history::DayOf(earliest);
    for (const TablePtr& other : tables) {
      const std::optional<RestoreSource>& source = other->descriptor.restore;
      if (source && source->moment_micros && source->table_id == table->descriptor.table_id)
        day = std::min(day, history::DayOf(*source->moment_micros));
    }
    if (day <= log->first_day) continue;
    if (Status trimmed = Trim(store, table->descriptor, day, earliest);
        outcome.ok() && !trimmed.ok())
      outcome = std::move(trimmed);
  }
  return outcome;
}

}  // namespace stator::table
