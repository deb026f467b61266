// Replaces references by what they stand for and checks everything that grammar does not: which
// functions may stand where, reserved words, undefined references, numbers and types of operands.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "expr/parse.h"
#include "expr/tree.h"

namespace stator::expr {

inline constexpr uint32_t kMaxOperators = 300;
inline constexpr size_t kMaxInOperands = 100;  // operands in the list
inline constexpr uint32_t kMaxPathDepth = 32;

// Each takes a tree as parsed and leaves it bound. When several things are wrong, the order in
// which the service reports them decides: redundant parentheses, unknown function, misused
// function, reserved word; then, for each comparison or function in turn, undefined references,
// number of operands, operands that must differ, types.
Status BindCondition(std::string_view parameter, Substitutions* subs, Tree* tree);
Status BindProjection(std::string_view parameter, const std::vector<NodeId>& paths,
                      Substitutions* subs, Tree* tree);
// Bind an update in three steps, in this order: names (BindUpdate), values (BindUpdateValues),
// operand types (CheckUpdateTypes). The caller must refuse overlapping targets between the first
// two.
Status BindUpdate(std::string_view parameter, const UpdateSyntax& update, Substitutions* subs,
                  Tree* tree);
Status BindUpdateValues(std::string_view parameter, Substitutions* subs, Tree* tree);
Status CheckUpdateTypes(std::string_view parameter, const UpdateSyntax& update, Tree* tree);

// Make the same checks for the parts of a PartiQL statement, which are bound when they are parsed.
// The error texts have no parameter name in front.
Status CheckBoundCondition(Tree* tree);
Status CheckBoundPaths(Tree* tree);
Status CheckBoundUpdate(const std::vector<Action>& actions, Tree* tree);

}  // namespace stator::expr
