#include "ops/backups.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/time_text.h"
#include "ops/backup_arn.h"
#include "ops/checks.h"
#include "ops/on_worker.h"
#include "ops/payload.h"
#include "ops/streams.h"
#include "ops/table_status.h"
#include "transfer/backups.h"

namespace stator::ops {
namespace {

using transfer::Backup;
using transfer::BackupPtr;
using transfer::Manifest;

constexpr size_t kMostListed = 100;
constexpr std::string_view kPartitions[] = {"aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b"};

// Whether the text has the form of a Region's name, such as us-east-1.
bool IsRegion(std::string_view text, const Environment& env) {
  if (text == env.settings.region) return true;
  return std::count(text.begin(), text.end(), '-') >= 2 && text.back() >= '0' &&
         text.back() <= '9' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

double SecondsOfMillis(int64_t millis) { return static_cast<double>(millis) / 1000.0; }

int64_t ExpiryMillis(const Manifest& manifest) {
  return manifest.created_millis + transfer::Backups::kSystemLifeMillis;
}

BackupDetails DetailsOf(const Environment& env, const Backup& backup) {
  const Manifest& manifest = backup.manifest;
  BackupDetails out;
  out.backup_arn = BackupArnOf(env, manifest.table.name, manifest.id);
  out.backup_name = manifest.name;
  out.backup_size_bytes = manifest.size_bytes();
  out.backup_status =
      backup.state == Backup::State::kCreating ? BackupStatus::kCreating : BackupStatus::kAvailable;
  out.backup_creation_date_time = SecondsOfMillis(manifest.created_millis);
  out.system = transfer::IsSystemId(manifest.id);
  if (out.system) out.backup_expiry_date_time = SecondsOfMillis(ExpiryMillis(manifest));
  return out;
}

// Throughput is a table or the throughput of an index: both have members of these names.
template <typename Throughput>
ProvisionedThroughput UnitsOf(const Throughput& units, bool on_demand) {
  if (on_demand) return {0, 0};
  return {units.read_units, units.write_units};
}

BackupDescription DescriptionOf(const Environment& env, const Backup& backup) {
  const Manifest& manifest = backup.manifest;
  const table::TableDescriptor& table = manifest.table;
  const bool on_demand = table.billing_mode == table::BillingMode::kPayPerRequest;
  BackupDescription out;
  out.backup_details = DetailsOf(env, backup);
  SourceTableDetails& source = out.source_table_details;
  source.table_name = table::ShownName(table.name);
  source.table_id = table.table_id;
  source.table_arn = TableArn(env, table.name);
  source.table_size_bytes = manifest.table_bytes;
  source.key_schema = KeyElementsOf(model::IndexKeySchema::Of(table.key_schema));
  source.table_creation_date_time = SecondsOfMillis(table.created_micros / 1000);
  source.provisioned_throughput = UnitsOf(table, on_demand);
  source.on_demand_throughput = MaximaOf(table);
  source.item_count = manifest.item_count;
  source.billing_mode = on_demand ? BillingMode::kPayPerRequest : BillingMode::kProvisioned;
  // The service describes nothing more of a deleted table. [L]
  if (out.backup_details.system) return out;
  SourceTableFeatureDetails& features = out.source_table_feature_details;
  for (const table::IndexDescriptor& index : table.indexes) {
    if (index.is_global()) {
      features.global_secondary_indexes.push_back(
          {index.name, KeyElementsOf(index.key), ApiProjectionOf(index),
           UnitsOf(index.throughput, on_demand), MaximaOf(index.throughput)});
    } else {
      features.local_secondary_indexes.push_back(
          {index.name, KeyElementsOf(index.key), ApiProjectionOf(index)});
    }
  }
  if (table.stream_view_type) features.stream_view_type = ToApi(*table.stream_view_type);
  if (table.expiry) features.time_to_live_attribute = table.expiry->attribute;
  return out;
}

// Returns the backup of an ARN whatever Region it names.
Result<BackupPtr> FindBackup(const Context& ctx, const std::string& arn) {
  ASSIGN_OR_RETURN(const BackupArn parsed, ParseBackupArn(ctx, arn));
  BackupPtr backup = ctx.env.backups->Find(parsed.id);
  if (backup == nullptr || backup->manifest.table.name != parsed.table) return BackupNotFound(arn);
  return backup;
}

Result<CreateBackupResponse> Create(Context& ctx, const CreateBackupRequest& request) {
  const Environment& env = ctx.env;
  if (env.backups == nullptr) return NoBackups(ctx);
  ASSIGN_OR_RETURN(const table::TablePtr table,
                   FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kTableNotFound));
  if (StatusOf(table->descriptor, env) == TableStatus::kCreating)
    return Error(ErrorCode::kTableNotFound,
                 "Table not found: " + std::string(table::ShownName(table->descriptor.name)));
  ASSIGN_OR_RETURN(const BackupPtr backup, env.backups->Create(table, request.backup_name));
  return CreateBackupResponse{DetailsOf(env, *backup)};
}

Result<DescribeBackupResponse> Describe(Context& ctx, const DescribeBackupRequest& request) {
  if (ctx.env.backups == nullptr) return NoBackups(ctx);
  ASSIGN_OR_RETURN(const BackupPtr backup, FindBackup(ctx, request.backup_arn));
  DescribeBackupResponse response{DescriptionOf(ctx.env, *backup)};
  response.backup_description.backup_details.backup_arn = request.backup_arn;
  return response;
}

Result<DeleteBackupResponse> Delete(const Environment& env, const BackupPtr& backup,
                                    const std::string& arn) {
  if (transfer::IsSystemId(backup->manifest.id)) {
    return ValidationError("User is not allowed to delete the system backup with arn " + arn +
                           ". It will automatically expire on " +
                           FormatTime(ExpiryMillis(backup->manifest) * 1000));
  }
  const Result<BackupPtr> deleted = env.backups->Delete(backup->manifest.id);
  if (!deleted.ok()) {
    const Error& error = deleted.error();
    if (error.code() == ErrorCode::kResourceNotFound) return BackupNotFound(arn);
    if (error.code() == ErrorCode::kResourceInUse) return BackupInUse(error.message() + arn);
    return error;
  }
  DeleteBackupResponse response{DescriptionOf(env, **deleted)};
  response.backup_description.backup_details.backup_arn = arn;
  response.backup_description.backup_details.backup_status = BackupStatus::kDeleted;
  return response;
}

Result<ListBackupsResponse> List(Context& ctx, const ListBackupsRequest& request) {
  const Environment& env = ctx.env;
  if (env.backups == nullptr) return NoBackups(ctx);
  std::string table;
  if (request.table_name) {
    ASSIGN_OR_RETURN(const StoreTableName name, StoreNameOf(ctx, *request.table_name));
    table = name.view();
  }
  if (request.time_range_lower_bound && request.time_range_upper_bound &&
      *request.time_range_lower_bound > *request.time_range_upper_bound) {
    return ValidationError("Time range lower bound must be less than or equal to upper bound");
  }
  std::string start;
  if (request.exclusive_start_backup_arn) {
    ASSIGN_OR_RETURN(BackupArn parsed, ParseBackupArn(ctx, *request.exclusive_start_backup_arn));
    if (parsed.region != env.settings.region)
      return ValidationError("ExclusiveStartBackupArn does not match the region");
    start = std::move(parsed.id);
  }
  ListBackupsResponse response;
  const BackupTypeFilter type = request.backup_type.value_or(BackupTypeFilter::kUser);
  if (type == BackupTypeFilter::kAwsBackup) return response;
  const size_t limit = static_cast<size_t>(request.limit.value_or(kMostListed));
  transfer::Backups::Wanted wanted;
  wanted.account = ctx.account;
  wanted.table = table;
  wanted.user = type != BackupTypeFilter::kSystem;
  wanted.system = type != BackupTypeFilter::kUser;
  wanted.from_millis = request.time_range_lower_bound;
  wanted.until_millis = request.time_range_upper_bound;
  for (const BackupPtr& backup : env.backups->Page(wanted, start, limit + 1)) {
    const Manifest& manifest = backup->manifest;
    if (response.backup_summaries.size() == limit) {
      response.last_evaluated_backup_arn =
          response.backup_summaries.back().backup_details.backup_arn;
      break;
    }
    response.backup_summaries.push_back(
        {std::string(table::ShownName(manifest.table.name)), manifest.table.table_id,
         TableArn(env, manifest.table.name), DetailsOf(env, *backup)});
  }
  return response;
}

}  // namespace

Result<BackupArn> ParseBackupArn(const Context& ctx, std::string_view arn) {
  const Environment& env = ctx.env;
  const auto invalid = [] { return ValidationError("Invalid Backup ARN"); };
  if (!arn.starts_with("arn:")) return invalid();
  std::string_view parts[5];
  std::string_view rest = arn;
  for (std::string_view& part : parts) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return invalid();
    part = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  constexpr std::string_view kTable = "table/";
  constexpr std::string_view kBackup = "/backup/";
  const size_t backup = rest.find(kBackup);
  if (!rest.starts_with(kTable) || backup == std::string_view::npos || backup < kTable.size())
    return invalid();
  if (std::ranges::find(kPartitions, parts[1]) == std::end(kPartitions) || parts[2] != "dynamodb" ||
      parts[3].empty() || !IsRegion(parts[3], env))
    return ValidationError("BackupArn is not valid");
  if (parts[4] != CallerAccount(ctx)) return Error(ErrorCode::kAccessDenied, "Access is denied");
  const std::string_view table = rest.substr(kTable.size(), backup - kTable.size());
  if (table.find('/') != std::string_view::npos) return invalid();
  return BackupArn{std::string(parts[3]), table::StoreName(ctx.account, table),
                   std::string(rest.substr(backup + kBackup.size()))};
}

std::string BackupArnOf(const Environment& env, std::string_view table, std::string_view id) {
  return TableArn(env, table).append("/backup/").append(id);
}

double BackupTime(std::string_view id) {
  int64_t millis = 0;
  std::from_chars(id.data(), id.data() + id.size(), millis);
  return SecondsOfMillis(millis);
}

Error NoBackups(const Context& ctx) {
  return ValidationError(std::string(ctx.operation.empty() ? "A backup" : ctx.operation) +
                         " is not supported with --engine=rados by this version of Stator");
}

Error BackupNotFound(std::string_view arn) {
  return Error(ErrorCode::kResourceNotFound, "Backup not found: " + std::string(arn),
               std::make_shared<ExceptionNamePayload>("BackupNotFoundException"));
}

Error BackupInUse(std::string message) {
  return Error(ErrorCode::kResourceInUse, std::move(message),
               std::make_shared<ExceptionNamePayload>("BackupInUseException"));
}

void CreateBackup(Context& ctx, CreateBackupRequest request, Callback<CreateBackupResponse> done) {
  done(Create(ctx, request));
}

void DescribeBackup(Context& ctx, DescribeBackupRequest request,
                    Callback<DescribeBackupResponse> done) {
  done(Describe(ctx, request));
}

void DeleteBackup(Context& ctx, DeleteBackupRequest request, Callback<DeleteBackupResponse> done) {
  if (ctx.env.backups == nullptr) return done(NoBackups(ctx));
  const Environment& env = ctx.env;
  const Result<BackupPtr> found = FindBackup(ctx, request.backup_arn);
  if (!found.ok()) return done(found.error());
  OnWorker<DeleteBackupResponse>(
      ctx, ctx.env.workers,
      [&env, backup = *found, arn = std::move(request.backup_arn)] {
        return Delete(env, backup, arn);
      },
      std::move(done));
}

void ListBackups(Context& ctx, ListBackupsRequest request, Callback<ListBackupsResponse> done) {
  done(List(ctx, request));
}

}  // namespace stator::ops
