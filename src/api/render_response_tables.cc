// Renders the answers of operations on tables.
#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_enums.h"

namespace stator::api {

void AppendProjection(std::string* out, const ops::Projection& projection) {
  ObjectWriter object(out);
  if (projection.projection_type)
    object.Enum("ProjectionType", kProjectionType, *projection.projection_type);
  if (projection.non_key_attributes)
    AppendTexts(object.Member("NonKeyAttributes"), *projection.non_key_attributes);
  object.Close();
}

void AppendOnDemand(std::string* out, const ops::OnDemandThroughput& throughput) {
  ObjectWriter object(out);
  if (throughput.max_read_request_units)
    object.Integer("MaxReadRequestUnits", *throughput.max_read_request_units);
  if (throughput.max_write_request_units)
    object.Integer("MaxWriteRequestUnits", *throughput.max_write_request_units);
  object.Close();
}

namespace {

void AppendThroughput(std::string* out, const ops::ProvisionedThroughputDescription& throughput) {
  ObjectWriter object(out);
  if (throughput.last_increase_date_time) {
    AppendTime(object.Member("LastIncreaseDateTime"), *throughput.last_increase_date_time);
  }
  if (throughput.last_decrease_date_time) {
    AppendTime(object.Member("LastDecreaseDateTime"), *throughput.last_decrease_date_time);
  }
  object.Integer("NumberOfDecreasesToday", throughput.number_of_decreases_today);
  object.Integer("ReadCapacityUnits", throughput.read_capacity_units);
  object.Integer("WriteCapacityUnits", throughput.write_capacity_units);
  object.Close();
}

template <typename Description>
void AppendWarm(std::string* out, const Description& warm, const EnumSet& statuses) {
  ObjectWriter object(out);
  object.Integer("ReadUnitsPerSecond", warm.read_units_per_second);
  object.Integer("WriteUnitsPerSecond", warm.write_units_per_second);
  object.Enum("Status", statuses, warm.status);
  object.Close();
}

void AppendLocalIndex(std::string* out, const ops::LocalSecondaryIndexDescription& index) {
  ObjectWriter object(out);
  object.Text("IndexName", index.index_name);
  AppendKeySchema(object.Member("KeySchema"), index.key_schema);
  AppendProjection(object.Member("Projection"), index.projection);
  object.Integer("IndexSizeBytes", index.index_size_bytes);
  object.Integer("ItemCount", index.item_count);
  object.Text("IndexArn", index.index_arn);
  object.Close();
}

void AppendGlobalIndex(std::string* out, const ops::GlobalSecondaryIndexDescription& index) {
  ObjectWriter object(out);
  object.Text("IndexName", index.index_name);
  AppendKeySchema(object.Member("KeySchema"), index.key_schema);
  AppendProjection(object.Member("Projection"), index.projection);
  object.Enum("IndexStatus", kIndexStatus, index.index_status);
  if (index.backfilling) object.Boolean("Backfilling", *index.backfilling);
  if (index.provisioned_throughput) {
    AppendThroughput(object.Member("ProvisionedThroughput"), *index.provisioned_throughput);
  }
  object.Integer("IndexSizeBytes", index.index_size_bytes);
  object.Integer("ItemCount", index.item_count);
  object.Text("IndexArn", index.index_arn);
  if (index.on_demand_throughput)
    AppendOnDemand(object.Member("OnDemandThroughput"), *index.on_demand_throughput);
  if (index.warm_throughput)
    AppendWarm(object.Member("WarmThroughput"), *index.warm_throughput, kIndexStatus);
  object.Close();
}

void AppendStream(std::string* out, const ops::StreamSpecification& stream) {
  ObjectWriter object(out);
  object.Boolean("StreamEnabled", stream.stream_enabled);
  if (stream.stream_view_type)
    object.Enum("StreamViewType", kStreamViewType, *stream.stream_view_type);
  object.Close();
}

void AppendSse(std::string* out, const ops::SseDescription& sse) {
  ObjectWriter object(out);
  object.Enum("Status", kSseStatus, sse.status);
  if (sse.sse_type) object.Enum("SSEType", kSseType, *sse.sse_type);
  if (sse.kms_master_key_arn) object.Text("KMSMasterKeyArn", *sse.kms_master_key_arn);
  object.Close();
}

// Members about billing, indexes and streams, which only a part of the tables shows.
void AppendOptionalMembers(ObjectWriter* object, std::string* out,
                           const ops::TableDescription& table) {
  if (table.billing_mode_summary) {
    ObjectWriter billing(object->Member("BillingModeSummary"));
    billing.Enum("BillingMode", kBillingMode, table.billing_mode_summary->billing_mode);
    if (table.billing_mode_summary->last_update_to_pay_per_request_date_time) {
      AppendTime(billing.Member("LastUpdateToPayPerRequestDateTime"),
                 *table.billing_mode_summary->last_update_to_pay_per_request_date_time);
    }
    billing.Close();
  }
  if (!table.local_secondary_indexes.empty()) {
    AppendList(object->Member("LocalSecondaryIndexes"), table.local_secondary_indexes,
               [&](const auto& index) { AppendLocalIndex(out, index); });
  }
  if (!table.global_secondary_indexes.empty()) {
    AppendList(object->Member("GlobalSecondaryIndexes"), table.global_secondary_indexes,
               [&](const auto& index) { AppendGlobalIndex(out, index); });
  }
  if (table.stream_specification)
    AppendStream(object->Member("StreamSpecification"), *table.stream_specification);
  if (table.latest_stream_label) object->Text("LatestStreamLabel", *table.latest_stream_label);
  if (table.latest_stream_arn) object->Text("LatestStreamArn", *table.latest_stream_arn);
  if (table.restore_summary) {
    ObjectWriter summary(object->Member("RestoreSummary"));
    if (table.restore_summary->source_backup_arn)
      summary.Text("SourceBackupArn", *table.restore_summary->source_backup_arn);
    summary.Text("SourceTableArn", table.restore_summary->source_table_arn);
    AppendTime(summary.Member("RestoreDateTime"), table.restore_summary->restore_date_time);
    summary.Boolean("RestoreInProgress", true);
    summary.Close();
  }
  if (table.sse_description) AppendSse(object->Member("SSEDescription"), *table.sse_description);
  if (table.table_class_summary) {
    ObjectWriter summary(object->Member("TableClassSummary"));
    summary.Enum("TableClass", kTableClass, table.table_class_summary->table_class);
    if (table.table_class_summary->last_update_date_time) {
      AppendTime(summary.Member("LastUpdateDateTime"),
                 *table.table_class_summary->last_update_date_time);
    }
    summary.Close();
  }
  if (table.deletion_protection_enabled) {
    object->Boolean("DeletionProtectionEnabled", *table.deletion_protection_enabled);
  }
  if (table.on_demand_throughput)
    AppendOnDemand(object->Member("OnDemandThroughput"), *table.on_demand_throughput);
  if (table.warm_throughput)
    AppendWarm(object->Member("WarmThroughput"), *table.warm_throughput, kTableStatus);
  if (table.disassociation_protection_enabled) {
    object->Boolean("DisassociationProtectionEnabled", *table.disassociation_protection_enabled);
  }
}

void AppendTable(std::string* out, const ops::TableDescription& table) {
  ObjectWriter object(out);
  AppendList(object.Member("AttributeDefinitions"), table.attribute_definitions,
             [&](const ops::AttributeDefinition& definition) {
               ObjectWriter attribute(out);
               attribute.Text("AttributeName", definition.attribute_name);
               attribute.Enum("AttributeType", kScalarAttributeType, definition.attribute_type);
               attribute.Close();
             });
  object.Text("TableName", table.table_name);
  AppendKeySchema(object.Member("KeySchema"), table.key_schema);
  object.Enum("TableStatus", kTableStatus, table.table_status);
  AppendTime(object.Member("CreationDateTime"), table.creation_date_time);
  AppendThroughput(object.Member("ProvisionedThroughput"), table.provisioned_throughput);
  object.Integer("TableSizeBytes", table.table_size_bytes);
  object.Integer("ItemCount", table.item_count);
  object.Text("TableArn", table.table_arn);
  object.Text("TableId", table.table_id);
  AppendOptionalMembers(&object, out, table);
  object.Close();
}

void AppendTableResponse(std::string_view member, const ops::TableDescription& table,
                         std::string* out) {
  ObjectWriter object(out);
  AppendTable(object.Member(member), table);
  object.Close();
}

}  // namespace

void RenderResponse(const ops::CreateTableResponse& response, std::string* out) {
  AppendTableResponse("TableDescription", response.table_description, out);
}
void RenderResponse(const ops::DescribeTableResponse& response, std::string* out) {
  AppendTableResponse("Table", response.table, out);
}
void RenderResponse(const ops::UpdateTableResponse& response, std::string* out) {
  AppendTableResponse("TableDescription", response.table_description, out);
}
void RenderResponse(const ops::DeleteTableResponse& response, std::string* out) {
  AppendTableResponse("TableDescription", response.table_description, out);
}

void RenderResponse(const ops::RestoreTableFromBackupResponse& response, std::string* out) {
  AppendTableResponse("TableDescription", response.table_description, out);
}

void RenderResponse(const ops::RestoreTableToPointInTimeResponse& response, std::string* out) {
  AppendTableResponse("TableDescription", response.table_description, out);
}

void RenderResponse(const ops::ListTablesResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.last_evaluated_table_name)
    object.Text("LastEvaluatedTableName", *response.last_evaluated_table_name);
  AppendTexts(object.Member("TableNames"), response.table_names);
  object.Close();
}

