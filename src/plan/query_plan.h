// From key conditions to the interval of keys that a Query reads. Pure: knows values and schemas, not how keys are encoded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "model/key_schema.h"

namespace stator::plan {

struct Bound {
  std::string value;  // encoded, of the sort key's type
  bool inclusive = true;
};

// The items of one partition key value whose sort keys lie between the bounds, or begin with the prefix.
struct KeyInterval {
  std::string partition;  // encoded, of the partition key's type
  std::optional<Bound> lower;
  std::optional<Bound> upper;
  std::optional<std::string> prefix;  // encoded S or B

  // Whether a sort key value (of the right type) lies inside.
  bool ContainsSort(model::ValueView sort) const;
};

// kValidation with the service's texts: a key attribute without condition, a condition on another attribute, an operator
// other than equality on the partition key, values of the wrong type, empty key values.
Result<KeyInterval> PlanQuery(const model::KeySchema& schema, const std::vector<expr::KeyConditionPart>& parts);

}  // namespace stator::plan
