// The operations on Kinesis destinations: where the changes of a table are sent. The room triggers
// sends them, and leads destinations from state to state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/context.h"

namespace stator::ops {

// Destinations of all tables that are neither disabled nor failed. Each may have a call, and so a
// thread, of its own.
inline constexpr size_t kMostDestinationsInUse = 250;

enum class DateTimePrecision : uint8_t { kMillisecond, kMicrosecond };
// In the order of table::KinesisDestination::Status.
enum class DestinationStatus : uint8_t {
  kEnabling,
  kActive,
  kDisabling,
  kDisabled,
  kEnableFailed,
  kUpdating,
};

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
  struct Destination {
    std::string stream_arn;
    DestinationStatus status = DestinationStatus::kEnabling;
    std::string description;  // empty: none
    std::optional<DateTimePrecision> precision;
  };
  std::string table_name;
  std::vector<Destination> destinations;
};
struct EnableKinesisStreamingDestinationResponse {
  std::string table_name;
  std::string stream_arn;
  DestinationStatus status = DestinationStatus::kEnabling;
  StreamingConfiguration configuration;
};
struct DisableKinesisStreamingDestinationResponse {
  std::string table_name;
  std::string stream_arn;
  DestinationStatus status = DestinationStatus::kDisabling;
  StreamingConfiguration configuration;
};
struct UpdateKinesisStreamingDestinationResponse {
  std::string table_name;
  std::string stream_arn;
  DestinationStatus status = DestinationStatus::kUpdating;
  StreamingConfiguration configuration;
};

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
