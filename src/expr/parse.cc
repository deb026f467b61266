#include "expr/parse.h"

#include <charconv>

namespace stator::expr {

namespace {

// Reads "{item} { , {item} }".
template <typename ParseOne>
Status ParseList(Lexer* lexer, ParseOne parse_one) {
  for (;;) {
    TRY(parse_one());
    if (lexer->current().kind != TokenKind::kComma) return OkStatus();
    lexer->Advance();
  }
}

}  // namespace

Error InvalidExpression(std::string_view parameter, std::string_view text) {
  if (parameter.empty()) return ValidationError(std::string(text));
  std::string message = "Invalid ";
  message += parameter;
  message += ": ";
  message += text;
  return ValidationError(std::move(message));
}

Status CheckExpressionText(std::string_view parameter, std::string_view text) {
  if (text.empty()) return InvalidExpression(parameter, "The expression can not be empty;");
  if (text.size() > kMaxExpressionBytes) {
    return InvalidExpression(parameter,
                             "Expression size has exceeded the maximum allowed size; "
                             "expression size: " +
                                 std::to_string(text.size()));
  }
  return OkStatus();
}

Result<NodeId> PathParser::Parse() {
  const auto first = static_cast<uint32_t>(tree_->steps.size());
  for (;;) {
    const Token& name = lexer_->current();
    if (name.kind != TokenKind::kName && name.kind != TokenKind::kNameRef) return SyntaxError();
    tree_->steps.push_back({false, name.kind == TokenKind::kNameRef, name.begin, name.size});
    lexer_->Advance();
    while (lexer_->current().kind == TokenKind::kLeftBracket) {
      lexer_->Advance();
      const Token& number = lexer_->current();
      if (number.kind != TokenKind::kNumber) return SyntaxError();
      const std::string_view digits = lexer_->Text(number);
      uint32_t index = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), index);
      // Only reported if the bracket is closed: syntax comes first.
      const bool in_range = error == std::errc() && index <= INT32_MAX;
      lexer_->Advance();
      if (lexer_->current().kind != TokenKind::kRightBracket) return SyntaxError();
      if (!in_range) {
        return InvalidExpression(
            parameter_,
            "List index is not within the allowable range; index: [" + std::string(digits) + "]");
      }
      tree_->steps.push_back({true, false, index, 0});
      lexer_->Advance();
    }
    if (lexer_->current().kind != TokenKind::kDot) break;
    lexer_->Advance();
  }
  return tree_->Add(Op::kPath, first, static_cast<uint32_t>(tree_->steps.size()) - first);
}

Result<NodeId> ParseConditionText(std::string_view parameter, std::string_view text, Tree* tree) {
  TRY(CheckExpressionText(parameter, text));
  tree->text = text;
  Lexer lexer(text);
  return OperandParser(parameter, OperandParser::Grammar::kCondition, &lexer, tree).Parse();
}

Result<std::vector<NodeId>> ParseProjectionText(std::string_view parameter, std::string_view text,
                                                Tree* tree) {
  TRY(CheckExpressionText(parameter, text));
  tree->text = text;
  Lexer lexer(text);
  PathParser paths(parameter, &lexer, tree);
  std::vector<NodeId> result;
  TRY(ParseList(&lexer, [&]() -> Status {
    ASSIGN_OR_RETURN(const NodeId path, paths.Parse());
    result.push_back(path);
    return OkStatus();
  }));
  if (lexer.current().kind != TokenKind::kEnd) return paths.SyntaxError();
  return result;
}

Result<UpdateSyntax> ParseUpdateText(std::string_view parameter, std::string_view text,
                                     Tree* tree) {
  TRY(CheckExpressionText(parameter, text));
  tree->text = text;
  Lexer lexer(text);
  PathParser paths(parameter, &lexer, tree);
  OperandParser values(parameter, OperandParser::Grammar::kSetValue, &lexer, tree);
  UpdateSyntax update;
  bool seen[4] = {};
  constexpr const char* kSections[] = {"SET", "REMOVE", "ADD", "DELETE"};
  do {
    Action action;
    switch (lexer.current().kind) {
      case TokenKind::kSet: action.kind = Action::kSet; break;
      case TokenKind::kRemove: action.kind = Action::kRemove; break;
      case TokenKind::kAdd: action.kind = Action::kAdd; break;
      case TokenKind::kDelete: action.kind = Action::kDelete; break;
      default: return paths.SyntaxError();
    }
    if (seen[action.kind] && update.repeated_section == nullptr)
      update.repeated_section = kSections[action.kind];
    seen[action.kind] = true;
    lexer.Advance();
    TRY(ParseList(&lexer, [&]() -> Status {
      ASSIGN_OR_RETURN(action.path, paths.Parse());
      if (action.kind == Action::kSet) {
        if (lexer.current().kind != TokenKind::kEq) return paths.SyntaxError();
        lexer.Advance();
        ASSIGN_OR_RETURN(action.value, values.Parse());
      } else if (action.kind != Action::kRemove) {
        const Token& reference = lexer.current();
        if (reference.kind != TokenKind::kValueRef) return paths.SyntaxError();
        action.value = tree->Add(Op::kValue, reference.begin, reference.size);
        lexer.Advance();
      }
      update.actions.push_back(action);
      return OkStatus();
    }));
  } while (lexer.current().kind != TokenKind::kEnd);
  return update;
}

}  // namespace stator::expr
