#include "ops/bulk_operations.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "exchange/bulk_report.h"
#include "exchange/exchange.h"
#include "ops/checks.h"
#include "ops/item_write.h"
#include "ops/job_arn.h"
#include "ops/on_worker.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

using exchange::BulkJob;
using exchange::JobState;
using JobPtr = exchange::BulkPuts::Jobs::JobPtr;
using Request = StartBulkPutItemsRequest;

constexpr size_t kPage = 10;  // [S]
constexpr std::string_view kPurpose = "bulk operations";

exchange::BulkPuts* BulkPutsOf(const Context& ctx) {
  exchange::Exchange* const jobs = exchange::Exchange::Of(ctx.env.backups);
  return jobs == nullptr ? nullptr : &jobs->bulk_puts();
}

BulkStatus StatusOf(const BulkJob& job, bool cancelling) {
  switch (job.state) {
    case JobState::kInProgress:
      return cancelling ? BulkStatus::kCancelling : BulkStatus::kInProgress;
    case JobState::kCompleted:
      return job.errors > 0 ? BulkStatus::kCompletedWithErrors : BulkStatus::kCompleted;
    case JobState::kFailed: break;
  }
  return job.cancelled ? BulkStatus::kCancelled : BulkStatus::kFailed;
}

BulkOperationDescription DescriptionOf(const exchange::BulkPuts& jobs, const BulkJob& job) {
  return {job, exchange::BulkArnOf(job), StatusOf(job, jobs.cancelling(job.id)),
          std::string(table::ShownName(job.table_name))};
}

// Everything that the request alone decides, but for its table.
Status CheckAlone(const OutputS3Configuration& output) {
  if (!output.s3_bucket) {
    return ValidationError(
        "One or more parameter values were invalid: OutputS3Configuration must have an S3Bucket");
  }
  if (output.s3_sse_kms_key_id && output.s3_sse_algorithm != S3SseAlgorithm::kKms)
    return ValidationError("Invalid Request: KMS Key Id is not supported for this encryption type");
  // The object store may be a directory, which cannot have every key of S3.
  BulkJob job;
  job.output_prefix = output.s3_key_prefix;
  job.id = std::string(23, '0');
  const std::string longest = "condition-check-failures/" + std::string(13, '0');
  if (const Status key = exchange::CheckKey(exchange::BulkKeyOf(job, longest)); !key.ok()) {
    return ValidationError("One or more parameter values were invalid: S3KeyPrefix: " +
                           key.error().message());
  }
  return OkStatus();
}

// The parameters that two requests with one token must share.
std::string ParametersOf(const Request& r, std::string_view table) {
  const auto number = [](const auto& value) {
    return value ? std::to_string(static_cast<int64_t>(*value)) : std::string("-");
  };
  const auto text = [](const std::optional<std::string>& value) { return value.value_or("-"); };
  std::string outputs;
  for (const BulkOutputType type : r.output.output_type)
    outputs += std::to_string(static_cast<int>(type));
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", table,
                     text(r.input.s3_bucket_owner), r.input.s3_bucket, text(r.input.s3_key_prefix),
                     static_cast<int>(r.input.input_format), number(r.input.input_compression_type),
                     text(r.output.s3_bucket_owner), text(r.output.s3_bucket),
                     text(r.output.s3_key_prefix), number(r.output.s3_sse_algorithm),
                     text(r.output.s3_sse_kms_key_id), outputs, number(r.max_write_request_units)) +
         number(r.performance_tier);
}

// An index that is being deleted is no obstacle.
Status CheckTakesBulkPuts(const Context& ctx, const table::TableDescriptor& table) {
  const auto in_use = [&](std::string_view what) {
    return Error(ErrorCode::kResourceInUse,
                 fmt::format("Attempt to change a resource which is still in use: {}: {}", what,
                             table::ShownName(table.name)));
  };
  switch (StatusOf(table, ctx.env)) {
    case TableStatus::kCreating: return in_use("Table is being created");
    case TableStatus::kDeleting: return in_use("Table is being deleted");
    default: break;
  }
  for (const table::IndexDescriptor& index : table.indexes) {
    if (index.state == table::IndexDescriptor::State::kCreating)
      return in_use("An index of the table is being created");
  }
  return OkStatus();
}

