#include "api/render_response.h"

#include <gtest/gtest.h>

#include <string>

#include "api/decode.h"
#include "api/render_response_parts.h"

namespace stator::api {
namespace {

using namespace simdjson;  // NOLINT(google-build-using-namespace): _padded

template <typename Response>
std::string Render(const Response& response) {
  std::string out;
  RenderResponse(response, &out);
  return out;
}

// An item with one S attribute.
std::string Item(std::string_view name, std::string_view text) {
  std::string entries;
  model::AppendName(&entries, name);
  model::AppendString(&entries, text);
  std::string item;
  model::AppendItem(&item, 1, entries);
  return item;
}

TEST(RenderResponseTest, NothingToSayIsAnEmptyObject) {
  EXPECT_EQ(Render(ops::PutItemResponse{}), "{}");
  EXPECT_EQ(Render(ops::GetItemResponse{}), "{}");
  EXPECT_EQ(Render(ops::UpdateItemResponse{}), "{}");
  EXPECT_EQ(Render(ops::DeleteItemResponse{}), "{}");
}

TEST(RenderResponseTest, TaggingAnswersAnEmptyBody) {
  EXPECT_EQ(Render(ops::TagResourceResponse{}), "");
  EXPECT_EQ(Render(ops::UntagResourceResponse{}), "");
}

TEST(RenderResponseTest, GetItem) {
  ops::GetItemResponse response;
  response.item = Item("pk", "a\"b");
  response.consumed_capacity = ops::ConsumedCapacity{.table_name = "abc", .capacity_units = 0.5};
  EXPECT_EQ(
      Render(response),
      R"({"ConsumedCapacity":{"CapacityUnits":0.5,"TableName":"abc"},"Item":{"pk":{"S":"a\"b"}}})");
}

TEST(RenderResponseTest, CapacityByIndex) {
  ops::PutItemResponse response;
  response.attributes = Item("pk", "x");
  ops::ConsumedCapacity consumed{.table_name = "abc", .capacity_units = 3};
  consumed.write_capacity_units = 3;
  consumed.table = ops::Capacity{.capacity_units = 1};
  consumed.global_secondary_indexes.push_back({"gsi", {.capacity_units = 1.5}});
  consumed.local_secondary_indexes.push_back({"lsi", {.capacity_units = 0.5}});
  response.consumed_capacity = consumed;
  response.item_collection_metrics =
      ops::ItemCollectionMetrics{.item_collection_key = Item("pk", "x")};
  EXPECT_EQ(
      Render(response),
      R"({"Attributes":{"pk":{"S":"x"}},"ConsumedCapacity":{"CapacityUnits":3.0,"WriteCapacityUnits":3.0,)"
      R"("GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":1.5}},"LocalSecondaryIndexes":{"lsi":)"
      R"({"CapacityUnits":0.5}},"Table":{"CapacityUnits":1.0},"TableName":"abc"},"ItemCollectionMetrics":)"
      R"({"ItemCollectionKey":{"pk":{"S":"x"}},"SizeEstimateRangeGB":[0.0,1.0]}})");
}

TEST(RenderResponseTest, Pages) {
  ops::QueryResponse query;
  query.items = ops::ItemList{Item("pk", "1"), Item("pk", "2")};
  query.count = 2;
  query.scanned_count = 5;
  query.last_evaluated_key = Item("pk", "2");
  EXPECT_EQ(Render(query), R"({"Count":2,"Items":[{"pk":{"S":"1"}},{"pk":{"S":"2"}}],)"
                           R"("LastEvaluatedKey":{"pk":{"S":"2"}},"ScannedCount":5})");
  // The same of items that were written when they were read.
  ops::ItemList written(WriteListedItem);
  for (const model::ItemView item : *query.items) written.Append(item.encoded());
  const std::string encoded = Render(query);
  query.items = std::move(written);
  EXPECT_EQ(query.items->size(), 2u);
  EXPECT_EQ(Render(query), encoded);
  query.items.emplace(WriteListedItem);
  EXPECT_EQ(Render(query),
            R"({"Count":2,"Items":[],"LastEvaluatedKey":{"pk":{"S":"2"}},"ScannedCount":5})");
  // Select COUNT has no items, an empty page has an empty list.
  ops::ScanResponse scan;
  EXPECT_EQ(Render(scan), R"({"Count":0,"ScannedCount":0})");
  scan.items.emplace();
  EXPECT_EQ(Render(scan), R"({"Count":0,"Items":[],"ScannedCount":0})");
}

