// The typed responses of the API, as api/render_response writes them. An absent optional is an
// absent member. Items are in the encoding of model/value.h; times are seconds since the epoch,
// with a fraction down to milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/item_list.h"
#include "ops/requests.h"

namespace stator::ops {

// --- Capacity and metrics ------------------------------------------------------------------------

struct Capacity {
  double capacity_units = 0;
  std::optional<double> read_capacity_units;
  std::optional<double> write_capacity_units;
};

struct IndexCapacity {
  std::string index_name;
  Capacity capacity;
};

struct ConsumedCapacity {
  std::string table_name;  // as the client sent it
  double capacity_units = 0;
  std::optional<double> read_capacity_units;
  std::optional<double> write_capacity_units;
  // Only for ReturnConsumedCapacity INDEXES. Empty lists are not written.
  std::optional<Capacity> table;
  std::vector<IndexCapacity> local_secondary_indexes;
  std::vector<IndexCapacity> global_secondary_indexes;
};

struct ItemCollectionMetrics {
  std::string item_collection_key;  // encoded item: the partition key attribute
  double size_estimate_lower_gb = 0;
  double size_estimate_upper_gb = 1;
};

// --- Items ---------------------------------------------------------------------------------------
//
// `stored_bytes` is no part of the answer: the size that units were counted of, by DynamoDB's
// rules, for who records requests. Of a write it is that of the larger image.

struct PutItemResponse {
  std::optional<std::string> attributes;  // encoded item
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<ItemCollectionMetrics> item_collection_metrics;
  int64_t stored_bytes = 0;
};

struct GetItemResponse {
  std::optional<std::string> item;  // encoded item; may be an item without attributes
  std::optional<ConsumedCapacity> consumed_capacity;
  int64_t stored_bytes = 0;
};

struct UpdateItemResponse {
  std::optional<std::string> attributes;
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<ItemCollectionMetrics> item_collection_metrics;
  int64_t stored_bytes = 0;
};

struct DeleteItemResponse {
  std::optional<std::string> attributes;
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<ItemCollectionMetrics> item_collection_metrics;
  int64_t stored_bytes = 0;
};

struct BatchGetItemResponse {
  struct TableItems {
    std::string table_name;  // as the client sent it
    std::vector<std::string> items;
  };
  std::vector<TableItems> responses;
  std::vector<KeysAndAttributes> unprocessed_keys;  // always written, {} if there are none
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
};

struct TableMetrics {
  std::string table_name;
  std::vector<ItemCollectionMetrics> metrics;
};

struct BatchWriteItemResponse {
  std::vector<TableWriteRequests> unprocessed_items;  // always written, {} if there are none
  std::optional<std::vector<TableMetrics>> item_collection_metrics;
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
};

struct TransactWriteItemsResponse {
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
  std::optional<std::vector<TableMetrics>> item_collection_metrics;
};

struct TransactGetItemsResponse {
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
  std::vector<std::optional<std::string>> responses;  // in the order of the request; nullopt is {}
};

struct QueryResponse {
  std::optional<ItemList> items;  // absent for Select COUNT
  int64_t count = 0;
  int64_t scanned_count = 0;
  std::optional<std::string> last_evaluated_key;
  std::optional<ConsumedCapacity> consumed_capacity;
  int64_t stored_bytes = 0;  // with what was fetched from the table
  std::vector<std::string>
      partition;  // encoded values of the partition key; no part of the answer either
};

struct ScanResponse {
  std::optional<ItemList> items;  // absent for Select COUNT
  int64_t count = 0;
  int64_t scanned_count = 0;
  std::optional<std::string> last_evaluated_key;
  std::optional<ConsumedCapacity> consumed_capacity;
  int64_t stored_bytes = 0;
};

// --- PartiQL -------------------------------------------------------------------------------------

struct ExecuteStatementResponse {
  ItemList items;
  std::optional<std::string> next_token;
  std::optional<ConsumedCapacity> consumed_capacity;
  std::optional<std::string> last_evaluated_key;  // encoded item
};

struct BatchStatementError {
  std::string_view code;  // a literal
  std::string message;
};

struct BatchStatementResponse {
  std::optional<BatchStatementError> error;
  std::optional<std::string> table_name;  // as the client wrote it
  std::optional<std::string> item;
};

struct BatchExecuteStatementResponse {
  std::vector<BatchStatementResponse> responses;  // in the order of the request
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
};

struct ExecuteTransactionResponse {
  std::vector<std::optional<std::string>> responses;  // in the order of the request; nullopt is {}
  std::optional<std::vector<ConsumedCapacity>> consumed_capacity;
};

// --- Tables --------------------------------------------------------------------------------------

enum class TableStatus : uint8_t {
  kCreating,
  kUpdating,
  kDeleting,
  kActive,
  kInaccessibleEncryptionCredentials,
  kArchiving,
  kArchived,
  kReplicationNotAuthorized
};
enum class IndexStatus : uint8_t { kCreating, kUpdating, kDeleting, kActive };
enum class SseStatus : uint8_t { kEnabling, kEnabled, kDisabling, kDisabled, kUpdating };
enum class TimeToLiveStatus : uint8_t { kEnabling, kDisabling, kEnabled, kDisabled };
enum class ContributorInsightsStatus : uint8_t { kEnabling, kEnabled, kDisabling, kDisabled };

struct ProvisionedThroughputDescription {
  std::optional<double> last_increase_date_time;
  std::optional<double> last_decrease_date_time;
  int64_t number_of_decreases_today = 0;
  int64_t read_capacity_units = 0;
  int64_t write_capacity_units = 0;
};

struct BillingModeSummary {
  BillingMode billing_mode = BillingMode::kPayPerRequest;
  std::optional<double> last_update_to_pay_per_request_date_time;
};

struct TableWarmThroughputDescription {
  int64_t read_units_per_second = 0;
  int64_t write_units_per_second = 0;
  TableStatus status = TableStatus::kActive;
};

struct IndexWarmThroughputDescription {
  int64_t read_units_per_second = 0;
  int64_t write_units_per_second = 0;
  IndexStatus status = IndexStatus::kActive;
};

struct LocalSecondaryIndexDescription {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  int64_t index_size_bytes = 0;
  int64_t item_count = 0;
  std::string index_arn;
};

struct GlobalSecondaryIndexDescription {
  std::string index_name;
  std::vector<KeySchemaElement> key_schema;
  Projection projection;
  IndexStatus index_status = IndexStatus::kActive;
  std::optional<bool> backfilling;
  std::optional<ProvisionedThroughputDescription> provisioned_throughput;
  int64_t index_size_bytes = 0;
  int64_t item_count = 0;
  std::string index_arn;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<IndexWarmThroughputDescription> warm_throughput;
};

struct SseDescription {
  SseStatus status = SseStatus::kEnabled;
  std::optional<SseType> sse_type;
  std::optional<std::string> kms_master_key_arn;
};

struct TableClassSummary {
  TableClass table_class = TableClass::kStandard;
  std::optional<double> last_update_date_time;
};

// While a table is being restored.
struct RestoreSummary {
  std::optional<std::string> source_backup_arn;  // absent: to a point in time
  std::string source_table_arn;
  double restore_date_time = 0;  // of the backup, or that point
};

// The description of a table. Members that not all tables have are optional; empty lists of indexes
// are not written.
struct TableDescription {
  std::vector<AttributeDefinition> attribute_definitions;
  std::string table_name;
  std::vector<KeySchemaElement> key_schema;
  TableStatus table_status = TableStatus::kActive;
  double creation_date_time = 0;
  ProvisionedThroughputDescription provisioned_throughput;
  int64_t table_size_bytes = 0;
  int64_t item_count = 0;
  std::string table_arn;
  std::string table_id;
  std::optional<BillingModeSummary> billing_mode_summary;
  std::vector<LocalSecondaryIndexDescription> local_secondary_indexes;
  std::vector<GlobalSecondaryIndexDescription> global_secondary_indexes;
  std::optional<StreamSpecification> stream_specification;
  std::optional<std::string> latest_stream_label;
  std::optional<std::string> latest_stream_arn;
  std::optional<RestoreSummary> restore_summary;
  std::optional<SseDescription> sse_description;
  std::optional<TableClassSummary> table_class_summary;
  std::optional<bool> deletion_protection_enabled;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<TableWarmThroughputDescription> warm_throughput;
  std::optional<bool> disassociation_protection_enabled;
};

struct CreateTableResponse {
  TableDescription table_description;
};

struct DescribeTableResponse {
  TableDescription table;
};

struct UpdateTableResponse {
  TableDescription table_description;
};

struct DeleteTableResponse {
  TableDescription table_description;
};

struct ListTablesResponse {
  std::vector<std::string> table_names;
  std::optional<std::string> last_evaluated_table_name;
};

struct DescribeLimitsResponse {
  int64_t account_max_read_capacity_units = 0;
  int64_t account_max_write_capacity_units = 0;
  int64_t table_max_read_capacity_units = 0;
  int64_t table_max_write_capacity_units = 0;
};

struct DescribeEndpointsResponse {
  struct Endpoint {
    std::string address;
    int64_t cache_period_in_minutes = 1440;
  };
  std::vector<Endpoint> endpoints;
};

struct TagResourceResponse {};
struct UntagResourceResponse {};

struct ListTagsOfResourceResponse {
  std::vector<Tag> tags;
  std::optional<std::string> next_token;
};

struct UpdateTimeToLiveResponse {
  TimeToLiveSpecification time_to_live_specification;
};

struct DescribeTimeToLiveResponse {
  TimeToLiveStatus time_to_live_status = TimeToLiveStatus::kDisabled;
  std::optional<std::string> attribute_name;
};

// What all three operations say of a table or a global index.
struct ContributorInsightsSummary {
  std::string table_name;
  std::optional<std::string> index_name;
  ContributorInsightsStatus status = ContributorInsightsStatus::kDisabled;
  std::optional<ContributorInsightsMode> mode;  // while it is not disabled
};

struct UpdateContributorInsightsResponse {
  ContributorInsightsSummary summary;
};

struct DescribeContributorInsightsResponse {
  ContributorInsightsSummary summary;
  std::vector<std::string> rules;
  std::optional<double> last_update_date_time;
};

struct ListContributorInsightsResponse {
  std::vector<ContributorInsightsSummary> summaries;
  std::optional<std::string> next_token;
};

struct DescribeContinuousBackupsResponse {
  bool continuous_backups_enabled = true;
  bool point_in_time_recovery_enabled = false;
  std::optional<int64_t> recovery_period_in_days;
  std::optional<double> earliest_restorable_date_time;
  std::optional<double> latest_restorable_date_time;
};

// --- Streams
// -------------------------------------------------------------------------------------------------

enum class StreamStatus : uint8_t { kEnabling, kEnabled, kDisabling, kDisabled };
enum class StreamEventName : uint8_t { kInsert, kModify, kRemove };

struct ListStreamsResponse {
  struct Stream {
    std::string stream_arn;
    std::string table_name;
    std::string stream_label;
  };
  std::vector<Stream> streams;
  std::optional<std::string> last_evaluated_stream_arn;
};

struct ShardDescription {
  std::string shard_id;
  std::string starting_sequence_number;
  std::optional<std::string> ending_sequence_number;
  std::optional<std::string> parent_shard_id;
};

struct DescribeStreamResponse {
  std::string stream_arn;
  std::string stream_label;
  StreamStatus stream_status = StreamStatus::kEnabled;
  StreamViewType stream_view_type = StreamViewType::kKeysOnly;
  double creation_request_date_time = 0;
  std::string table_name;
  std::vector<KeySchemaElement> key_schema;
  std::vector<ShardDescription> shards;
  std::optional<std::string> last_evaluated_shard_id;
};

struct GetShardIteratorResponse {
  std::string shard_iterator;
};

struct StreamRecord {
  std::string event_id;
  StreamEventName event_name = StreamEventName::kInsert;
  bool by_service = false;  // userIdentity says that time to live deleted the item
  int64_t approximate_creation_seconds = 0;
  std::string keys;  // encoded items
  std::optional<std::string> new_image;
  std::optional<std::string> old_image;
  std::string sequence_number;
  int64_t size_bytes = 0;
};

struct GetRecordsResponse {
  std::vector<StreamRecord> records;
  std::string aws_region;  // of all records, like the view type
  StreamViewType stream_view_type = StreamViewType::kKeysOnly;
  std::optional<std::string> next_shard_iterator;
};

}  // namespace stator::ops
