// From a CreateTable request to a descriptor, and what UpdateTable shares with it.
#pragma once

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/descriptor.h"

namespace stator::ops {

// Everything about the new table but its tablet. Errors with the service's texts.
Result<table::TableDescriptor> DefineTable(const Environment& env,
                                           const CreateTableRequest& request);

inline Error NeitherUnitsWhenOnDemand() {
  return ValidationError(
      "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits "
      "can be specified when "
      "BillingMode is PAY_PER_REQUEST");
}
inline Error BothUnitsWhenProvisioned() {
  return ValidationError(
      "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must "
      "both be specified when "
      "BillingMode is PROVISIONED");
}

// A tag set that is new to a table: at most 50 in all.
inline constexpr size_t kMaxTags = 50;
Status CheckTagCount(size_t count);
// kValidation for a key or value with a character that tags may not have, and for a key that
// begins with `aws:`.
Status CheckTags(const std::vector<Tag>& tags);

// A random UUID, as in TableId.
std::string NewUuid(Random& random);

// Returns the error for a parameter that this version does not support. Such a request is never
// answered with success.
inline Error NotSupportedYet(std::string_view parameter) {
  return ValidationError("One or more parameter values were invalid: " + std::string(parameter) +
                         " is not supported by this version of Stator");
}

}  // namespace stator::ops
