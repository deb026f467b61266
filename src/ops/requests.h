// The typed requests of the API, as api/decode makes them. Their types are converted and their
// constraints are checked; all other checks are left to the operations.
//
// A member that may be absent is std::optional. A required string, list or map is plain: the
// decoder refused its absence. What depends on two parameters, on the table or on an expression's
// text is for the operation to check. Maps of the API are vectors in the order of the request, with
// unique names. Attribute values are in the encoding of model/value.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/value.h"

namespace stator::ops {

// --- Enums: the values of the API, in the order of the model -------------------------------------

enum class ReturnValues : uint8_t { kNone, kAllOld, kUpdatedOld, kAllNew, kUpdatedNew };
enum class ReturnConsumedCapacity : uint8_t { kIndexes, kTotal, kNone };
enum class ReturnItemCollectionMetrics : uint8_t { kSize, kNone };
enum class ReturnValuesOnConditionCheckFailure : uint8_t { kAllOld, kNone };
enum class ConditionalOperator : uint8_t { kAnd, kOr };
enum class ComparisonOperator : uint8_t {
  kEq,
  kNe,
  kIn,
  kLe,
  kLt,
  kGe,
  kGt,
  kBetween,
  kNotNull,
  kNull,
  kContains,
  kNotContains,
  kBeginsWith
};
enum class AttributeAction : uint8_t { kAdd, kPut, kDelete };
enum class Select : uint8_t {
  kAllAttributes,
  kAllProjectedAttributes,
  kSpecificAttributes,
  kCount
};

enum class ScalarAttributeType : uint8_t { kS, kN, kB };
enum class KeyType : uint8_t { kHash, kRange };
enum class ProjectionType : uint8_t { kAll, kKeysOnly, kInclude };
enum class BillingMode : uint8_t { kProvisioned, kPayPerRequest };
enum class StreamViewType : uint8_t { kNewImage, kOldImage, kNewAndOldImages, kKeysOnly };
enum class ShardIteratorType : uint8_t {
  kTrimHorizon,
  kLatest,
  kAtSequenceNumber,
  kAfterSequenceNumber
};
enum class ShardFilterType : uint8_t { kChildShards };
enum class SseType : uint8_t { kAes256, kKms };
enum class TableClass : uint8_t { kStandard, kStandardInfrequentAccess };
enum class SettingsReplicationMode : uint8_t { kEnabled, kDisabled, kEnabledWithOverrides };
enum class MultiRegionConsistency : uint8_t { kEventual, kStrong };
enum class SearchSchemaElementType : uint8_t { kHash, kInlineFilter };
enum class VectorDistanceFunction : uint8_t { kCosine, kDotProduct, kEuclidean };
enum class DisassociationMode : uint8_t { kWaitForReplication };

inline model::Type ToValueType(ScalarAttributeType type) {
  switch (type) {
    case ScalarAttributeType::kS: return model::Type::kS;
    case ScalarAttributeType::kN: return model::Type::kN;
    case ScalarAttributeType::kB: return model::Type::kB;
  }
  return model::Type::kS;
}

// --- Attribute values ----------------------------------------------------------------------------

// Item, Key or ExclusiveStartKey.
struct EncodedItem {
  std::string bytes;
  model::ItemView view() const { return model::ItemView(bytes); }
};

using ExpressionAttributeNames =
    std::vector<std::pair<std::string, std::string>>;  // "#n" -> attribute name
using ExpressionAttributeValues =
    std::vector<std::pair<std::string, std::string>>;  // ":v" -> encoded value

// Where an invalid attribute value stood.
enum class ValuePlace : uint8_t {
  kItem,  // PutItem, BatchWriteItem's PutRequest
  kKey,   // Key, Keys of BatchGetItem, BatchWriteItem's DeleteRequest
  kExclusiveStartKey,
  kExpressionAttributeValues,
  kExpected,
  kAttributeUpdates,
  kKeyConditions,
  kFilter,      // QueryFilter, ScanFilter
  kParameters,  // of PartiQL statements
};

// An attribute value that is well-formed JSON of the right types but no valid value (empty set, bad
// number, two datatypes). The service reports it later than the constraint checks and in an order
// that belongs to each operation, so it travels with the request. What was decoded at that place
// must not be used.
struct ValueError {
  ValuePlace place;
  std::string name;  // kExpressionAttributeValues: the ":v"; the legacy maps: the attribute
  Error error;       // of the value itself

