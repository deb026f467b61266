#include "ops/imports.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "exchange/exchange.h"
#include "ops/checks.h"
#include "ops/index_writes.h"
#include "ops/job_arn.h"
#include "ops/payload.h"
#include "ops/table_definition.h"
#include "ops/table_settings.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

using exchange::ImportJob;
using exchange::JobState;
using JobPtr = exchange::Imports::Jobs::JobPtr;

constexpr size_t kPage = 10;  // [L]
constexpr std::string_view kPurpose = "imports";
constexpr std::string_view kFormatNames[] = {"DYNAMODB_JSON", "ION", "CSV"};

Error TableExists(const std::string& name) {
  return Error(ErrorCode::kResourceInUse,
               "Table already exists: " + std::string(table::ShownName(name)));
}

CreateTableRequest CreateRequestOf(const TableCreationParameters& parameters) {
  CreateTableRequest create;
  create.table_name = parameters.table_name;
  create.attribute_definitions = parameters.attribute_definitions;
  create.key_schema = parameters.key_schema;
  create.billing_mode = parameters.billing_mode;
  create.provisioned_throughput = parameters.provisioned_throughput;
  create.on_demand_throughput = parameters.on_demand_throughput;
  create.sse_specification = parameters.sse_specification;
  create.global_secondary_indexes = parameters.global_secondary_indexes;
  create.vector_indexes = parameters.vector_indexes;
  return create;
}

// Returns the parameters that make such a table.
TableCreationParameters ParametersOf(const table::TableDescriptor& table) {
  TableCreationParameters out;
  out.table_name = table::ShownName(table.name);
  for (const model::KeyAttribute& attribute : table.attribute_definitions)
    out.attribute_definitions.push_back({attribute.name, ToScalar(attribute.type)});
  out.key_schema = KeyElementsOf(model::IndexKeySchema::Of(table.key_schema));
  const bool on_demand = table.billing_mode == table::BillingMode::kPayPerRequest;
  if (table.billing_mode_given)
    out.billing_mode = on_demand ? BillingMode::kPayPerRequest : BillingMode::kProvisioned;
  if (!on_demand)
    out.provisioned_throughput = ProvisionedThroughput{table.read_units, table.write_units};
  out.on_demand_throughput = MaximaOf(table);
  if (table.shown && table.shown->encryption) out.sse_specification.emplace().enabled = true;
  std::vector<GlobalSecondaryIndex> indexes;
  for (const table::IndexDescriptor& index : table.indexes) {
    GlobalSecondaryIndex& one = indexes.emplace_back();
    one.index_name = index.name;
    one.key_schema = KeyElementsOf(index.key);
    one.projection = ApiProjectionOf(index);
    const table::IndexThroughput& units = index.throughput;
    if (!on_demand)
      one.provisioned_throughput = ProvisionedThroughput{units.read_units, units.write_units};
    one.on_demand_throughput = MaximaOf(units);
  }
  if (!indexes.empty()) out.global_secondary_indexes = std::move(indexes);
  return out;
}

ImportTableDescription DescriptionOf(const Environment& env, const ImportJob& job) {
  const std::string account(ShownAccount(env, job.table_name));
  ImportTableDescription out{job, account, {}, {}};
  out.log_group_arn =
      "arn:aws:logs:" + env.settings.region + ":" + account + ":log-group:/aws-dynamodb/imports:*";
  const auto table = table::TableDescriptor::Decode(job.definition);
  if (table.ok()) out.table = ParametersOf(*table);
  return out;
}

// Returns the stored form of a definition that has no tablets yet. A stored one has some; the store
// chooses others when it makes the table.
std::string StoredDefinition(table::TableDescriptor table) {
  table.tablet_id = 1;
  for (table::IndexDescriptor& index : table.indexes) index.tablet_id = 1;
  return table.Encode();
}

struct Prepared {
  JobPtr job;
  bool begun = false;  // by an earlier request with the same token
};

