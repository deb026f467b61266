#include "plan/query_plan.h"

#include <utility>

namespace stator::plan {
namespace {

using expr::KeyConditionPart;
using model::ValueView;

const KeyConditionPart* FindPart(const std::vector<KeyConditionPart>& parts,
                                 std::string_view attribute) {
  for (const KeyConditionPart& part : parts) {
    if (part.attribute == attribute) return &part;
  }
  return nullptr;
}

Error MissedElement(const std::string& attribute) {
  return ValidationError("Query condition missed key schema element: " + attribute);
}

std::string Joined(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

// The rules for keys of several attributes, with the texts of DynamoDB Local 3.3: equality on every
// partition attribute, and on every sort attribute before one that has a condition.
Status CheckSeveral(const model::IndexKeySchema& schema,
                    const std::vector<KeyConditionPart>& parts) {
  const auto is_equality = [&](const model::KeyAttribute& attribute) {
    const KeyConditionPart* part = FindPart(parts, attribute.name);
    return part != nullptr && part->op == KeyConditionPart::kEq;
  };
  std::vector<std::string> without;
  for (const model::KeyAttribute& attribute : schema.partition) {
    if (!is_equality(attribute)) without.push_back(attribute.name);
  }
  if (!without.empty()) {
    return ValidationError("HASH key attributes " + Joined(without) +
                           " must have equality conditions specified in the query");
  }
  bool gap = false;
  std::vector<std::string> before;
  std::string anchor;  // the first attribute after a gap, else the last one with a condition
  for (const model::KeyAttribute& attribute : schema.sort) {
    if (FindPart(parts, attribute.name) == nullptr) {
      gap = true;
    } else {
      if (!without.empty()) {
        before = without;
        anchor = attribute.name;
      }
      if (gap) break;
    }
    if (!is_equality(attribute)) without.push_back(attribute.name);
  }
  if (anchor.empty()) return OkStatus();
  return ValidationError(
      "RANGE key attributes " + Joined(before) +
      " must have equality conditions specified in the query because a condition is present on key "
      "attribute " +
      anchor);
}

Status CheckValue(const std::string& encoded, const model::KeyAttribute& attribute) {
  const ValueView value(encoded);
  if (value.type() != attribute.type) {
    return ValidationError(
        "One or more parameter values were invalid: Condition parameter type does not match schema "
        "type");
  }
  return OkStatus();
}

Status CheckNotEmpty(const std::string& encoded, const model::KeyAttribute& attribute,
                     std::string_view index) {
  const ValueView value(encoded);
  if (value.type() == model::Type::kN || !value.text().empty()) return OkStatus();
  std::string message = "One or more parameter values are not valid. ";
  if (!index.empty()) message += "A value specified for a secondary index key is not supported. ";
  message += "The AttributeValue for a key attribute cannot contain an empty ";
  message += value.type() == model::Type::kS ? "string" : "binary";
  message += " value. ";
  message += index.empty() ? "Key: " : "IndexName: " + std::string(index) + ", IndexKey: ";
  return ValidationError(message + attribute.name);
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

bool KeyInterval::ContainsSortKey(const model::IndexKeySchema& schema, model::ItemView item) const {
  for (size_t i = 0; i < leading.size(); ++i) {
    if (!model::ValuesEqual(item.Find(schema.sort[i].name), ValueView(leading[i]))) return false;
  }
  return leading.size() >= schema.sort.size() ||
         ContainsSort(item.Find(schema.sort[leading.size()].name));
}

Result<KeyInterval> PlanQuery(const model::IndexKeySchema& schema,
                              const std::vector<KeyConditionPart>& parts, std::string_view index) {
  if (schema.HasSeveral()) TRY(CheckSeveral(schema, parts));
  KeyInterval interval;
  size_t used = 0;
  for (const model::KeyAttribute& attribute : schema.partition) {
    const KeyConditionPart* part = FindPart(parts, attribute.name);
    if (part == nullptr) return MissedElement(attribute.name);
    ++used;
  }
  // The sort attributes with conditions are the first ones, and no condition is left over.
  std::vector<const KeyConditionPart*> sorts;
  for (const model::KeyAttribute& attribute : schema.sort) {
    const KeyConditionPart* part = FindPart(parts, attribute.name);
    if (part == nullptr) break;
    sorts.push_back(part);
    ++used;
  }
  if (used < parts.size()) {
    if (sorts.size() == schema.sort.size())
      return ValidationError("Query key condition not supported");
    return MissedElement(schema.sort[sorts.size()].name);
  }
  for (const model::KeyAttribute& attribute : schema.partition) {
    const KeyConditionPart* part = FindPart(parts, attribute.name);
    TRY(CheckValue(part->value, attribute));
    if (part->op != KeyConditionPart::kEq)
      return ValidationError("Query key condition not supported");
    TRY(CheckNotEmpty(part->value, attribute, index));
    interval.partition.push_back(part->value);
  }
  if (sorts.empty()) return interval;
  for (size_t i = 0; i + 1 < sorts.size(); ++i) {
    TRY(CheckValue(sorts[i]->value, schema.sort[i]));
    if (sorts[i]->op != KeyConditionPart::kEq)
      return ValidationError("Query key condition not supported");
    TRY(CheckNotEmpty(sorts[i]->value, schema.sort[i], index));
    interval.leading.push_back(sorts[i]->value);
  }
  const KeyConditionPart* sort = sorts.back();
  const model::KeyAttribute& attribute = schema.sort[sorts.size() - 1];
  TRY(CheckValue(sort->value, attribute));
  TRY(CheckNotEmpty(sort->value, attribute, index));
  if (sort->op == KeyConditionPart::kBetween) {
    TRY(CheckValue(sort->value2, attribute));
    TRY(CheckNotEmpty(sort->value2, attribute, index));
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