  // The error for the client. ExpressionAttributeValues adds which key it was.
  Error ForClient() const {
    if (place != ValuePlace::kExpressionAttributeValues) return error;
    return Error(error.code(), "ExpressionAttributeValues contains invalid value: " +
                                   error.message() + " for key " + name);
  }
};

// At most one per place: the first.
using ValueErrors = std::vector<ValueError>;

// The error of `place`, or null.
inline const ValueError* FindValueError(const ValueErrors& errors, ValuePlace place) {
  for (const ValueError& error : errors) {
    if (error.place == place) return &error;
  }
  return nullptr;
}

// --- Legacy parameters ---------------------------------------------------------------------------

// One entry of Expected, KeyConditions, QueryFilter or ScanFilter. `value` and `exists` occur in
// Expected only.
struct LegacyCondition {
  std::string attribute;
  std::optional<std::string> value;  // encoded
  std::optional<bool> exists;
  std::optional<ComparisonOperator> comparison_operator;
  std::optional<std::vector<std::string>> values;  // AttributeValueList, encoded
};

// One entry of AttributeUpdates.
struct LegacyUpdate {
  std::string attribute;
  std::optional<std::string> value;  // encoded
  std::optional<AttributeAction> action;
};

// --- Items ---------------------------------------------------------------------------------------

struct PutItemRequest {
  std::string table_name;  // a name or an ARN, as sent; so in all requests
  EncodedItem item;
  std::optional<std::vector<LegacyCondition>> expected;
  std::optional<ReturnValues> return_values;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  ValueErrors value_errors;
};

struct GetItemRequest {
  std::string table_name;
  EncodedItem key;
  std::optional<std::vector<std::string>> attributes_to_get;
  std::optional<bool> consistent_read;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  ValueErrors value_errors;
};

struct UpdateItemRequest {
  std::string table_name;
  EncodedItem key;
  std::optional<std::vector<LegacyUpdate>> attribute_updates;
  std::optional<std::vector<LegacyCondition>> expected;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<ReturnValues> return_values;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  std::optional<std::string> update_expression;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  ValueErrors value_errors;
};

struct DeleteItemRequest {
  std::string table_name;
  EncodedItem key;
  std::optional<std::vector<LegacyCondition>> expected;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<ReturnValues> return_values;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  ValueErrors value_errors;
};

// One table of a BatchGetItem request; also of its UnprocessedKeys.
struct KeysAndAttributes {
  std::string table_name;
  std::vector<EncodedItem> keys;
  std::optional<std::vector<std::string>> attributes_to_get;
  std::optional<bool> consistent_read;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
};

struct BatchGetItemRequest {
  std::vector<KeysAndAttributes> request_items;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  ValueErrors value_errors;
};

struct PutRequest {
  EncodedItem item;
};

struct DeleteRequest {
  EncodedItem key;
};

// Whether exactly one is set is for the operation to check.
struct WriteRequest {
  std::optional<PutRequest> put_request;
  std::optional<DeleteRequest> delete_request;
};

// One table of a BatchWriteItem request; also of its UnprocessedItems.
struct TableWriteRequests {
  std::string table_name;
  std::vector<WriteRequest> requests;
};

struct BatchWriteItemRequest {
  std::vector<TableWriteRequests> request_items;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  ValueErrors value_errors;
};

// A ConditionCheck, Put, Delete or Update.
struct TransactWriteAction {
  std::string table_name;
  EncodedItem item;  // Put: the item; else the key
  std::optional<std::string> update_expression;
  std::optional<std::string> condition_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
};

// Whether exactly one is set is for the operation to check.
struct TransactWriteItem {
  std::optional<TransactWriteAction> condition_check;
  std::optional<TransactWriteAction> put;
  std::optional<TransactWriteAction> delete_item;
  std::optional<TransactWriteAction> update;
};

struct TransactWriteItemsRequest {
  std::vector<TransactWriteItem> transact_items;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<ReturnItemCollectionMetrics> return_item_collection_metrics;
  std::optional<std::string> client_request_token;
  ValueErrors value_errors;
};

struct TransactGet {
  std::string table_name;
  EncodedItem key;
  std::optional<std::string> projection_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
};

struct TransactGetItem {
  TransactGet get;
};

struct TransactGetItemsRequest {
  std::vector<TransactGetItem> transact_items;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  ValueErrors value_errors;
};

struct QueryRequest {
  std::string table_name;
  std::optional<std::string> index_name;
  std::optional<Select> select;
  std::optional<std::vector<std::string>> attributes_to_get;
  std::optional<int64_t> limit;
  std::optional<bool> consistent_read;
  std::optional<std::vector<LegacyCondition>> key_conditions;
  std::optional<std::vector<LegacyCondition>> query_filter;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<bool> scan_index_forward;
  std::optional<EncodedItem> exclusive_start_key;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<std::string> projection_expression;
  std::optional<std::string> filter_expression;
  std::optional<std::string> key_condition_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
  ValueErrors value_errors;
};

struct ScanRequest {
  std::string table_name;
  std::optional<std::string> index_name;
  std::optional<std::vector<std::string>> attributes_to_get;
  std::optional<int64_t> limit;
  std::optional<Select> select;
  std::optional<std::vector<LegacyCondition>> scan_filter;
  std::optional<ConditionalOperator> conditional_operator;
  std::optional<EncodedItem> exclusive_start_key;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<int64_t> total_segments;
  std::optional<int64_t> segment;
  std::optional<std::string> projection_expression;
  std::optional<std::string> filter_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
  std::optional<bool> consistent_read;
  ValueErrors value_errors;
};

// --- PartiQL -------------------------------------------------------------------------------------

struct ExecuteStatementRequest {
  std::string statement;
  std::optional<std::vector<std::string>> parameters;  // encoded values
  std::optional<bool> consistent_read;
  std::optional<std::string> next_token;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  std::optional<int64_t> limit;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
  ValueErrors value_errors;
};

struct BatchStatementRequest {
  std::string statement;
  std::optional<std::vector<std::string>> parameters;
  std::optional<bool> consistent_read;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
};

struct BatchExecuteStatementRequest {
  std::vector<BatchStatementRequest> statements;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  ValueErrors value_errors;
};

struct ParameterizedStatement {
  std::string statement;
  std::optional<std::vector<std::string>> parameters;
  std::optional<ReturnValuesOnConditionCheckFailure> return_values_on_condition_check_failure;
};

struct ExecuteTransactionRequest {
  std::vector<ParameterizedStatement> transact_statements;
  std::optional<std::string> client_request_token;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  ValueErrors value_errors;
};

// --- Parts of a table's definition ---------------------------------------------------------------

struct AttributeDefinition {
  std::string attribute_name;
  ScalarAttributeType attribute_type = ScalarAttributeType::kS;
};

struct KeySchemaElement {
  std::string attribute_name;
  KeyType key_type = KeyType::kHash;
};

struct Projection {
  std::optional<ProjectionType> projection_type;
  std::optional<std::vector<std::string>> non_key_attributes;
};

struct ProvisionedThroughput {
  int64_t read_capacity_units = 0;
  int64_t write_capacity_units = 0;
};

struct OnDemandThroughput {
  std::optional<int64_t> max_read_request_units;
  std::optional<int64_t> max_write_request_units;
};

struct WarmThroughput {
  std::optional<int64_t> read_units_per_second;
  std::optional<int64_t> write_units_per_second;
};

struct StreamSpecification {
  bool stream_enabled = false;
  std::optional<StreamViewType> stream_view_type;
};

struct SseSpecification {
  std::optional<bool> enabled;
  std::optional<SseType> sse_type;
  std::optional<std::string> kms_master_key_id;
};

struct Tag {
  std::string key;
  std::string value;
};

struct LocalSecondaryIndex {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
};

// Of CreateTable, and UpdateTable's Create action.
struct GlobalSecondaryIndex {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;
};

struct VectorAttribute {
  std::string attribute_name;
};

struct SearchSchemaElement {
  std::string attribute_name;
  SearchSchemaElementType search_schema_element_type = SearchSchemaElementType::kHash;
};

// Of CreateTable, and UpdateTable's Create action.
struct VectorIndex {
  std::string index_name;
  VectorAttribute vector_attribute;
  std::optional<std::vector<SearchSchemaElement>> search_schema;
  Projection projection;
  int64_t dimensions = 0;
  VectorDistanceFunction distance_function = VectorDistanceFunction::kCosine;
};

// --- Tables --------------------------------------------------------------------------------------

struct CreateTableRequest {
  std::optional<std::vector<AttributeDefinition>> attribute_definitions;
  std::string table_name;
  std::optional<std::vector<KeySchemaElement>> key_schema;
  std::optional<std::vector<LocalSecondaryIndex>> local_secondary_indexes;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_indexes;
  std::optional<BillingMode> billing_mode;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<StreamSpecification> stream_specification;
  std::optional<SseSpecification> sse_specification;
  std::optional<std::vector<Tag>> tags;
  std::optional<TableClass> table_class;
  std::optional<bool> deletion_protection_enabled;
  std::optional<WarmThroughput> warm_throughput;
  std::optional<std::string> resource_policy;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<std::string> global_table_source_arn;
  std::optional<SettingsReplicationMode> global_table_settings_replication_mode;
  std::optional<std::vector<VectorIndex>> vector_indexes;
};

struct DescribeTableRequest {
  std::string table_name;
};

struct UpdateGlobalSecondaryIndexAction {
  std::string index_name;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;
};

struct DeleteIndexAction {
  std::string index_name;
};

struct GlobalSecondaryIndexUpdate {
  std::optional<UpdateGlobalSecondaryIndexAction> update;
  std::optional<GlobalSecondaryIndex> create;
  std::optional<DeleteIndexAction> delete_index;
};

struct VectorIndexUpdate {
  std::optional<VectorIndex> create;
  std::optional<DeleteIndexAction> delete_index;
};

struct ProvisionedThroughputOverride {
  std::optional<int64_t> read_capacity_units;
};

struct OnDemandThroughputOverride {
  std::optional<int64_t> max_read_request_units;
};

struct ReplicaGlobalSecondaryIndex {
  std::string index_name;
  std::optional<ProvisionedThroughputOverride> provisioned_throughput_override;
  std::optional<OnDemandThroughputOverride> on_demand_throughput_override;
};

// The Create and Update actions of ReplicaUpdates.
struct ReplicaSettings {
  std::string region_name;
  std::optional<std::string> kms_master_key_id;
  std::optional<ProvisionedThroughputOverride> provisioned_throughput_override;
  std::optional<OnDemandThroughputOverride> on_demand_throughput_override;
  std::optional<std::vector<ReplicaGlobalSecondaryIndex>> global_secondary_indexes;
  std::optional<TableClass> table_class_override;
};

struct RegionAction {
  std::string region_name;
};

struct DisassociateReplicaAction {
  std::string region_name;
  DisassociationMode disassociation_mode = DisassociationMode::kWaitForReplication;
};

struct ReplicaUpdate {
  std::optional<ReplicaSettings> create;
  std::optional<ReplicaSettings> update;
  std::optional<RegionAction> delete_replica;
  std::optional<DisassociateReplicaAction> disassociate;
};

struct WitnessUpdate {
  std::optional<RegionAction> create;
  std::optional<RegionAction> delete_witness;
};

struct UpdateTableRequest {
  std::optional<std::vector<AttributeDefinition>> attribute_definitions;
  std::string table_name;
  std::optional<BillingMode> billing_mode;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<std::vector<GlobalSecondaryIndexUpdate>> global_secondary_index_updates;
  std::optional<StreamSpecification> stream_specification;
  std::optional<SseSpecification> sse_specification;
  std::optional<std::vector<ReplicaUpdate>> replica_updates;
  std::optional<TableClass> table_class;
  std::optional<bool> deletion_protection_enabled;
  std::optional<MultiRegionConsistency> multi_region_consistency;
  std::optional<std::vector<WitnessUpdate>> global_table_witness_updates;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<WarmThroughput> warm_throughput;
  std::optional<SettingsReplicationMode> global_table_settings_replication_mode;
  std::optional<std::vector<VectorIndexUpdate>> vector_index_updates;
  std::optional<bool> disassociation_protection_enabled;
};

struct DeleteTableRequest {
  std::string table_name;
};

struct ListTablesRequest {
  std::optional<std::string> exclusive_start_table_name;
  std::optional<int64_t> limit;
};

struct DescribeLimitsRequest {};
struct DescribeEndpointsRequest {};

struct TagResourceRequest {
  std::string resource_arn;
  std::vector<Tag> tags;
};

struct UntagResourceRequest {
  std::string resource_arn;
  std::vector<std::string> tag_keys;
};

struct ListTagsOfResourceRequest {
  std::string resource_arn;
  std::optional<std::string> next_token;
};

struct TimeToLiveSpecification {
  bool enabled = false;
  std::string attribute_name;
};

struct UpdateTimeToLiveRequest {
  std::string table_name;
  TimeToLiveSpecification time_to_live_specification;
};

struct DescribeTimeToLiveRequest {
  std::string table_name;
};

enum class ContributorInsightsAction : uint8_t { kEnable, kDisable };
enum class ContributorInsightsMode : uint8_t { kAccessedAndThrottledKeys, kThrottledKeys };

struct UpdateContributorInsightsRequest {
  std::string table_name;
  std::optional<std::string> index_name;
  ContributorInsightsAction contributor_insights_action = ContributorInsightsAction::kEnable;
  std::optional<ContributorInsightsMode> contributor_insights_mode;
};

struct DescribeContributorInsightsRequest {
  std::string table_name;
  std::optional<std::string> index_name;
};

struct ListContributorInsightsRequest {
  std::optional<std::string> table_name;
  std::optional<std::string> next_token;
  std::optional<int64_t> max_results;
};

struct DescribeContinuousBackupsRequest {
  std::string table_name;
};

// --- Streams
// -------------------------------------------------------------------------------------------------

struct ListStreamsRequest {
  std::optional<std::string> table_name;
  std::optional<int64_t> limit;
  std::optional<std::string> exclusive_start_stream_arn;
};

struct ShardFilter {
  std::optional<ShardFilterType> type;
  std::optional<std::string> shard_id;
};

struct DescribeStreamRequest {
  std::string stream_arn;
  std::optional<int64_t> limit;
  std::optional<std::string> exclusive_start_shard_id;
  std::optional<ShardFilter> shard_filter;
};

struct GetShardIteratorRequest {
  std::string stream_arn;
  std::string shard_id;
  ShardIteratorType shard_iterator_type = ShardIteratorType::kTrimHorizon;
  std::optional<std::string> sequence_number;
};

struct GetRecordsRequest {
  std::string shard_iterator;
  std::optional<int64_t> limit;
};

}  // namespace stator::ops
