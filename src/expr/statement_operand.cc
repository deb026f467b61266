// Parses operands of PartiQL statements.
#include <charconv>

#include "base/ascii.h"
#include "expr/bind.h"
#include "expr/statement_parse.h"

namespace stator::expr {

namespace {

bool IsArithmetic(StatementToken kind) {
  return kind == StatementToken::kPlus || kind == StatementToken::kMinus ||
         kind == StatementToken::kStar || kind == StatementToken::kSlash ||
         kind == StatementToken::kPercent || kind == StatementToken::kConcat;
}

constexpr const char* kInWantsList =
    "IN operator must have a left hand argument of type Variable Reference and right hand argument "
    "of type Seq with at "
    "least one member";

}  // namespace

Status StatementParser::CountOperator() {
  if (++tree_->operators <= kMaxOperators) return OkStatus();
  return ValidationError("The expression contains too many operators; operator count: " +
                         std::to_string(tree_->operators));
}

StatementParser::Part StatementParser::Finish(Op op, std::initializer_list<NodeId> children) {
  const NodeId node = tree_->Add(op);
  for (const NodeId child : children) tree_->AppendChild(node, child);
  tree_->nodes[node].used_as_condition = true;
  return {node, true};
}

StatementParser::Part StatementParser::Negate(Part part) { return Finish(Op::kNot, {part.node}); }

Result<std::string> StatementParser::ParseName() {
  const Token& token = lexer_.current();
  std::string name;
  if (token.kind == StatementToken::kIdentifier) {
    name = lexer_.Text(token);
  } else if (token.kind == StatementToken::kQuoted) {
    name = lexer_.Unquote(token);
    if (name.empty()) return ValidationError("Path component cannot be an empty string");
  } else {
    return Unexpected();
  }
  lexer_.Advance();
  return name;
}

Result<NodeId> StatementParser::ParsePath() {
  const auto first = static_cast<uint32_t>(tree_->steps.size());
  const auto add_name = [this](const std::string& name) {
    tree_->steps.push_back({false, false, tree_->Store(name), static_cast<uint32_t>(name.size())});
  };
  {
    ASSIGN_OR_RETURN(const std::string name, ParseName());
    add_name(name);
  }
  for (;;) {
    if (lexer_.Is(StatementToken::kDot)) {
      lexer_.Advance();
      if (lexer_.Is(StatementToken::kStar))
        return ValidationError("Changing item's hierarchy while reading isn't supported");
      ASSIGN_OR_RETURN(const std::string name, ParseName());
      add_name(name);
      continue;
    }
    if (!lexer_.Is(StatementToken::kLeftBracket)) break;
    lexer_.Advance();
    const Token token = lexer_.current();
    if (token.kind == StatementToken::kString) {
      const std::string name = lexer_.Unquote(token);
      if (name.empty()) return ValidationError("Path component cannot be an empty string");
      add_name(name);
    } else if (token.kind == StatementToken::kNumber) {
      const std::string_view digits = lexer_.Text(token);
      uint32_t index = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), index);
      if (end != digits.data() + digits.size()) return At("Unexpected path component", token);
      if (error != std::errc() || index > INT32_MAX) {
        return At(
            "List index is not within the allowable range; index: [" + std::string(digits) + "]",
            token);
      }
      tree_->steps.push_back({true, false, index, 0});
    } else if (token.kind == StatementToken::kMinus &&
               lexer_.next().kind == StatementToken::kNumber) {
      lexer_.Advance();
      return At("List index is not within the allowable range; index: [-" +
                    std::string(lexer_.Text(lexer_.current())) + "]",
                lexer_.current());
    } else {
      return At("Unexpected path component", token);
    }
    lexer_.Advance();
    TRY(Expect(StatementToken::kRightBracket));
  }
  const NodeId path =
      tree_->Add(Op::kPath, first, static_cast<uint32_t>(tree_->steps.size()) - first);
  tree_->nodes[path].bound = true;
  return path;
}

Result<StatementParser::Part> StatementParser::ParseOr(int depth) {
  ASSIGN_OR_RETURN(Part left, ParseAnd(depth));
  NodeId group = kNoNode;
  while (lexer_.Is(Keyword::kOr)) {
    lexer_.Advance();
    TRY(CountOperator());
    ASSIGN_OR_RETURN(const Part right, ParseAnd(depth));
    if (!left.is_condition || !right.is_condition)
      return ValidationError("The arguments to AND/OR must be Expressions");
    if (group == kNoNode) {
      left = Finish(Op::kOr, {left.node, right.node});
      group = left.node;
    } else {
      tree_->AppendChild(group, right.node);
    }
  }
  return left;
}

