#include "expr/statement.h"

#include <algorithm>

#include "expr/condition.h"

namespace stator::expr {

namespace {

using model::ValueView;

std::optional<Demand::Op> DemandOp(Op op, bool mirrored) {
  switch (op) {
    case Op::kEq: return Demand::kEq;
    case Op::kLt: return mirrored ? Demand::kGt : Demand::kLt;
    case Op::kLe: return mirrored ? Demand::kGe : Demand::kLe;
    case Op::kGt: return mirrored ? Demand::kLt : Demand::kGt;
    case Op::kGe: return mirrored ? Demand::kLe : Demand::kGe;
    case Op::kBetween: return Demand::kBetween;
    case Op::kBeginsWith: return Demand::kBeginsWith;
    case Op::kIn: return Demand::kIn;
    default: return std::nullopt;
  }
}

// The demand of one predicate, if it is one: a top-level attribute against values.
std::optional<Demand> DemandOf(const Tree& tree, const Node& node) {
  if (node.first_child == kNoNode) return std::nullopt;
  const Node* attribute = &tree.Child(node);
  if (attribute->next == kNoNode) return std::nullopt;
  const Node* first = &tree.Next(*attribute);
  const bool mirrored = IsComparison(node.op) && attribute->op == Op::kValue;
  if (mirrored) std::swap(attribute, first);
  const std::optional<Demand::Op> op = DemandOp(node.op, mirrored);
  if (!op || attribute->op != Op::kPath || attribute->size != 1) return std::nullopt;
  Demand demand;
  demand.attribute = tree.Name(tree.steps[attribute->begin]);
  demand.op = *op;
  if (first->op != Op::kValue) return std::nullopt;
  demand.value = tree.Value(*first);
  if (*op == Demand::kBetween) {
    const Node& upper = tree.Next(*first);
    if (upper.op != Op::kValue) return std::nullopt;
    demand.value2 = tree.Value(upper);
  } else if (*op == Demand::kIn) {
    for (const Node* value = first;; value = &tree.Next(*value)) {
      if (value->op != Op::kValue) return std::nullopt;
      demand.values.push_back(tree.Value(*value));
      if (value->next == kNoNode) break;
    }
  }
  return demand;
}

void Collect(const Tree& tree, const Node& node, Demands* demands) {
  if (node.op == Op::kAnd) {
    for (NodeId id = node.first_child; id != kNoNode; id = tree.nodes[id].next)
      Collect(tree, tree.nodes[id], demands);
    return;
  }
  if (std::optional<Demand> demand = DemandOf(tree, node)) {
    demands->all.push_back(*std::move(demand));
  } else {
    demands->complete = false;
  }
}

}  // namespace

Demands DemandsOf(const Condition& condition) {
  Demands demands;
  if (!condition.present()) return demands;
  const ConditionTree& tree = *condition.tree();
  demands.all.reserve(2);
  Collect(tree.tree, tree.tree.nodes[tree.root], &demands);
  return demands;
}

std::vector<Comparison> ComparisonsOf(const Condition& condition) {
  std::vector<Comparison> comparisons;
  if (!condition.present()) return comparisons;
  const Tree& tree = condition.tree()->tree;
  for (const Node& node : tree.nodes) {
    const bool compares = IsComparison(node.op) || node.op == Op::kPresentAndNe ||
                          node.op == Op::kBetween || node.op == Op::kIn ||
                          node.op == Op::kBeginsWith;
    if (!compares) continue;
    for (NodeId a = node.first_child; a != kNoNode; a = tree.nodes[a].next) {
      const Node& path = tree.nodes[a];
      if (path.op != Op::kPath || path.size != 1) continue;
      for (NodeId b = node.first_child; b != kNoNode; b = tree.nodes[b].next) {
        if (tree.nodes[b].op != Op::kValue) continue;
        comparisons.push_back({tree.Name(tree.steps[path.begin]), tree.Value(tree.nodes[b])});
      }
    }
  }
  return comparisons;
}

std::string_view NestedUse(const Condition& condition, std::span<const std::string_view> names) {
  if (!condition.present()) return {};
  const Tree& tree = condition.tree()->tree;
  for (const Node& node : tree.nodes) {
    if (node.op != Op::kPath || node.size == 1) continue;
    const auto found = std::find(names.begin(), names.end(), tree.Name(tree.steps[node.begin]));
    if (found != names.end()) return *found;
  }
  return {};
}

}  // namespace stator::expr
