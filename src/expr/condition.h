// What is behind a Condition.
#pragma once

#include "expr/expr.h"
#include "expr/tree.h"

namespace stator::expr {

struct ConditionTree {
  Tree tree;
  NodeId root = kNoNode;
  bool legacy = false;  // from legacy parameters: key conditions then have their own messages
};

// "ConditionExpression", "FilterExpression" or "KeyConditionExpression".
std::string_view ParameterName(Role role);

}  // namespace stator::expr
