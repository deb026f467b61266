// The syntax tree of an expression: flat arrays and offsets, so that a whole tree is three
// allocations, is walked without chasing heap nodes, and can be copied.
//
// Parsing leaves references as they were written ("#n", ":v"); binding (bind.h) replaces them by
// what they stand for. The tree owns its text: names written bare stay in the source text,
// substitutes are appended behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/value.h"

namespace stator::expr {

enum class Op : uint8_t {
  kPath,
  kValue,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kBetween,
  kIn,
  kAnd,
  kOr,
  kNot,
  kAttributeExists,
  kAttributeNotExists,
  kAttributeType,
  kBeginsWith,
  kContains,
  kSize,
  kIfNotExists,
  kListAppend,
  kUnknownFunction,
  kPlus,
  kMinus,
  kNotContains,   // legacy only: false if the attribute is missing
  kPresentAndNe,  // the <> of PartiQL: false if an operand is missing
};

inline bool IsFunction(Op op) { return op >= Op::kAttributeExists && op <= Op::kUnknownFunction; }
inline bool IsComparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

struct Node {
  Op op = Op::kPath;
  bool parenthesized = false;
  bool used_as_operand = false;    // functions: where it stands
  bool used_as_condition = false;  // functions: where it stands
  bool bound = false;              // kPath, kValue: references are resolved
  NodeId first_child = kNoNode;
  NodeId last_child = kNoNode;
  NodeId next = kNoNode;  // sibling
  // kPath: range of steps. kValue: range of the text: the reference, after binding the encoded
  // value. Functions: the name.
  uint32_t begin = 0;
  uint32_t size = 0;
};

// One element of a document path.
struct Step {
  bool is_index = false;
  bool is_reference = false;  // "#n", not bound yet
  uint32_t begin = 0;         // name: range of the text; index: the index
  uint32_t size = 0;
};

struct Tree {
  std::string text;
  std::vector<Node> nodes;
  std::vector<Step> steps;
  uint32_t operators = 0;  // comparisons, AND, OR, NOT, BETWEEN, IN, functions, + and -
  bool redundant_parentheses = false;

  NodeId Add(Op op, uint32_t begin = 0, uint32_t size = 0) {
    Node node;
    node.op = op;
    node.begin = begin;
    node.size = size;
    nodes.push_back(node);
    return static_cast<NodeId>(nodes.size() - 1);
  }
  void AppendChild(NodeId parent, NodeId child) {
    Node& node = nodes[parent];
    if (node.first_child == kNoNode) {
      node.first_child = child;
    } else {
      nodes[node.last_child].next = child;
    }
    node.last_child = child;
  }
  const Node& Child(const Node& node) const { return nodes[node.first_child]; }
  const Node& Next(const Node& node) const { return nodes[node.next]; }
  size_t CountChildren(const Node& node) const {
    size_t count = 0;
    for (NodeId id = node.first_child; id != kNoNode; id = nodes[id].next) ++count;
    return count;
  }
  std::string_view Text(uint32_t begin, uint32_t size) const {
    return std::string_view(text).substr(begin, size);
  }
  std::string_view Name(const Step& step) const { return {text.data() + step.begin, step.size}; }
  // Returns the value of a bound kValue node.
  model::ValueView Value(const Node& node) const {
    return model::ValueView(text.data() + node.begin);
  }
  // Appends `bytes` behind the text and returns where they are.
  uint32_t Store(std::string_view bytes) {
    const auto begin = static_cast<uint32_t>(text.size());
    text.append(bytes);
    return begin;
  }
};

// Returns an operator or function as users write it: "=", "AND", "BETWEEN", "begins_with". Empty
// for operands and unknown functions.
std::string_view OpName(Op op);
// Returns the function of this name, or kUnknownFunction.
Op FunctionFromName(std::string_view name);

// Returns a path as the service prints it in messages: "[a, [0], b]".
std::string DescribePath(const Tree& tree, const Node& path);
// Compares two paths; returns <0, 0 or >0. Names come before indexes, and a prefix before longer
// paths.
int ComparePaths(const Tree& tree, const Node& a, const Node& b);
// Returns the value at a bound path of the item, or an empty view.
model::ValueView Lookup(const Tree& tree, const Node& path, model::ItemView item);

// Collects the top-level names of paths of one tree, each once, in order of appearance. Legacy
// parameters can name hundreds of thousands.
class TopLevelNames {
 public:
  explicit TopLevelNames(const Tree& tree) : tree_(tree) {}
  void Add(const Node& path);
  std::vector<std::string> Take() const { return {names_.begin(), names_.end()}; }

 private:
  const Tree& tree_;
  std::vector<std::string_view> names_;
  std::unordered_set<std::string_view> seen_;  // once there are more than a few
};

}  // namespace stator::expr
