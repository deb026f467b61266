#include "ops/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/time_text.h"
#include "exchange/exchange.h"
#include "exchange/export_writer.h"
#include "exchange/object_store.h"
#include "ops/checks.h"
#include "ops/continuous_backups.h"
#include "ops/export_filter.h"
#include "ops/job_arn.h"
#include "ops/payload.h"
#include "ops/table_definition.h"
#include "ops/table_status.h"
#include "transfer/past_table.h"

namespace stator::ops {
namespace {

using Request = ExportTableToPointInTimeRequest;
using exchange::ExportJob;
using JobPtr = exchange::Exports::Jobs::JobPtr;

constexpr size_t kPage = 10;  // [L]
constexpr std::string_view kPurpose = "exports";

Error Named(ErrorCode code, std::string message, std::string_view name) {
  return Error(code, std::move(message), std::make_shared<ExceptionNamePayload>(name));
}
Error InvalidTime(std::string message) {
  return Named(ErrorCode::kValidation, std::move(message), "InvalidExportTimeException");
}
Error TableNotFound(const Request& request) {
  return Error(ErrorCode::kTableNotFound, "Table not found: " + request.table_arn);
}
Error RecoveryIsOff(const std::string& table) {
  return Named(ErrorCode::kValidation,
               "Point in time recovery is not enabled for table '" +
                   std::string(table::ShownName(table)) + "'",
               "PointInTimeRecoveryUnavailableException");
}

// Returns the store's name in the ARN of a table of the caller's account; of another Region's, one
// that no table has.
Result<std::string> NameIn(const Context& ctx, const Request& request) {
  const Environment& env = ctx.env;
  const std::string& arn = request.table_arn;
  const ArnPlace place = PlaceOfArn(arn);
  if (place.account.empty()) {
    return ValidationError(
        "One or more parameter values were invalid: tableArn is not a valid ARN");
  }
  if (place.account != CallerAccount(ctx))
    return Error(ErrorCode::kAccessDenied, "Access is denied");
  const Result<std::string_view> name = TableNameOf(arn);
  if (!name.ok()) return ValidationError("Invalid Request: Table ARN is invalid.");
  if (place.region != env.settings.region) return TableNotFound(request);
  return table::StoreName(ctx.account, *name);
}

// Everything that the request alone decides, but for its ARN. Returns the filter's expressions.
Result<ExportExpressions> CheckAlone(const Request& request) {
  const bool incremental = request.export_type == ExportType::kIncremental;
  const auto& spec = request.incremental_export_specification;
  if (request.s3_sse_kms_key_id && request.s3_sse_algorithm != S3SseAlgorithm::kKms) {
    return ValidationError("Invalid Request: KMS Key Id is not supported for this encryption type");
  }
  ExportExpressions expressions;
  if (const auto& filter = request.filter_specification) {
    if (!filter->filter_expression && !filter->projection_expression &&
        !filter->key_condition_expression && !filter->expression_attribute_names &&
        !filter->expression_attribute_values) {
      return ValidationError(
          "Invalid Request: Invalid FilterSpecification: The specification can not be empty");
    }
    ASSIGN_OR_RETURN(expressions, ParseExportFilter(*filter, request.value_errors));
  }
  if (spec && !request.export_type) {
    return ValidationError(
        "Invalid Request: Export Type expected to be Incremental Export when incremental export "
        "specification is provided");
  }
  if (spec && !incremental) {
    return ValidationError(
        "Invalid Request: When Export Type is Full Export , Incremental Export Specification "
        "should not be provided");
  }
  if (incremental && !spec) {
    return ValidationError(
        "Invalid Request: Incremental Export Specification expected when export type is set as "
        "Incremental Export");
  }
  if (incremental && !spec->export_from_time) {
    return ValidationError(
        "Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification");
  }
  // The object store may be a directory, which cannot have every key of S3.
  ExportJob job;
  job.prefix = request.s3_prefix;
  job.id = std::string(23, '0');
  const Status key = exchange::CheckKey(exchange::ExportKeyOf(job, "data/" + std::string(40, 'a')));
  if (!key.ok()) {
    return ValidationError("One or more parameter values were invalid: S3Prefix: " +
                           key.error().message());
  }
  return expressions;
}

// Returns a digest of a filter, behind a line feed; nothing for none.
std::string DigestOf(const std::optional<ExportFilter>& filter) {
  if (!filter) return "";
  const exchange::ItemFilter stored = StoredFilterOf(*filter);
  exchange::Md5 md5;
  const auto add = [&md5](std::string_view text) {
    md5.Add(fmt::format("{} {}", text.size(), text));
  };
  for (const auto* text : {&stored.filter_expression, &stored.projection_expression,
                           &stored.key_condition_expression}) {
    add(text->has_value() ? "+" : "-");
    add(text->value_or(""));
  }
  add(stored.names);
  add(stored.values);
  const std::string digest = md5.Finish();
  std::string out = "\n";
  for (const char byte : digest) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

// The parameters that two requests with one token must share.
std::string ParametersOf(const Request& r) {
  const auto number = [](const auto& value) {
    return value ? std::to_string(static_cast<int64_t>(*value)) : std::string("-");
  };
  const auto text = [](const std::optional<std::string>& value) { return value.value_or("-"); };
  const IncrementalExportSpecification spec =
      r.incremental_export_specification.value_or(IncrementalExportSpecification());
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}{}", r.table_arn,
                     number(r.export_time), r.s3_bucket, text(r.s3_bucket_owner), text(r.s3_prefix),
                     number(r.s3_sse_algorithm), text(r.s3_sse_kms_key_id), number(r.export_format),
                     number(r.export_type), number(spec.export_from_time),
                     number(spec.export_to_time), number(spec.export_view_type),
                     DigestOf(r.filter_specification));
}

// Returns the last microsecond whose changes are exported: now, or that of the request.
Result<int64_t> MomentOf(const Environment& env, const Request& request,
                         const history::ChangeLog& log) {
  const int64_t now = env.clock.NowMicros();
  // Changes may be later than a clock that was set back.
  if (!request.export_time) return env.store.change_clock().At(now);
  const RestorableWindow window = WindowOf(env, log);
  const int64_t millis = *request.export_time;
  if (millis > now / 1000 || millis < window.earliest_micros / 1000)
    return InvalidTime("Export Time is invalid");
  if (millis > window.latest_micros / 1000) {
    return InvalidTime("Point in Time Recovery is not available for specified export time");
  }
  return std::min(millis * 1000 + 999, window.latest_micros);
}

// Sets the window of an incremental export, and the last moment that is in it.
Status SetWindow(const Environment& env, const Request& request,
                 const table::TableDescriptor& table, ExportJob* job) {
  constexpr int64_t kLeastMillis = 15 * 60'000;
  constexpr int64_t kMostMillis = 24 * 3'600'000;
  const IncrementalExportSpecification& spec = *request.incremental_export_specification;
  const int64_t now = env.clock.NowMicros();
  const int64_t from = *spec.export_from_time;
  if (from < table.created_micros / 1000) {
    return InvalidTime(
        "Incremental export period from time cannot be less than the table creation time : " +
        FormatTime(table.created_micros));
  }
  if (!table.change_log) {
    return InvalidTime("Point in time recovery is not enabled for table '" +
                       std::string(table::ShownName(table.name)) + "'");
  }
  const RestorableWindow window = WindowOf(env, *table.change_log);
  const int64_t to = spec.export_to_time.value_or(window.latest_micros / 1000);
  if (to - from < kLeastMillis) {
    return InvalidTime(
        "Difference between export period from time and export period to time is less than 15 "
        "minutes");
  }
  if (to - from > kMostMillis) {
    return InvalidTime(
        "Difference between export period from time and export period to time is greater than 24 "
        "hours");
  }
  if (to > now / 1000) {
    return InvalidTime(
        "Incremental export period to time cannot be greater than the current time : " +
        FormatTime(now));
  }
  if (from * 1000 <= window.earliest_micros) return InvalidTime("Export Time is invalid");
  if (to > window.latest_micros / 1000)
    return InvalidTime("Point in Time Recovery is not available for specified export time");
  ExportJob::Window made;
  made.from_micros = from * 1000 - 1;
  made.shown_from_micros = from * 1000;
  made.shown_to_micros = to * 1000;
  if (spec.export_view_type == ExportViewType::kNewImage) made.view = exchange::View::kNewImage;
  job->window = made;
  job->moment_micros = to * 1000 - 1;
  return OkStatus();
}

struct Prepared {
  JobPtr job;
  bool begun = false;  // by an earlier request with the same token
};

Result<Prepared> Prepare(Context& ctx, const Request& request) {
  Environment& env = ctx.env;
  exchange::Exchange* const jobs = exchange::Exchange::Of(env.backups);
  if (jobs == nullptr) return NoObjectStore(ctx);
  TRY(CheckJobAccount(ctx));
  ASSIGN_OR_RETURN(const std::string name, NameIn(ctx, request));
  ASSIGN_OR_RETURN(const ExportExpressions expressions, CheckAlone(request));
  ExportJob job;
  job.parameters = ParametersOf(request);
  if (request.client_token) {
    if (const JobPtr same = jobs->exports().jobs().FindToken(*request.client_token, ctx.account);
        same != nullptr) {
      if (same->parameters == job.parameters) return Prepared{same, true};
      return Named(ErrorCode::kValidation,
                   "Export conflict: Duplicate request detected with conflicting parameters",
                   "ExportConflictException");
    }
  }
  const table::TablePtr table = env.store.Find(name);
  if (table == nullptr || StatusOf(table->descriptor, env) == TableStatus::kCreating)
    return TableNotFound(request);
  if (request.export_type == ExportType::kIncremental) {
    TRY(SetWindow(env, request, table->descriptor, &job));
  } else {
    if (!table->descriptor.change_log) return RecoveryIsOff(name);
    ASSIGN_OR_RETURN(job.moment_micros, MomentOf(env, request, *table->descriptor.change_log));
  }
  TRY(CheckExportKeys(expressions, table->key_schema()));
  if (request.filter_specification) job.filter = StoredFilterOf(*request.filter_specification);
  job.format = request.export_format == ExportFormat::kIon ? exchange::Format::kIon
                                                           : exchange::Format::kDynamoDbJson;
  job.table_arn = TableArn(env, name);
  job.table_name = name;
  job.table_id = table->descriptor.table_id;
  job.client_token = request.client_token;
  job.bucket = request.s3_bucket;
  job.bucket_owner = request.s3_bucket_owner;
  job.prefix = request.s3_prefix;
  job.key_service = request.s3_sse_algorithm == S3SseAlgorithm::kKms;
  job.key_id = request.s3_sse_kms_key_id;
  job.shown_micros =
      request.export_time ? *request.export_time * 1000 : env.clock.NowMicros() / 1000 * 1000;
  ASSIGN_OR_RETURN(const auto reserved, jobs->exports().Reserve(std::move(job)));
  return Prepared{reserved.first, !reserved.second};
}

Result<DescribeExportResponse> Describe(Context& ctx, const DescribeExportRequest& request) {
  exchange::Exchange* const jobs = exchange::Exchange::Of(ctx.env.backups);
  if (jobs == nullptr) return NoObjectStore(ctx);
  const std::string& arn = request.export_arn;
  ASSIGN_OR_RETURN(const JobPtr job,
                   FindJob(ctx, jobs->exports().jobs(), arn, "export", "Invalid Export ARN"));
  if (job != nullptr) return DescribeExportResponse{*job};
  const bool here = PlaceOfArn(arn).region == ctx.env.settings.region;
  return Named(ErrorCode::kResourceNotFound,
               "Export not found: " + (here ? "Export not found: " + arn : "Invalid export arn"),
               "ExportNotFoundException");
}

Result<ListExportsResponse> List(Context& ctx, const ListExportsRequest& request) {
  const Environment& env = ctx.env;
  exchange::Exchange* const jobs = exchange::Exchange::Of(env.backups);
  if (jobs == nullptr) return NoObjectStore(ctx);
  ASSIGN_OR_RETURN(const std::string before, IdBeforePage(env, kPurpose, request.next_token));
  // Exports of a table that is gone are not listed for its ARN, nor for a later one's. [L]
  std::string table_name, table_id;
  if (request.table_arn) {
    ASSIGN_OR_RETURN(const StoreTableName name, StoreNameOf(ctx, *request.table_arn));
    const table::TablePtr table = env.store.Find(name.view());
    if (table == nullptr) return ListExportsResponse{};
    table_name = name.view();
    table_id = table->descriptor.table_id;
  }
  ListExportsResponse response;
  response.next_token = AddPage(
      ctx, kPurpose, jobs->exports().jobs(), table_name, before,
      static_cast<size_t>(request.max_results.value_or(kPage)),
      [&](const auto& job) { return !request.table_arn || job.table_id == table_id; },
      [&](const auto& job) { response.jobs.push_back(job); });
  return response;
}

}  // namespace