TEST(RenderResponseTest, Batches) {
  ops::BatchGetItemResponse get;
  get.responses.push_back({"abc", {Item("pk", "1")}});
  EXPECT_EQ(Render(get), R"({"Responses":{"abc":[{"pk":{"S":"1"}}]},"UnprocessedKeys":{}})");

  ops::BatchWriteItemResponse write;
  write.consumed_capacity.emplace().push_back({.table_name = "abc", .capacity_units = 2});
  EXPECT_EQ(
      Render(write),
      R"({"ConsumedCapacity":[{"CapacityUnits":2.0,"TableName":"abc"}],"UnprocessedItems":{}})");
}

// What was not processed goes back as a request that can be sent again.
TEST(RenderResponseTest, UnprocessedPartsAreRequests) {
  const std::string tables =
      R"({"abc":{"Keys":[{"pk":{"S":"1"}}],"AttributesToGet":["a"],"ConsistentRead":true},)"
      R"("d\"f":{"Keys":[{"pk":{"S":"2"}}],"ProjectionExpression":"#a","ExpressionAttributeNames":{"#a":"b"}}})";
  simdjson::dom::parser parser;
  // The second name is none that the decoder takes; only the writer is asked about it.
  auto get = Decode<ops::BatchGetItemRequest>(parser.parse(
      R"({"RequestItems":{"abc":{"Keys":[{"pk":{"S":"1"}}],"AttributesToGet":["a"],"ConsistentRead":true},)"
      R"("def":{"Keys":[{"pk":{"S":"2"}}],"ProjectionExpression":"#a","ExpressionAttributeNames":{"#a":"b"}}}})"_padded));
  ASSERT_TRUE(get.ok()) << get.error().message();
  ops::BatchGetItemResponse response;
  response.unprocessed_keys = get->request_items;
  response.unprocessed_keys[1].table_name = "d\"f";
  EXPECT_EQ(Render(response), R"({"Responses":{},"UnprocessedKeys":)" + tables + "}");

  const std::string writes =
      R"({"abc":[{"PutRequest":{"Item":{"pk":{"S":"1"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"2"}}}}]})";
  auto write =
      Decode<ops::BatchWriteItemRequest>(parser.parse(R"({"RequestItems":)" + writes + "}"));
  ASSERT_TRUE(write.ok()) << write.error().message();
  ops::BatchWriteItemResponse written;
  written.unprocessed_items = write->request_items;
  EXPECT_EQ(Render(written), R"({"UnprocessedItems":)" + writes + "}");
}

TEST(RenderResponseTest, PlainTable) {
  ops::DescribeTableResponse response;
  ops::TableDescription& table = response.table;
  table.attribute_definitions = {{"pk", ops::ScalarAttributeType::kB}};
  table.table_name = "abc";
  table.key_schema = {{"pk", ops::KeyType::kHash}};
  table.table_status = ops::TableStatus::kCreating;
  table.creation_date_time = 1700000000.125;
  table.table_arn = "arn:t";
  table.table_id = "id";
  EXPECT_EQ(
      Render(response),
      R"({"Table":{"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"B"}],"TableName":"abc",)"
      R"("KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"TableStatus":"CREATING",)"
      R"("CreationDateTime":1700000000.125,"ProvisionedThroughput":{"NumberOfDecreasesToday":0,)"
      R"("ReadCapacityUnits":0,"WriteCapacityUnits":0},"TableSizeBytes":0,"ItemCount":0,"TableArn":"arn:t",)"
      R"("TableId":"id"}})");
}

