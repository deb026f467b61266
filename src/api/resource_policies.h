// Schemas of the operations on resource policies.
#pragma once

#include "api/schema.h"
#include "ops/resource_policies.h"

namespace stator::api {

template <>
const OperationSchema& SchemaOf<ops::PutResourcePolicyRequest>();
template <>
const OperationSchema& SchemaOf<ops::GetResourcePolicyRequest>();
template <>
const OperationSchema& SchemaOf<ops::DeleteResourcePolicyRequest>();

}  // namespace stator::api