void ExportTableToPointInTime(Context& ctx, ExportTableToPointInTimeRequest request,
                              Callback<ExportTableToPointInTimeResponse> done) {
  Result<Prepared> prepared = Prepare(ctx, request);
  if (!prepared.ok()) return done(std::move(prepared).error());
  const JobPtr job = prepared->job;
  if (prepared->begun) return done(ExportTableToPointInTimeResponse{*job});
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  // Written by the task, read after it.
  auto past = std::make_shared<std::unique_ptr<transfer::PastTable>>();
  auto task = [&env, past, job](const table::TablePtr& table) -> Status {
    const auto& log = table->descriptor.change_log;
    if (table->descriptor.table_id != job->table_id) return Error(ErrorCode::kResourceNotFound, "");
    if (!log || log->since_micros > job->moment_micros) return RecoveryIsOff(job->table_name);
    if (job->window) return OkStatus();
    ASSIGN_OR_RETURN(*past, transfer::PastTable::Pin(env.store, *table, job->moment_micros));
    return OkStatus();
  };
  auto begin = [&env, &loop, job, past, arn = std::move(request.table_arn),
                done = std::move(done)](Status pinned) mutable {
    auto answer = [&loop, job, done = std::move(done)](Status begun) mutable {
      RunOn(loop, [job, begun = std::move(begun), done = std::move(done)]() mutable {
        if (!begun.ok()) return done(std::move(begun).error());
        done(ExportTableToPointInTimeResponse{*job});
      });
    };
    if (pinned.ok())
      return exchange::Exchange::Of(env.backups)
          ->exports()
          .Begin(job, std::move(*past), std::move(answer));
    exchange::Exchange::Of(env.backups)->exports().GiveUp(job);
    if (pinned.error().code() == ErrorCode::kResourceNotFound)
      return answer(Error(ErrorCode::kTableNotFound, "Table not found: " + arn));
    answer(std::move(pinned));
  };
  env.store.WhileQuiet(job->table_name, std::move(task), std::move(begin));
}

void DescribeExport(Context& ctx, DescribeExportRequest request,
                    Callback<DescribeExportResponse> done) {
  done(Describe(ctx, request));
}

void ListExports(Context& ctx, ListExportsRequest request, Callback<ListExportsResponse> done) {
  done(List(ctx, request));
}

}  // namespace stator::ops
