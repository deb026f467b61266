// Text to syntax trees. Nothing is resolved or checked here but the grammar; see bind.h.
//
// Both parsers of operands are iterative (an explicit stack), so that no text, however deeply
// nested, can overflow the machine's stack. The walks over finished trees recurse, but only after
// the number of operators has been checked.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/lex.h"
#include "expr/tree.h"

namespace stator::expr {

inline constexpr size_t kMaxExpressionBytes = 4096;

// Returns the error "Invalid <parameter>: <text>"; only the text if `parameter` is empty, as in
// PartiQL.
Error InvalidExpression(std::string_view parameter, std::string_view text);

// Refuses an empty or oversized expression. `parameter` is "ConditionExpression",
// "UpdateExpression" ...
Status CheckExpressionText(std::string_view parameter, std::string_view text);

// Parses `text`, all of which must be one condition. Sets tree->text and returns the root node.
Result<NodeId> ParseConditionText(std::string_view parameter, std::string_view text, Tree* tree);

// The paths of a projection, in order.
Result<std::vector<NodeId>> ParseProjectionText(std::string_view parameter, std::string_view text,
                                                Tree* tree);

struct Action {
  enum Kind : uint8_t { kSet, kRemove, kAdd, kDelete };
  Kind kind = kSet;
  NodeId path = kNoNode;
  NodeId value = kNoNode;  // kNoNode for kRemove
  bool legacy = false;  // of AttributeUpdates: ADD of a list appends, and errors have another text
};
struct UpdateSyntax {
  std::vector<Action> actions;
  const char* repeated_section = nullptr;  // "SET" ...: the first section that is there twice
};
Result<UpdateSyntax> ParseUpdateText(std::string_view parameter, std::string_view text, Tree* tree);

// --- The parts they are made of ------------------------------------------------------------------

// Document paths: path := (name | nameRef) { "." (name | nameRef) | "[" number "]" }
class PathParser {
 public:
  PathParser(std::string_view parameter, Lexer* lexer, Tree* tree)
      : parameter_(parameter), lexer_(lexer), tree_(tree) {}
  Result<NodeId> Parse();
  Error SyntaxError() const { return InvalidExpression(parameter_, lexer_->DescribeError()); }

 private:
  std::string_view parameter_;
  Lexer* lexer_;
  Tree* tree_;
};

// Conditions and the right-hand sides of SET: an operator-precedence parser.
class OperandParser {
 public:
  enum class Grammar { kCondition, kSetValue };
  OperandParser(std::string_view parameter, Grammar grammar, Lexer* lexer, Tree* tree)
      : grammar_(grammar), lexer_(lexer), tree_(tree), paths_(parameter, lexer, tree) {}

  // Stops before the first token that cannot belong to it: for a condition that must be the end,
  // for a value of SET the end, a comma or a keyword that begins a section.
  Result<NodeId> Parse();

 private:
  // What a finished part of the input may serve as. A function may be an operand or a condition;
  // whether it is allowed to is no question of syntax.
  enum class Shape : uint8_t { kOperand, kFunction, kCondition, kArithmetic };
  struct Output {
    NodeId node;
    Shape shape;
  };
  struct Frame {
    enum Kind : uint8_t {
      kGroup,
      kCall,
      kInList,
      kComparison,
      kBetween,
      kBetweenAnd,
      kNot,
      kAnd,
      kOr,
      kArithmetic
    };
    Kind kind;
    bool operand_only = false;  // kGroup: stands where only an operand can
    Op op = Op::kPath;
    NodeId node = kNoNode;  // kCall, kInList: the node that takes the arguments
  };

  Error SyntaxError() const { return paths_.SyntaxError(); }
  bool TopIs(Frame::Kind kind) const { return !frames_.empty() && frames_.back().kind == kind; }
  // Whether what comes next can be an operand only.
  bool OperandOnly() const;
  bool TopServesAsOperand() const {
    return output_.back().shape == Shape::kOperand || output_.back().shape == Shape::kFunction;
  }
  bool TopServesAsCondition() const {
    return output_.back().shape == Shape::kCondition || output_.back().shape == Shape::kFunction;
  }
  Status ReadOperand();
  // Handles the token after an operand; sets *done when it ends the whole.
  Status ReadOperator(bool* done);
  // Puts operands under the comparison, BETWEEN or arithmetic on top of the stack, if there is one.
  Status FinishSimple();
  // Puts conditions under NOT, AND and, up to `weakest`, OR on top of the stack.
  Status FinishLogical(Frame::Kind weakest);
  Status Close();
  Status TakeArgument();
  NodeId PopOperand();
  NodeId PopCondition();
  void Push(Frame::Kind kind, Op op);

  Grammar grammar_;
  Lexer* lexer_;
  Tree* tree_;
  PathParser paths_;
  std::vector<Frame> frames_;
  std::vector<Output> output_;
  bool want_operand_ = true;
};

}  // namespace stator::expr
