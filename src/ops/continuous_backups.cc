#include "ops/continuous_backups.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ops/backup_arn.h"
#include "ops/checks.h"
#include "ops/on_worker.h"
#include "ops/table_status.h"
#include "table/history_upkeep.h"
#include "table/store.h"

namespace stator::ops {
namespace {

// Whole milliseconds, which is what clients see.
double SecondsOf(int64_t micros) { return static_cast<double>(micros / 1000) / 1000.0; }

Error NotFound(std::string_view table) {
  return Error(ErrorCode::kTableNotFound,
               "Table not found: " + std::string(table::ShownName(table)));
}

// The table as these operations find it: not while it is CREATING.
Result<table::TablePtr> Find(const Context& ctx, const std::string& name_or_arn) {
  ASSIGN_OR_RETURN(table::TablePtr table,
                   FindTableOfAnyStatus(ctx, name_or_arn, ErrorCode::kTableNotFound));
  if (StatusOf(table->descriptor, ctx.env) == TableStatus::kCreating)
    return NotFound(table->descriptor.name);
  return table;
}

DescribeContinuousBackupsResponse Describe(const Environment& env,
                                           const table::TableDescriptor& table) {
  DescribeContinuousBackupsResponse response;
  response.continuous_backups_enabled = env.backups != nullptr;
  const auto& log = table.change_log;
  response.point_in_time_recovery_enabled = log.has_value();
  if (!log) return response;
  const RestorableWindow window = WindowOf(env, *log);
  response.recovery_period_in_days = log->period_days;
  response.earliest_restorable_date_time = SecondsOf(window.earliest_micros);
  response.latest_restorable_date_time = SecondsOf(window.latest_micros);
  return response;
}

Status Change(const PointInTimeRecoverySpecification& wanted, const Environment& env,
              table::TableDescriptor* table) {
  if (StatusOf(*table, env) == TableStatus::kCreating) return NotFound(table->name);
  std::optional<history::ChangeLog>& log = table->change_log;
  if (!wanted.point_in_time_recovery_enabled) {
    log.reset();
    return OkStatus();
  }
  const std::optional<int64_t>& days = wanted.recovery_period_in_days;
  if (!log) {
    log.emplace();
    log->period_days = days.value_or(history::kMostPeriodDays);
  } else if (days && *days != log->period_days) {
    // The earliest moment does not go back when the period grows.
    const int64_t now = env.clock.NowMicros();
    log->since_micros = log->EarliestAt(now);
    log->period_days = *days;
    log->since_micros = log->EarliestAt(now);
  }
  return OkStatus();
}

}  // namespace

RestorableWindow WindowOf(const Environment& env, const history::ChangeLog& log) {
  const int64_t now = env.clock.NowMicros();
  RestorableWindow window;
  window.earliest_micros = log.EarliestAt(now);
  window.latest_micros = std::max(window.earliest_micros, now - env.settings.pitr_lag_micros);
  return window;
}

void DescribeContinuousBackups(Context& ctx, DescribeContinuousBackupsRequest request,
                               Callback<DescribeContinuousBackupsResponse> done) {
  const Result<table::TablePtr> table = Find(ctx, request.table_name);
  if (!table.ok()) return done(table.error());
  done(Describe(ctx.env, (*table)->descriptor));
}

void UpdateContinuousBackups(Context& ctx, UpdateContinuousBackupsRequest request,
                             Callback<DescribeContinuousBackupsResponse> done) {
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  auto wanted = std::make_shared<const PointInTimeRecoverySpecification>(
      request.point_in_time_recovery_specification);
  const bool on = wanted->point_in_time_recovery_enabled;
  if (!on && wanted->recovery_period_in_days) {
    return done(
        ValidationError("Invalid Request: Cannot specify RecoveryPeriodInDays when disabling "
                        "point-in-time recovery."));
  }
  if (env.backups == nullptr) return done(NoBackups(ctx));
  const Result<table::TablePtr> table = Find(ctx, request.table_name);
  if (!table.ok()) return done(table.error());
  const std::string name = (*table)->descriptor.name;
  using Answer = UniqueFunction<void(Result<table::TablePtr>)>;
  auto answer = std::make_shared<Answer>(
      [&env, &loop, name, done = std::move(done)](Result<table::TablePtr> altered) mutable {
        RunOn(loop, [&env, name, altered = std::move(altered), done = std::move(done)]() mutable {
          if (altered.ok()) return done(Describe(env, (*altered)->descriptor));
          if (altered.error().code() != ErrorCode::kResourceNotFound)
            return done(std::move(altered).error());
          done(NotFound(name));
        });
      });
  const auto alter = [&env, wanted, name, answer] {
    env.store.Alter(
        name,
        [&env, wanted](table::TableDescriptor* descriptor) {
          return Change(*wanted, env, descriptor);
        },
        [answer](Result<table::TablePtr> altered) { (*answer)(std::move(altered)); });
  };
  if (!on || (*table)->descriptor.change_log) return alter();
  // The feature is written to a file, once.
  UniqueFunction<void()> task = [&env, alter, answer] {
    Status known = table::RequireChangeLogs(env.store);
    if (!known.ok()) return (*answer)(std::move(known).error());
    alter();
  };
  if (env.workers.TryPost(task)) return;
  (*answer)(
      TooManyWait("The server is overloaded: too many requests wait for the disk, try again"));
}

}  // namespace stator::ops
