// ExportTableToPointInTime, DescribeExport and ListExports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/job.h"
#include "ops/context.h"
#include "ops/requests.h"

namespace stator::ops {

enum class S3SseAlgorithm : uint8_t { kAes256, kKms };
enum class ExportFormat : uint8_t { kDynamoDbJson, kIon };
enum class ExportType : uint8_t { kFull, kIncremental };
enum class ExportViewType : uint8_t { kNewImage, kNewAndOldImages };

struct IncrementalExportSpecification {
  std::optional<int64_t> export_from_time;  // milliseconds, like the next
  std::optional<int64_t> export_to_time;
  std::optional<ExportViewType> export_view_type;
};
struct ExportFilter {
  std::optional<std::string> filter_expression;
  std::optional<std::string> projection_expression;
  std::optional<std::string> key_condition_expression;
  std::optional<ExpressionAttributeNames> expression_attribute_names;
  std::optional<ExpressionAttributeValues> expression_attribute_values;
};
struct ExportTableToPointInTimeRequest {
  std::string table_arn;
  std::optional<int64_t> export_time;  // milliseconds
  std::optional<std::string> client_token;
  std::string s3_bucket;
  std::optional<std::string> s3_bucket_owner;
  std::optional<std::string> s3_prefix;
  std::optional<S3SseAlgorithm> s3_sse_algorithm;
  std::optional<std::string> s3_sse_kms_key_id;
  std::optional<ExportFormat> export_format;
  std::optional<ExportType> export_type;
  std::optional<IncrementalExportSpecification> incremental_export_specification;
  std::optional<ExportFilter> filter_specification;
  ValueErrors value_errors;
};
struct DescribeExportRequest {
  std::string export_arn;
};
struct ListExportsRequest {
  std::optional<std::string> table_arn;
  std::optional<int64_t> max_results;
  std::optional<std::string> next_token;
};

struct ExportTableToPointInTimeResponse {
  exchange::ExportJob job;
};
struct DescribeExportResponse {
  exchange::ExportJob job;
};
struct ListExportsResponse {
  std::vector<exchange::ExportJob> jobs;
  std::optional<std::string> next_token;
};

void ExportTableToPointInTime(Context& ctx, ExportTableToPointInTimeRequest request,
                              Callback<ExportTableToPointInTimeResponse> done);
void DescribeExport(Context& ctx, DescribeExportRequest request,
                    Callback<DescribeExportResponse> done);
void ListExports(Context& ctx, ListExportsRequest request, Callback<ListExportsResponse> done);

}  // namespace stator::ops
