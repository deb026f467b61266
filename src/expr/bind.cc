#include "expr/bind.h"

#include "base/base64.h"
#include "expr/reserved_words.h"

namespace stator::expr {

namespace {

using model::Type;
using model::ValueView;

constexpr bool IsConditionFunction(Op op) { return op >= Op::kAttributeExists && op <= Op::kSize; }
constexpr bool IsUpdateFunction(Op op) { return op == Op::kIfNotExists || op == Op::kListAppend; }

bool IsOrderable(Type type) { return type == Type::kS || type == Type::kN || type == Type::kB; }

std::string Base64(std::string_view bytes) {
  std::string out(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, out.data());
  return out;
}

// "AttributeValue: {S:a}", for an S, N or B.
std::string DescribeValue(ValueView value) {
  const std::string text =
      value.type() == Type::kB ? Base64(value.text()) : std::string(value.text());
  return "AttributeValue: {" + std::string(model::TypeName(value.type())) + ":" + text + "}";
}

std::string_view FunctionName(const Tree& tree, const Node& node) {
  return node.op == Op::kUnknownFunction ? tree.Text(node.begin, node.size) : OpName(node.op);
}

// What all three kinds of expression have in common.
class Binder {
 public:
  Binder(std::string_view parameter, Substitutions* subs, Tree* tree)
      : parameter_(parameter),
        subs_(subs),
        number_(subs == nullptr ? 0 : subs->StartTree()),
        tree_(*tree) {}

  Error Invalid(std::string_view text) const { return InvalidExpression(parameter_, text); }
  Error Invalid(std::string_view text, std::string_view detail) const {
    return InvalidExpression(parameter_, std::string(text) + std::string(detail));
  }

  Status CheckDistinct(const Node& node) const {
    const Node& first = tree_.Child(node);
    if (first.op != Op::kPath) return OkStatus();
    for (NodeId id = first.next; id != kNoNode; id = tree_.nodes[id].next) {
      const Node& other = tree_.nodes[id];
      if (other.op != Op::kPath || ComparePaths(tree_, first, other) != 0) continue;
      return Invalid(
          "The first operand must be distinct from the remaining operands for this operator or "
          "function; "
          "operator: " +
              std::string(OpName(node.op)) + ", first operand: ",
          DescribePath(tree_, first));
    }
    return OkStatus();
  }

  Status CheckParentheses() const {
    if (tree_.redundant_parentheses) return Invalid("The expression has redundant parentheses;");
    return OkStatus();
  }

  Status CheckFunctionNames(bool (*allowed)(Op), std::string_view kind) const {
    for (const Node& node : tree_.nodes) {
      if (!IsFunction(node.op) || allowed(node.op)) continue;
      if (node.op == Op::kUnknownFunction)
        return Invalid("Invalid function name; function: ", FunctionName(tree_, node));
      return Invalid(
          "The function is not allowed in " + std::string(kind) + " expression; function: ",
          OpName(node.op));
    }
    return OkStatus();
  }

  Error Misused(const Node& node) const {
    return Invalid("The function is not allowed to be used this way in an expression; function: ",
                   FunctionName(tree_, node));
  }

  Status CheckReservedWords() const {
    for (const Step& step : tree_.steps) {
      if (!step.is_index && !step.is_reference && IsReservedWord(tree_.Name(step))) {
        return Invalid("Attribute name is a reserved keyword; reserved keyword: ",
                       tree_.Name(step));
      }
    }
    return OkStatus();
  }

  Status CheckPathDepths() const {
    for (const Node& node : tree_.nodes) {
      if (node.op != Op::kPath || node.size <= kMaxPathDepth) continue;
      return Invalid("The document path has too many nesting levels; nesting levels: ",
                     std::to_string(node.size));
    }
    return OkStatus();
  }

  Status CheckOperatorCount() const {
    if (tree_.operators <= kMaxOperators) return OkStatus();
    return Invalid("The expression contains too many operators; operator count: ",
                   std::to_string(kMaxOperators + 1));
  }

  // Returns where the tree keeps the substitute. A value of 2 MB that the expression names 400
  // times is kept once.
  uint32_t Store(Substitutions::Entry* entry) {
    if (entry->stored_in != number_) {
      entry->stored_at = tree_.Store(entry->substitute);
      entry->stored_in = number_;
    }
    return entry->stored_at;
  }

