#include "expr/tree.h"

#include <algorithm>
#include <array>

namespace stator::expr {

namespace {

struct OpText {
  Op op;
  std::string_view name;
};
constexpr std::array kOps = {
    OpText{Op::kEq, "="},
    OpText{Op::kNe, "<>"},
    OpText{Op::kLt, "<"},
    OpText{Op::kLe, "<="},
    OpText{Op::kGt, ">"},
    OpText{Op::kGe, ">="},
    OpText{Op::kBetween, "BETWEEN"},
    OpText{Op::kIn, "IN"},
    OpText{Op::kAnd, "AND"},
    OpText{Op::kOr, "OR"},
    OpText{Op::kNot, "NOT"},
    OpText{Op::kAttributeExists, "attribute_exists"},
    OpText{Op::kAttributeNotExists, "attribute_not_exists"},
    OpText{Op::kAttributeType, "attribute_type"},
    OpText{Op::kBeginsWith, "begins_with"},
    OpText{Op::kContains, "contains"},
    OpText{Op::kSize, "size"},
    OpText{Op::kIfNotExists, "if_not_exists"},
    OpText{Op::kListAppend, "list_append"},
    OpText{Op::kPlus, "+"},
    OpText{Op::kMinus, "-"},
    OpText{Op::kPresentAndNe, "<>"},
};

}  // namespace

std::string_view OpName(Op op) {
  for (const OpText& entry : kOps) {
    if (entry.op == op) return entry.name;
  }
  return "";
}

Op FunctionFromName(std::string_view name) {
  for (const OpText& entry : kOps) {
    if (IsFunction(entry.op) && entry.name == name) return entry.op;
  }
  return Op::kUnknownFunction;
}

std::string DescribePath(const Tree& tree, const Node& path) {
  std::string out = "[";
  for (uint32_t i = 0; i < path.size; ++i) {
    const Step& step = tree.steps[path.begin + i];
    if (i > 0) out += ", ";
    if (step.is_index) {
      out += "[" + std::to_string(step.begin) + "]";
    } else {
      out += tree.Name(step);
    }
  }
  return out + "]";
}

int ComparePaths(const Tree& tree, const Node& a, const Node& b) {
  for (uint32_t i = 0; i < std::min(a.size, b.size); ++i) {
    const Step& x = tree.steps[a.begin + i];
    const Step& y = tree.steps[b.begin + i];
    if (x.is_index != y.is_index) return x.is_index ? 1 : -1;
    if (x.is_index) {
      if (x.begin != y.begin) return x.begin < y.begin ? -1 : 1;
    } else if (const int order = tree.Name(x).compare(tree.Name(y)); order != 0) {
      return order;
    }
  }
  return a.size == b.size ? 0 : (a.size < b.size ? -1 : 1);
}

model::ValueView Lookup(const Tree& tree, const Node& path, model::ItemView item) {
  if (!item.exists()) return {};
  const Step* step = &tree.steps[path.begin];
  const Step* const end = step + path.size;
  model::ValueView value = item.Find(tree.Name(*step));
  for (++step; step != end && !value.empty(); ++step) {
    if (step->is_index) {
      value = value.type() == model::Type::kL ? value.list().At(step->begin) : model::ValueView();
    } else {
      value =
          value.type() == model::Type::kM ? value.map().Find(tree.Name(*step)) : model::ValueView();
    }
  }
  return value;
}

void TopLevelNames::Add(const Node& path) {
  constexpr size_t kFew = 8;
  const std::string_view name = tree_.Name(tree_.steps[path.begin]);
  if (names_.size() < kFew) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    return;
  }
  if (seen_.empty()) seen_.insert(names_.begin(), names_.end());
  if (seen_.insert(name).second) names_.push_back(name);
}

}  // namespace stator::expr
