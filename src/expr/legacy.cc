// Translates legacy parameters (Expected, KeyConditions, AttributeUpdates and others) into
// expressions.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "expr/condition.h"
#include "expr/projection.h"
#include "expr/update.h"

namespace stator::expr {

namespace {

using model::Type;
using model::ValueView;

constexpr size_t kNoLimit = SIZE_MAX;

// One comparison operator: how many values it takes and of which types.
struct Comparison {
  std::string_view name;
  Op op;
  size_t min_values;
  size_t max_values;
  std::string_view types;  // "" for any type, else a list in words
};
constexpr std::array kComparisons = {
    Comparison{"EQ", Op::kEq, 1, 1, ""},
    Comparison{"NE", Op::kNe, 1, 1, ""},
    Comparison{"LE", Op::kLe, 1, 1, "SNB"},
    Comparison{"LT", Op::kLt, 1, 1, "SNB"},
    Comparison{"GE", Op::kGe, 1, 1, "SNB"},
    Comparison{"GT", Op::kGt, 1, 1, "SNB"},
    Comparison{"NOT_NULL", Op::kAttributeExists, 0, 0, ""},
    Comparison{"NULL", Op::kAttributeNotExists, 0, 0, ""},
    Comparison{"CONTAINS", Op::kContains, 1, 1, "SNB"},
    Comparison{"NOT_CONTAINS", Op::kNotContains, 1, 1, "SNB"},
    Comparison{"BEGINS_WITH", Op::kBeginsWith, 1, 1, "SB"},
    Comparison{"IN", Op::kIn, 1, kNoLimit, "SNB"},
    Comparison{"BETWEEN", Op::kBetween, 2, 2, "SNB"},
};

Error InvalidParameter(std::string_view text) {
  return ValidationError("One or more parameter values were invalid: " + std::string(text));
}

bool IsAllowed(const Comparison& comparison, Type type) {
  if (comparison.types.empty()) return true;
  const std::string_view name = model::TypeName(type);
  return name.size() == 1 && comparison.types.find(name[0]) != std::string_view::npos;
}

// Text-free trees. Legacy names are top-level and literal.
NodeId AddPath(Tree* tree, std::string_view name) {
  const auto step = static_cast<uint32_t>(tree->steps.size());
  const uint32_t begin = tree->Store(name);
  tree->steps.push_back({false, false, begin, static_cast<uint32_t>(name.size())});
  const NodeId path = tree->Add(Op::kPath, step, 1);
  tree->nodes[path].bound = true;
  return path;
}

NodeId AddValue(Tree* tree, std::string_view encoded) {
  const uint32_t begin = tree->Store(encoded);
  const NodeId value = tree->Add(Op::kValue, begin, static_cast<uint32_t>(encoded.size()));
  tree->nodes[value].bound = true;
  return value;
}

// {ComparisonOperator, AttributeValueList or Value}
Result<NodeId> CompileComparison(const LegacyCondition& condition, Tree* tree) {
  const std::string& name = *condition.comparison_operator;
  const auto comparison = std::find_if(kComparisons.begin(), kComparisons.end(),
                                       [&](const Comparison& c) { return c.name == name; });
  if (comparison == kComparisons.end())
    return InvalidParameter("Unsupported operator on ComparisonOperator: " + name);
  std::vector<std::string_view> values;
  if (condition.values) values.assign(condition.values->begin(), condition.values->end());
  if (condition.value) values.push_back(*condition.value);
  if (values.size() < comparison->min_values || values.size() > comparison->max_values) {
    return InvalidParameter("Invalid number of argument(s) for the " + name +
                            " ComparisonOperator");
  }
  for (const std::string_view value : values) {
    if (ValueView(value).type() != ValueView(values[0]).type()) {
      return InvalidParameter("AttributeValues inside AttributeValueList must be of same type");
    }
  }
  for (const std::string_view value : values) {
    const Type type = ValueView(value).type();
    if (!IsAllowed(*comparison, type)) {
      return InvalidParameter("ComparisonOperator " + name + " is not valid for " +
                              std::string(model::TypeName(type)) + " AttributeValue type");
    }
  }
  if (comparison->op == Op::kBetween &&
      model::CompareValues(ValueView(values[0]), ValueView(values[1])) > 0) {
    return ValidationError(
        "The BETWEEN condition was provided a range where the lower bound is greater than the "
        "upper bound");
  }
  const NodeId node = tree->Add(comparison->op);
  tree->AppendChild(node, AddPath(tree, condition.attribute));
  for (const std::string_view value : values) tree->AppendChild(node, AddValue(tree, value));
  return node;
}

// {Value, Exists}
Result<NodeId> CompileExpectation(const LegacyCondition& condition, Tree* tree) {
  const bool exists = condition.exists.value_or(true);
  if (exists && !condition.value) {
    return InvalidParameter(std::string("Value must be provided when Exists is ") +
                            (condition.exists ? "true" : "null") +
                            " for Attribute: " + condition.attribute);
  }
  if (!exists && condition.value) {
    return InvalidParameter("Value cannot be used when Exists is false for Attribute: " +
                            condition.attribute);
  }
  const NodeId node = tree->Add(exists ? Op::kEq : Op::kAttributeNotExists);
  tree->AppendChild(node, AddPath(tree, condition.attribute));
  if (condition.value) tree->AppendChild(node, AddValue(tree, *condition.value));
  return node;
}

Result<NodeId> CompileOne(const LegacyCondition& condition, Tree* tree) {
  const std::string for_attribute = " for Attribute: " + condition.attribute;
  if (condition.values && condition.value) {
    return InvalidParameter("Value and AttributeValueList cannot be used together" + for_attribute);
  }
  if (!condition.comparison_operator) {
    if (condition.values) {
      return InvalidParameter("AttributeValueList can only be used with a ComparisonOperator" +
                              for_attribute);
    }
    return CompileExpectation(condition, tree);
  }
  if (condition.exists)
    return InvalidParameter("Exists and ComparisonOperator cannot be used together" +
                            for_attribute);
  const std::string& name = *condition.comparison_operator;
  if (name != "NULL" && name != "NOT_NULL" && !condition.values && !condition.value) {
    return InvalidParameter("Value or AttributeValueList must be used with ComparisonOperator: " +
                            name + for_attribute);
  }
  return CompileComparison(condition, tree);
}

}  // namespace

Result<Condition> CompileLegacy(const std::vector<LegacyCondition>& conditions, bool or_together,
                                Role role) {
  auto compiled = std::make_shared<ConditionTree>();
  compiled->legacy = true;
  Tree& tree = compiled->tree;
  std::vector<NodeId> parts;
  for (const LegacyCondition& condition : conditions) {
    // Only Expected knows conditions without an operator; elsewhere a missing list is an empty one.
    if (role == Role::kCondition) {
      ASSIGN_OR_RETURN(const NodeId part, CompileOne(condition, &tree));
      parts.push_back(part);
    } else {
      if (!condition.comparison_operator) {
        return ValidationError(
            "1 validation error detected: Value null at 'comparisonOperator' failed to satisfy "
            "constraint: Member must not be null");
      }
      ASSIGN_OR_RETURN(const NodeId part, CompileComparison(condition, &tree));
      parts.push_back(part);
    }
  }
  if (parts.size() == 1) {
    compiled->root = parts[0];
  } else {
    compiled->root = tree.Add(or_together ? Op::kOr : Op::kAnd);
    for (const NodeId part : parts) tree.AppendChild(compiled->root, part);
  }
  if (parts.empty()) return Condition();
  return Condition(std::move(compiled));
}

Result<Update> CompileLegacyUpdates(const std::vector<LegacyUpdate>& updates) {
  auto compiled = std::make_shared<UpdateTree>();
  Tree& tree = compiled->tree;
  std::vector<NodeId> targets;
  for (const LegacyUpdate& update : updates) {
    Action action;
    if (!update.value) {
      if (update.action != LegacyUpdate::kDelete) {
        return InvalidParameter(
            "Only DELETE action is allowed when no attribute value is specified");
      }
      action.kind = Action::kRemove;
    } else {
      const Type type = ValueView(*update.value).type();
      const bool is_set = type == Type::kSS || type == Type::kNS || type == Type::kBS;
      switch (update.action) {
        case LegacyUpdate::kPut: action.kind = Action::kSet; break;
        case LegacyUpdate::kDelete:
          if (!is_set) {
            return InvalidParameter("DELETE action with value is not supported for the type " +
                                    std::string(model::TypeName(type)));
          }
          action.kind = Action::kDelete;
          break;
        case LegacyUpdate::kAdd:
          if (!is_set && type != Type::kN && type != Type::kL) {
            return InvalidParameter("ADD action is not supported for the type " +
                                    std::string(model::TypeName(type)));
          }
          action.kind = Action::kAdd;
          break;
      }
      action.legacy = true;
      action.value = AddValue(&tree, *update.value);
    }
    action.path = AddPath(&tree, update.attribute);
    targets.push_back(action.path);
    compiled->actions.push_back(action);
  }
  if (updates.empty()) return Update();
  TRY(BuildPathTrie("AttributeUpdates", tree, targets, &compiled->trie));
  return Update(std::move(compiled));
}

Result<Projection> CompileAttributesToGet(const std::vector<std::string>& names) {
  auto compiled = std::make_shared<ProjectionTree>();
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      return InvalidParameter("Duplicate value in attribute name: " + name);
    compiled->paths.push_back(AddPath(&compiled->tree, name));
  }
  TRY(BuildPathTrie("AttributesToGet", compiled->tree, compiled->paths, &compiled->trie));
  return Projection(std::move(compiled));
}

}  // namespace stator::expr
