// The operations on Kinesis destinations. There are none here, so Enable is refused by name and the
// others answer as for a table without destinations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/context.h"

namespace stator::ops {

enum class DateTimePrecision : uint8_t { kMillisecond, kMicrosecond };

struct StreamingConfiguration {
  std::optional<DateTimePrecision> precision;
};
struct DescribeKinesisStreamingDestinationRequest {
  std::string table_name;
};
struct EnableKinesisStreamingDestinationRequest {
  std::string table_name;
  std::string stream_arn;
  std::optional<StreamingConfiguration> configuration;
};
struct DisableKinesisStreamingDestinationRequest {
  std::string table_name;
  std::string stream_arn;
  std::optional<StreamingConfiguration> configuration;
};
struct UpdateKinesisStreamingDestinationRequest {
  std::string table_name;
  std::string stream_arn;
  std::optional<StreamingConfiguration> configuration;
};

struct DescribeKinesisStreamingDestinationResponse {
  std::string table_name;
};
// Never answered.
struct EnableKinesisStreamingDestinationResponse {};
struct DisableKinesisStreamingDestinationResponse {};
struct UpdateKinesisStreamingDestinationResponse {};

void DescribeKinesisStreamingDestination(
    Context& ctx, DescribeKinesisStreamingDestinationRequest request,
    Callback<DescribeKinesisStreamingDestinationResponse> done);
void EnableKinesisStreamingDestination(Context& ctx,
                                       EnableKinesisStreamingDestinationRequest request,
                                       Callback<EnableKinesisStreamingDestinationResponse> done);
void DisableKinesisStreamingDestination(Context& ctx,
                                        DisableKinesisStreamingDestinationRequest request,
                                        Callback<DisableKinesisStreamingDestinationResponse> done);
void UpdateKinesisStreamingDestination(Context& ctx,
                                       UpdateKinesisStreamingDestinationRequest request,
                                       Callback<UpdateKinesisStreamingDestinationResponse> done);

}  // namespace stator::ops
