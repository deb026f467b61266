// UpdateContinuousBackups, DescribeContinuousBackups and RestoreTableToPointInTime: point-in-time
// recovery, on the change log of a table (history/change_log.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/backups.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "ops/responses.h"

namespace stator::ops {

struct PointInTimeRecoverySpecification {
  bool point_in_time_recovery_enabled = false;
  std::optional<int64_t> recovery_period_in_days;
};
struct UpdateContinuousBackupsRequest {
  std::string table_name;
  PointInTimeRecoverySpecification point_in_time_recovery_specification;
};
struct RestoreTableToPointInTimeRequest : RestoreOverrides {
  std::optional<std::string> source_table_arn;
  std::optional<std::string> source_table_name;
  std::string target_table_name;
  std::optional<bool> use_latest_restorable_time;
  std::optional<int64_t> restore_date_time;  // milliseconds
};

struct RestoreTableToPointInTimeResponse {
  TableDescription table_description;
};

void UpdateContinuousBackups(Context& ctx, UpdateContinuousBackupsRequest request,
                             Callback<DescribeContinuousBackupsResponse> done);
void DescribeContinuousBackups(Context& ctx, DescribeContinuousBackupsRequest request,
                               Callback<DescribeContinuousBackupsResponse> done);
void RestoreTableToPointInTime(Context& ctx, RestoreTableToPointInTimeRequest request,
                               Callback<RestoreTableToPointInTimeResponse> done);

// The moments of a table that can be restored.
struct RestorableWindow {
  int64_t earliest_micros = 0;
  int64_t latest_micros = 0;
};
RestorableWindow WindowOf(const Environment& env, const history::ChangeLog& log);

}  // namespace stator::ops
