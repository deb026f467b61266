#include "expr/lex.h"

namespace stator::expr {

namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool EqualsKeyword(std::string_view text, std::string_view upper) {
  if (text.size() != upper.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    // Only letters reach the comparison unharmed: no digit or underscore becomes a capital by
    // clearing bit 5.
    if ((text[i] & ~0x20) != upper[i]) return false;
  }
  return true;
}

TokenKind NameOrKeyword(std::string_view text) {
  switch (text[0] & ~0x20) {
    case 'A':
      if (EqualsKeyword(text, "AND")) return TokenKind::kAnd;
      if (EqualsKeyword(text, "ADD")) return TokenKind::kAdd;
      break;
    case 'B':
      if (EqualsKeyword(text, "BETWEEN")) return TokenKind::kBetween;
      break;
    case 'D':
      if (EqualsKeyword(text, "DELETE")) return TokenKind::kDelete;
      break;
    case 'I':
      if (EqualsKeyword(text, "IN")) return TokenKind::kIn;
      break;
    case 'N':
      if (EqualsKeyword(text, "NOT")) return TokenKind::kNot;
      break;
    case 'O':
      if (EqualsKeyword(text, "OR")) return TokenKind::kOr;
      break;
    case 'R':
      if (EqualsKeyword(text, "REMOVE")) return TokenKind::kRemove;
      break;
    case 'S':
      if (EqualsKeyword(text, "SET")) return TokenKind::kSet;
      break;
    default: break;
  }
  return TokenKind::kName;
}

// Bytes of the UTF-8 character that begins with `lead`; 1 for anything malformed.
uint32_t CharacterBytes(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  if (byte >= 0xf0 && byte < 0xf8) return 4;
  if (byte >= 0xe0) return byte < 0xf0 ? 3 : 1;
  return byte >= 0xc0 ? 2 : 1;
}

}  // namespace

Token Lexer::Scan(uint32_t from) const {
  const auto size = static_cast<uint32_t>(text_.size());
  uint32_t p = from;
  while (p < size && IsSpace(text_[p])) ++p;
  if (p >= size) return {TokenKind::kEnd, size, 0};
  const char c = text_[p];
  if (IsLetter(c)) {
    uint32_t end = p + 1;
    while (end < size && IsWord(text_[end])) ++end;
    return {NameOrKeyword(text_.substr(p, end - p)), p, end - p};
  }
  if (IsDigit(c)) {
    uint32_t end = p + 1;
    while (end < size && IsDigit(text_[end])) ++end;
    return {TokenKind::kNumber, p, end - p};
  }
  const char following = p + 1 < size ? text_[p + 1] : '\0';
  switch (c) {
    case '#':
    case ':': {
      uint32_t end = p + 1;
      while (end < size && IsWord(text_[end])) ++end;
      if (end == p + 1) break;
      return {c == '#' ? TokenKind::kNameRef : TokenKind::kValueRef, p, end - p};
    }
    case '=': return {TokenKind::kEq, p, 1};
    case '<':
      if (following == '>') return {TokenKind::kNe, p, 2};
      if (following == '=') return {TokenKind::kLe, p, 2};
      return {TokenKind::kLt, p, 1};
    case '>':
      if (following == '=') return {TokenKind::kGe, p, 2};
      return {TokenKind::kGt, p, 1};
    case '(': return {TokenKind::kLeftParen, p, 1};
    case ')': return {TokenKind::kRightParen, p, 1};
    case '[': return {TokenKind::kLeftBracket, p, 1};
    case ']': return {TokenKind::kRightBracket, p, 1};
    case '.': return {TokenKind::kDot, p, 1};
    case ',': return {TokenKind::kComma, p, 1};
    case '+': return {TokenKind::kPlus, p, 1};
    case '-': return {TokenKind::kMinus, p, 1};
    default: break;
  }
  const uint32_t bytes = CharacterBytes(c);
  return {TokenKind::kUnknown, p, bytes <= size - p ? bytes : size - p};
}

void Lexer::Advance() {
  if (current_.kind == TokenKind::kEnd) return;
  previous_ = current_;
  has_previous_ = true;
  current_ = next_;
  next_ = Scan(current_.begin + current_.size);
}

std::string Lexer::DescribeError() const {
  const Token& last = next_.kind == TokenKind::kEnd ? current_ : next_;
  const bool at_end = current_.kind == TokenKind::kEnd;
  const uint32_t begin = has_previous_ ? previous_.begin : (at_end ? 0 : current_.begin);
  uint32_t end = last.begin + last.size;
  // The end adds nothing after the last token; a text of blanks only is shown as it is.
  if (at_end && has_previous_) end = previous_.begin + previous_.size;
  std::string out = "Syntax error; token: \"";
  out += at_end ? std::string_view("<EOF>") : Text(current_);
  out += "\", near: \"";
  out += text_.substr(begin, end - begin);
  out += "\"";
  return out;
}

}  // namespace stator::expr