TEST(RenderResponseTest, TableWithEverything) {
  ops::UpdateTableResponse response;
  ops::TableDescription& table = response.table_description;
  table.provisioned_throughput = {.last_increase_date_time = 1, .last_decrease_date_time = 2.5};
  table.billing_mode_summary = {.billing_mode = ops::BillingMode::kPayPerRequest,
                                .last_update_to_pay_per_request_date_time = 3};
  table.local_secondary_indexes.push_back(
      {.index_name = "lsi",
       .key_schema = {{"pk", ops::KeyType::kHash}},
       .projection = {.projection_type = ops::ProjectionType::kKeysOnly},
       .index_arn = "arn:l"});
  table.global_secondary_indexes.push_back(
      {.index_name = "gsi",
       .projection = {.projection_type = ops::ProjectionType::kInclude,
                      .non_key_attributes = {{"x"}}},
       .index_status = ops::IndexStatus::kCreating,
       .backfilling = true,
       .provisioned_throughput = ops::ProvisionedThroughputDescription{.read_capacity_units = 1},
       .index_arn = "arn:g",
       .on_demand_throughput = ops::OnDemandThroughput{.max_read_request_units = 7},
       .warm_throughput = ops::IndexWarmThroughputDescription{.read_units_per_second = 12000}});
  table.stream_specification = {.stream_enabled = true,
                                .stream_view_type = ops::StreamViewType::kNewImage};
  table.latest_stream_label = "label";
  table.latest_stream_arn = "arn:s";
  table.sse_description = {.sse_type = ops::SseType::kKms, .kms_master_key_arn = "arn:k"};
  table.table_class_summary = ops::TableClassSummary{};
  table.deletion_protection_enabled = true;
  table.on_demand_throughput = ops::OnDemandThroughput{.max_write_request_units = 9};
  table.warm_throughput = ops::TableWarmThroughputDescription{.write_units_per_second = 4000};
  const std::string json = Render(response);
  for (
      const char* part : {
          R"({"TableDescription":{)",
          R"("LastIncreaseDateTime":1,"LastDecreaseDateTime":2.500,)",
          R"("BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST","LastUpdateToPayPerRequestDateTime":3})",
          R"("LocalSecondaryIndexes":[{"IndexName":"lsi","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],)"
          R"("Projection":{"ProjectionType":"KEYS_ONLY"},"IndexSizeBytes":0,"ItemCount":0,"IndexArn":"arn:l"}])",
          R"("GlobalSecondaryIndexes":[{"IndexName":"gsi","KeySchema":[],"Projection":{"ProjectionType":"INCLUDE",)"
          R"("NonKeyAttributes":["x"]},"IndexStatus":"CREATING","Backfilling":true,"ProvisionedThroughput":)"
          R"({"NumberOfDecreasesToday":0,"ReadCapacityUnits":1,"WriteCapacityUnits":0},"IndexSizeBytes":0,)"
          R"("ItemCount":0,"IndexArn":"arn:g","OnDemandThroughput":{"MaxReadRequestUnits":7},"WarmThroughput":)"
          R"({"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":0,"Status":"ACTIVE"}}])",
          R"("StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"LatestStreamLabel":"label",)"
          R"("LatestStreamArn":"arn:s","SSEDescription":{"Status":"ENABLED","SSEType":"KMS","KMSMasterKeyArn":"arn:k"},)"
          R"("TableClassSummary":{"TableClass":"STANDARD"},"DeletionProtectionEnabled":true,"OnDemandThroughput":)"
          R"({"MaxWriteRequestUnits":9},"WarmThroughput":{"ReadUnitsPerSecond":0,"WriteUnitsPerSecond":4000,)"
          R"("Status":"ACTIVE"}}})",
      }) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\nin " << json;
  }
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.parse(json).error(), simdjson::SUCCESS);
}

TEST(RenderResponseTest, SmallResponses) {
  EXPECT_EQ(Render(ops::ListTablesResponse{}), R"({"TableNames":[]})");
  EXPECT_EQ(Render(ops::ListTablesResponse{{"a", "b"}, "b"}),
            R"({"LastEvaluatedTableName":"b","TableNames":["a","b"]})");
  EXPECT_EQ(
      Render(ops::DescribeLimitsResponse{1, 2, 3, 4}),
      R"({"AccountMaxReadCapacityUnits":1,"AccountMaxWriteCapacityUnits":2,"TableMaxReadCapacityUnits":3,)"
      R"("TableMaxWriteCapacityUnits":4})");
  EXPECT_EQ(Render(ops::DescribeEndpointsResponse{{{"host:1", 1440}}}),
            R"({"Endpoints":[{"Address":"host:1","CachePeriodInMinutes":1440}]})");
  EXPECT_EQ(Render(ops::ListTagsOfResourceResponse{{{"k", "v"}}, std::nullopt}),
            R"({"Tags":[{"Key":"k","Value":"v"}]})");
  EXPECT_EQ(Render(ops::UpdateTimeToLiveResponse{{true, "ttl"}}),
            R"({"TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}})");
  EXPECT_EQ(Render(ops::DescribeTimeToLiveResponse{}),
            R"({"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}})");
  EXPECT_EQ(Render(ops::DescribeTimeToLiveResponse{ops::TimeToLiveStatus::kEnabled, "ttl"}),
            R"({"TimeToLiveDescription":{"AttributeName":"ttl","TimeToLiveStatus":"ENABLED"}})");
  const ops::ContributorInsightsSummary insights{"t", "i", ops::ContributorInsightsStatus::kEnabled,
                                                 ops::ContributorInsightsMode::kThrottledKeys};
  const std::string members =
      R"("ContributorInsightsMode":"THROTTLED_KEYS","ContributorInsightsStatus":"ENABLED",)"
      R"("IndexName":"i","TableName":"t"})";
  EXPECT_EQ(Render(ops::UpdateContributorInsightsResponse{insights}), "{" + members);
  EXPECT_EQ(Render(ops::DescribeContributorInsightsResponse{insights, {"a", "b"}, 1.5}),
            R"({"ContributorInsightsRuleList":["a","b"],"LastUpdateDateTime":1.500,)" + members);
  EXPECT_EQ(Render(ops::DescribeContributorInsightsResponse{{"t", {}, {}, {}}, {}, {}}),
            R"({"ContributorInsightsStatus":"ENABLING","TableName":"t"})");
  EXPECT_EQ(Render(ops::ListContributorInsightsResponse{{insights}, "next"}),
            R"({"ContributorInsightsSummaries":[{)" + members + R"(],"NextToken":"next"})");
  EXPECT_EQ(Render(ops::ListContributorInsightsResponse{}),
            R"({"ContributorInsightsSummaries":[]})");
  EXPECT_EQ(
      Render(ops::DescribeContinuousBackupsResponse{}),
      R"({"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":)"
      R"({"PointInTimeRecoveryStatus":"DISABLED"}}})");
}