BulkJob JobOf(const Context& ctx, const Request& request, const table::TableDescriptor& table) {
  constexpr std::string_view kOutputs[] = {"CONDITION_CHECK_FAILURE", "ERROR"};
  BulkJob job;
  job.parameters = ParametersOf(request, table.name);
  job.table_arn = TableArn(ctx.env, table.name);
  job.table_name = table.name;
  job.table_id = table.table_id;
  job.client_token = request.client_token;
  job.bucket = request.input.s3_bucket;
  job.bucket_owner = request.input.s3_bucket_owner;
  job.prefix = request.input.s3_key_prefix;
  job.format = request.input.input_format == BulkInputFormat::kIon
                   ? exchange::Format::kIon
                   : exchange::Format::kDynamoDbJson;
  job.compression = static_cast<exchange::Compression>(
      request.input.input_compression_type.value_or(InputCompressionType::kNone));
  job.output_bucket = *request.output.s3_bucket;
  job.output_owner = request.output.s3_bucket_owner;
  job.output_prefix = request.output.s3_key_prefix;
  if (request.output.s3_sse_algorithm)
    job.encryption = *request.output.s3_sse_algorithm == S3SseAlgorithm::kKms ? "KMS" : "AES256";
  job.key_id = request.output.s3_sse_kms_key_id;
  job.outputs.emplace();
  for (const BulkOutputType type : request.output.output_type)
    job.outputs->emplace_back(kOutputs[static_cast<size_t>(type)]);
  job.max_units = request.max_write_request_units.value_or(0);
  job.tier = request.performance_tier == PerformanceTier::kAccelerated ? "ACCELERATED" : "STANDARD";
  return job;
}

struct Prepared {
  JobPtr job;
  bool begun = false;  // by an earlier request with the same token
};

Result<Prepared> Prepare(Context& ctx, const Request& request) {
  exchange::BulkPuts* const jobs = BulkPutsOf(ctx);
  if (jobs == nullptr) return NoObjectStore(ctx);
  TRY(CheckJobAccount(ctx));
  TRY(CheckAlone(request.output));
  ASSIGN_OR_RETURN(const StoreTableName name, StoreNameOf(ctx, request.table_name));
  if (request.client_token) {
    if (const JobPtr same = jobs->jobs().FindToken(*request.client_token, ctx.account);
        same != nullptr) {
      if (same->parameters == ParametersOf(request, name.view())) return Prepared{same, true};
      return Error(ErrorCode::kIdempotentParameterMismatch,
                   "The ClientToken was used with different parameters within 8 hours");
    }
  }
  ASSIGN_OR_RETURN(const table::TablePtr table,
                   FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound));
  TRY(CheckTakesBulkPuts(ctx, table->descriptor));
  ASSIGN_OR_RETURN(const auto reserved, jobs->Reserve(JobOf(ctx, request, table->descriptor)));
  return Prepared{reserved.first, !reserved.second};
}

Result<JobPtr> Find(const Context& ctx, const exchange::BulkPuts* jobs, const std::string& arn) {
  if (jobs == nullptr) return NoObjectStore(ctx);
  ASSIGN_OR_RETURN(JobPtr job,
                   FindJob(ctx, jobs->jobs(), arn, "bulk-operation", "Invalid Bulk Operation ARN"));
  if (job != nullptr) return job;
  return Error(ErrorCode::kResourceNotFound, "Bulk operation not found: " + arn);
}

Result<ListBulkOperationsResponse> List(Context& ctx, const ListBulkOperationsRequest& request) {
  const Environment& env = ctx.env;
  exchange::BulkPuts* const jobs = BulkPutsOf(ctx);
  if (jobs == nullptr) return NoObjectStore(ctx);
  ASSIGN_OR_RETURN(const std::string before, IdBeforePage(env, kPurpose, request.next_token));
  ListBulkOperationsResponse response;
  response.next_token = AddPage(
      ctx, kPurpose, jobs->jobs(), "", before,
      static_cast<size_t>(request.max_results.value_or(kPage)), [](const auto&) { return true; },
      [&](const auto& job) { response.operations.push_back(DescriptionOf(*jobs, job)); });
  return response;
}

}  // namespace

