// Evaluates conditions and filters on an item.
#include <algorithm>

#include "expr/condition.h"
#include "expr/find_text.h"
#include "expr/item_paths.h"

namespace stator::expr {

namespace {

using model::Type;
using model::ValueView;

// A value in the item or in the request, the number that size() makes, or nothing.
struct Operand {
  ValueView value;
  bool is_size = false;
  int64_t size = 0;

  bool missing() const { return !is_size && value.empty(); }
  Type type() const { return is_size ? Type::kN : value.type(); }
  model::Number number() const { return is_size ? model::Number::FromInt(size) : value.number(); }
};

// UTF-16 code units, as observed on the service.
int64_t CountCharacters(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    count += (byte & 0xc0) != 0x80;  // every character has one byte that is no continuation
    count += byte >= 0xf0;           // those beyond the basic plane take two units
  }
  return count;
}

// -1 for types that have no size.
int64_t SizeOf(ValueView value) {
  switch (value.type()) {
    case Type::kS: return CountCharacters(value.text());
    case Type::kB: return static_cast<int64_t>(value.text().size());
    case Type::kSS:
    case Type::kNS:
    case Type::kBS: return static_cast<int64_t>(value.set().size());
    case Type::kL: return static_cast<int64_t>(value.list().size());
    case Type::kM: return static_cast<int64_t>(value.map().size());
    case Type::kN:
    case Type::kBool:
    case Type::kNull: return -1;
  }
  return -1;
}

bool Equal(const Operand& a, const Operand& b) {
  if (a.missing() || b.missing()) return false;
  if (!a.is_size && !b.is_size) return model::ValuesEqual(a.value, b.value);
  return a.type() == Type::kN && b.type() == Type::kN && a.number() == b.number();
}

bool Comparable(const Operand& a, const Operand& b) {
  if (a.missing() || b.missing() || a.type() != b.type()) return false;
  const Type type = a.type();
  return type == Type::kS || type == Type::kN || type == Type::kB;
}

// Compares two comparable operands; returns <0, 0 or >0.
int Compare(const Operand& a, const Operand& b) {
  if (!a.is_size && !b.is_size) return model::CompareValues(a.value, b.value);
  const auto order = a.number() <=> b.number();
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool BeginsWith(const Operand& whole, const Operand& prefix) {
  if (whole.missing() || prefix.missing() || whole.type() != prefix.type()) return false;
  if (whole.type() != Type::kS && whole.type() != Type::kB) return false;
  return whole.value.text().starts_with(prefix.value.text());
}

// Steps of an operation that reads `bytes` as memcmp does, and of one that looks at each byte or
// each member.
constexpr uint64_t CompareSteps(size_t bytes) { return 1 + bytes / 64; }
constexpr uint64_t ScanSteps(size_t bytes) { return 1 + bytes; }

bool Contains(const Operand& container, const Operand& element) {
  if (container.missing() || element.missing() || container.is_size) return false;
  const ValueView in = container.value;
  const Type type = element.type();
  switch (in.type()) {
    case Type::kS:
    case Type::kB: return type == in.type() && HasPart(in.text(), element.value.text());
    case Type::kSS: return type == Type::kS && in.set().Contains(element.value.text());
    case Type::kBS: return type == Type::kB && in.set().Contains(element.value.text());
    case Type::kNS:
      if (type != Type::kN) return false;
      return element.is_size ? in.set().Contains(element.number().ToString())
                             : in.set().Contains(element.value.text());
    case Type::kL:
      for (const ValueView member : in.list()) {
        if (Equal({.value = member}, element)) return true;
      }
      return false;
    default: return false;
  }
}

class Evaluator {
 public:
  Evaluator(const Tree& tree, model::ItemView item) : tree_(tree), paths_(tree, item) {}

  uint64_t steps() const { return steps_ + paths_.steps(); }

  // Recursion is bounded by the number of operators, 300 for expressions; legacy conditions are
  // flat.
  bool Holds(const Node& node) {
    ++steps_;
    switch (node.op) {
      case Op::kAnd:
        for (const Node* child = &tree_.Child(node);; child = &tree_.Next(*child)) {
          if (!Holds(*child)) return false;
          if (child->next == kNoNode) return true;
        }
      case Op::kOr:
        for (const Node* child = &tree_.Child(node);; child = &tree_.Next(*child)) {
          if (Holds(*child)) return true;
          if (child->next == kNoNode) return false;
        }
      case Op::kNot: return !Holds(tree_.Child(node));
      case Op::kIn: return In(node);
      case Op::kAttributeExists: return !paths_.Find(tree_.Child(node)).empty();
      case Op::kAttributeNotExists: return paths_.Find(tree_.Child(node)).empty();
      default: return HoldsForOperands(node);
    }
  }

 private:
  Operand Get(const Node& node) {
    switch (node.op) {
      case Op::kPath: return {.value = paths_.Find(node)};
      case Op::kValue: return {.value = tree_.Value(node)};
      default: break;
    }
    // size() is the only other operand that binding lets through. The size of a size is refused
    // there as well.
    const Operand measured = Get(tree_.Child(node));
    const int64_t size = measured.missing() || measured.is_size ? -1 : SizeOf(measured.value);
    if (size >= 0 && measured.type() == Type::kS) steps_ += ScanSteps(BytesOf(measured));
    if (size < 0) return {};
    return {.value = {}, .is_size = true, .size = size};
  }

  bool In(const Node& node) {
    const Operand wanted = Get(tree_.Child(node));
    if (wanted.missing()) return false;
    for (NodeId id = tree_.Child(node).next; id != kNoNode; id = tree_.nodes[id].next) {
      const Operand operand = Get(tree_.nodes[id]);
      NoteCompare(wanted, operand);
      if (Equal(wanted, operand)) return true;
    }
    return false;
  }

  bool HoldsForOperands(const Node& node) {
    const Node& left = tree_.Child(node);
    const Node& right = tree_.Next(left);
    const Operand a = Get(left);
    const Operand b = Get(right);
    if (node.op == Op::kContains || node.op == Op::kNotContains) {
      steps_ += ScanSteps(BytesOf(a));
    } else {
      NoteCompare(a, b);
    }
    switch (node.op) {
      case Op::kEq: return Equal(a, b);
      case Op::kNe: return !Equal(a, b);
      case Op::kPresentAndNe: return !a.missing() && !b.missing() && !Equal(a, b);
      case Op::kLt: return Comparable(a, b) && Compare(a, b) < 0;
      case Op::kLe: return Comparable(a, b) && Compare(a, b) <= 0;
      case Op::kGt: return Comparable(a, b) && Compare(a, b) > 0;
      case Op::kGe: return Comparable(a, b) && Compare(a, b) >= 0;
      case Op::kBetween: {
        if (!Comparable(a, b) || Compare(a, b) < 0) return false;
        const Operand upper = Get(tree_.Next(right));
        NoteCompare(a, upper);
        return Comparable(a, upper) && Compare(a, upper) <= 0;
      }
      case Op::kAttributeType: return !a.missing() && model::TypeName(a.type()) == b.value.text();
      case Op::kBeginsWith: return BeginsWith(a, b);
      case Op::kContains: return Contains(a, b);
      case Op::kNotContains: return !a.missing() && !Contains(a, b);
      default: return false;
    }
  }

  static size_t BytesOf(const Operand& operand) {
    return operand.value.empty() ? 0 : operand.value.encoded().size();
  }
  void NoteCompare(const Operand& a, const Operand& b) {
    steps_ += CompareSteps(std::min(BytesOf(a), BytesOf(b)));
  }

  const Tree& tree_;
  ItemPaths paths_;
  uint64_t steps_ = 0;
};

}  // namespace

bool Evaluate(const Condition& condition, model::ItemView item, uint64_t* steps) {
  if (!condition.present()) return true;
  const ConditionTree& compiled = *condition.tree();
  Evaluator evaluator(compiled.tree, item);
  const bool holds = evaluator.Holds(compiled.tree.nodes[compiled.root]);
  if (steps != nullptr) *steps += evaluator.steps();
  return holds;
}

uint64_t MostSteps(const Condition& condition, size_t item_bytes) {
  if (!condition.present()) return 0;
  const Tree& tree = condition.tree()->tree;
  uint64_t steps = ItemPaths::MostSteps(tree, item_bytes);
  for (const Node& node : tree.nodes) {
    const bool scans =
        node.op == Op::kContains || node.op == Op::kNotContains || node.op == Op::kSize;
    steps += 1 + (scans ? ScanSteps(item_bytes) : CompareSteps(item_bytes));
  }
  return steps;
}

}  // namespace stator::expr
