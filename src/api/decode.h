// The one reader of request bodies: JSON to the typed requests of ops/requests.h, by the tables of
// schema.h.
#pragma once

#include "api/schema.h"
#include "base/result.h"
#include "simdjson.h"

namespace stator::api {

// Reads `body` into `request`, a default-made structure of the type that `schema` describes.
// Errors, in the service's order: kSerialization for the first JSON type that does not fit,
// anywhere in the body (without a message if the body is no object); kValidation for the
// constraints that do not hold. Invalid attribute values are no error here: they are left in
// *value_errors, which is null for requests without attribute values.
Status DecodeInto(const OperationSchema& schema, simdjson::dom::element body, void* request,
                  ops::ValueErrors* value_errors);

template <typename Request>
Result<Request> Decode(simdjson::dom::element body) {
  Request request;
  ops::ValueErrors* value_errors = nullptr;
  if constexpr (requires { request.value_errors; }) value_errors = &request.value_errors;
  TRY(DecodeInto(SchemaOf<Request>(), body, &request, value_errors));
  return request;
}

}  // namespace stator::api
