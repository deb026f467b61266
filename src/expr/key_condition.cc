// Parses KeyConditionExpression.
#include "expr/condition.h"

namespace stator::expr {

namespace {

// Takes a condition apart into key conditions. Refuses other conditions; if several errors apply,
// the first one in the service's order of checks is returned.
class Extractor {
 public:
  explicit Extractor(const ConditionTree& condition)
      : tree_(condition.tree), legacy_(condition.legacy) {}

  // Recursion is bounded by the number of operators.
  Status Take(const Node& node) {
    switch (node.op) {
      case Op::kAnd:
        for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next)
          TRY(Take(tree_.nodes[id]));
        return OkStatus();
      case Op::kEq:
      case Op::kLt:
      case Op::kLe:
      case Op::kGt:
      case Op::kGe:
      case Op::kBetween:
      case Op::kBeginsWith: return TakePredicate(node);
      default: break;
    }
    if (legacy_)
      return ValidationError("Attempted conditional constraint is not an indexable operation");
    return ValidationError("Invalid operator used in KeyConditionExpression: " +
                           std::string(OpName(node.op)));
  }

  std::vector<KeyConditionPart> TakeParts() { return std::move(parts_); }

 private:
  Status TakePredicate(const Node& node) {
    const Node& first = tree_.Child(node);
    if ((node.op == Op::kBetween || node.op == Op::kBeginsWith) && first.op != Op::kPath) {
      if (first.op == Op::kSize) return Nested();
      return ValidationError(
          "Invalid condition in KeyConditionExpression: " + std::string(OpName(node.op)) +
          " operator must have the key attribute as its first operand");
    }
    const Node* path = nullptr;
    const Node* value = nullptr;
    const Node* value2 = nullptr;
    for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next) {
      const Node& operand = tree_.nodes[id];
      if (operand.op == Op::kPath) {
        if (path != nullptr) {
          return ValidationError(
              "Invalid condition in KeyConditionExpression: Multiple attribute names used in one "
              "condition");
        }
        if (operand.size > 1) {
          return ValidationError(
              "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on "
              "nested attributes");
        }
        path = &operand;
      } else if (operand.op == Op::kValue) {
        (value == nullptr ? value : value2) = &operand;
      } else {
        return Nested();
      }
    }
    if (path == nullptr) {
      return ValidationError(
          "Invalid condition in KeyConditionExpression: No key attribute specified");
    }
    KeyConditionPart part;
    part.attribute = tree_.Name(tree_.steps[path->begin]);
    for (const KeyConditionPart& other : parts_) {
      if (other.attribute == part.attribute) {
        return ValidationError("KeyConditionExpressions must only contain one condition per key");
      }
    }
    part.op = PartOp(node.op, /*mirrored=*/path != &first);
    part.value = tree_.Value(*value).encoded();
    if (value2 != nullptr) part.value2 = tree_.Value(*value2).encoded();
    parts_.push_back(std::move(part));
    return OkStatus();
  }

  static Error Nested() {
    return ValidationError("KeyConditionExpressions cannot contain nested operations");
  }

  static KeyConditionPart::Op PartOp(Op op, bool mirrored) {
    switch (op) {
      case Op::kLt: return mirrored ? KeyConditionPart::kGt : KeyConditionPart::kLt;
      case Op::kLe: return mirrored ? KeyConditionPart::kGe : KeyConditionPart::kLe;
      case Op::kGt: return mirrored ? KeyConditionPart::kLt : KeyConditionPart::kGt;
      case Op::kGe: return mirrored ? KeyConditionPart::kLe : KeyConditionPart::kGe;
      case Op::kBetween: return KeyConditionPart::kBetween;
      case Op::kBeginsWith: return KeyConditionPart::kBeginsWith;
      default: return KeyConditionPart::kEq;
    }
  }

  const Tree& tree_;
  const bool legacy_;
  std::vector<KeyConditionPart> parts_;
};

}  // namespace

Result<std::vector<KeyConditionPart>> ExtractKeyConditions(const Condition& condition,
                                                           size_t max_parts) {
  if (!condition.present()) return std::vector<KeyConditionPart>();
  Extractor extractor(*condition.tree());
  TRY(extractor.Take(condition.tree()->tree.nodes[condition.tree()->root]));
  std::vector<KeyConditionPart> parts = extractor.TakeParts();
  if (parts.size() > max_parts) return ValidationError("Conditions can be of length 1 or 2 only");
  return parts;
}

}  // namespace stator::expr
