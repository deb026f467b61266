// Schemas of the operations on global tables.
#pragma once

#include "api/schema.h"
#include "ops/global_tables.h"

namespace stator::api {

template <>
const OperationSchema& SchemaOf<ops::ListGlobalTablesRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeTableReplicaAutoScalingRequest>();

}  // namespace stator::api
