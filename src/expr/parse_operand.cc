// Parses paths, operands and functions of expressions.
#include "expr/parse.h"

namespace stator::expr {

namespace {

Op ComparisonOp(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEq: return Op::kEq;
    case TokenKind::kNe: return Op::kNe;
    case TokenKind::kLt: return Op::kLt;
    case TokenKind::kLe: return Op::kLe;
    case TokenKind::kGt: return Op::kGt;
    default: return Op::kGe;
  }
}

}  // namespace

bool OperandParser::OperandOnly() const {
  if (frames_.empty()) return false;
  switch (frames_.back().kind) {
    case Frame::kGroup: return frames_.back().operand_only;
    case Frame::kNot:
    case Frame::kAnd:
    case Frame::kOr: return false;
    default: return true;
  }
}

void OperandParser::Push(Frame::Kind kind, Op op) {
  Frame frame;
  frame.kind = kind;
  frame.op = op;
  frames_.push_back(frame);
  ++tree_->operators;
  want_operand_ = true;
  lexer_->Advance();
}

NodeId OperandParser::PopOperand() {
  const Output top = output_.back();
  output_.pop_back();
  tree_->nodes[top.node].used_as_operand = true;
  return top.node;
}

NodeId OperandParser::PopCondition() {
  const Output top = output_.back();
  output_.pop_back();
  tree_->nodes[top.node].used_as_condition = true;
  return top.node;
}

Result<NodeId> OperandParser::Parse() {
  frames_.clear();
  output_.clear();
  want_operand_ = true;
  for (bool done = false; !done;) {
    if (want_operand_) {
      TRY(ReadOperand());
    } else {
      TRY(ReadOperator(&done));
    }
  }
  const Output& whole = output_.back();
  Node& node = tree_->nodes[whole.node];
  (grammar_ == Grammar::kCondition ? node.used_as_condition : node.used_as_operand) = true;
  return whole.node;
}

Status OperandParser::ReadOperand() {
  const Token& token = lexer_->current();
  switch (token.kind) {
    case TokenKind::kName:
      if (lexer_->next().kind == TokenKind::kLeftParen) {
        Frame call;
        call.kind = Frame::kCall;
        call.op = FunctionFromName(lexer_->Text(token));
        call.node = tree_->Add(call.op, token.begin, token.size);
        frames_.push_back(call);
        ++tree_->operators;
        lexer_->Advance();
        lexer_->Advance();
        return OkStatus();
      }
      [[fallthrough]];
    case TokenKind::kNameRef: {
      ASSIGN_OR_RETURN(const NodeId path, paths_.Parse());
      output_.push_back({path, Shape::kOperand});
      want_operand_ = false;
      return OkStatus();
    }
    case TokenKind::kValueRef:
      output_.push_back({tree_->Add(Op::kValue, token.begin, token.size), Shape::kOperand});
      want_operand_ = false;
      lexer_->Advance();
      return OkStatus();
    case TokenKind::kLeftParen: {
      Frame group;
      group.kind = Frame::kGroup;
      group.operand_only = OperandOnly();
      frames_.push_back(group);
      lexer_->Advance();
      return OkStatus();
    }
    case TokenKind::kNot:
      if (grammar_ != Grammar::kCondition || OperandOnly()) return SyntaxError();
      Push(Frame::kNot, Op::kNot);
      return OkStatus();
    default: return SyntaxError();
  }
}

Status OperandParser::FinishSimple() {
  if (frames_.empty()) return OkStatus();
  const Frame frame = frames_.back();
  size_t operands = 2;
  Shape shape = Shape::kCondition;
  switch (frame.kind) {
    case Frame::kBetween: return SyntaxError();  // its AND is missing
    case Frame::kBetweenAnd: operands = 3; break;
    case Frame::kComparison: break;
    case Frame::kArithmetic: shape = Shape::kArithmetic; break;
    default: return OkStatus();
  }
  const NodeId node = tree_->Add(frame.op);
  const size_t base = output_.size() - operands;
  for (size_t i = base; i < output_.size(); ++i) {
    tree_->nodes[output_[i].node].used_as_operand = true;
    tree_->AppendChild(node, output_[i].node);
  }
  output_.resize(base);
  output_.push_back({node, shape});
  frames_.pop_back();
  return OkStatus();
}

