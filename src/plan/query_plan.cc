#include "plan/query_plan.h"

#include <utility>

namespace stator::plan {
namespace {

using expr::KeyConditionPart;
using model::ValueView;

const KeyConditionPart* FindPart(const std::vector<KeyConditionPart>& parts, std::string_view attribute) {
  for (const KeyConditionPart& part : parts) {
    if (part.attribute == attribute) return &part;
  }
  return nullptr;
}

Error MissedElement(const std::string& attribute) {
  return ValidationError("Query condition missed key schema element: " + attribute);
}

Status CheckValue(const std::string& encoded, const model::KeyAttribute& attribute) {
  const ValueView value(encoded);
  if (value.type() != attribute.type) {
    return ValidationError("One or more parameter values were invalid: Condition parameter type does not match schema type");
  }
  return OkStatus();
}

Status CheckNotEmpty(const std::string& encoded, const model::KeyAttribute& attribute) {
  const ValueView value(encoded);
  if (value.type() != model::Type::kN && value.text().empty()) {
    return ValidationError(std::string("One or more parameter values are not valid. The AttributeValue for a key attribute "
                                       "cannot contain an empty ") +
                           (value.type() == model::Type::kS ? "string" : "binary") + " value. Key: " + attribute.name);
  }
  return OkStatus();
}

}  // namespace

bool KeyInterval::ContainsSort(ValueView sort) const {
  if (prefix) return sort.text().starts_with(ValueView(*prefix).text());
  if (lower) {
    const int order = model::CompareValues(sort, ValueView(lower->value));
    if (order < 0 || (order == 0 && !lower->inclusive)) return false;
  }
  if (upper) {
    const int order = model::CompareValues(sort, ValueView(upper->value));
    if (order > 0 || (order == 0 && !upper->inclusive)) return false;
  }
  return true;
}

Result<KeyInterval> PlanQuery(const model::KeySchema& schema, const std::vector<KeyConditionPart>& parts) {
  const KeyConditionPart* partition = FindPart(parts, schema.partition.name);
  if (partition == nullptr) return MissedElement(schema.partition.name);
  const KeyConditionPart* sort = schema.sort ? FindPart(parts, schema.sort->name) : nullptr;
  if (parts.size() > 1 && sort == nullptr) {
    if (!schema.sort) return ValidationError("Query key condition not supported");
    return MissedElement(schema.sort->name);
  }
  TRY(CheckValue(partition->value, schema.partition));
  if (partition->op != KeyConditionPart::kEq) return ValidationError("Query key condition not supported");
  TRY(CheckNotEmpty(partition->value, schema.partition));

  KeyInterval interval;
  interval.partition = partition->value;
  if (sort == nullptr) return interval;
  TRY(CheckValue(sort->value, *schema.sort));
  TRY(CheckNotEmpty(sort->value, *schema.sort));
  if (sort->op == KeyConditionPart::kBetween) {
    TRY(CheckValue(sort->value2, *schema.sort));
    TRY(CheckNotEmpty(sort->value2, *schema.sort));
  }
  switch (sort->op) {
    case KeyConditionPart::kEq:
      interval.lower = Bound{sort->value, true};
      interval.upper = Bound{sort->value, true};
      break;
    case KeyConditionPart::kLt: interval.upper = Bound{sort->value, false}; break;
    case KeyConditionPart::kLe: interval.upper = Bound{sort->value, true}; break;
    case KeyConditionPart::kGt: interval.lower = Bound{sort->value, false}; break;
    case KeyConditionPart::kGe: interval.lower = Bound{sort->value, true}; break;
    case KeyConditionPart::kBetween:
      interval.lower = Bound{sort->value, true};
      interval.upper = Bound{sort->value2, true};
      break;
    case KeyConditionPart::kBeginsWith: interval.prefix = sort->value; break;
  }
  return interval;
}

}  // namespace stator::plan
