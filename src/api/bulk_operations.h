// Schemas of the operations on bulk puts.
#pragma once

#include "api/schema.h"
#include "ops/bulk_operations.h"

namespace stator::api {

template <>
const OperationSchema& SchemaOf<ops::StartBulkPutItemsRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeBulkOperationRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListBulkOperationsRequest>();
template <>
const OperationSchema& SchemaOf<ops::CancelBulkOperationRequest>();

}  // namespace stator::api
