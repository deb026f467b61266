#include "api/bulk_operations.h"

#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_parts.h"

namespace stator::api {
namespace {

using ops::BulkOperationDescription;
using ops::CancelBulkOperationRequest;
using ops::DescribeBulkOperationRequest;
using ops::InputS3Configuration;
using ops::ListBulkOperationsRequest;
using ops::OutputS3Configuration;
using ops::StartBulkPutItemsRequest;

constexpr std::string_view kFormatNames[] = {"DYNAMODB_JSON", "ION"};
constexpr EnumSet kFormat{kFormatNames, "[DYNAMODB_JSON, ION]"};
constexpr std::string_view kCompressionNames[] = {"GZIP", "ZSTD", "NONE"};
constexpr EnumSet kCompression{kCompressionNames, "[GZIP, ZSTD, NONE]"};
constexpr std::string_view kSseNames[] = {"AES256", "KMS"};
constexpr EnumSet kSse{kSseNames, "[AES256, KMS]"};
constexpr std::string_view kOutputNames[] = {"CONDITION_CHECK_FAILURE", "ERROR"};
constexpr EnumSet kOutput{kOutputNames, "[CONDITION_CHECK_FAILURE, ERROR]"};
constexpr std::string_view kTierNames[] = {"ACCELERATED", "STANDARD"};
constexpr EnumSet kTier{kTierNames, "[ACCELERATED, STANDARD]"};
constexpr std::string_view kStatusNames[] = {"IN_PROGRESS", "COMPLETED", "COMPLETED_WITH_ERRORS",
                                             "CANCELLING",  "CANCELLED", "FAILED"};
constexpr EnumSet kStatus{kStatusNames, ""};

constexpr Type kClientToken = Text(kNoMin, kNoMax, Pattern::kClientToken);
constexpr Type kBucketOwner = Text(kNoMin, kNoMax, Pattern::kAccount);
constexpr Type kBucket = Text(kNoMin, 255, Pattern::kBucket);
constexpr Type kPrefix = Text(kNoMin, 1024);
constexpr Type kKeyId = Text(1, 2048);
constexpr Type kBulkArn = Text(37, 1024);
constexpr Type kFormatType = EnumOf(&kFormat);
constexpr Type kCompressionType = EnumOf(&kCompression);
constexpr Type kSseType = EnumOf(&kSse);
constexpr Type kOutputType = EnumOf(&kOutput);
constexpr Type kOutputTypes = ListOf<ops::BulkOutputType>(&kOutputType);
constexpr Type kTierType = EnumOf(&kTier);
constexpr Type kMaxUnits{.kind = Kind::kLong, .min = 1024};
constexpr Type kMaxResults{.kind = Kind::kInteger, .min = 1, .max = 25};
constexpr Type kNextToken = Text(1, 1024, Pattern::kImportToken);

constexpr Field kInputFields[] = {
    Optional<&InputS3Configuration::s3_bucket_owner>("S3BucketOwner", &kBucketOwner),
    Required<&InputS3Configuration::s3_bucket>("S3Bucket", &kBucket),
    Optional<&InputS3Configuration::s3_key_prefix>("S3KeyPrefix", &kPrefix),
    Required<&InputS3Configuration::input_format>("InputFormat", &kFormatType),
    Optional<&InputS3Configuration::input_compression_type>("InputCompressionType",
                                                            &kCompressionType),
};
constexpr Shape kInputShape = MakeShape("InputS3Configuration", kInputFields);
constexpr Type kInput = StructOf(&kInputShape);

constexpr Field kOutputFields[] = {
    Optional<&OutputS3Configuration::s3_bucket_owner>("S3BucketOwner", &kBucketOwner),
    Optional<&OutputS3Configuration::s3_bucket>("S3Bucket", &kBucket),
    Optional<&OutputS3Configuration::s3_key_prefix>("S3KeyPrefix", &kPrefix),
    Optional<&OutputS3Configuration::s3_sse_algorithm>("S3SseAlgorithm", &kSseType),
    Optional<&OutputS3Configuration::s3_sse_kms_key_id>("S3SseKmsKeyId", &kKeyId),
    Required<&OutputS3Configuration::output_type>("OutputType", &kOutputTypes),
};
constexpr Shape kOutputShape = MakeShape("OutputS3Configuration", kOutputFields);
constexpr Type kOutputStruct = StructOf(&kOutputShape);

constexpr Field kStartFields[] = {
    Optional<&StartBulkPutItemsRequest::client_token>("ClientToken", &kClientToken),
    Required<&StartBulkPutItemsRequest::input>("InputS3Configuration", &kInput),
    Required<&StartBulkPutItemsRequest::output>("OutputS3Configuration", &kOutputStruct),
    Required<&StartBulkPutItemsRequest::table_name>("TableName", &kTableName),
    Optional<&StartBulkPutItemsRequest::max_write_request_units>("MaxWriteRequestUnits",
                                                                 &kMaxUnits),
    Optional<&StartBulkPutItemsRequest::performance_tier>("PerformanceTier", &kTierType),
};
constexpr Shape kStartShape = MakeShape("StartBulkPutItemsInput", kStartFields);
constexpr OperationSchema kStart{"StartBulkPutItems", &kStartShape};

constexpr Field kDescribeFields[] = {
    Required<&DescribeBulkOperationRequest::bulk_operation_arn>("BulkOperationArn", &kBulkArn),
};
constexpr Shape kDescribeShape = MakeShape("DescribeBulkOperationInput", kDescribeFields);
constexpr OperationSchema kDescribe{"DescribeBulkOperation", &kDescribeShape};

constexpr Field kListFields[] = {
    Optional<&ListBulkOperationsRequest::max_results>("MaxResults", &kMaxResults),
    Optional<&ListBulkOperationsRequest::next_token>("NextToken", &kNextToken),
};
constexpr Shape kListShape = MakeShape("ListBulkOperationsInput", kListFields);
constexpr OperationSchema kList{"ListBulkOperations", &kListShape};

constexpr Field kCancelFields[] = {
    Required<&CancelBulkOperationRequest::bulk_operation_arn>("BulkOperationArn", &kBulkArn),
};
constexpr Shape kCancelShape = MakeShape("CancelBulkOperationInput", kCancelFields);
constexpr OperationSchema kCancel{"CancelBulkOperation", &kCancelShape};

// Whole milliseconds, which is what clients see.
double SecondsOf(int64_t micros) { return static_cast<double>(micros / 1000) / 1000.0; }

void MaybeText(ObjectWriter* object, std::string_view name,
               const std::optional<std::string>& text) {
  if (text) object->Text(name, *text);
}

void AppendTimes(const exchange::BulkJob& job, ObjectWriter* object) {
  AppendTime(object->Member("StartTime"), SecondsOf(job.start_micros));
  if (job.state != exchange::JobState::kInProgress)
    AppendTime(object->Member("EndTime"), SecondsOf(job.end_micros));
}

void AppendInput(std::string* out, const exchange::BulkJob& job) {
  ObjectWriter object(out);
  MaybeText(&object, "S3BucketOwner", job.bucket_owner);
  object.Text("S3Bucket", job.bucket);
  MaybeText(&object, "S3KeyPrefix", job.prefix);
  object.Enum("InputFormat", kFormat, job.format);
  object.Enum("InputCompressionType", kCompression, job.compression);
  object.Close();
}

void AppendOutput(std::string* out, const exchange::BulkJob& job) {
  ObjectWriter object(out);
  MaybeText(&object, "S3BucketOwner", job.output_owner);
  object.Text("S3Bucket", job.output_bucket);
  MaybeText(&object, "S3KeyPrefix", job.output_prefix);
  MaybeText(&object, "S3SseAlgorithm", job.encryption);
  MaybeText(&object, "S3SseKmsKeyId", job.key_id);
  if (job.outputs) AppendTexts(object.Member("OutputType"), *job.outputs);
  object.Close();
}

void AppendBytes(std::string* out, int64_t bytes) {
  ObjectWriter object(out);
  object.Integer("BulkPutBytes", bytes);
  object.Close();
}

void AppendIndexes(ObjectWriter* usage, std::string_view name, bool local,
                   const exchange::BulkJob& job) {
  bool any = false;
  for (const auto& index : job.index_usage) any |= index.local == local;
  if (!any) return;
  ObjectWriter object(usage->Member(name));
  for (const auto& index : job.index_usage)
    if (index.local == local) AppendBytes(object.Member(index.name), index.bytes);
  object.Close();
}

void AppendUsage(std::string* out, const exchange::BulkJob& job, std::string_view table_name) {
  int64_t total = job.table_bytes;
  for (const auto& index : job.index_usage) total += index.bytes;
  ObjectWriter object(out);
  object.Text("TableName", table_name);
  object.Integer("BulkPutBytes", total);
  AppendBytes(object.Member("Table"), job.table_bytes);
  AppendIndexes(&object, "LocalSecondaryIndexes", true, job);
  AppendIndexes(&object, "GlobalSecondaryIndexes", false, job);
  object.Close();
}

void AppendDescription(std::string* out, const BulkOperationDescription& description) {
  const exchange::BulkJob& job = description.job;
  ObjectWriter object(out);
  object.Text("BulkOperationArn", description.arn);
  object.Enum("BulkOperationStatus", kStatus, description.status);
  const auto table = {description.table_name};
  AppendList(object.Member("TableDetails"), table, [&](const std::string& name) {
    ObjectWriter one(out);
    one.Text("TableName", name);
    one.Text("TableId", job.table_id);
    one.Close();
  });
  MaybeText(&object, "ClientToken", job.client_token);
  AppendInput(object.Member("InputS3Configuration"), job);
  AppendOutput(object.Member("OutputS3Configuration"), job);
  AppendTimes(job, &object);
  object.Integer("ProcessedItemCount", job.processed_items);
  object.Integer("ProcessedInputBytes", job.read_bytes);
  if (job.listed) object.Integer("TotalInputBytes", job.total_bytes);
  AppendList(object.Member("BulkOperationUsage"), table,
             [&](const std::string& name) { AppendUsage(out, job, name); });
  object.Integer("FailedItemCount", job.errors);
  if (!job.failure_code.empty()) {
    object.Text("FailureCode", job.failure_code);
    object.Text("FailureMessage", job.failure_message);
  }
  if (job.max_units != 0) object.Integer("MaxWriteRequestUnits", job.max_units);
  MaybeText(&object, "PerformanceTier", job.tier);
  object.Close();
}

void RenderDescription(const BulkOperationDescription& description, std::string* out) {
  ObjectWriter object(out);
  AppendDescription(object.Member("BulkOperationDescription"), description);
  object.Close();
}

}  // namespace

template <>
const OperationSchema& SchemaOf<StartBulkPutItemsRequest>() {
  return kStart;
}
template <>
const OperationSchema& SchemaOf<DescribeBulkOperationRequest>() {
  return kDescribe;
}
template <>
const OperationSchema& SchemaOf<ListBulkOperationsRequest>() {
  return kList;
}
template <>
const OperationSchema& SchemaOf<CancelBulkOperationRequest>() {
  return kCancel;
}

void RenderResponse(const ops::StartBulkPutItemsResponse& response, std::string* out) {
  RenderDescription(response.description, out);
}
void RenderResponse(const ops::DescribeBulkOperationResponse& response, std::string* out) {
  RenderDescription(response.description, out);
}

void RenderResponse(const ops::ListBulkOperationsResponse& response, std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("BulkOperationsSummaryList"), response.operations,
             [&](const BulkOperationDescription& operation) {
               ObjectWriter one(out);
               one.Text("BulkOperationArn", operation.arn);
               one.Enum("BulkOperationStatus", kStatus, operation.status);
               AppendTimes(operation.job, &one);
               one.Close();
             });
  MaybeText(&object, "NextToken", response.next_token);
  object.Close();
}

void RenderResponse(const ops::CancelBulkOperationResponse& response, std::string* out) {
  ObjectWriter object(out);
  object.Text("BulkOperationArn", response.arn);
  object.Enum("BulkOperationStatus", kStatus, response.status);
  object.Close();
}

}  // namespace stator::api
