// Schemas of the operations on Kinesis destinations.
#pragma once

#include "api/schema.h"
#include "ops/kinesis_destinations.h"

namespace stator::api {

template <>
const OperationSchema& SchemaOf<ops::DescribeKinesisStreamingDestinationRequest>();
template <>
const OperationSchema& SchemaOf<ops::EnableKinesisStreamingDestinationRequest>();
template <>
const OperationSchema& SchemaOf<ops::DisableKinesisStreamingDestinationRequest>();
template <>
const OperationSchema& SchemaOf<ops::UpdateKinesisStreamingDestinationRequest>();

}  // namespace stator::api
