// Tokens of expressions.
//
//   name      := letter { letter | digit | "_" }      nameRef := "#" word    valueRef := ":" word
//   number    := digit { digit }                      word    := { letter | digit | "_" }+
//   keyword   := AND | OR | NOT | BETWEEN | IN | SET | REMOVE | ADD | DELETE, in any case
//
// Whatever fits nothing is a token of its own, one character long, so that an error can name it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stator::expr {

enum class TokenKind : uint8_t {
  kEnd,
  kName,
  kNameRef,
  kValueRef,
  kNumber,
  kAnd,
  kOr,
  kNot,
  kBetween,
  kIn,
  kSet,
  kRemove,
  kAdd,
  kDelete,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kDot,
  kComma,
  kPlus,
  kMinus,
  kUnknown,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t begin = 0;
  uint32_t size = 0;
};

// Walks a text token by token, with one token of lookahead. The text must outlive it.
class Lexer {
 public:
  explicit Lexer(std::string_view text)
      : text_(text), current_(Scan(0)), next_(Scan(current_.begin + current_.size)) {}

  const Token& current() const { return current_; }
  const Token& next() const { return next_; }
  // Steps forward; the end stays current for ever.
  void Advance();
  std::string_view Text(const Token& token) const { return text_.substr(token.begin, token.size); }

  // Returns the text `Syntax error; token: "=", near: "= = :v"` about the current token. `near` is
  // the text from the token before it to the token after it.
  std::string DescribeError() const;

 private:
  Token Scan(uint32_t from) const;

  std::string_view text_;
  Token previous_;
  bool has_previous_ = false;
  Token current_;
  Token next_;
};

}  // namespace stator::expr
