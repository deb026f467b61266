#include "ops/kinesis_destinations.h"

#include "ops/table_definition.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

Error NoSuchState(std::string_view text) {
  return ValidationError("Table is not in a valid state to enable Kinesis Streaming Destination: " +
                         std::string(text));
}

}  // namespace

void DescribeKinesisStreamingDestination(
    Context& ctx, DescribeKinesisStreamingDestinationRequest request,
    Callback<DescribeKinesisStreamingDestinationResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  done(DescribeKinesisStreamingDestinationResponse{
      std::string(table::ShownName((*table)->descriptor.name))});
}

void EnableKinesisStreamingDestination(Context& ctx,
                                       EnableKinesisStreamingDestinationRequest request,
                                       Callback<EnableKinesisStreamingDestinationResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  done(NotSupportedYet("EnableKinesisStreamingDestination"));
}

void DisableKinesisStreamingDestination(Context& ctx,
                                        DisableKinesisStreamingDestinationRequest request,
                                        Callback<DisableKinesisStreamingDestinationResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  done(NoSuchState("KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."));
}

void UpdateKinesisStreamingDestination(Context& ctx,
                                       UpdateKinesisStreamingDestinationRequest request,
                                       Callback<UpdateKinesisStreamingDestinationResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  done(NoSuchState(
      "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
      "TableName: " +
      std::string(table::ShownName((*table)->descriptor.name))));
}

}  // namespace stator::ops
