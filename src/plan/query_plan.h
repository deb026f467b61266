// Turns key conditions into the interval of keys that a Query reads. Pure: it knows values and
// schemas, not the encoding of keys.
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
  std::string value;  // encoded; its type is that of the sort attribute
  bool inclusive = true;
};

// The items of one partition key value whose sort keys lie between the bounds, or begin with the
// prefix. In a key of several sort attributes, `leading` fixes the values of the first ones, and
// the bounds are those of the attribute after them.
struct KeyInterval {
  std::vector<std::string> partition;  // encoded, in the order of the schema
  std::vector<std::string> leading;    // encoded
  std::optional<Bound> lower;
  std::optional<Bound> upper;
  std::optional<std::string> prefix;  // encoded S or B

  // Returns whether a value of the sort attribute after `leading` lies inside. The value must have
  // the right type.
  bool ContainsSort(model::ValueView sort) const;
  // Returns whether the sort key attributes of an item lie inside. They must have the right types.
  bool ContainsSortKey(const model::IndexKeySchema& schema, model::ItemView item) const;
};

// Plans the interval. Returns kValidation with the service's texts for: a key attribute without a
// condition; a condition on another attribute; an operator other than equality on a partition
// attribute, or on any sort attribute but the last; values of the wrong type; empty key values.
// `index` is the name of the index whose key it is, for the last of these texts; empty for a table.
Result<KeyInterval> PlanQuery(const model::IndexKeySchema& schema,
                              const std::vector<expr::KeyConditionPart>& parts,
                              std::string_view index = "");
inline Result<KeyInterval> PlanQuery(const model::KeySchema& schema,
                                     const std::vector<expr::KeyConditionPart>& parts) {
  return PlanQuery(model::IndexKeySchema::Of(schema), parts);
}

}  // namespace stator::plan
