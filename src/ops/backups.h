// CreateBackup, DescribeBackup, DeleteBackup, ListBackups and RestoreTableFromBackup; what both
// restores have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/context.h"
#include "ops/requests.h"
#include "ops/responses.h"

namespace stator::ops {

enum class BackupTypeFilter : uint8_t { kUser, kSystem, kAwsBackup, kAll };
enum class BackupStatus : uint8_t { kCreating, kDeleted, kAvailable };

struct CreateBackupRequest {
  std::string table_name;
  std::string backup_name;
};
struct DescribeBackupRequest {
  std::string backup_arn;
};
struct DeleteBackupRequest {
  std::string backup_arn;
};
struct ListBackupsRequest {
  std::optional<std::string> table_name;
  std::optional<int64_t> limit;
  std::optional<int64_t> time_range_lower_bound;  // milliseconds, like the next
  std::optional<int64_t> time_range_upper_bound;
  std::optional<std::string> exclusive_start_backup_arn;
  std::optional<BackupTypeFilter> backup_type;
};

// The settings of a restored table that differ from those of its source.
struct RestoreOverrides {
  std::optional<BillingMode> billing_mode_override;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_index_override;
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_index_override;
  std::optional<ProvisionedThroughput> provisioned_throughput_override;
  std::optional<OnDemandThroughput> on_demand_throughput_override;
  std::optional<SseSpecification> sse_specification_override;
  std::optional<std::vector<VectorIndex>> vector_index_override;
};

// The overrides come first: the decoder takes the address of a request for that of its base.
struct RestoreTableFromBackupRequest : RestoreOverrides {
  std::string target_table_name;
  std::string backup_arn;
};

struct BackupDetails {
  std::string backup_arn;
  std::string backup_name;
  int64_t backup_size_bytes = 0;
  BackupStatus backup_status = BackupStatus::kCreating;
  bool system = false;  // of a deleted table, else a user's
  double backup_creation_date_time = 0;
  std::optional<double> backup_expiry_date_time;  // of the system's
};

struct SourceTableDetails {
  std::string table_name;
  std::string table_id;
  std::string table_arn;
  int64_t table_size_bytes = 0;
  std::vector<KeySchemaElement> key_schema;
  double table_creation_date_time = 0;
  ProvisionedThroughput provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  int64_t item_count = 0;
  BillingMode billing_mode = BillingMode::kProvisioned;
};

struct LocalSecondaryIndexInfo {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
};

struct GlobalSecondaryIndexInfo {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  ProvisionedThroughput provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
};

// Members of what is off are absent.
struct SourceTableFeatureDetails {
  std::vector<LocalSecondaryIndexInfo> local_secondary_indexes;
  std::vector<GlobalSecondaryIndexInfo> global_secondary_indexes;
  std::optional<StreamViewType> stream_view_type;
  std::optional<std::string> time_to_live_attribute;
};

struct BackupDescription {
  BackupDetails backup_details;
  SourceTableDetails source_table_details;
  SourceTableFeatureDetails source_table_feature_details;
};

struct BackupSummary {
  std::string table_name;
  std::string table_id;
  std::string table_arn;
  BackupDetails backup_details;
};

struct CreateBackupResponse {
  BackupDetails backup_details;
};
struct DescribeBackupResponse {
  BackupDescription backup_description;
};
struct DeleteBackupResponse {
  BackupDescription backup_description;
};
struct RestoreTableFromBackupResponse {
  TableDescription table_description;
};
struct ListBackupsResponse {
  std::vector<BackupSummary> backup_summaries;
  std::optional<std::string> last_evaluated_backup_arn;
};

void CreateBackup(Context& ctx, CreateBackupRequest request, Callback<CreateBackupResponse> done);
void DescribeBackup(Context& ctx, DescribeBackupRequest request,
                    Callback<DescribeBackupResponse> done);
void DeleteBackup(Context& ctx, DeleteBackupRequest request, Callback<DeleteBackupResponse> done);
void ListBackups(Context& ctx, ListBackupsRequest request, Callback<ListBackupsResponse> done);
void RestoreTableFromBackup(Context& ctx, RestoreTableFromBackupRequest request,
                            Callback<RestoreTableFromBackupResponse> done);

}  // namespace stator::ops
