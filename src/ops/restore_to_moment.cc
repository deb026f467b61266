// The operation RestoreTableToPointInTime.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/time_text.h"
#include "ops/backup_arn.h"
#include "ops/checks.h"
#include "ops/continuous_backups.h"
#include "ops/payload.h"
#include "ops/restore_definition.h"
#include "ops/table_status.h"
#include "transfer/past_table.h"
#include "transfer/restores.h"

namespace stator::ops {
namespace {

using Request = RestoreTableToPointInTimeRequest;

struct Prepared {
  table::TableDescriptor target;
  table::TablePtr source;
};

Error TableNotFound(std::string_view name) {
  return Error(ErrorCode::kTableNotFound,
               "Table not found: " + std::string(table::ShownName(name)));
}

// Returns the store's name of the caller's own table in an ARN.
Result<std::string> NameInArn(const Context& ctx, const Request& request) {
  const Environment& env = ctx.env;
  const std::string& arn = *request.source_table_arn;
  const Result<std::string_view> name = TableNameOf(arn);
  if (!arn.starts_with("arn:") || !name.ok())
    return ValidationError("sourceTableArn is not a valid ARN");
  // TableNameOf has checked the form: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME.
  const std::string place = arn.substr(0, arn.size() - name->size() - 7);
  const std::string account = place.substr(place.rfind(':') + 1);
  if (account != CallerAccount(ctx)) {
    return ValidationError(
        "This action is only supported by accounts that match the resource owner's account");
  }
  const std::string rest = place.substr(0, place.size() - account.size() - 1);
  if (rest.substr(rest.rfind(':') + 1) == env.settings.region)
    return table::StoreName(ctx.account, *name);
  if (!request.sse_specification_override) {
    return ValidationError(
        "Invalid Request: sseSpecificationOverride must be provided for cross-region restores");
  }
  return TableNotFound(*name);
}

Result<std::string> SourceName(const Context& ctx, const Request& request) {
  if (request.source_table_arn && request.source_table_name)
    return ValidationError("Must provide exactly one of: sourceTableArn, sourceTableName");
  if (request.source_table_name) return table::StoreName(ctx.account, *request.source_table_name);
  if (request.source_table_arn) return NameInArn(ctx, request);
  return ValidationError(
      "The parameter 'TableName' is required but was not present in the request");
}

Status CheckTimes(const Request& request) {
  const bool latest = request.use_latest_restorable_time.value_or(false);
  if (latest && request.restore_date_time) {
    return ValidationError(
        "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for "
        "point-in-time restore request. Specify one of them.");
  }
  if (latest || request.restore_date_time) return OkStatus();
  return ValidationError(
      "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be "
      "specified, but not both");
}

// Returns the last microsecond whose changes the restored table has. A time of a request is a whole
// millisecond.
Result<int64_t> MomentOf(const Environment& env, const Request& request,
                         const history::ChangeLog& log) {
  const RestorableWindow window = WindowOf(env, log);
  if (!request.restore_date_time) return window.latest_micros;
  const int64_t millis = *request.restore_date_time;
  if (millis >= window.earliest_micros / 1000 && millis <= window.latest_micros / 1000)
    return std::min(millis * 1000 + 999, window.latest_micros);
  constexpr int64_t kMostMillis = int64_t{253'402'300'799} * 1000;  // of year 9999
  return Error(ErrorCode::kValidation,
               fmt::format("RestoreDateTime '{}' must be within EarliestRestorableDateTime '{}' "
                           "and LatestRestorableDateTime '{}'",
                           FormatTime(std::clamp<int64_t>(millis, 0, kMostMillis) * 1000),
                           FormatTime(window.earliest_micros), FormatTime(window.latest_micros)),
               std::make_shared<ExceptionNamePayload>("InvalidRestoreTimeException"));
}

// Everything before anything is changed, in the service's order. A place is reserved if this
// returns a definition.
Result<Prepared> Prepare(Context& ctx, const Request& request, const std::string& target) {
  Environment& env = ctx.env;
  if (env.restores == nullptr) return NoBackups(ctx);
  ASSIGN_OR_RETURN(const std::string name, SourceName(ctx, request));
  TRY(CheckTimes(request));
  Prepared prepared;
  prepared.source = env.store.Find(name);
  if (prepared.source == nullptr ||
      StatusOf(prepared.source->descriptor, env) == TableStatus::kCreating)
    return TableNotFound(name);
  const table::TableDescriptor& source = prepared.source->descriptor;
  if (!source.change_log) {
    return Error(ErrorCode::kValidation,
                 "Point in time recovery is not enabled for table '" +
                     std::string(table::ShownName(name)) + "'",
                 std::make_shared<ExceptionNamePayload>("PointInTimeRecoveryUnavailableException"));
  }
  ASSIGN_OR_RETURN(const int64_t moment, MomentOf(env, request, *source.change_log));
  ASSIGN_OR_RETURN(prepared.target, DefineRestored(env, target, request, source));
  table::RestoreSource& mark = prepared.target.restore.emplace();
  mark.table_name = name;
  mark.table_id = source.table_id;
  mark.moment_micros = moment;
  if (env.store.Find(target) != nullptr) return RestoreTargetTaken(env, target);
  TRY(env.restores->Reserve());
  return prepared;
}

// Pins the table, of which no write is under way.
Result<std::unique_ptr<transfer::PastTable>> Pin(const Environment& env,
                                                 const table::TablePtr& table,
                                                 const table::RestoreSource& source) {
  const auto& log = table->descriptor.change_log;
  if (table->descriptor.table_id != source.table_id) return TableNotFound(source.table_name);
  if (!log || log->since_micros > *source.moment_micros) {
    return Error(ErrorCode::kValidation,
                 "Point in time recovery is not enabled for table '" +
                     std::string(table::ShownName(source.table_name)) + "'",
                 std::make_shared<ExceptionNamePayload>("PointInTimeRecoveryUnavailableException"));
  }
  return transfer::PastTable::Pin(env.store, *table, *source.moment_micros);
}

}  // namespace

void RestoreTableToPointInTime(Context& ctx, RestoreTableToPointInTimeRequest request,
                               Callback<RestoreTableToPointInTimeResponse> done) {
  std::string target = table::StoreName(ctx.account, request.target_table_name);
  Result<Prepared> prepared = Prepare(ctx, request, target);
  if (!prepared.ok()) return done(std::move(prepared).error());
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  // Written by the task, read after it.
  auto past = std::make_shared<std::unique_ptr<transfer::PastTable>>();
  auto answer = [&env, &loop, past, name = std::move(target),
                 done = std::move(done)](Result<table::TablePtr> table) mutable {
    if (table.ok()) {
      env.restores->Begin(*table, std::move(*past));
    } else {
      past->reset();
      env.restores->GiveUp();
    }
    RunOn(loop, [&env, name = std::move(name), table = std::move(table),
                 done = std::move(done)]() mutable {
      Result<TableDescription> description = RestoredDescription(env, name, table);
      if (!description.ok()) return done(std::move(description).error());
      done(RestoreTableToPointInTimeResponse{*std::move(description)});
    });
  };
  const table::RestoreSource source = *prepared->target.restore;
  auto task = [&env, past, source](const table::TablePtr& table) -> Status {
    ASSIGN_OR_RETURN(*past, Pin(env, table, source));
    return OkStatus();
  };
  auto create = [&env, &loop, source, target = std::move(prepared->target),
                 answer = std::move(answer)](Status pinned) mutable {
    if (pinned.ok()) return CreateRestored(env, loop, std::move(target), std::move(answer));
    const bool gone = pinned.error().code() == ErrorCode::kResourceNotFound;
    answer(gone ? TableNotFound(source.table_name) : std::move(pinned).error());
  };
  env.store.WhileQuiet(source.table_name, std::move(task), std::move(create));
}

}  // namespace stator::ops
