// From key conditions to the interval of keys that a Query reads. Pure: knows values and schemas,
// not how keys are encoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "model/key_schema.h"

namespace stator::plan {

struct Bound {
  std::string value;  // encoded, of the sort attribute's type
  bool inclusive = true;
};

// The items of one partition key value whose sort keys lie between the bounds, or begin with the
// prefix. A key of several sort attributes is restricted to values of its first ones (`leading`),
// and the bounds are those of the attribute behind.
struct KeyInterval {
  std::vector<std::string> partition;  // encoded, in the order of the schema
  std::vector<std::string> leading;    // encoded
  std::optional<Bound> lower;
  std::optional<Bound> upper;
  std::optional<std::string> prefix;  // encoded S or B

  // Whether a value (of the right type) of the sort attribute behind `leading` lies inside.
  bool ContainsSort(model::ValueView sort) const;
  // Whether all key attributes of an item (of the right types) lie inside; the partition key aside.
  bool ContainsSortKey(const model::IndexKeySchema& schema, model::ItemView item) const;
};

// kValidation with the service's texts: a key attribute without condition, a condition on another
// attribute, an operator other than equality on a partition attribute or before the last sort
// attribute, values of the wrong type, empty key values. `index` is the name of the index whose key
// it is, for that last text; empty for a table.
Result<KeyInterval> PlanQuery(const model::IndexKeySchema& schema,
                              const std::vector<expr::KeyConditionPart>& parts,
                              std::string_view index = "");
inline Result<KeyInterval> PlanQuery(const model::KeySchema& schema,
                                     const std::vector<expr::KeyConditionPart>& parts) {
  return PlanQuery(model::IndexKeySchema::Of(schema), parts);
}

}  // namespace stator::plan
