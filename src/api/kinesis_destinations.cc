#include "api/kinesis_destinations.h"

#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_enums.h"
#include "api/schema_parts.h"

namespace stator::api {
namespace {

using ops::DescribeKinesisStreamingDestinationRequest;
using ops::DisableKinesisStreamingDestinationRequest;
using ops::EnableKinesisStreamingDestinationRequest;
using ops::UpdateKinesisStreamingDestinationRequest;

constexpr Type kPrecisionType = EnumOf(&kDateTimePrecision);
constexpr Type kStreamArn = Text(37, 1024);

constexpr Field kConfigurationFields[] = {
    Optional<&ops::StreamingConfiguration::precision>("ApproximateCreationDateTimePrecision",
                                                      &kPrecisionType),
};
constexpr Shape kEnableConfigurationShape =
    MakeShape("EnableKinesisStreamingConfiguration", kConfigurationFields);
constexpr Type kEnableConfiguration = StructOf(&kEnableConfigurationShape);
constexpr Shape kUpdateConfigurationShape =
    MakeShape("UpdateKinesisStreamingConfiguration", kConfigurationFields);
constexpr Type kUpdateConfiguration = StructOf(&kUpdateConfigurationShape);

constexpr Field kDescribeFields[] = {
    Required<&DescribeKinesisStreamingDestinationRequest::table_name>("TableName", &kTableName)};
constexpr Shape kDescribeShape =
    MakeShape("DescribeKinesisStreamingDestinationInput", kDescribeFields);
constexpr OperationSchema kDescribe{"DescribeKinesisStreamingDestination", &kDescribeShape};

constexpr Field kEnableFields[] = {
    Required<&EnableKinesisStreamingDestinationRequest::table_name>("TableName", &kTableName),
    Required<&EnableKinesisStreamingDestinationRequest::stream_arn>("StreamArn", &kStreamArn),
    Optional<&EnableKinesisStreamingDestinationRequest::configuration>(
        "EnableKinesisStreamingConfiguration", &kEnableConfiguration),
};
constexpr Shape kEnableShape = MakeShape("KinesisStreamingDestinationInput", kEnableFields);
constexpr OperationSchema kEnable{"EnableKinesisStreamingDestination", &kEnableShape};

constexpr Field kDisableFields[] = {
    Required<&DisableKinesisStreamingDestinationRequest::table_name>("TableName", &kTableName),
    Required<&DisableKinesisStreamingDestinationRequest::stream_arn>("StreamArn", &kStreamArn),
    Optional<&DisableKinesisStreamingDestinationRequest::configuration>(
        "EnableKinesisStreamingConfiguration", &kEnableConfiguration),
};
constexpr Shape kDisableShape = MakeShape("KinesisStreamingDestinationInput", kDisableFields);
constexpr OperationSchema kDisable{"DisableKinesisStreamingDestination", &kDisableShape};

constexpr Field kUpdateFields[] = {
    Required<&UpdateKinesisStreamingDestinationRequest::table_name>("TableName", &kTableName),
    Required<&UpdateKinesisStreamingDestinationRequest::stream_arn>("StreamArn", &kStreamArn),
    Optional<&UpdateKinesisStreamingDestinationRequest::configuration>(
        "UpdateKinesisStreamingConfiguration", &kUpdateConfiguration),
};
constexpr Shape kUpdateShape = MakeShape("UpdateKinesisStreamingDestinationInput", kUpdateFields);
constexpr OperationSchema kUpdate{"UpdateKinesisStreamingDestination", &kUpdateShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<DescribeKinesisStreamingDestinationRequest>() {
  return kDescribe;
}
template <>
const OperationSchema& SchemaOf<EnableKinesisStreamingDestinationRequest>() {
  return kEnable;
}
template <>
const OperationSchema& SchemaOf<DisableKinesisStreamingDestinationRequest>() {
  return kDisable;
}
template <>
const OperationSchema& SchemaOf<UpdateKinesisStreamingDestinationRequest>() {
  return kUpdate;
}

void RenderResponse(const ops::DescribeKinesisStreamingDestinationResponse& response,
                    std::string* out) {
  ObjectWriter object(out);
  object.Member("KinesisDataStreamDestinations")->append("[]");
  object.Text("TableName", response.table_name);
  object.Close();
}
void RenderResponse(const ops::EnableKinesisStreamingDestinationResponse&, std::string*) {}
void RenderResponse(const ops::DisableKinesisStreamingDestinationResponse&, std::string*) {}
void RenderResponse(const ops::UpdateKinesisStreamingDestinationResponse&, std::string*) {}

}  // namespace stator::api