Result<StatementParser::Part> StatementParser::ParseAnd(int depth) {
  ASSIGN_OR_RETURN(Part left, ParseNot(depth));
  NodeId group = kNoNode;
  while (lexer_.Is(Keyword::kAnd)) {
    lexer_.Advance();
    TRY(CountOperator());
    ASSIGN_OR_RETURN(const Part right, ParseNot(depth));
    if (!left.is_condition || !right.is_condition)
      return ValidationError("The arguments to AND/OR must be Expressions");
    if (group == kNoNode) {
      left = Finish(Op::kAnd, {left.node, right.node});
      group = left.node;
    } else {
      tree_->AppendChild(group, right.node);
    }
  }
  return left;
}

Result<StatementParser::Part> StatementParser::ParseNot(int depth) {
  int negations = 0;
  for (; lexer_.Is(Keyword::kNot); ++negations) {
    lexer_.Advance();
    TRY(CountOperator());
  }
  ASSIGN_OR_RETURN(Part part, ParsePredicate(depth));
  if (negations > 0 && !part.is_condition)
    return ValidationError("The argument to NOT must be a Type or Expression");
  for (; negations > 0; --negations) part = Negate(part);
  return part;
}

Result<StatementParser::Part> StatementParser::ParsePredicate(int depth) {
  ASSIGN_OR_RETURN(const Part left, ParseOperand(depth));
  const Token token = lexer_.current();
  switch (token.kind) {
    case StatementToken::kEq: return ParseComparison(left, Op::kEq, depth);
    case StatementToken::kNe: return ParseComparison(left, Op::kPresentAndNe, depth);
    case StatementToken::kLt: return ParseComparison(left, Op::kLt, depth);
    case StatementToken::kLe: return ParseComparison(left, Op::kLe, depth);
    case StatementToken::kGt: return ParseComparison(left, Op::kGt, depth);
    case StatementToken::kGe: return ParseComparison(left, Op::kGe, depth);
    default: break;
  }
  if (IsArithmetic(token.kind) || token.keyword == Keyword::kLike) {
    return ValidationError("Unsupported operator in Condition Expression. Operator: " +
                           LowerAscii(lexer_.Text(token)));
  }
  if (token.keyword == Keyword::kIs) return ParseIs(left);
  const bool negated = token.keyword == Keyword::kNot;
  const Keyword keyword = negated ? lexer_.next().keyword : token.keyword;
  if (keyword != Keyword::kBetween && keyword != Keyword::kIn) return left;
  if (negated) {
    TRY(CountOperator());
    lexer_.Advance();
  }
  ASSIGN_OR_RETURN(const Part part,
                   keyword == Keyword::kIn ? ParseIn(left, depth) : ParseBetween(left, depth));
  return negated ? Negate(part) : part;
}

Result<StatementParser::Part> StatementParser::ParseComparison(Part left, Op op, int depth) {
  TRY(CountOperator());
  if (left.is_condition) return Unexpected();
  lexer_.Advance();
  const Token token = lexer_.current();
  ASSIGN_OR_RETURN(const Part right, ParseOperand(depth));
  if (right.is_condition) return Malformed("Unexpected condition at " + lexer_.Position(token));
  // An arithmetic operator follows the operand, which is not supported.
  if (IsArithmetic(lexer_.current().kind)) {
    return ValidationError("Unsupported operator in Condition Expression. Operator: " +
                           std::string(lexer_.Text(lexer_.current())));
  }
  return Finish(op, {left.node, right.node});
}

Result<StatementParser::Part> StatementParser::ParseBetween(Part left, int depth) {
  TRY(CountOperator());
  if (left.is_condition) return Unexpected();
  lexer_.Advance();
  ASSIGN_OR_RETURN(const Part lower, ParseOperand(depth));
  if (lower.is_condition) return Unexpected();
  TRY(Expect(Keyword::kAnd));
  ASSIGN_OR_RETURN(const Part upper, ParseOperand(depth));
  if (upper.is_condition) return Unexpected();
  return Finish(Op::kBetween, {left.node, lower.node, upper.node});
}

Result<StatementParser::Part> StatementParser::ParseIn(Part left, int depth) {
  TRY(CountOperator());
  if (left.is_condition) return Unexpected();
  lexer_.Advance();
  StatementToken close = StatementToken::kEnd;
  switch (lexer_.current().kind) {
    case StatementToken::kLeftBracket: close = StatementToken::kRightBracket; break;
    case StatementToken::kLeftParen: close = StatementToken::kRightParen; break;
    case StatementToken::kBagOpen: close = StatementToken::kBagClose; break;
    default: break;
  }
  if (close == StatementToken::kEnd) {
    if (!AtLiteral()) return Unexpected();
    return ValidationError(kInWantsList);
  }
  lexer_.Advance();
  const NodeId node = tree_->Add(Op::kIn);
  tree_->nodes[node].used_as_condition = true;
  tree_->AppendChild(node, left.node);
  size_t count = 0;
  while (!lexer_.Is(close)) {
    if (count++ > 0) TRY(Expect(StatementToken::kComma));
    ASSIGN_OR_RETURN(const Part member, ParseOperand(depth));
    if (member.is_condition) return Unexpected();
    tree_->AppendChild(node, member.node);
  }
  if (count == 0 && close == StatementToken::kRightParen) return Unexpected();
  lexer_.Advance();
  if (count == 0) return ValidationError(kInWantsList);
  return Part{node, true};
}