  Status BindPath(Node* path) {
    if (path->bound) return OkStatus();
    path->bound = true;
    for (uint32_t i = 0; i < path->size; ++i) {
      Step& step = tree_.steps[path->begin + i];
      if (!step.is_reference) continue;
      const std::string_view reference = tree_.Name(step);
      Substitutions::Entry* name = subs_->UseName(reference);
      if (name == nullptr) {
        return Invalid(
            "An expression attribute name used in the document path is not defined; attribute "
            "name: ",
            reference);
      }
      step.begin = Store(name);
      step.size = static_cast<uint32_t>(name->substitute.size());
      step.is_reference = false;
    }
    return OkStatus();
  }

  Status BindValue(Node* value) {
    if (value->bound) return OkStatus();
    const std::string_view reference = tree_.Text(value->begin, value->size);
    Substitutions::Entry* encoded = subs_->UseValue(reference);
    if (encoded == nullptr) {
      return Invalid(
          "An expression attribute value used in expression is not defined; attribute value: ",
          reference);
    }
    value->bound = true;
    value->begin = Store(encoded);
    value->size = static_cast<uint32_t>(encoded->substitute.size());
    return OkStatus();
  }

  Error WrongType(const Node& node, std::string_view type) const {
    return Invalid("Incorrect operand type for operator or function; operator or function: " +
                       std::string(OpName(node.op)) + ", operand type: ",
                   type);
  }

  // Checks that a function has the right number of operands.
  Status CheckCount(const Node& node) const {
    size_t expected = 2;
    if (node.op == Op::kAttributeExists || node.op == Op::kAttributeNotExists ||
        node.op == Op::kSize)
      expected = 1;
    const size_t count = tree_.CountChildren(node);
    if (count == expected) return OkStatus();
    return Invalid("Incorrect number of operands for operator or function; operator or function: " +
                       std::string(OpName(node.op)) + ", number of operands: ",
                   std::to_string(count));
  }

  Error RequiresPath(const Node& node) const {
    return Invalid("Operator or function requires a document path; operator or function: ",
                   OpName(node.op));
  }

 protected:
  std::string_view parameter_;
  Substitutions* subs_;
  const uint32_t number_;  // of the tree, for Substitutions
  Tree& tree_;
};

class ConditionBinder : public Binder {
 public:
  using Binder::Binder;

  Status Bind() {
    TRY(CheckParentheses());
    TRY(CheckFunctionNames(IsConditionFunction, "a condition"));
    for (const Node& node : tree_.nodes) {
      const bool is_size = node.op == Op::kSize;
      if (IsFunction(node.op) && (is_size ? node.used_as_condition : node.used_as_operand))
        return Misused(node);
    }
    TRY(CheckReservedWords());
    return CheckPredicates();
  }

  // What is left to check when functions stand where they may.
  Status CheckPredicates() {
    TRY(CheckPathDepths());
    TRY(CheckOperatorCount());
    // Nodes stand in the order in which they were finished, so predicates come in the order of the
    // text.
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      Node& node = tree_.nodes[i];
      const bool predicate = IsComparison(node.op) || node.op == Op::kBetween ||
                             node.op == Op::kIn || node.used_as_condition;
      if (!predicate || node.op == Op::kAnd || node.op == Op::kOr || node.op == Op::kNot) continue;
      TRY(BindReferences(&node));
      TRY(CheckCounts(node));
      TRY(CheckDistinct(node));
      TRY(CheckTypes(node));
    }
    return OkStatus();
  }

 private:
  // The walks below go as deep as functions are nested, at most kMaxOperators.
  Status BindReferences(Node* node) {
    if (node->op == Op::kPath) return BindPath(node);
    if (node->op == Op::kValue) return BindValue(node);
    for (NodeId id = node->first_child; id != kNoNode; id = tree_.nodes[id].next)
      TRY(BindReferences(&tree_.nodes[id]));
    return OkStatus();
  }

  Status CheckCounts(const Node& node) const {
    for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next)
      TRY(CheckCounts(tree_.nodes[id]));
    if (IsFunction(node.op)) return CheckCount(node);
    if (node.op == Op::kIn && tree_.CountChildren(node) > kMaxInOperands + 1) {
      return Invalid("The IN operator is provided with too many operands; number of operands: ",
                     std::to_string(tree_.CountChildren(node) - 1));
    }
    return OkStatus();
  }