Result<Prepared> Prepare(Context& ctx, ImportTableRequest& request) {
  Environment& env = ctx.env;
  exchange::Exchange* const jobs = exchange::Exchange::Of(env.backups);
  if (jobs == nullptr) return NoObjectStore(ctx);
  TRY(CheckJobAccount(ctx));
  const TableCreationParameters& parameters = request.table_creation_parameters;
  const auto& options = request.input_format_options;
  if (options && options->csv && request.input_format != InputFormat::kCsv) {
    return ValidationError(
        "Invalid Request: Unsupported InputFormatOptions for the given input format: " +
        std::string(kFormatNames[static_cast<size_t>(request.input_format)]) + ".");
  }
  ASSIGN_OR_RETURN(table::TableDescriptor table, DefineTable(env, CreateRequestOf(parameters)));
  table.name = table::StoreName(ctx.account, table.name);
  const bool taken = env.store.Find(table.name) != nullptr;
  if (request.client_token) {
    const JobPtr same = jobs->imports().jobs().FindToken(*request.client_token, ctx.account);
    if (same != nullptr && same->parameters != table.name) {
      return Error(ErrorCode::kValidation,
                   "Import conflict: Duplicate request detected with conflicting parameters",
                   std::make_shared<ExceptionNamePayload>("ImportConflictException"));
    }
    if (same != nullptr && (same->state == JobState::kInProgress || !taken))
      return Prepared{same, true};
  }
  if (taken) return TableExists(table.name);
  ImportJob job;
  job.parameters = table.name;
  job.table_arn = TableArn(env, table.name);
  job.table_name = table.name;
  job.table_id = table.table_id;
  job.client_token = request.client_token;
  job.bucket = request.s3_bucket_source.s3_bucket;
  job.bucket_owner = request.s3_bucket_source.s3_bucket_owner;
  job.prefix = request.s3_bucket_source.s3_key_prefix;
  job.format = static_cast<exchange::Format>(request.input_format);
  if (options && options->csv)
    job.csv = exchange::CsvOptions{options->csv->delimiter, options->csv->header_list};
  job.compression = static_cast<exchange::Compression>(
      request.input_compression_type.value_or(InputCompressionType::kNone));
  job.definition = StoredDefinition(std::move(table));
  ASSIGN_OR_RETURN(const auto reserved, jobs->imports().Reserve(std::move(job)));
  return Prepared{reserved.first, !reserved.second};
}

Result<DescribeImportResponse> Describe(Context& ctx, const DescribeImportRequest& request) {
  exchange::Exchange* const jobs = exchange::Exchange::Of(ctx.env.backups);
  if (jobs == nullptr) return NoObjectStore(ctx);
  const std::string& arn = request.import_arn;
  ASSIGN_OR_RETURN(const JobPtr job,
                   FindJob(ctx, jobs->imports().jobs(), arn, "import", "Invalid Import ARN"));
  if (job != nullptr) return DescribeImportResponse{DescriptionOf(ctx.env, *job)};
  return Error(ErrorCode::kResourceNotFound, "Import not found: " + arn,
               std::make_shared<ExceptionNamePayload>("ImportNotFoundException"));
}

Result<ListImportsResponse> List(Context& ctx, const ListImportsRequest& request) {
  const Environment& env = ctx.env;
  exchange::Exchange* const jobs = exchange::Exchange::Of(env.backups);
  if (jobs == nullptr) return NoObjectStore(ctx);
  ASSIGN_OR_RETURN(const std::string before, IdBeforePage(env, kPurpose, request.next_token));
  std::string table;
  if (request.table_arn) {
    ASSIGN_OR_RETURN(const StoreTableName name, StoreNameOf(ctx, *request.table_arn));
    table = name.view();
  }
  ListImportsResponse response;
  response.next_token = AddPage(
      ctx, kPurpose, jobs->imports().jobs(), table, before,
      static_cast<size_t>(request.page_size.value_or(kPage)), [](const auto&) { return true; },
      [&](const auto& job) { response.imports.push_back(DescriptionOf(env, job)); });
  return response;
}

}  // namespace

Status CheckImportedItem(const table::Table& table, model::ItemView item) {
  if (item.size_bytes() > model::kMaxItemBytes)
    return ValidationError("Item size has exceeded the maximum allowed size");
  TRY(CheckItemKey(table.key_schema(), item));
  TRY(CheckPutIndexKeys(table, item));
  return CheckPutSize(table, item);
}

void ImportTable(Context& ctx, ImportTableRequest request, Callback<ImportTableResponse> done) {
  const Result<Prepared> prepared = Prepare(ctx, request);
  if (!prepared.ok()) return done(prepared.error());
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  const JobPtr job = prepared->job;
  if (prepared->begun) return done(ImportTableResponse{DescriptionOf(env, *job)});
  auto answer = [&env, &loop, job, done = std::move(done)](Status begun) mutable {
    RunOn(loop, [&env, job, begun = std::move(begun), done = std::move(done)]() mutable {
      if (!begun.ok()) return done(std::move(begun).error());
      done(ImportTableResponse{DescriptionOf(env, *job)});
    });
  };
  exchange::Exchange::Of(env.backups)->imports().Begin(job, std::move(answer));
}

void DescribeImport(Context& ctx, DescribeImportRequest request,
                    Callback<DescribeImportResponse> done) {
  done(Describe(ctx, request));
}

void ListImports(Context& ctx, ListImportsRequest request, Callback<ListImportsResponse> done) {
  done(List(ctx, request));
}

}  // namespace stator::ops
