#include "api/backups.h"

#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_parts.h"

namespace stator::api {
namespace {

using ops::CreateBackupRequest;
using ops::DeleteBackupRequest;
using ops::DescribeBackupRequest;
using ops::ListBackupsRequest;

constexpr std::string_view kFilterNames[] = {"USER", "SYSTEM", "AWS_BACKUP", "ALL"};
constexpr EnumSet kFilter{kFilterNames, "[SYSTEM, AWS_BACKUP, USER, ALL]"};
constexpr std::string_view kStatusNames[] = {"CREATING", "DELETED", "AVAILABLE"};
constexpr EnumSet kStatus{kStatusNames, ""};

constexpr Type kBackupName = Text(3, 255, Pattern::kName);
constexpr Type kBackupArn = Text(37, 1024);
constexpr Type kTime{.kind = Kind::kTime};
constexpr Type kLimit{.kind = Kind::kInteger, .min = 1, .max = 100};
constexpr Type kFilterType = EnumOf(&kFilter);

constexpr Field kCreateFields[] = {
    Required<&CreateBackupRequest::table_name>("TableName", &kTableName),
    Required<&CreateBackupRequest::backup_name>("BackupName", &kBackupName),
};
constexpr Shape kCreateShape = MakeShape("CreateBackupInput", kCreateFields);
constexpr OperationSchema kCreate{"CreateBackup", &kCreateShape};

constexpr Field kDescribeFields[] = {
    Required<&DescribeBackupRequest::backup_arn>("BackupArn", &kBackupArn),
};
constexpr Shape kDescribeShape = MakeShape("DescribeBackupInput", kDescribeFields);
constexpr OperationSchema kDescribe{"DescribeBackup", &kDescribeShape};

constexpr Field kDeleteFields[] = {
    Required<&DeleteBackupRequest::backup_arn>("BackupArn", &kBackupArn),
};
constexpr Shape kDeleteShape = MakeShape("DeleteBackupInput", kDeleteFields);
constexpr OperationSchema kDelete{"DeleteBackup", &kDeleteShape};

constexpr Field kListFields[] = {
    Optional<&ListBackupsRequest::table_name>("TableName", &kTableName),
    Optional<&ListBackupsRequest::limit>("Limit", &kLimit),
    Optional<&ListBackupsRequest::time_range_lower_bound>("TimeRangeLowerBound", &kTime),
    Optional<&ListBackupsRequest::time_range_upper_bound>("TimeRangeUpperBound", &kTime),
    Optional<&ListBackupsRequest::exclusive_start_backup_arn>("ExclusiveStartBackupArn",
                                                              &kBackupArn),
    Optional<&ListBackupsRequest::backup_type>("BackupType", &kFilterType),
};
constexpr Shape kListShape = MakeShape("ListBackupsInput", kListFields);
constexpr OperationSchema kList{"ListBackups", &kListShape};

// The members of a backup, into an object that may have more.
void AppendDetails(const ops::BackupDetails& details, ObjectWriter* object) {
  object->Text("BackupArn", details.backup_arn);
  object->Text("BackupName", details.backup_name);
  object->Integer("BackupSizeBytes", details.backup_size_bytes);
  object->Enum("BackupStatus", kStatus, details.backup_status);
  object->Text("BackupType", details.system ? "SYSTEM" : "USER");
  AppendTime(object->Member("BackupCreationDateTime"), details.backup_creation_date_time);
  if (details.backup_expiry_date_time)
    AppendTime(object->Member("BackupExpiryDateTime"), *details.backup_expiry_date_time);
}

void AppendUnits(std::string* out, const ops::ProvisionedThroughput& units) {
  ObjectWriter object(out);
  object.Integer("ReadCapacityUnits", units.read_capacity_units);
  object.Integer("WriteCapacityUnits", units.write_capacity_units);
  object.Close();
}

void AppendSource(std::string* out, const ops::SourceTableDetails& source) {
  ObjectWriter object(out);
  object.Text("TableName", source.table_name);
  object.Text("TableId", source.table_id);
  object.Text("TableArn", source.table_arn);
  object.Integer("TableSizeBytes", source.table_size_bytes);
  AppendKeySchema(object.Member("KeySchema"), source.key_schema);
  AppendTime(object.Member("TableCreationDateTime"), source.table_creation_date_time);
  AppendUnits(object.Member("ProvisionedThroughput"), source.provisioned_throughput);
  if (source.on_demand_throughput)
    AppendOnDemand(object.Member("OnDemandThroughput"), *source.on_demand_throughput);
  object.Integer("ItemCount", source.item_count);
  object.Enum("BillingMode", kBillingMode, source.billing_mode);
  object.Close();
}

void AppendFeatures(std::string* out, const ops::SourceTableFeatureDetails& features) {
  ObjectWriter object(out);
  if (!features.local_secondary_indexes.empty()) {
    AppendList(object.Member("LocalSecondaryIndexes"), features.local_secondary_indexes,
               [&](const ops::LocalSecondaryIndexInfo& index) {
                 ObjectWriter one(out);
                 one.Text("IndexName", index.index_name);
                 AppendKeySchema(one.Member("KeySchema"), index.key_schema);
                 AppendProjection(one.Member("Projection"), index.projection);
                 one.Close();
               });
  }
  if (!features.global_secondary_indexes.empty()) {
    AppendList(object.Member("GlobalSecondaryIndexes"), features.global_secondary_indexes,
               [&](const ops::GlobalSecondaryIndexInfo& index) {
                 ObjectWriter one(out);
                 one.Text("IndexName", index.index_name);
                 AppendKeySchema(one.Member("KeySchema"), index.key_schema);
                 AppendProjection(one.Member("Projection"), index.projection);
                 AppendUnits(one.Member("ProvisionedThroughput"), index.provisioned_throughput);
                 if (index.on_demand_throughput)
                   AppendOnDemand(one.Member("OnDemandThroughput"), *index.on_demand_throughput);
                 one.Close();
               });
  }
  if (features.stream_view_type) {
    ObjectWriter stream(object.Member("StreamDescription"));
    stream.Boolean("StreamEnabled", true);
    stream.Enum("StreamViewType", kStreamViewType, *features.stream_view_type);
    stream.Close();
  }
  if (features.time_to_live_attribute) {
    ObjectWriter expiry(object.Member("TimeToLiveDescription"));
    expiry.Enum("TimeToLiveStatus", kTimeToLiveStatus, ops::TimeToLiveStatus::kEnabled);
    expiry.Text("AttributeName", *features.time_to_live_attribute);
    expiry.Close();
  }
  object.Close();
}

void AppendDescription(const ops::BackupDescription& description, std::string* out) {
  ObjectWriter object(out);
  ObjectWriter backup(object.Member("BackupDescription"));
  ObjectWriter details(backup.Member("BackupDetails"));
  AppendDetails(description.backup_details, &details);
  details.Close();
  AppendSource(backup.Member("SourceTableDetails"), description.source_table_details);
  AppendFeatures(backup.Member("SourceTableFeatureDetails"),
                 description.source_table_feature_details);
  backup.Close();
  object.Close();
}

}  // namespace

template <>
const OperationSchema& SchemaOf<CreateBackupRequest>() {
  return kCreate;
}
template <>
const OperationSchema& SchemaOf<DescribeBackupRequest>() {
  return kDescribe;
}
template <>
const OperationSchema& SchemaOf<DeleteBackupRequest>() {
  return kDelete;
}
template <>
const OperationSchema& SchemaOf<ListBackupsRequest>() {
  return kList;
}

void RenderResponse(const ops::CreateBackupResponse& response, std::string* out) {
  ObjectWriter object(out);
  ObjectWriter details(object.Member("BackupDetails"));
  AppendDetails(response.backup_details, &details);
  details.Close();
  object.Close();
}

void RenderResponse(const ops::DescribeBackupResponse& response, std::string* out) {
  AppendDescription(response.backup_description, out);
}

void RenderResponse(const ops::DeleteBackupResponse& response, std::string* out) {
  AppendDescription(response.backup_description, out);
}

void RenderResponse(const ops::ListBackupsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("BackupSummaries"), response.backup_summaries,
             [&](const ops::BackupSummary& summary) {
               ObjectWriter one(out);
               one.Text("TableName", summary.table_name);
               one.Text("TableId", summary.table_id);
               one.Text("TableArn", summary.table_arn);
               AppendDetails(summary.backup_details, &one);
               one.Close();
             });
  if (response.last_evaluated_backup_arn)
    object.Text("LastEvaluatedBackupArn", *response.last_evaluated_backup_arn);
  object.Close();
}

}  // namespace stator::api