  // The type of an operand if it is known without an item.
  std::optional<Type> StaticType(const Node& operand) const {
    if (operand.op == Op::kValue) return tree_.Value(operand).type();
    if (operand.op == Op::kSize) return Type::kN;
    return std::nullopt;
  }

  Status CheckAllOrderable(const Node& node) const {
    for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next) {
      const std::optional<Type> type = StaticType(tree_.nodes[id]);
      if (type && !IsOrderable(*type)) return WrongType(node, model::TypeName(*type));
    }
    return OkStatus();
  }

  Status CheckTypes(const Node& node) const {
    for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next) {
      if (IsFunction(tree_.nodes[id].op)) TRY(CheckTypes(tree_.nodes[id]));
    }
    switch (node.op) {
      case Op::kLt:
      case Op::kLe:
      case Op::kGt:
      case Op::kGe: return CheckAllOrderable(node);
      case Op::kBetween: TRY(CheckAllOrderable(node)); return CheckBounds(node);
      case Op::kAttributeExists:
      case Op::kAttributeNotExists:
        if (tree_.Child(node).op != Op::kPath) return RequiresPath(node);
        return OkStatus();
      case Op::kAttributeType: return CheckAttributeType(node);
      case Op::kBeginsWith:
        for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next) {
          const std::optional<Type> type = StaticType(tree_.nodes[id]);
          if (type && *type != Type::kS && *type != Type::kB)
            return WrongType(node, model::TypeName(*type));
        }
        return OkStatus();
      case Op::kSize: {
        const std::optional<Type> type = StaticType(tree_.Child(node));
        if (type == Type::kN || type == Type::kBool || type == Type::kNull) {
          return WrongType(node, model::TypeName(*type));
        }
        return OkStatus();
      }
      default: return OkStatus();
    }
  }

  Status CheckBounds(const Node& node) const {
    const Node& lower = tree_.Next(tree_.Child(node));
    const Node& upper = tree_.Next(lower);
    if (lower.op != Op::kValue || upper.op != Op::kValue) return OkStatus();
    const ValueView low = tree_.Value(lower);
    const ValueView high = tree_.Value(upper);
    std::string_view complaint;
    if (low.type() != high.type()) {
      complaint = "The BETWEEN operator requires same data type for lower and upper bounds";
    } else if (model::CompareValues(low, high) > 0) {
      complaint =
          "The BETWEEN operator requires upper bound to be greater than or equal to lower bound";
    } else {
      return OkStatus();
    }
    return Invalid(complaint, "; lower bound operand: " + DescribeValue(low) +
                                  ", upper bound operand: " + DescribeValue(high));
  }

  Status CheckAttributeType(const Node& node) const {
    const Node& wanted = tree_.Next(tree_.Child(node));
    const std::optional<Type> type = StaticType(wanted);
    if (!type) return WrongType(node, "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}");
    if (*type != Type::kS) return WrongType(node, model::TypeName(*type));
    const std::string_view name = tree_.Value(wanted).text();
    if (model::TypeFromName(name)) return OkStatus();
    return Invalid(
        "Invalid attribute type name found; type: " + std::string(name) + ", valid types: ",
        "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
  }
};

class UpdateBinder : public Binder {
 public:
  using Binder::Binder;