void RenderResponse(const ops::DescribeLimitsResponse& response, std::string* out) {
  ObjectWriter object(out);
  object.Integer("AccountMaxReadCapacityUnits", response.account_max_read_capacity_units);
  object.Integer("AccountMaxWriteCapacityUnits", response.account_max_write_capacity_units);
  object.Integer("TableMaxReadCapacityUnits", response.table_max_read_capacity_units);
  object.Integer("TableMaxWriteCapacityUnits", response.table_max_write_capacity_units);
  object.Close();
}

void RenderResponse(const ops::DescribeEndpointsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("Endpoints"), response.endpoints, [&](const auto& endpoint) {
    ObjectWriter one(out);
    one.Text("Address", endpoint.address);
    one.Integer("CachePeriodInMinutes", endpoint.cache_period_in_minutes);
    one.Close();
  });
  object.Close();
}

void RenderResponse(const ops::ListTagsOfResourceResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.next_token) object.Text("NextToken", *response.next_token);
  AppendList(object.Member("Tags"), response.tags, [&](const ops::Tag& tag) {
    ObjectWriter one(out);
    one.Text("Key", tag.key);
    one.Text("Value", tag.value);
    one.Close();
  });
  object.Close();
}

void RenderResponse(const ops::UpdateTimeToLiveResponse& response, std::string* out) {
  ObjectWriter object(out);
  ObjectWriter specification(object.Member("TimeToLiveSpecification"));
  specification.Text("AttributeName", response.time_to_live_specification.attribute_name);
  specification.Boolean("Enabled", response.time_to_live_specification.enabled);
  specification.Close();
  object.Close();
}

