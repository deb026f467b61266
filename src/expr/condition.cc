#include "expr/condition.h"

#include "expr/bind.h"
#include "expr/parse.h"

namespace stator::expr {

std::string_view ParameterName(Role role) {
  switch (role) {
    case Role::kCondition: return "ConditionExpression";
    case Role::kFilter: return "FilterExpression";
    case Role::kKeyCondition: return "KeyConditionExpression";
  }
  return "";
}

Result<Condition> ParseCondition(std::string_view text, Role role, Substitutions* subs) {
  auto condition = std::make_shared<ConditionTree>();
  ASSIGN_OR_RETURN(condition->root,
                   ParseConditionText(ParameterName(role), text, &condition->tree));
  TRY(BindCondition(ParameterName(role), subs, &condition->tree));
  return Condition(std::move(condition));
}

std::vector<std::string> TopLevelAttributes(const Condition& condition) {
  if (!condition.present()) return {};
  const Tree& tree = condition.tree()->tree;
  TopLevelNames names(tree);
  for (const Node& node : tree.nodes) {
    if (node.op == Op::kPath) names.Add(node);
  }
  return names.Take();
}

}  // namespace stator::expr
