// StartBulkPutItems, DescribeBulkOperation, ListBulkOperations and CancelBulkOperation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/codec.h"
#include "exchange/job.h"
#include "ops/context.h"
#include "ops/exports.h"
#include "ops/imports.h"

namespace stator::ops {

enum class BulkInputFormat : uint8_t { kDynamoDbJson, kIon };
enum class BulkOutputType : uint8_t { kConditionCheckFailure, kError };
enum class PerformanceTier : uint8_t { kAccelerated, kStandard };
enum class BulkStatus : uint8_t {
  kInProgress,
  kCompleted,
  kCompletedWithErrors,
  kCancelling,
  kCancelled,
  kFailed
};

struct InputS3Configuration {
  std::optional<std::string> s3_bucket_owner;
  std::string s3_bucket;
  std::optional<std::string> s3_key_prefix;
  BulkInputFormat input_format = BulkInputFormat::kDynamoDbJson;
  std::optional<InputCompressionType> input_compression_type;
};
struct OutputS3Configuration {
  std::optional<std::string> s3_bucket_owner;
  std::optional<std::string> s3_bucket;
  std::optional<std::string> s3_key_prefix;
  std::optional<S3SseAlgorithm> s3_sse_algorithm;
  std::optional<std::string> s3_sse_kms_key_id;
  std::vector<BulkOutputType> output_type;
};
struct StartBulkPutItemsRequest {
  std::optional<std::string> client_token;
  InputS3Configuration input;
  OutputS3Configuration output;
  std::string table_name;
  std::optional<int64_t> max_write_request_units;
  std::optional<PerformanceTier> performance_tier;
};
struct DescribeBulkOperationRequest {
  std::string bulk_operation_arn;
};
struct ListBulkOperationsRequest {
  std::optional<int64_t> max_results;
  std::optional<std::string> next_token;
};
struct CancelBulkOperationRequest {
  std::string bulk_operation_arn;
};

struct BulkOperationDescription {
  exchange::BulkJob job;
  std::string arn;
  BulkStatus status = BulkStatus::kInProgress;
  std::string table_name;  // as clients know it
};
struct StartBulkPutItemsResponse {
  BulkOperationDescription description;
};
struct DescribeBulkOperationResponse {
  BulkOperationDescription description;
};
struct ListBulkOperationsResponse {
  std::vector<BulkOperationDescription> operations;
  std::optional<std::string> next_token;
};
struct CancelBulkOperationResponse {
  std::string arn;
  BulkStatus status = BulkStatus::kCancelling;
};

void StartBulkPutItems(Context& ctx, StartBulkPutItemsRequest request,
                       Callback<StartBulkPutItemsResponse> done);
void DescribeBulkOperation(Context& ctx, DescribeBulkOperationRequest request,
                           Callback<DescribeBulkOperationResponse> done);
void ListBulkOperations(Context& ctx, ListBulkOperationsRequest request,
                        Callback<ListBulkOperationsResponse> done);
void CancelBulkOperation(Context& ctx, CancelBulkOperationRequest request,
                         Callback<CancelBulkOperationResponse> done);

// Returns the condition of a record of a bulk put; kValidation in the words of PutItem.
Result<exchange::ConditionHolds> CompileRecordCondition(exchange::RecordCondition condition);

}  // namespace stator::ops