void RenderResponse(const ops::DescribeTimeToLiveResponse& response, std::string* out) {
  ObjectWriter object(out);
  ObjectWriter description(object.Member("TimeToLiveDescription"));
  if (response.attribute_name) description.Text("AttributeName", *response.attribute_name);
  description.Enum("TimeToLiveStatus", kTimeToLiveStatus, response.time_to_live_status);
  description.Close();
  object.Close();
}

namespace {

// The members of a table or index, into an object that may have more.
void AppendInsights(const ops::ContributorInsightsSummary& summary, ObjectWriter* object) {
  if (summary.mode)
    object->Enum("ContributorInsightsMode", kContributorInsightsMode, *summary.mode);
  object->Enum("ContributorInsightsStatus", kContributorInsightsStatus, summary.status);
  if (summary.index_name) object->Text("IndexName", *summary.index_name);
  object->Text("TableName", summary.table_name);
}

}  // namespace

void RenderResponse(const ops::UpdateContributorInsightsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendInsights(response.summary, &object);
  object.Close();
}

void RenderResponse(const ops::DescribeContributorInsightsResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (!response.rules.empty())
    AppendTexts(object.Member("ContributorInsightsRuleList"), response.rules);
  if (response.last_update_date_time)
    AppendTime(object.Member("LastUpdateDateTime"), *response.last_update_date_time);
  AppendInsights(response.summary, &object);
  object.Close();
}

void RenderResponse(const ops::ListContributorInsightsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("ContributorInsightsSummaries"), response.summaries,
             [&](const ops::ContributorInsightsSummary& summary) {
               ObjectWriter one(out);
               AppendInsights(summary, &one);
               one.Close();
             });
  if (response.next_token) object.Text("NextToken", *response.next_token);
  object.Close();
}

void RenderResponse(const ops::DescribeContinuousBackupsResponse& response, std::string* out) {
  const auto status = [](bool enabled) { return enabled ? "ENABLED" : "DISABLED"; };
  ObjectWriter object(out);
  ObjectWriter description(object.Member("ContinuousBackupsDescription"));
  description.Text("ContinuousBackupsStatus", status(response.continuous_backups_enabled));
  ObjectWriter recovery(description.Member("PointInTimeRecoveryDescription"));
  if (response.earliest_restorable_date_time) {
    AppendTime(recovery.Member("EarliestRestorableDateTime"),
               *response.earliest_restorable_date_time);
  }
  if (response.latest_restorable_date_time) {
    AppendTime(recovery.Member("LatestRestorableDateTime"), *response.latest_restorable_date_time);
  }
  recovery.Text("PointInTimeRecoveryStatus", status(response.point_in_time_recovery_enabled));
  if (response.recovery_period_in_days)
    recovery.Integer("RecoveryPeriodInDays", *response.recovery_period_in_days);
  recovery.Close();
  description.Close();
  object.Close();
}

void RenderResponse(const ops::TagResourceResponse&, std::string*) {}
void RenderResponse(const ops::UntagResourceResponse&, std::string*) {}

}  // namespace stator::api
