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

namespace {

void WriteConfiguration(std::string_view name, const ops::StreamingConfiguration& configuration,
                        ObjectWriter* object, std::string* out) {
  object->Member(name);
  ObjectWriter inner(out);
  if (configuration.precision) {
    inner.Enum("ApproximateCreationDateTimePrecision", kDateTimePrecision,
               *configuration.precision);
  }
  inner.Close();
}

template <typename Response>
void WriteChanged(const Response& response, std::string_view configuration, std::string* out) {
  ObjectWriter object(out);
  object.Enum("DestinationStatus", kDestinationStatus, response.status);
  WriteConfiguration(configuration, response.configuration, &object, out);
  object.Text("StreamArn", response.stream_arn);
  object.Text("TableName", response.table_name);
  object.Close();
}

}  // namespace

void RenderResponse(const ops::DescribeKinesisStreamingDestinationResponse& response,
                    std::string* out) {
  ObjectWriter object(out);
  AppendList(object.Member("KinesisDataStreamDestinations"), response.destinations,
             [&](const ops::DescribeKinesisStreamingDestinationResponse::Destination& each) {
               ObjectWriter one(out);
               if (each.precision) {
                 one.Enum("ApproximateCreationDateTimePrecision", kDateTimePrecision,
                          *each.precision);
               }
               one.Enum("DestinationStatus", kDestinationStatus, each.status);
               if (!each.description.empty())
                 one.Text("DestinationStatusDescription", each.description);
               one.Text("StreamArn", each.stream_arn);
               one.Close();
             });
  object.Text("TableName", response.table_name);
  object.Close();
}
void RenderResponse(const ops::EnableKinesisStreamingDestinationResponse& response,
                    std::string* out) {
  WriteChanged(response, "EnableKinesisStreamingConfiguration", out);
}
void RenderResponse(const ops::DisableKinesisStreamingDestinationResponse& response,
                    std::string* out) {
  WriteChanged(response, "EnableKinesisStreamingConfiguration", out);
}
void RenderResponse(const ops::UpdateKinesisStreamingDestinationResponse& response,
                    std::string* out) {
  WriteChanged(response, "UpdateKinesisStreamingConfiguration", out);
}

}  // namespace stator::api
