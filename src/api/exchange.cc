#include "api/exchange.h"

#include "api/attribute_json.h"
#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_parts.h"

namespace stator::api {
namespace {

using ops::DescribeExportRequest;
using ops::DescribeImportRequest;
using ops::ExportFilter;
using ops::ExportTableToPointInTimeRequest;
using ops::IncrementalExportSpecification;
using ops::ListExportsRequest;
using ops::ListImportsRequest;

constexpr std::string_view kSseNames[] = {"AES256", "KMS"};
constexpr EnumSet kSse{kSseNames, "[AES256, KMS]"};
constexpr std::string_view kFormatNames[] = {"DYNAMODB_JSON", "ION"};
constexpr EnumSet kFormat{kFormatNames, "[DYNAMODB_JSON, ION]"};
constexpr std::string_view kTypeNames[] = {"FULL_EXPORT", "INCREMENTAL_EXPORT"};
constexpr EnumSet kExportType{kTypeNames, "[FULL_EXPORT, INCREMENTAL_EXPORT]"};
constexpr std::string_view kViewNames[] = {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"};
constexpr EnumSet kView{kViewNames, "[NEW_IMAGE, NEW_AND_OLD_IMAGES]"};
constexpr std::string_view kStateNames[] = {"IN_PROGRESS", "COMPLETED", "FAILED"};
constexpr EnumSet kState{kStateNames, ""};
constexpr std::string_view kInputNames[] = {"DYNAMODB_JSON", "ION", "CSV"};
constexpr EnumSet kInput{kInputNames, ""};
constexpr std::string_view kCompressionNames[] = {"GZIP", "ZSTD", "NONE"};
constexpr EnumSet kCompression{kCompressionNames, ""};

constexpr Type kTableArn = Text(1, 1024);
constexpr Type kJobArn = Text(37, 1024);
constexpr Type kTime{.kind = Kind::kTime};
constexpr Type kClientToken = Text(kNoMin, kNoMax, Pattern::kClientToken);
constexpr Type kBucket = Text(kNoMin, 255, Pattern::kBucket);
constexpr Type kBucketOwner = Text(kNoMin, kNoMax, Pattern::kAccount);
constexpr Type kPrefix = Text(kNoMin, 1024);
constexpr Type kKeyId = Text(1, 2048);
constexpr Type kSseType = EnumOf(&kSse);
constexpr Type kFormatType = EnumOf(&kFormat);
constexpr Type kExportTypeType = EnumOf(&kExportType);
constexpr Type kViewType = EnumOf(&kView);
constexpr Type kPageSize{.kind = Kind::kInteger, .min = 1, .max = 25};
constexpr Type kImportToken = Text(112, 1024, Pattern::kImportToken);

constexpr Field kIncrementalFields[] = {
    Optional<&IncrementalExportSpecification::export_from_time>("ExportFromTime", &kTime),
    Optional<&IncrementalExportSpecification::export_to_time>("ExportToTime", &kTime),
    Optional<&IncrementalExportSpecification::export_view_type>("ExportViewType", &kViewType),
};
constexpr Shape kIncrementalShape = MakeShape("IncrementalExportSpecification", kIncrementalFields);
constexpr Type kIncremental = StructOf(&kIncrementalShape);

constexpr Type kFilterNames = PairsOf(&kAttributeName);
constexpr Type kFilterValues = PairsOf(&kValue, ops::ValuePlace::kExpressionAttributeValues);
constexpr Field kFilterFields[] = {
    Optional<&ExportFilter::filter_expression>("FilterExpression", &kPlainText),
    Optional<&ExportFilter::projection_expression>("ProjectionExpression", &kPlainText),
    Optional<&ExportFilter::key_condition_expression>("KeyConditionExpression", &kPlainText),
    Optional<&ExportFilter::expression_attribute_names>("ExpressionAttributeNames", &kFilterNames),
    Optional<&ExportFilter::expression_attribute_values>("ExpressionAttributeValues",
                                                         &kFilterValues),
};
constexpr Shape kFilterShape = MakeShape("FilterSpecification", kFilterFields);
constexpr Type kFilter = StructOf(&kFilterShape);

constexpr Field kExportFields[] = {
    Required<&ExportTableToPointInTimeRequest::table_arn>("TableArn", &kTableArn),
    Optional<&ExportTableToPointInTimeRequest::export_time>("ExportTime", &kTime),
    Optional<&ExportTableToPointInTimeRequest::client_token>("ClientToken", &kClientToken),
    Required<&ExportTableToPointInTimeRequest::s3_bucket>("S3Bucket", &kBucket),
    Optional<&ExportTableToPointInTimeRequest::s3_bucket_owner>("S3BucketOwner", &kBucketOwner),
    Optional<&ExportTableToPointInTimeRequest::s3_prefix>("S3Prefix", &kPrefix),
    Optional<&ExportTableToPointInTimeRequest::s3_sse_algorithm>("S3SseAlgorithm", &kSseType),
    Optional<&ExportTableToPointInTimeRequest::s3_sse_kms_key_id>("S3SseKmsKeyId", &kKeyId),
    Optional<&ExportTableToPointInTimeRequest::export_format>("ExportFormat", &kFormatType),
    Optional<&ExportTableToPointInTimeRequest::export_type>("ExportType", &kExportTypeType),
    Optional<&ExportTableToPointInTimeRequest::incremental_export_specification>(
        "IncrementalExportSpecification", &kIncremental),
    Optional<&ExportTableToPointInTimeRequest::filter_specification>("FilterSpecification",
                                                                     &kFilter),
};
constexpr Shape kExportShape = MakeShape("ExportTableToPointInTimeInput", kExportFields);
constexpr OperationSchema kExport{"ExportTableToPointInTime", &kExportShape};

constexpr Field kDescribeExportFields[] = {
    Required<&DescribeExportRequest::export_arn>("ExportArn", &kJobArn),
};
constexpr Shape kDescribeExportShape = MakeShape("DescribeExportInput", kDescribeExportFields);
constexpr OperationSchema kDescribeExport{"DescribeExport", &kDescribeExportShape};

constexpr Field kListExportsFields[] = {
    Optional<&ListExportsRequest::table_arn>("TableArn", &kTableArn),
    Optional<&ListExportsRequest::max_results>("MaxResults", &kPageSize),
    Optional<&ListExportsRequest::next_token>("NextToken", &kPlainText),
};
constexpr Shape kListExportsShape = MakeShape("ListExportsInput", kListExportsFields);
constexpr OperationSchema kListExports{"ListExports", &kListExportsShape};

constexpr Field kDescribeImportFields[] = {
    Required<&DescribeImportRequest::import_arn>("ImportArn", &kJobArn),
};
constexpr Shape kDescribeImportShape = MakeShape("DescribeImportInput", kDescribeImportFields);
constexpr OperationSchema kDescribeImport{"DescribeImport", &kDescribeImportShape};

constexpr Field kListImportsFields[] = {
    Optional<&ListImportsRequest::table_arn>("TableArn", &kTableArn),
    Optional<&ListImportsRequest::page_size>("PageSize", &kPageSize),
    Optional<&ListImportsRequest::next_token>("NextToken", &kImportToken),
};
constexpr Shape kListImportsShape = MakeShape("ListImportsInput", kListImportsFields);
constexpr OperationSchema kListImports{"ListImports", &kListImportsShape};

// Whole milliseconds, which is what clients see.
double SecondsOf(int64_t micros) { return static_cast<double>(micros / 1000) / 1000.0; }

void MaybeText(ObjectWriter* object, std::string_view name,
               const std::optional<std::string>& text) {
  if (text) object->Text(name, *text);
}

void AppendFilter(std::string* out, const exchange::ItemFilter& filter) {
  ObjectWriter object(out);
  MaybeText(&object, "FilterExpression", filter.filter_expression);
  MaybeText(&object, "ProjectionExpression", filter.projection_expression);
  MaybeText(&object, "KeyConditionExpression", filter.key_condition_expression);
  if (!filter.names.empty()) {
    ObjectWriter names(object.Member("ExpressionAttributeNames"));
    for (const auto& entry : model::ItemView(filter.names).attributes())
      names.Text(entry.name, entry.value.text());
    names.Close();
  }
  if (!filter.values.empty())
    AppendItemJson(object.Member("ExpressionAttributeValues"), model::ItemView(filter.values));
  object.Close();
}

void AppendExport(const exchange::ExportJob& job, std::string* out) {
  const bool ended = job.state != exchange::JobState::kInProgress;
  ObjectWriter object(out);
  object.Text("ExportArn", job.table_arn + "/export/" + job.id);
  object.Enum("ExportStatus", kState, job.state);
  AppendTime(object.Member("StartTime"), SecondsOf(job.start_micros));
  if (ended) AppendTime(object.Member("EndTime"), SecondsOf(job.end_micros));
  if (!job.manifest.empty()) object.Text("ExportManifest", job.manifest);
  object.Text("TableArn", job.table_arn);
  object.Text("TableId", job.table_id);
  if (!job.window) AppendTime(object.Member("ExportTime"), SecondsOf(job.shown_micros));
  MaybeText(&object, "ClientToken", job.client_token);
  object.Text("S3Bucket", job.bucket);
  MaybeText(&object, "S3BucketOwner", job.bucket_owner);
  MaybeText(&object, "S3Prefix", job.prefix);
  object.Text("S3SseAlgorithm", job.key_service ? "KMS" : "AES256");
  MaybeText(&object, "S3SseKmsKeyId", job.key_id);
  if (!job.failure_code.empty()) {
    object.Text("FailureCode", job.failure_code);
    object.Text("FailureMessage", job.failure_message);
  }
  object.Enum("ExportFormat", kFormat, job.format);
  if (job.state == exchange::JobState::kCompleted) {
    object.Integer("BilledSizeBytes", job.billed_bytes);
    object.Integer("ItemCount", job.items);
  }
  if (job.window) {
    object.Text("ExportType", "INCREMENTAL_EXPORT");
    ObjectWriter window(object.Member("IncrementalExportSpecification"));
    AppendTime(window.Member("ExportFromTime"), SecondsOf(job.window->shown_from_micros));
    AppendTime(window.Member("ExportToTime"), SecondsOf(job.window->shown_to_micros));
    window.Enum("ExportViewType", kView, job.window->view);
    window.Close();
  }
  if (job.filter) AppendFilter(object.Member("FilterSpecification"), *job.filter);
  object.Close();
}

void AppendUnits(std::string* out, const ops::ProvisionedThroughput& units) {
  ObjectWriter object(out);
  object.Integer("ReadCapacityUnits", units.read_capacity_units);
  object.Integer("WriteCapacityUnits", units.write_capacity_units);
  object.Close();
}

void AppendTable(std::string* out, const ops::TableCreationParameters& table) {
  ObjectWriter object(out);
  object.Text("TableName", table.table_name);
  AppendList(object.Member("AttributeDefinitions"), table.attribute_definitions,
             [&](const ops::AttributeDefinition& attribute) {
               ObjectWriter one(out);
               one.Text("AttributeName", attribute.attribute_name);
               one.Enum("AttributeType", kScalarAttributeType, attribute.attribute_type);
               one.Close();
             });
  AppendKeySchema(object.Member("KeySchema"), table.key_schema);
  if (table.billing_mode) object.Enum("BillingMode", kBillingMode, *table.billing_mode);
  if (table.provisioned_throughput)
    AppendUnits(object.Member("ProvisionedThroughput"), *table.provisioned_throughput);
  if (table.on_demand_throughput)
    AppendOnDemand(object.Member("OnDemandThroughput"), *table.on_demand_throughput);
  if (table.sse_specification) {
    ObjectWriter sse(object.Member("SSESpecification"));
    sse.Boolean("Enabled", table.sse_specification->enabled.value_or(false));
    sse.Close();
  }
  if (table.global_secondary_indexes) {
    AppendList(object.Member("GlobalSecondaryIndexes"), *table.global_secondary_indexes,
               [&](const ops::GlobalSecondaryIndex& index) {
                 ObjectWriter one(out);
                 one.Text("IndexName", index.index_name);
                 AppendKeySchema(one.Member("KeySchema"), index.key_schema);
                 AppendProjection(one.Member("Projection"), index.projection);
                 if (index.provisioned_throughput)
                   AppendUnits(one.Member("ProvisionedThroughput"), *index.provisioned_throughput);
                 if (index.on_demand_throughput)
                   AppendOnDemand(one.Member("OnDemandThroughput"), *index.on_demand_throughput);
                 one.Close();
               });
  }
  object.Close();
}

void AppendSource(std::string* out, const ops::ImportTableDescription& description) {
  const exchange::ImportJob& job = description.job;
  ObjectWriter object(out);
  object.Text("S3BucketOwner", job.bucket_owner.value_or(description.account));
  object.Text("S3Bucket", job.bucket);
  MaybeText(&object, "S3KeyPrefix", job.prefix);
  object.Close();
}

void AppendImport(const ops::ImportTableDescription& description, std::string* out) {
  const exchange::ImportJob& job = description.job;
  const bool ended = job.state != exchange::JobState::kInProgress;
  ObjectWriter object(out);
  object.Text("ImportArn", job.table_arn + "/import/" + job.id);
  object.Enum("ImportStatus", kState, job.state);
  object.Text("TableArn", job.table_arn);
  object.Text("TableId", job.table_id);
  MaybeText(&object, "ClientToken", job.client_token);
  AppendSource(object.Member("S3BucketSource"), description);
  object.Integer("ErrorCount", job.errors);
  object.Text("CloudWatchLogGroupArn", description.log_group_arn);
  object.Enum("InputFormat", kInput, job.format);
  if (job.csv) {
    ObjectWriter options(object.Member("InputFormatOptions"));
    ObjectWriter csv(options.Member("Csv"));
    MaybeText(&csv, "Delimiter", job.csv->delimiter);
    if (job.csv->headers) AppendTexts(csv.Member("HeaderList"), *job.csv->headers);
    csv.Close();
    options.Close();
  }
  object.Enum("InputCompressionType", kCompression, job.compression);
  AppendTable(object.Member("TableCreationParameters"), description.table);
  AppendTime(object.Member("StartTime"), SecondsOf(job.start_micros));
  if (ended) AppendTime(object.Member("EndTime"), SecondsOf(job.end_micros));
  object.Integer("ProcessedSizeBytes", job.processed_bytes);
  object.Integer("ProcessedItemCount", job.processed_items);
  object.Integer("ImportedItemCount", job.imported_items);
  if (!job.failure_code.empty()) {
    object.Text("FailureCode", job.failure_code);
    object.Text("FailureMessage", job.failure_message);
  }
  object.Close();
}

void RenderExport(const exchange::ExportJob& job, std::string* out) {
  ObjectWriter object(out);
  AppendExport(job, object.Member("ExportDescription"));
  object.Close();
}

void RenderImport(const ops::ImportTableDescription& description, std::string* out) {
  ObjectWriter object(out);
  AppendImport(description, object.Member("ImportTableDescription"));
  object.Close();
}

}  // namespace

template <>
const OperationSchema& SchemaOf<ExportTableToPointInTimeRequest>() {
  return kExport;
}
template <>
const OperationSchema& SchemaOf<DescribeExportRequest>() {
  return kDescribeExport;
}
template <>
const OperationSchema& SchemaOf<ListExportsRequest>() {
  return kListExports;
}
template <>
const OperationSchema& SchemaOf<DescribeImportRequest>() {
  return kDescribeImport;
}
template <>
const OperationSchema& SchemaOf<ListImportsRequest>() {
  return kListImports;
}

void RenderResponse(const ops::ExportTableToPointInTimeResponse& response, std::string* out) {
  RenderExport(response.job, out);
}
void RenderResponse(const ops::DescribeExportResponse& response, std::string* out) {
  RenderExport(response.job, out);
}

void RenderResponse(const ops::ListExportsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("ExportSummaries"), response.jobs, [&](const exchange::ExportJob& job) {
    ObjectWriter one(out);
    one.Text("ExportArn", job.table_arn + "/export/" + job.id);
    one.Enum("ExportStatus", kState, job.state);
    one.Text("ExportType", job.window ? "INCREMENTAL_EXPORT" : "FULL_EXPORT");
    one.Close();
  });
  MaybeText(&object, "NextToken", response.next_token);
  object.Close();
}

void RenderResponse(const ops::ImportTableResponse& response, std::string* out) {
  RenderImport(response.description, out);
}
void RenderResponse(const ops::DescribeImportResponse& response, std::string* out) {
  RenderImport(response.description, out);
}

void RenderResponse(const ops::ListImportsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("ImportSummaryList"), response.imports,
             [&](const ops::ImportTableDescription& description) {
               const exchange::ImportJob& job = description.job;
               ObjectWriter one(out);
               one.Text("ImportArn", job.table_arn + "/import/" + job.id);
               one.Enum("ImportStatus", kState, job.state);
               one.Text("TableArn", job.table_arn);
               AppendSource(one.Member("S3BucketSource"), description);
               one.Text("CloudWatchLogGroupArn", description.log_group_arn);
               one.Enum("InputFormat", kInput, job.format);
               AppendTime(one.Member("StartTime"), SecondsOf(job.start_micros));
               if (job.state != exchange::JobState::kInProgress)
                 AppendTime(one.Member("EndTime"), SecondsOf(job.end_micros));
               one.Close();
             });
  MaybeText(&object, "NextToken", response.next_token);
  object.Close();
}

}  // namespace stator::api
