// ImportTable, DescribeImport and ListImports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/job.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/store.h"

namespace stator::ops {

enum class InputFormat : uint8_t { kDynamoDbJson, kIon, kCsv };
enum class InputCompressionType : uint8_t { kGzip, kZstd, kNone };

struct S3BucketSource {
  std::optional<std::string> s3_bucket_owner;
  std::string s3_bucket;
  std::optional<std::string> s3_key_prefix;
};
struct CsvFormatOptions {
  std::optional<std::string> delimiter;
  std::optional<std::vector<std::string>> header_list;
};
struct InputFormatOptions {
  std::optional<CsvFormatOptions> csv;
};
struct TableCreationParameters {
  std::string table_name;
  std::vector<AttributeDefinition> attribute_definitions;
  std::vector<KeySchemaElement> key_schema;
  std::optional<BillingMode> billing_mode;
  std::optional<ProvisionedThroughput> provisioned_throughput;
  std::optional<OnDemandThroughput> on_demand_throughput;
  std::optional<SseSpecification> sse_specification;
  std::optional<std::vector<GlobalSecondaryIndex>> global_secondary_indexes;
  std::optional<std::vector<VectorIndex>> vector_indexes;
};
struct ImportTableRequest {
  std::optional<std::string> client_token;
  S3BucketSource s3_bucket_source;
  InputFormat input_format = InputFormat::kDynamoDbJson;
  std::optional<InputFormatOptions> input_format_options;
  std::optional<InputCompressionType> input_compression_type;
  TableCreationParameters table_creation_parameters;
};
struct DescribeImportRequest {
  std::string import_arn;
};
struct ListImportsRequest {
  std::optional<std::string> table_arn;
  std::optional<int64_t> page_size;
  std::optional<std::string> next_token;
};

struct ImportTableDescription {
  exchange::ImportJob job;
  std::string account;  // the owner of the bucket, if the request did not name one
  std::string log_group_arn;
  TableCreationParameters table;
};
struct ImportTableResponse {
  ImportTableDescription description;
};
struct DescribeImportResponse {
  ImportTableDescription description;
};
struct ListImportsResponse {
  std::vector<ImportTableDescription> imports;  // without `table`
  std::optional<std::string> next_token;
};

void ImportTable(Context& ctx, ImportTableRequest request, Callback<ImportTableResponse> done);
void DescribeImport(Context& ctx, DescribeImportRequest request,
                    Callback<DescribeImportResponse> done);
void ListImports(Context& ctx, ListImportsRequest request, Callback<ListImportsResponse> done);

// Whether PutItem would take the item, for imports.
Status CheckImportedItem(const table::Table& table, model::ItemView item);

}  // namespace stator::ops