TEST(RenderResponseTest, BulkOperations) {
  ops::BulkOperationDescription operation;
  operation.arn = "arn";
  operation.table_name = "t";
  operation.job.table_id = "id";
  operation.job.bucket = "in";
  operation.job.output_bucket = "out";
  operation.job.outputs = {"ERROR"};
  operation.job.start_micros = 1'500'000;
  const std::string head =
      R"({"BulkOperationDescription":{"BulkOperationArn":"arn","BulkOperationStatus":"IN_PROGRESS",)"
      R"("TableDetails":[{"TableName":"t","TableId":"id"}],)"
      R"("InputS3Configuration":{"S3Bucket":"in","InputFormat":"DYNAMODB_JSON","InputCompressionType":"NONE"},)"
      R"("OutputS3Configuration":{"S3Bucket":"out","OutputType":["ERROR"]},"StartTime":1.500,)"
      R"("ProcessedItemCount":0,"ProcessedInputBytes":0,)";
  EXPECT_EQ(Render(ops::StartBulkPutItemsResponse{operation}),
            head + R"("BulkOperationUsage":[{"TableName":"t","BulkPutBytes":0,)"
                   R"("Table":{"BulkPutBytes":0}}],"FailedItemCount":0}})");
  operation.job.listed = true;
  operation.job.total_bytes = 9;
  operation.job.table_bytes = 1;
  operation.job.index_usage = {{"l", true, 2}, {"g", false, 4}};
  operation.job.max_units = 1024;
  operation.job.tier = "STANDARD";
  EXPECT_EQ(Render(ops::DescribeBulkOperationResponse{operation}),
            head + R"("TotalInputBytes":9,"BulkOperationUsage":[{"TableName":"t","BulkPutBytes":7,)"
                   R"("Table":{"BulkPutBytes":1},"LocalSecondaryIndexes":{"l":{"BulkPutBytes":2}},)"
                   R"("GlobalSecondaryIndexes":{"g":{"BulkPutBytes":4}}}],"FailedItemCount":0,)"
                   R"("MaxWriteRequestUnits":1024,"PerformanceTier":"STANDARD"}})");
  operation.status = ops::BulkStatus::kFailed;
  operation.job.state = exchange::JobState::kFailed;
  operation.job.end_micros = 2'500'000;
  EXPECT_EQ(
      Render(ops::ListBulkOperationsResponse{{operation}, "next"}),
      R"({"BulkOperationsSummaryList":[{"BulkOperationArn":"arn","BulkOperationStatus":"FAILED",)"
      R"("StartTime":1.500,"EndTime":2.500}],"NextToken":"next"})");
  EXPECT_EQ(Render(ops::CancelBulkOperationResponse{"arn", ops::BulkStatus::kCancelling}),
            R"({"BulkOperationArn":"arn","BulkOperationStatus":"CANCELLING"})");
}

TEST(RenderResponseTest, Doubles) {
  for (const auto& [value, text] : {std::pair{0.0, "0.0"},
                                    {0.5, "0.5"},
                                    {1.0, "1.0"},
                                    {129.5, "129.5"},
                                    {40000000.0, "40000000.0"}}) {
    std::string out;
    AppendDouble(&out, value);
    EXPECT_EQ(out, text);
  }
}

}  // namespace
}  // namespace stator::api