Result<StatementParser::Part> StatementParser::ParseIs(Part left) {
  TRY(CountOperator());
  if (left.is_condition) return Unexpected();
  lexer_.Advance();
  bool negated = lexer_.Is(Keyword::kNot);
  if (negated) lexer_.Advance();
  if (tree_->nodes[left.node].op != Op::kPath) return Unexpected();
  Part part;
  if (lexer_.Is(Keyword::kMissing)) {
    part = Finish(negated ? Op::kAttributeExists : Op::kAttributeNotExists, {left.node});
    negated = false;
  } else if (lexer_.Is(Keyword::kNull)) {
    const auto begin = static_cast<uint32_t>(tree_->text.size());
    model::AppendString(&tree_->text, model::TypeName(model::Type::kNull));
    const NodeId type =
        tree_->Add(Op::kValue, begin, static_cast<uint32_t>(tree_->text.size()) - begin);
    tree_->nodes[type].bound = true;
    part = Finish(Op::kAttributeType, {left.node, type});
  } else {
    return Unexpected();
  }
  lexer_.Advance();
  return negated ? Negate(part) : part;
}

Result<StatementParser::Part> StatementParser::ParseOperand(int depth) {
  if (depth > kMaxStatementDepth)
    return Malformed("Nested too deeply at " + lexer_.Position(lexer_.current()));
  const Token& token = lexer_.current();
  const bool word =
      token.kind == StatementToken::kIdentifier || token.kind == StatementToken::kKeyword;
  if (word && lexer_.next().kind == StatementToken::kLeftParen) return ParseCall(depth);
  if (AtLiteral()) {
    ASSIGN_OR_RETURN(const NodeId value, AddLiteral());
    return Part{value, false};
  }
  if (token.kind == StatementToken::kIdentifier || token.kind == StatementToken::kQuoted) {
    ASSIGN_OR_RETURN(const NodeId path, ParsePath());
    return Part{path, false};
  }
  if (token.keyword == Keyword::kMissing)
    return ValidationError("MISSING must be compared using IS operator");
  if (token.kind != StatementToken::kLeftParen) return Unexpected();
  lexer_.Advance();
  Part inner;
  if (mode_ == Mode::kCondition) {
    ASSIGN_OR_RETURN(inner, ParseOr(depth + 1));
  } else {
    ASSIGN_OR_RETURN(inner.node, ParseSum(depth + 1));
  }
  TRY(Expect(StatementToken::kRightParen));
  return inner;
}

Result<StatementParser::Part> StatementParser::ParseCall(int depth) {
  const Token name = lexer_.current();
  const Op op = FunctionFromName(LowerAscii(lexer_.Text(name)));
  if (op == Op::kUnknownFunction)
    return ValidationError("Unrecognized function: " + std::string(lexer_.Text(name)));
  TRY(CountOperator());
  lexer_.Advance();
  lexer_.Advance();
  std::vector<NodeId> arguments;
  while (!lexer_.Is(StatementToken::kRightParen)) {
    if (!arguments.empty()) TRY(Expect(StatementToken::kComma));
    const Token token = lexer_.current();
    ASSIGN_OR_RETURN(const Part argument, ParseOperand(depth + 1));
    if (argument.is_condition)
      return Malformed("Unexpected condition at " + lexer_.Position(token));
    arguments.push_back(argument.node);
  }
  lexer_.Advance();
  const NodeId node = tree_->Add(op, 0, 0);
  for (const NodeId argument : arguments) tree_->AppendChild(node, argument);
  const bool condition = mode_ == Mode::kCondition && op != Op::kSize;
  (condition ? tree_->nodes[node].used_as_condition : tree_->nodes[node].used_as_operand) = true;
  return Part{node, condition};
}

Result<NodeId> StatementParser::ParseSum(int depth) {
  ASSIGN_OR_RETURN(Part left, ParseOperand(depth));
  while (IsArithmetic(lexer_.current().kind)) {
    const Token token = lexer_.current();
    if (token.kind != StatementToken::kPlus && token.kind != StatementToken::kMinus) {
      return ValidationError("Unsupported operator in Update Expression. Operator: " +
                             std::string(lexer_.Text(token)));
    }
    TRY(CountOperator());
    lexer_.Advance();
    ASSIGN_OR_RETURN(const Part right, ParseOperand(depth));
    const NodeId node = tree_->Add(token.kind == StatementToken::kPlus ? Op::kPlus : Op::kMinus);
    tree_->AppendChild(node, left.node);
    tree_->AppendChild(node, right.node);
    left.node = node;
  }
  return left.node;
}

}  // namespace stator::expr
