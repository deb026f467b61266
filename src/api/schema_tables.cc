// The parameters of operations on tables.
#include "api/backups.h"
#include "api/exchange.h"
#include "api/schema_parts.h"

namespace stator::api {

namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the tables name little else

// --- Parts ---------------------------------------------------------------------------------------

constexpr Type kScalarAttributeTypeType = EnumOf(&kScalarAttributeType);
constexpr Field kAttributeDefinitionFields[] = {
    Required<&AttributeDefinition::attribute_name>("AttributeName", &kKeyAttributeName),
    Required<&AttributeDefinition::attribute_type>("AttributeType", &kScalarAttributeTypeType),
};
constexpr Shape kAttributeDefinitionShape =
    MakeShape("AttributeDefinition", kAttributeDefinitionFields);
constexpr Type kAttributeDefinition = StructOf(&kAttributeDefinitionShape);
constexpr Type kAttributeDefinitions = ListOf<AttributeDefinition>(&kAttributeDefinition);

constexpr Type kKeyTypeType = EnumOf(&kKeyType);
constexpr Field kKeySchemaElementFields[] = {
    Required<&KeySchemaElement::attribute_name>("AttributeName", &kKeyAttributeName),
    Required<&KeySchemaElement::key_type>("KeyType", &kKeyTypeType),
};
constexpr Shape kKeySchemaElementShape = MakeShape("KeySchemaElement", kKeySchemaElementFields);
constexpr Type kKeySchemaElement = StructOf(&kKeySchemaElementShape);
constexpr Type kKeySchema = ListOf<KeySchemaElement>(&kKeySchemaElement, 1);

constexpr Type kProjectionTypeType = EnumOf(&kProjectionType);
constexpr Type kNonKeyAttributes = ListOf<std::string>(&kKeyAttributeName, 1, 20);
constexpr Field kProjectionFields[] = {
    Optional<&Projection::projection_type>("ProjectionType", &kProjectionTypeType),
    Optional<&Projection::non_key_attributes>("NonKeyAttributes", &kNonKeyAttributes),
};
constexpr Shape kProjectionShape = MakeShape("Projection", kProjectionFields);
constexpr Type kProjection = StructOf(&kProjectionShape);

constexpr Field kProvisionedThroughputFields[] = {
    Required<&ProvisionedThroughput::read_capacity_units>("ReadCapacityUnits", &kPositiveLong),
    Required<&ProvisionedThroughput::write_capacity_units>("WriteCapacityUnits", &kPositiveLong),
};
constexpr Shape kProvisionedThroughputShape =
    MakeShape("ProvisionedThroughput", kProvisionedThroughputFields);
constexpr Type kProvisionedThroughput = StructOf(&kProvisionedThroughputShape);

constexpr Field kOnDemandThroughputFields[] = {
    Optional<&OnDemandThroughput::max_read_request_units>("MaxReadRequestUnits", &kAnyLong),
    Optional<&OnDemandThroughput::max_write_request_units>("MaxWriteRequestUnits", &kAnyLong),
};
constexpr Shape kOnDemandThroughputShape =
    MakeShape("OnDemandThroughput", kOnDemandThroughputFields);
constexpr Type kOnDemandThroughput = StructOf(&kOnDemandThroughputShape);

constexpr Field kWarmThroughputFields[] = {
    Optional<&WarmThroughput::read_units_per_second>("ReadUnitsPerSecond", &kAnyLong),
    Optional<&WarmThroughput::write_units_per_second>("WriteUnitsPerSecond", &kAnyLong),
};
constexpr Shape kWarmThroughputShape = MakeShape("WarmThroughput", kWarmThroughputFields);
constexpr Type kWarmThroughput = StructOf(&kWarmThroughputShape);

constexpr Type kStreamViewTypeType = EnumOf(&kStreamViewType);
constexpr Field kStreamSpecificationFields[] = {
    Required<&StreamSpecification::stream_enabled>("StreamEnabled", &kBoolean),
    Optional<&StreamSpecification::stream_view_type>("StreamViewType", &kStreamViewTypeType),
};
constexpr Shape kStreamSpecificationShape =
    MakeShape("StreamSpecification", kStreamSpecificationFields);
constexpr Type kStreamSpecification = StructOf(&kStreamSpecificationShape);

constexpr Type kSseTypeType = EnumOf(&kSseType);
constexpr Field kSseSpecificationFields[] = {
    Optional<&SseSpecification::enabled>("Enabled", &kBoolean),
    Optional<&SseSpecification::sse_type>("SSEType", &kSseTypeType),
    Optional<&SseSpecification::kms_master_key_id>("KMSMasterKeyId", &kPlainText),
};
constexpr Shape kSseSpecificationShape = MakeShape("SSESpecification", kSseSpecificationFields);
constexpr Type kSseSpecification = StructOf(&kSseSpecificationShape);

constexpr Type kTagKey = Text(1, 128);
constexpr Type kTagValue = Text(0, 256);
constexpr Field kTagFields[] = {
    Required<&Tag::key>("Key", &kTagKey),
    Required<&Tag::value>("Value", &kTagValue),
};
constexpr Shape kTagShape = MakeShape("Tag", kTagFields);
constexpr Type kTag = StructOf(&kTagShape);
constexpr Type kTags = ListOf<Tag>(&kTag);

constexpr Field kLocalSecondaryIndexFields[] = {
    Required<&LocalSecondaryIndex::index_name>("IndexName", &kIndexName),
    Required<&LocalSecondaryIndex::key_schema>("KeySchema", &kKeySchema),
    Required<&LocalSecondaryIndex::projection>("Projection", &kProjection),
};
constexpr Shape kLocalSecondaryIndexShape =
    MakeShape("LocalSecondaryIndex", kLocalSecondaryIndexFields);
constexpr Type kLocalSecondaryIndex = StructOf(&kLocalSecondaryIndexShape);
constexpr Type kLocalSecondaryIndexes = ListOf<LocalSecondaryIndex>(&kLocalSecondaryIndex);

constexpr Field kGlobalSecondaryIndexFields[] = {
    Required<&GlobalSecondaryIndex::index_name>("IndexName", &kIndexName),
    Required<&GlobalSecondaryIndex::key_schema>("KeySchema", &kKeySchema),
    Required<&GlobalSecondaryIndex::projection>("Projection", &kProjection),
    Optional<&GlobalSecondaryIndex::provisioned_throughput>("ProvisionedThroughput",
                                                            &kProvisionedThroughput),
    Optional<&GlobalSecondaryIndex::on_demand_throughput>("OnDemandThroughput",
                                                          &kOnDemandThroughput),
    Optional<&GlobalSecondaryIndex::warm_throughput>("WarmThroughput", &kWarmThroughput),
};
constexpr Shape kGlobalSecondaryIndexShape =
    MakeShape("GlobalSecondaryIndex", kGlobalSecondaryIndexFields);
constexpr Type kGlobalSecondaryIndex = StructOf(&kGlobalSecondaryIndexShape);
constexpr Type kGlobalSecondaryIndexes = ListOf<GlobalSecondaryIndex>(&kGlobalSecondaryIndex);

constexpr Field kVectorAttributeFields[] = {
    Required<&VectorAttribute::attribute_name>("AttributeName", &kKeyAttributeName),
};
constexpr Shape kVectorAttributeShape =
    MakeShape("VectorAttributeDefinition", kVectorAttributeFields);
constexpr Type kVectorAttribute = StructOf(&kVectorAttributeShape);

constexpr Type kSearchSchemaElementTypeType = EnumOf(&kSearchSchemaElementType);
constexpr Field kSearchSchemaElementFields[] = {
    Required<&SearchSchemaElement::attribute_name>("AttributeName", &kAttributeName),
    Required<&SearchSchemaElement::search_schema_element_type>("SearchSchemaElementType",
                                                               &kSearchSchemaElementTypeType),
};
constexpr Shape kSearchSchemaElementShape =
    MakeShape("SearchSchemaElement", kSearchSchemaElementFields);
constexpr Type kSearchSchemaElementStruct = StructOf(&kSearchSchemaElementShape);
constexpr Type kSearchSchema = ListOf<SearchSchemaElement>(&kSearchSchemaElementStruct, 1);

constexpr Type kVectorDistanceFunctionType = EnumOf(&kVectorDistanceFunction);
constexpr Field kVectorIndexFields[] = {
    Required<&VectorIndex::index_name>("IndexName", &kIndexName),
    Required<&VectorIndex::vector_attribute>("VectorAttribute", &kVectorAttribute),
    Optional<&VectorIndex::search_schema>("SearchSchema", &kSearchSchema),
    Required<&VectorIndex::projection>("Projection", &kProjection),
    Required<&VectorIndex::dimensions>("Dimensions", &kPositiveLong),
    Required<&VectorIndex::distance_function>("DistanceFunction", &kVectorDistanceFunctionType),
};
constexpr Shape kVectorIndexShape = MakeShape("VectorIndex", kVectorIndexFields);
constexpr Type kVectorIndex = StructOf(&kVectorIndexShape);
constexpr Type kVectorIndexes = ListOf<VectorIndex>(&kVectorIndex);

constexpr Type kBillingModeType = EnumOf(&kBillingMode);
constexpr Type kTableClassType = EnumOf(&kTableClass);
constexpr Type kSettingsReplicationModeType = EnumOf(&kSettingsReplicationMode);
constexpr Type kTableArn = Text(1, 1024);

// --- CreateTable ---------------------------------------------------------------------------------

constexpr Field kCreateTableFields[] = {
    Optional<&CreateTableRequest::attribute_definitions>("AttributeDefinitions",
                                                         &kAttributeDefinitions),
    Required<&CreateTableRequest::table_name>("TableName", &kNewTableName, kTableNameAbsent),
    Optional<&CreateTableRequest::key_schema>("KeySchema", &kKeySchema),
    Optional<&CreateTableRequest::local_secondary_indexes>("LocalSecondaryIndexes",
                                                           &kLocalSecondaryIndexes),
    Optional<&CreateTableRequest::global_secondary_indexes>("GlobalSecondaryIndexes",
                                                            &kGlobalSecondaryIndexes),
    Optional<&CreateTableRequest::billing_mode>("BillingMode", &kBillingModeType),
    Optional<&CreateTableRequest::provisioned_throughput>("ProvisionedThroughput",
                                                          &kProvisionedThroughput),
    Optional<&CreateTableRequest::stream_specification>("StreamSpecification",
                                                        &kStreamSpecification),
    Optional<&CreateTableRequest::sse_specification>("SSESpecification", &kSseSpecification),
    Optional<&CreateTableRequest::tags>("Tags", &kTags),
    Optional<&CreateTableRequest::table_class>("TableClass", &kTableClassType),
    Optional<&CreateTableRequest::deletion_protection_enabled>("DeletionProtectionEnabled",
                                                               &kBoolean),
    Optional<&CreateTableRequest::warm_throughput>("WarmThroughput", &kWarmThroughput),
    Optional<&CreateTableRequest::resource_policy>("ResourcePolicy", &kPlainText),
    Optional<&CreateTableRequest::on_demand_throughput>("OnDemandThroughput", &kOnDemandThroughput),
    Optional<&CreateTableRequest::global_table_source_arn>("GlobalTableSourceArn", &kTableArn),
    Optional<&CreateTableRequest::global_table_settings_replication_mode>(
        "GlobalTableSettingsReplicationMode", &kSettingsReplicationModeType),
    Optional<&CreateTableRequest::vector_indexes>("VectorIndexes", &kVectorIndexes),
};
constexpr Shape kCreateTableShape = MakeShape("CreateTableInput", kCreateTableFields);
constexpr OperationSchema kCreateTable{"CreateTable", &kCreateTableShape};

// --- RestoreTableFromBackup ----------------------------------------------------------------------

constexpr Type kTargetTableName = Text(3, 255, Pattern::kName);
constexpr Type kBackupArn = Text(37, 1024);
constexpr Type kTime{.kind = Kind::kTime};
constexpr Field kRestoreFields[] = {
    Required<&RestoreTableFromBackupRequest::target_table_name>("TargetTableName",
                                                                &kTargetTableName),
    Required<&RestoreTableFromBackupRequest::backup_arn>("BackupArn", &kBackupArn),
    Optional<&RestoreTableFromBackupRequest::billing_mode_override>("BillingModeOverride",
                                                                    &kBillingModeType),
    Optional<&RestoreTableFromBackupRequest::global_secondary_index_override>(
        "GlobalSecondaryIndexOverride", &kGlobalSecondaryIndexes),
    Optional<&RestoreTableFromBackupRequest::local_secondary_index_override>(
        "LocalSecondaryIndexOverride", &kLocalSecondaryIndexes),
    Optional<&RestoreTableFromBackupRequest::provisioned_throughput_override>(
        "ProvisionedThroughputOverride", &kProvisionedThroughput),
    Optional<&RestoreTableFromBackupRequest::on_demand_throughput_override>(
        "OnDemandThroughputOverride", &kOnDemandThroughput),
    Optional<&RestoreTableFromBackupRequest::sse_specification_override>("SSESpecificationOverride",
                                                                         &kSseSpecification),
    Optional<&RestoreTableFromBackupRequest::vector_index_override>("VectorIndexOverride",
                                                                    &kVectorIndexes),
};
constexpr Field kRestoreToMomentFields[] = {
    Optional<&RestoreTableToPointInTimeRequest::source_table_arn>("SourceTableArn", &kTableArn),
    Optional<&RestoreTableToPointInTimeRequest::source_table_name>("SourceTableName",
                                                                   &kTargetTableName),
    Required<&RestoreTableToPointInTimeRequest::target_table_name>("TargetTableName",
                                                                   &kTargetTableName),
    Optional<&RestoreTableToPointInTimeRequest::use_latest_restorable_time>(
        "UseLatestRestorableTime", &kBoolean),
    Optional<&RestoreTableToPointInTimeRequest::restore_date_time>("RestoreDateTime", &kTime),
    Optional<&RestoreTableToPointInTimeRequest::billing_mode_override>("BillingModeOverride",
                                                                       &kBillingModeType),
    Optional<&RestoreTableToPointInTimeRequest::global_secondary_index_override>(
        "GlobalSecondaryIndexOverride", &kGlobalSecondaryIndexes),
    Optional<&RestoreTableToPointInTimeRequest::local_secondary_index_override>(
        "LocalSecondaryIndexOverride", &kLocalSecondaryIndexes),
    Optional<&RestoreTableToPointInTimeRequest::provisioned_throughput_override>(
        "ProvisionedThroughputOverride", &kProvisionedThroughput),
    Optional<&RestoreTableToPointInTimeRequest::on_demand_throughput_override>(
        "OnDemandThroughputOverride", &kOnDemandThroughput),
    Optional<&RestoreTableToPointInTimeRequest::sse_specification_override>(
        "SSESpecificationOverride", &kSseSpecification),
    Optional<&RestoreTableToPointInTimeRequest::vector_index_override>("VectorIndexOverride",
                                                                       &kVectorIndexes),
};
constexpr Shape kRestoreToMomentShape =
    MakeShape("RestoreTableToPointInTimeInput", kRestoreToMomentFields);
constexpr OperationSchema kRestoreToMoment{"RestoreTableToPointInTime", &kRestoreToMomentShape};

constexpr Shape kRestoreShape = MakeShape("RestoreTableFromBackupInput", kRestoreFields);
constexpr OperationSchema kRestore{"RestoreTableFromBackup", &kRestoreShape};

// --- UpdateTable ---------------------------------------------------------------------------------

constexpr Field kDeleteGlobalSecondaryIndexFields[] = {
    Required<&DeleteIndexAction::index_name>("IndexName", &kIndexName),
};
constexpr Shape kDeleteGlobalSecondaryIndexShape =
    MakeShape("DeleteGlobalSecondaryIndexAction", kDeleteGlobalSecondaryIndexFields);
constexpr Type kDeleteGlobalSecondaryIndex = StructOf(&kDeleteGlobalSecondaryIndexShape);
constexpr Shape kDeleteVectorIndexShape =
    MakeShape("DeleteVectorIndexAction", kDeleteGlobalSecondaryIndexFields);
constexpr Type kDeleteVectorIndex = StructOf(&kDeleteVectorIndexShape);

constexpr Field kUpdateGlobalSecondaryIndexFields[] = {
    Required<&UpdateGlobalSecondaryIndexAction::index_name>("IndexName", &kIndexName),
    Optional<&UpdateGlobalSecondaryIndexAction::provisioned_throughput>("ProvisionedThroughput",
                                                                        &kProvisionedThroughput),
    Optional<&UpdateGlobalSecondaryIndexAction::on_demand_throughput>("OnDemandThroughput",
                                                                      &kOnDemandThroughput),
    Optional<&UpdateGlobalSecondaryIndexAction::warm_throughput>("WarmThroughput",
                                                                 &kWarmThroughput),
};
constexpr Shape kUpdateGlobalSecondaryIndexShape =
    MakeShape("UpdateGlobalSecondaryIndexAction", kUpdateGlobalSecondaryIndexFields);
constexpr Type kUpdateGlobalSecondaryIndex = StructOf(&kUpdateGlobalSecondaryIndexShape);
constexpr Shape kCreateGlobalSecondaryIndexShape =
    MakeShape("CreateGlobalSecondaryIndexAction", kGlobalSecondaryIndexFields);
constexpr Type kCreateGlobalSecondaryIndex = StructOf(&kCreateGlobalSecondaryIndexShape);

constexpr Field kGlobalSecondaryIndexUpdateFields[] = {
    Optional<&GlobalSecondaryIndexUpdate::update>("Update", &kUpdateGlobalSecondaryIndex),
    Optional<&GlobalSecondaryIndexUpdate::create>("Create", &kCreateGlobalSecondaryIndex),
    Optional<&GlobalSecondaryIndexUpdate::delete_index>("Delete", &kDeleteGlobalSecondaryIndex),
};
constexpr Shape kGlobalSecondaryIndexUpdateShape =
    MakeShape("GlobalSecondaryIndexUpdate", kGlobalSecondaryIndexUpdateFields);
constexpr Type kGlobalSecondaryIndexUpdate = StructOf(&kGlobalSecondaryIndexUpdateShape);
constexpr Type kGlobalSecondaryIndexUpdates =
    ListOf<GlobalSecondaryIndexUpdate>(&kGlobalSecondaryIndexUpdate);

constexpr Shape kCreateVectorIndexShape = MakeShape("CreateVectorIndexAction", kVectorIndexFields);
constexpr Type kCreateVectorIndex = StructOf(&kCreateVectorIndexShape);
constexpr Field kVectorIndexUpdateFields[] = {
    Optional<&VectorIndexUpdate::create>("Create", &kCreateVectorIndex),
    Optional<&VectorIndexUpdate::delete_index>("Delete", &kDeleteVectorIndex),
};
constexpr Shape kVectorIndexUpdateShape = MakeShape("VectorIndexUpdate", kVectorIndexUpdateFields);
constexpr Type kVectorIndexUpdate = StructOf(&kVectorIndexUpdateShape);
constexpr Type kVectorIndexUpdates = ListOf<VectorIndexUpdate>(&kVectorIndexUpdate);

constexpr Field kProvisionedOverrideFields[] = {
    Optional<&ProvisionedThroughputOverride::read_capacity_units>("ReadCapacityUnits",
                                                                  &kPositiveLong),
};
constexpr Shape kProvisionedOverrideShape =
    MakeShape("ProvisionedThroughputOverride", kProvisionedOverrideFields);
constexpr Type kProvisionedOverride = StructOf(&kProvisionedOverrideShape);
constexpr Field kOnDemandOverrideFields[] = {
    Optional<&OnDemandThroughputOverride::max_read_request_units>("MaxReadRequestUnits", &kAnyLong),
};
constexpr Shape kOnDemandOverrideShape =
    MakeShape("OnDemandThroughputOverride", kOnDemandOverrideFields);
constexpr Type kOnDemandOverride = StructOf(&kOnDemandOverrideShape);
constexpr Field kReplicaIndexFields[] = {
    Required<&ReplicaGlobalSecondaryIndex::index_name>("IndexName", &kIndexName),
    Optional<&ReplicaGlobalSecondaryIndex::provisioned_throughput_override>(
        "ProvisionedThroughputOverride", &kProvisionedOverride),
    Optional<&ReplicaGlobalSecondaryIndex::on_demand_throughput_override>(
        "OnDemandThroughputOverride", &kOnDemandOverride),
};
constexpr Shape kReplicaIndexShape = MakeShape("ReplicaGlobalSecondaryIndex", kReplicaIndexFields);
constexpr Type kReplicaIndex = StructOf(&kReplicaIndexShape);
constexpr Type kReplicaIndexes = ListOf<ReplicaGlobalSecondaryIndex>(&kReplicaIndex, 1);

constexpr Field kReplicaSettingsFields[] = {
    Required<&ReplicaSettings::region_name>("RegionName", &kPlainText),
    Optional<&ReplicaSettings::kms_master_key_id>("KMSMasterKeyId", &kPlainText),
    Optional<&ReplicaSettings::provisioned_throughput_override>("ProvisionedThroughputOverride",
                                                                &kProvisionedOverride),
    Optional<&ReplicaSettings::on_demand_throughput_override>("OnDemandThroughputOverride",
                                                              &kOnDemandOverride),
    Optional<&ReplicaSettings::global_secondary_indexes>("GlobalSecondaryIndexes",
                                                         &kReplicaIndexes),
    Optional<&ReplicaSettings::table_class_override>("TableClassOverride", &kTableClassType),
};
constexpr Shape kCreateReplicaShape =
    MakeShape("CreateReplicationGroupMemberAction", kReplicaSettingsFields);
constexpr Type kCreateReplica = StructOf(&kCreateReplicaShape);
constexpr Shape kUpdateReplicaShape =
    MakeShape("UpdateReplicationGroupMemberAction", kReplicaSettingsFields);
constexpr Type kUpdateReplica = StructOf(&kUpdateReplicaShape);
constexpr Field kRegionActionFields[] = {
    Required<&RegionAction::region_name>("RegionName", &kPlainText)};
constexpr Shape kDeleteReplicaShape =
    MakeShape("DeleteReplicationGroupMemberAction", kRegionActionFields);
constexpr Type kDeleteReplica = StructOf(&kDeleteReplicaShape);
constexpr Type kDisassociationModeType = EnumOf(&kDisassociationMode);
constexpr Field kDisassociateFields[] = {
    Required<&DisassociateReplicaAction::region_name>("RegionName", &kPlainText),
    Required<&DisassociateReplicaAction::disassociation_mode>("DisassociationMode",
                                                              &kDisassociationModeType),
};
constexpr Shape kDisassociateShape =
    MakeShape("DisassociateReplicationGroupMemberAction", kDisassociateFields);
constexpr Type kDisassociate = StructOf(&kDisassociateShape);
constexpr Field kReplicaUpdateFields[] = {
    Optional<&ReplicaUpdate::create>("Create", &kCreateReplica),
    Optional<&ReplicaUpdate::update>("Update", &kUpdateReplica),
    Optional<&ReplicaUpdate::delete_replica>("Delete", &kDeleteReplica),
    Optional<&ReplicaUpdate::disassociate>("Disassociate", &kDisassociate),
};
constexpr Shape kReplicaUpdateShape = MakeShape("ReplicationGroupUpdate", kReplicaUpdateFields);
constexpr Type kReplicaUpdate = StructOf(&kReplicaUpdateShape);
constexpr Type kReplicaUpdates = ListOf<ReplicaUpdate>(&kReplicaUpdate, 1);

constexpr Shape kCreateWitnessShape =
    MakeShape("CreateGlobalTableWitnessGroupMemberAction", kRegionActionFields);
constexpr Type kCreateWitness = StructOf(&kCreateWitnessShape);
constexpr Shape kDeleteWitnessShape =
    MakeShape("DeleteGlobalTableWitnessGroupMemberAction", kRegionActionFields);
constexpr Type kDeleteWitness = StructOf(&kDeleteWitnessShape);
constexpr Field kWitnessUpdateFields[] = {
    Optional<&WitnessUpdate::create>("Create", &kCreateWitness),
    Optional<&WitnessUpdate::delete_witness>("Delete", &kDeleteWitness),
};
constexpr Shape kWitnessUpdateShape =
    MakeShape("GlobalTableWitnessGroupUpdate", kWitnessUpdateFields);
constexpr Type kWitnessUpdate = StructOf(&kWitnessUpdateShape);
constexpr Type kWitnessUpdates = ListOf<WitnessUpdate>(&kWitnessUpdate, 1, 1);

constexpr Type kMultiRegionConsistencyType = EnumOf(&kMultiRegionConsistency);

constexpr Field kUpdateTableFields[] = {
    Optional<&UpdateTableRequest::attribute_definitions>("AttributeDefinitions",
                                                         &kAttributeDefinitions),
    Required<&UpdateTableRequest::table_name>("TableName", &kTableName, kTableNameAbsent),
    Optional<&UpdateTableRequest::billing_mode>("BillingMode", &kBillingModeType),
    Optional<&UpdateTableRequest::provisioned_throughput>("ProvisionedThroughput",
                                                          &kProvisionedThroughput),
    Optional<&UpdateTableRequest::global_secondary_index_updates>("GlobalSecondaryIndexUpdates",
                                                                  &kGlobalSecondaryIndexUpdates),
    Optional<&UpdateTableRequest::stream_specification>("StreamSpecification",
                                                        &kStreamSpecification),
    Optional<&UpdateTableRequest::sse_specification>("SSESpecification", &kSseSpecification),
    Optional<&UpdateTableRequest::replica_updates>("ReplicaUpdates", &kReplicaUpdates),
    Optional<&UpdateTableRequest::table_class>("TableClass", &kTableClassType),
    Optional<&UpdateTableRequest::deletion_protection_enabled>("DeletionProtectionEnabled",
                                                               &kBoolean),
    Optional<&UpdateTableRequest::multi_region_consistency>("MultiRegionConsistency",
                                                            &kMultiRegionConsistencyType),
    Optional<&UpdateTableRequest::global_table_witness_updates>("GlobalTableWitnessUpdates",
                                                                &kWitnessUpdates),
    Optional<&UpdateTableRequest::on_demand_throughput>("OnDemandThroughput", &kOnDemandThroughput),
    Optional<&UpdateTableRequest::warm_throughput>("WarmThroughput", &kWarmThroughput),
    Optional<&UpdateTableRequest::global_table_settings_replication_mode>(
        "GlobalTableSettingsReplicationMode", &kSettingsReplicationModeType),
    Optional<&UpdateTableRequest::vector_index_updates>("VectorIndexUpdates", &kVectorIndexUpdates),
    Optional<&UpdateTableRequest::disassociation_protection_enabled>(
        "DisassociationProtectionEnabled", &kBoolean),
};
constexpr Shape kUpdateTableShape = MakeShape("UpdateTableInput", kUpdateTableFields);
constexpr OperationSchema kUpdateTable{"UpdateTable", &kUpdateTableShape};

// --- The small ones ------------------------------------------------------------------------------

constexpr Field kDescribeTableFields[] = {
    Required<&DescribeTableRequest::table_name>("TableName", &kTableName, kTableNameAbsent)};
constexpr Shape kDescribeTableShape = MakeShape("DescribeTableInput", kDescribeTableFields);
constexpr OperationSchema kDescribeTable{"DescribeTable", &kDescribeTableShape};

constexpr Field kDeleteTableFields[] = {
    Required<&DeleteTableRequest::table_name>("TableName", &kTableName, kTableNameAbsent)};
constexpr Shape kDeleteTableShape = MakeShape("DeleteTableInput", kDeleteTableFields);
constexpr OperationSchema kDeleteTable{"DeleteTable", &kDeleteTableShape};

constexpr Type kTimeToLiveAttribute = Text(1, 255);
constexpr Field kTimeToLiveSpecificationFields[] = {
    Required<&TimeToLiveSpecification::enabled>("Enabled", &kBoolean),
    Required<&TimeToLiveSpecification::attribute_name>("AttributeName", &kTimeToLiveAttribute),
};
constexpr Shape kTimeToLiveSpecificationShape =
    MakeShape("TimeToLiveSpecification", kTimeToLiveSpecificationFields);
constexpr Type kTimeToLiveSpecification = StructOf(&kTimeToLiveSpecificationShape);
constexpr Field kUpdateTimeToLiveFields[] = {
    Required<&UpdateTimeToLiveRequest::table_name>("TableName", &kTableName, kTableNameAbsent),
    Required<&UpdateTimeToLiveRequest::time_to_live_specification>("TimeToLiveSpecification",
                                                                   &kTimeToLiveSpecification),
};
constexpr Shape kUpdateTimeToLiveShape =
    MakeShape("UpdateTimeToLiveInput", kUpdateTimeToLiveFields);
constexpr OperationSchema kUpdateTimeToLive{"UpdateTimeToLive", &kUpdateTimeToLiveShape};

constexpr Field kDescribeTimeToLiveFields[] = {
    Required<&DescribeTimeToLiveRequest::table_name>("TableName", &kTableName, kTableNameAbsent)};
constexpr Shape kDescribeTimeToLiveShape =
    MakeShape("DescribeTimeToLiveInput", kDescribeTimeToLiveFields);
constexpr OperationSchema kDescribeTimeToLive{"DescribeTimeToLive", &kDescribeTimeToLiveShape};

constexpr Field kDescribeContinuousBackupsFields[] = {
    Required<&DescribeContinuousBackupsRequest::table_name>("TableName", &kTableName)};
constexpr Shape kDescribeContinuousBackupsShape =
    MakeShape("DescribeContinuousBackupsInput", kDescribeContinuousBackupsFields);
constexpr OperationSchema kDescribeContinuousBackups{"DescribeContinuousBackups",
                                                     &kDescribeContinuousBackupsShape};

constexpr Type kRecoveryPeriod{.kind = Kind::kInteger, .min = 1, .max = 35};
constexpr Field kRecoverySpecificationFields[] = {
    Required<&PointInTimeRecoverySpecification::point_in_time_recovery_enabled>(
        "PointInTimeRecoveryEnabled", &kBoolean),
    Optional<&PointInTimeRecoverySpecification::recovery_period_in_days>("RecoveryPeriodInDays",
                                                                         &kRecoveryPeriod),
};
constexpr Shape kRecoverySpecificationShape =
    MakeShape("PointInTimeRecoverySpecification", kRecoverySpecificationFields);
constexpr Type kRecoverySpecification = StructOf(&kRecoverySpecificationShape);
constexpr Field kUpdateContinuousBackupsFields[] = {
    Required<&UpdateContinuousBackupsRequest::table_name>("TableName", &kTableName),
    Required<&UpdateContinuousBackupsRequest::point_in_time_recovery_specification>(
        "PointInTimeRecoverySpecification", &kRecoverySpecification),
};
constexpr Shape kUpdateContinuousBackupsShape =
    MakeShape("UpdateContinuousBackupsInput", kUpdateContinuousBackupsFields);
constexpr OperationSchema kUpdateContinuousBackups{"UpdateContinuousBackups",
                                                   &kUpdateContinuousBackupsShape};

constexpr Type kInsightsAction = EnumOf(&kContributorInsightsAction);
constexpr Type kInsightsMode = EnumOf(&kContributorInsightsMode);
constexpr Field kUpdateInsightsFields[] = {
    Required<&UpdateContributorInsightsRequest::table_name>("TableName", &kTableName),
    Optional<&UpdateContributorInsightsRequest::index_name>("IndexName", &kIndexName),
    Required<&UpdateContributorInsightsRequest::contributor_insights_action>(
        "ContributorInsightsAction", &kInsightsAction),
    Optional<&UpdateContributorInsightsRequest::contributor_insights_mode>(
        "ContributorInsightsMode", &kInsightsMode),
};
constexpr Shape kUpdateInsightsShape =
    MakeShape("UpdateContributorInsightsInput", kUpdateInsightsFields);
constexpr OperationSchema kUpdateInsights{"UpdateContributorInsights", &kUpdateInsightsShape};

constexpr Field kDescribeInsightsFields[] = {
    Required<&DescribeContributorInsightsRequest::table_name>("TableName", &kTableName),
    Optional<&DescribeContributorInsightsRequest::index_name>("IndexName", &kIndexName),
};
constexpr Shape kDescribeInsightsShape =
    MakeShape("DescribeContributorInsightsInput", kDescribeInsightsFields);
constexpr OperationSchema kDescribeInsights{"DescribeContributorInsights", &kDescribeInsightsShape};

constexpr Type kListInsightsLimit{.kind = Kind::kInteger, .max = 100};
constexpr Field kListInsightsFields[] = {
    Optional<&ListContributorInsightsRequest::table_name>("TableName", &kTableName),
    Optional<&ListContributorInsightsRequest::next_token>("NextToken", &kPlainText),
    Optional<&ListContributorInsightsRequest::max_results>("MaxResults", &kListInsightsLimit),
};
constexpr Shape kListInsightsShape = MakeShape("ListContributorInsightsInput", kListInsightsFields);
constexpr OperationSchema kListInsights{"ListContributorInsights", &kListInsightsShape};

// --- ImportTable ---------------------------------------------------------------------------------

constexpr std::string_view kInputFormatNames[] = {"DYNAMODB_JSON", "ION", "CSV"};
constexpr EnumSet kInputFormat{kInputFormatNames, "[DYNAMODB_JSON, ION, CSV]"};
constexpr Type kInputFormatType = EnumOf(&kInputFormat);
constexpr std::string_view kCompressionNames[] = {"GZIP", "ZSTD", "NONE"};
constexpr EnumSet kCompression{kCompressionNames, "[GZIP, ZSTD, NONE]"};
constexpr Type kCompressionType = EnumOf(&kCompression);

constexpr Type kBucketOwner = Text(kNoMin, kNoMax, Pattern::kAccount);
constexpr Type kBucket = Text(kNoMin, 255, Pattern::kBucket);
constexpr Type kKeyPrefix = Text(kNoMin, 1024);
constexpr Field kBucketSourceFields[] = {
    Optional<&S3BucketSource::s3_bucket_owner>("S3BucketOwner", &kBucketOwner),
    Required<&S3BucketSource::s3_bucket>("S3Bucket", &kBucket),
    Optional<&S3BucketSource::s3_key_prefix>("S3KeyPrefix", &kKeyPrefix),
};
constexpr Shape kBucketSourceShape = MakeShape("S3BucketSource", kBucketSourceFields);
constexpr Type kBucketSource = StructOf(&kBucketSourceShape);

constexpr Type kDelimiter = Text(1, 1, Pattern::kDelimiter);
constexpr Type kCsvHeader = Text(1, 65536, Pattern::kCsvHeader);
constexpr Type kCsvHeaders = ListOf<std::string>(&kCsvHeader, 1, 255);
constexpr Field kCsvFields[] = {
    Optional<&CsvFormatOptions::delimiter>("Delimiter", &kDelimiter),
    Optional<&CsvFormatOptions::header_list>("HeaderList", &kCsvHeaders),
};
constexpr Shape kCsvShape = MakeShape("CsvOptions", kCsvFields);
constexpr Type kCsv = StructOf(&kCsvShape);
constexpr Field kInputOptionsFields[] = {
    Optional<&InputFormatOptions::csv>("Csv", &kCsv),
};
constexpr Shape kInputOptionsShape = MakeShape("InputFormatOptions", kInputOptionsFields);
constexpr Type kInputOptions = StructOf(&kInputOptionsShape);

constexpr Type kImportedTableName = Text(3, 255, Pattern::kName);
constexpr Field kTableCreationFields[] = {
    Required<&TableCreationParameters::table_name>("TableName", &kImportedTableName),
    Required<&TableCreationParameters::attribute_definitions>("AttributeDefinitions",
                                                              &kAttributeDefinitions),
    Required<&TableCreationParameters::key_schema>("KeySchema", &kKeySchema),
    Optional<&TableCreationParameters::billing_mode>("BillingMode", &kBillingModeType),
    Optional<&TableCreationParameters::provisioned_throughput>("ProvisionedThroughput",
                                                               &kProvisionedThroughput),
    Optional<&TableCreationParameters::on_demand_throughput>("OnDemandThroughput",
                                                             &kOnDemandThroughput),
    Optional<&TableCreationParameters::sse_specification>("SSESpecification", &kSseSpecification),
    Optional<&TableCreationParameters::global_secondary_indexes>("GlobalSecondaryIndexes",
                                                                 &kGlobalSecondaryIndexes),
    Optional<&TableCreationParameters::vector_indexes>("VectorIndexes", &kVectorIndexes),
};
constexpr Shape kTableCreationShape = MakeShape("TableCreationParameters", kTableCreationFields);
constexpr Type kTableCreation = StructOf(&kTableCreationShape);

constexpr Type kClientToken = Text(kNoMin, kNoMax, Pattern::kClientToken);
constexpr Field kImportTableFields[] = {
    Optional<&ImportTableRequest::client_token>("ClientToken", &kClientToken),
    Required<&ImportTableRequest::s3_bucket_source>("S3BucketSource", &kBucketSource),
    Required<&ImportTableRequest::input_format>("InputFormat", &kInputFormatType),
    Optional<&ImportTableRequest::input_format_options>("InputFormatOptions", &kInputOptions),
    Optional<&ImportTableRequest::input_compression_type>("InputCompressionType",
                                                          &kCompressionType),
    Required<&ImportTableRequest::table_creation_parameters>("TableCreationParameters",
                                                             &kTableCreation),
};
constexpr Shape kImportTableShape = MakeShape("ImportTableInput", kImportTableFields);
constexpr OperationSchema kImportTable{"ImportTable", &kImportTableShape};

constexpr Type kStartTableName = Text(3, 255, Pattern::kName);
constexpr Type kListTablesLimit{.kind = Kind::kInteger, .min = 1, .max = 100};
constexpr Field kListTablesFields[] = {
    Optional<&ListTablesRequest::exclusive_start_table_name>("ExclusiveStartTableName",
                                                             &kStartTableName),
    Optional<&ListTablesRequest::limit>("Limit", &kListTablesLimit),
};
constexpr Shape kListTablesShape = MakeShape("ListTablesInput", kListTablesFields);
constexpr OperationSchema kListTables{"ListTables", &kListTablesShape};

constexpr Shape kDescribeLimitsShape = MakeShape("DescribeLimitsInput", {});
constexpr OperationSchema kDescribeLimits{"DescribeLimits", &kDescribeLimitsShape};
constexpr Shape kDescribeEndpointsShape = MakeShape("DescribeEndpointsRequest", {});
constexpr OperationSchema kDescribeEndpoints{"DescribeEndpoints", &kDescribeEndpointsShape};

constexpr Type kResourceArn = Text(1, 1283);
constexpr Field kTagResourceFields[] = {
    Required<&TagResourceRequest::resource_arn>("ResourceArn", &kResourceArn),
    Required<&TagResourceRequest::tags>("Tags", &kTags),
};
constexpr Shape kTagResourceShape = MakeShape("TagResourceInput", kTagResourceFields);
constexpr OperationSchema kTagResource{"TagResource", &kTagResourceShape};

constexpr Type kTagKeys = ListOf<std::string>(&kTagKey);
constexpr Field kUntagResourceFields[] = {
    Required<&UntagResourceRequest::resource_arn>("ResourceArn", &kResourceArn),
    Required<&UntagResourceRequest::tag_keys>("TagKeys", &kTagKeys),
};
constexpr Shape kUntagResourceShape = MakeShape("UntagResourceInput", kUntagResourceFields);
constexpr OperationSchema kUntagResource{"UntagResource", &kUntagResourceShape};

constexpr Field kListTagsFields[] = {
    Required<&ListTagsOfResourceRequest::resource_arn>("ResourceArn", &kResourceArn),
    Optional<&ListTagsOfResourceRequest::next_token>("NextToken", &kPlainText),
};
constexpr Shape kListTagsShape = MakeShape("ListTagsOfResourceInput", kListTagsFields);
constexpr OperationSchema kListTags{"ListTagsOfResource", &kListTagsShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<ops::ImportTableRequest>() {
  return kImportTable;
}
template <>
const OperationSchema& SchemaOf<ops::RestoreTableFromBackupRequest>() {
  return kRestore;
}
template <>
const OperationSchema& SchemaOf<ops::CreateTableRequest>() {
  return kCreateTable;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeTableRequest>() {
  return kDescribeTable;
}
template <>
const OperationSchema& SchemaOf<ops::UpdateTableRequest>() {
  return kUpdateTable;
}
template <>
const OperationSchema& SchemaOf<ops::DeleteTableRequest>() {
  return kDeleteTable;
}
template <>
const OperationSchema& SchemaOf<ops::ListTablesRequest>() {
  return kListTables;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeLimitsRequest>() {
  return kDescribeLimits;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeEndpointsRequest>() {
  return kDescribeEndpoints;
}
template <>
const OperationSchema& SchemaOf<ops::TagResourceRequest>() {
  return kTagResource;
}
template <>
const OperationSchema& SchemaOf<ops::UntagResourceRequest>() {
  return kUntagResource;
}
template <>
const OperationSchema& SchemaOf<ops::ListTagsOfResourceRequest>() {
  return kListTags;
}
template <>
const OperationSchema& SchemaOf<ops::UpdateTimeToLiveRequest>() {
  return kUpdateTimeToLive;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeTimeToLiveRequest>() {
  return kDescribeTimeToLive;
}
template <>
const OperationSchema& SchemaOf<ops::UpdateContributorInsightsRequest>() {
  return kUpdateInsights;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeContributorInsightsRequest>() {
  return kDescribeInsights;
}
template <>
const OperationSchema& SchemaOf<ops::ListContributorInsightsRequest>() {
  return kListInsights;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeContinuousBackupsRequest>() {
  return kDescribeContinuousBackups;
}
template <>
const OperationSchema& SchemaOf<ops::UpdateContinuousBackupsRequest>() {
  return kUpdateContinuousBackups;
}
template <>
const OperationSchema& SchemaOf<ops::RestoreTableToPointInTimeRequest>() {
  return kRestoreToMoment;
}

}  // namespace stator::api