void StartBulkPutItems(Context& ctx, StartBulkPutItemsRequest request,
                       Callback<StartBulkPutItemsResponse> done) {
  const Result<Prepared> prepared = Prepare(ctx, request);
  if (!prepared.ok()) return done(prepared.error());
  exchange::BulkPuts& jobs = *BulkPutsOf(ctx);
  const JobPtr job = prepared->job;
  if (prepared->begun) return done(StartBulkPutItemsResponse{DescriptionOf(jobs, *job)});
  Executor& loop = ctx.loop;
  auto shared = std::make_shared<Callback<StartBulkPutItemsResponse>>(std::move(done));
  UniqueFunction<void()> task = [&jobs, &loop, job, shared] {
    jobs.Begin(job, [&jobs, &loop, job, shared](Status begun) {
      RunOn(loop, [&jobs, job, shared, begun = std::move(begun)]() mutable {
        if (!begun.ok()) return (*shared)(std::move(begun).error());
        (*shared)(StartBulkPutItemsResponse{DescriptionOf(jobs, *job)});
      });
    });
  };
  if (ctx.env.workers.TryPost(task)) return;
  jobs.GiveUp(job);
  (*shared)(TooManyWait("The server is overloaded: too many such requests wait, try again"));
}

void DescribeBulkOperation(Context& ctx, DescribeBulkOperationRequest request,
                           Callback<DescribeBulkOperationResponse> done) {
  exchange::BulkPuts* const jobs = BulkPutsOf(ctx);
  const Result<JobPtr> job = Find(ctx, jobs, request.bulk_operation_arn);
  if (!job.ok()) return done(job.error());
  done(DescribeBulkOperationResponse{DescriptionOf(*jobs, **job)});
}

void ListBulkOperations(Context& ctx, ListBulkOperationsRequest request,
                        Callback<ListBulkOperationsResponse> done) {
  done(List(ctx, request));
}

void CancelBulkOperation(Context& ctx, CancelBulkOperationRequest request,
                         Callback<CancelBulkOperationResponse> done) {
  exchange::BulkPuts* const jobs = BulkPutsOf(ctx);
  const Result<JobPtr> found = Find(ctx, jobs, request.bulk_operation_arn);
  if (!found.ok()) return done(found.error());
  const JobPtr job = *found;
  // A job that has ended stays as it is.
  if (job->state != JobState::kInProgress) {
    return done(CancelBulkOperationResponse{exchange::BulkArnOf(*job),
                                            StatusOf(*job, /*cancelling=*/false)});
  }
  jobs->Cancel(job->id, [&loop = ctx.loop, job, done = std::move(done)](Status durable) mutable {
    RunOn(loop, [job, durable = std::move(durable), done = std::move(done)]() mutable {
      if (!durable.ok()) return done(std::move(durable).error());
      done(CancelBulkOperationResponse{exchange::BulkArnOf(*job), BulkStatus::kCancelling});
    });
  });
}

Result<exchange::ConditionHolds> CompileRecordCondition(exchange::RecordCondition condition) {
  PutItemRequest request;
  request.condition_expression = std::move(condition.expression);
  request.expression_attribute_names = std::move(condition.names);
  if (condition.values) {
    auto& values = request.expression_attribute_values.emplace();
    for (const auto& entry : model::ItemView(*condition.values).attributes())
      values.emplace_back(entry.name, entry.value.encoded());
  }
  TRY(CheckConditionParameters(request));
  ASSIGN_OR_RETURN(expr::Condition compiled, ParseOnlyCondition(&request));
  auto shared = std::make_shared<const expr::Condition>(std::move(compiled));
  return exchange::ConditionHolds(
      [shared](model::ItemView old_item) { return expr::Evaluate(*shared, old_item); });
}

}  // namespace stator::ops
