#include "ops/read_checks.h"

namespace stator::ops {

Status CheckSelect(const std::optional<Select>& select, bool has_projection_expression,
                   bool has_attributes_to_get, bool has_index) {
  if (!select) return OkStatus();
  const bool has_projection = has_projection_expression || has_attributes_to_get;
  std::string_view name;
  switch (*select) {
    case Select::kSpecificAttributes:
      if (has_projection) return OkStatus();
      return ValidationError(
          "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
          "SPECIFIC_ATTRIBUTES");
    case Select::kAllAttributes: name = "ALL_ATTRIBUTES"; break;
    case Select::kAllProjectedAttributes: name = "ALL_PROJECTED_ATTRIBUTES"; break;
    case Select::kCount: name = "only the Count"; break;
  }
  if (has_projection) {
    return ValidationError(
        std::string("Cannot specify the ") +
        (has_projection_expression ? "ProjectionExpression" : "AttributesToGet") +
        " when choosing to get " + std::string(name));
  }
  if (*select == Select::kAllProjectedAttributes && !has_index) {
    return ValidationError(
        "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
  return OkStatus();
}

}  // namespace stator::ops