  Status Bind(const UpdateSyntax& update) {
    TRY(CheckParentheses());
    TRY(CheckReservedWords());
    TRY(CheckFunctionNames(IsUpdateFunction, "an update"));
    // list_append makes the whole value; only if_not_exists may stand inside of something.
    for (const Node& node : tree_.nodes) {
      for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next) {
        if (tree_.nodes[id].op == Op::kListAppend) return Misused(tree_.nodes[id]);
      }
    }
    if (update.repeated_section != nullptr) {
      return Invalid("The \"" + std::string(update.repeated_section) +
                     "\" section can only be used once in an update expression;");
    }
    TRY(CheckPathDepths());
    TRY(CheckOperatorCount());
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      if (tree_.nodes[i].op == Op::kPath) TRY(BindPath(&tree_.nodes[i]));
    }
    return OkStatus();
  }

  Status BindValues() {
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      if (tree_.nodes[i].op == Op::kValue) TRY(BindValue(&tree_.nodes[i]));
    }
    return OkStatus();
  }

  Status CheckTypes(const std::vector<Action>& actions) const {
    for (const Node& node : tree_.nodes) {
      if (node.op == Op::kIfNotExists || node.op == Op::kListAppend) TRY(CheckCount(node));
    }
    for (const Node& node : tree_.nodes) {
      if (node.op == Op::kIfNotExists) TRY(CheckDistinct(node));
    }
    for (const Action& action : actions) {
      if (action.kind == Action::kAdd || action.kind == Action::kDelete)
        TRY(CheckSetOrNumber(action));
    }
    for (const Node& node : tree_.nodes) {
      switch (node.op) {
        case Op::kIfNotExists:
          if (tree_.Child(node).op != Op::kPath) return RequiresPath(node);
          break;
        case Op::kListAppend: TRY(CheckLiterals(node, Type::kL)); break;
        case Op::kPlus:
        case Op::kMinus: TRY(CheckLiterals(node, Type::kN)); break;
        default: break;
      }
    }
    return OkStatus();
  }

 private:
  Status CheckLiterals(const Node& node, Type type) const {
    for (NodeId id = node.first_child; id != kNoNode; id = tree_.nodes[id].next) {
      const Node& operand = tree_.nodes[id];
      if (operand.op == Op::kValue && tree_.Value(operand).type() != type) {
        return WrongType(node, model::TypeName(tree_.Value(operand).type()));
      }
    }
    return OkStatus();
  }

  // These two name types in words.
  Status CheckSetOrNumber(const Action& action) const {
    std::string_view word;
    switch (tree_.Value(tree_.nodes[action.value]).type()) {
      case Type::kSS:
      case Type::kNS:
      case Type::kBS: return OkStatus();
      case Type::kN:
        if (action.kind == Action::kAdd) return OkStatus();
        word = "NUMBER";
        break;
      case Type::kS: word = "STRING"; break;
      case Type::kB: word = "BINARY"; break;
      case Type::kBool: word = "BOOLEAN"; break;
      case Type::kNull: word = "NULL"; break;
      case Type::kL: word = "LIST"; break;
      case Type::kM: word = "MAP"; break;
    }
    return Invalid(std::string("Incorrect operand type for operator or function; operator: ") +
                       (action.kind == Action::kAdd ? "ADD" : "DELETE") + ", operand type: ",
                   word);
  }
};

}  // namespace

Status BindCondition(std::string_view parameter, Substitutions* subs, Tree* tree) {
  return ConditionBinder(parameter, subs, tree).Bind();
}

Status BindProjection(std::string_view parameter, const std::vector<NodeId>& paths,
                      Substitutions* subs, Tree* tree) {
  Binder binder(parameter, subs, tree);
  TRY(binder.CheckReservedWords());
  TRY(binder.CheckPathDepths());
  for (const NodeId path : paths) TRY(binder.BindPath(&tree->nodes[path]));
  return OkStatus();
}

Status BindUpdate(std::string_view parameter, const UpdateSyntax& update, Substitutions* subs,
                  Tree* tree) {
  return UpdateBinder(parameter, subs, tree).Bind(update);
}

Status BindUpdateValues(std::string_view parameter, Substitutions* subs, Tree* tree) {
  return UpdateBinder(parameter, subs, tree).BindValues();
}

Status CheckUpdateTypes(std::string_view parameter, const UpdateSyntax& update, Tree* tree) {
  return UpdateBinder(parameter, nullptr, tree).CheckTypes(update.actions);
}

Status CheckBoundCondition(Tree* tree) {
  ConditionBinder binder("", nullptr, tree);
  TRY(binder.CheckFunctionNames(IsConditionFunction, "a condition"));
  return binder.CheckPredicates();
}

Status CheckBoundPaths(Tree* tree) { return Binder("", nullptr, tree).CheckPathDepths(); }

Status CheckBoundUpdate(const std::vector<Action>& actions, Tree* tree) {
  UpdateBinder binder("", nullptr, tree);
  TRY(binder.CheckFunctionNames(IsUpdateFunction, "an update"));
  TRY(binder.CheckPathDepths());
  return binder.CheckTypes(actions);
}

}  // namespace stator::expr