Status OperandParser::FinishLogical(Frame::Kind weakest) {
  for (;;) {
    if (frames_.empty()) return OkStatus();
    const Frame frame = frames_.back();
    if (frame.kind != Frame::kNot && frame.kind != Frame::kAnd &&
        (frame.kind != Frame::kOr || weakest != Frame::kOr)) {
      return OkStatus();
    }
    if (!TopServesAsCondition()) return SyntaxError();
    const NodeId right = PopCondition();
    if (frame.kind == Frame::kNot) {
      const NodeId node = tree_->Add(Op::kNot);
      tree_->AppendChild(node, right);
      output_.push_back({node, Shape::kCondition});
    } else {
      const NodeId left = PopCondition();
      // a AND b AND c becomes one node, which keeps long chains flat.
      if (tree_->nodes[left].op == frame.op && !tree_->nodes[left].parenthesized) {
        tree_->AppendChild(left, right);
        output_.push_back({left, Shape::kCondition});
      } else {
        const NodeId node = tree_->Add(frame.op);
        tree_->AppendChild(node, left);
        tree_->AppendChild(node, right);
        output_.push_back({node, Shape::kCondition});
      }
    }
    frames_.pop_back();
  }
}

Status OperandParser::TakeArgument() {
  // Only operands get here: conditions and arithmetic are refused at their operator inside of calls
  // and lists.
  tree_->AppendChild(frames_.back().node, PopOperand());
  return OkStatus();
}

Status OperandParser::Close() {
  TRY(FinishSimple());
  TRY(FinishLogical(Frame::kOr));
  if (frames_.empty()) return SyntaxError();
  const Frame frame = frames_.back();
  switch (frame.kind) {
    case Frame::kGroup: {
      Node& node = tree_->nodes[output_.back().node];
      if (node.parenthesized) tree_->redundant_parentheses = true;
      node.parenthesized = true;
      break;
    }
    case Frame::kCall:
      TRY(TakeArgument());
      output_.push_back({frame.node, Shape::kFunction});
      break;
    case Frame::kInList:
      TRY(TakeArgument());
      output_.push_back({frame.node, Shape::kCondition});
      break;
    default: return SyntaxError();
  }
  frames_.pop_back();
  lexer_->Advance();
  return OkStatus();
}

Status OperandParser::ReadOperator(bool* done) {
  const TokenKind kind = lexer_->current().kind;
  const bool condition = grammar_ == Grammar::kCondition;
  switch (kind) {
    case TokenKind::kEq:
    case TokenKind::kNe:
    case TokenKind::kLt:
    case TokenKind::kLe:
    case TokenKind::kGt:
    case TokenKind::kGe:
      if (!condition || OperandOnly() || !TopServesAsOperand()) return SyntaxError();
      Push(Frame::kComparison, ComparisonOp(kind));
      return OkStatus();
    case TokenKind::kBetween:
      if (!condition || OperandOnly() || !TopServesAsOperand()) return SyntaxError();
      Push(Frame::kBetween, Op::kBetween);
      return OkStatus();
    case TokenKind::kIn: {
      if (!condition || OperandOnly() || !TopServesAsOperand()) return SyntaxError();
      Push(Frame::kInList, Op::kIn);
      if (lexer_->current().kind != TokenKind::kLeftParen) return SyntaxError();
      lexer_->Advance();
      frames_.back().node = tree_->Add(Op::kIn);
      return TakeArgument();
    }
    case TokenKind::kAnd:
      if (!condition) return SyntaxError();
      if (TopIs(Frame::kBetween)) {
        frames_.back().kind = Frame::kBetweenAnd;
        lexer_->Advance();
        want_operand_ = true;
        return OkStatus();
      }
      TRY(FinishSimple());
      TRY(FinishLogical(Frame::kAnd));
      if (OperandOnly() || !TopServesAsCondition()) return SyntaxError();
      Push(Frame::kAnd, Op::kAnd);
      return OkStatus();
    case TokenKind::kOr:
      if (!condition) return SyntaxError();
      TRY(FinishSimple());
      TRY(FinishLogical(Frame::kOr));
      if (OperandOnly() || !TopServesAsCondition()) return SyntaxError();
      Push(Frame::kOr, Op::kOr);
      return OkStatus();
    case TokenKind::kPlus:
    case TokenKind::kMinus:
      if (condition || OperandOnly() || !TopServesAsOperand()) return SyntaxError();
      Push(Frame::kArithmetic, kind == TokenKind::kPlus ? Op::kPlus : Op::kMinus);
      return OkStatus();
    case TokenKind::kRightParen: return Close();
    case TokenKind::kComma:
      if (TopIs(Frame::kCall) || TopIs(Frame::kInList)) {
        TRY(TakeArgument());
        lexer_->Advance();
        want_operand_ = true;
        return OkStatus();
      }
      break;
    default: break;
  }
  const bool section = kind == TokenKind::kComma || kind == TokenKind::kSet ||
                       kind == TokenKind::kRemove || kind == TokenKind::kAdd ||
                       kind == TokenKind::kDelete;
  if (kind != TokenKind::kEnd && (condition || !section)) return SyntaxError();
  TRY(FinishSimple());
  TRY(FinishLogical(Frame::kOr));
  if (!frames_.empty()) return SyntaxError();
  if (condition && !TopServesAsCondition()) return SyntaxError();
  *done = true;
  return OkStatus();
}

}  // namespace stator::expr
