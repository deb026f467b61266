// Tokens of PartiQL statements.
//
//   identifier := (letter | "_" | "$") { letter | digit | "_" | "$" }, no keyword
//   quoted     := '"' { char | '""' } '"'
//   string     := "'" { char | "''" } "'"
//   number     := digits [ "." [ digits ] ] [ ("e" | "E") [ sign ] digits ]
//   keyword    := one of PartiQL's reserved words, in any case
//
// Blanks, "-- ..." up to the end of a line and "/* ... */" separate tokens. Whatever fits nothing
// is a token of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stator::expr {

enum class StatementToken : uint8_t {
  kEnd,
  kIdentifier,
  kQuoted,
  kString,
  kNumber,
  kParameter,
  kKeyword,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kPercent,
  kConcat,
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kBagOpen,
  kBagClose,
  kDot,
  kComma,
  kColon,
  kSemicolon,
  kUnknown,
};

// Those that statements are made of, and all the others.
enum class Keyword : uint8_t {
  kNone,
  kReserved,
  kAll,
  kAnd,
  kAs,
  kAsc,
  kBetween,
  kBy,
  kDelete,
  kDesc,
  kDistinct,
  kExists,
  kFalse,
  kFrom,
  kGroup,
  kHaving,
  kIn,
  kInsert,
  kInto,
  kIs,
  kLike,
  kLimit,
  kMissing,
  kModified,
  kNew,
  kNot,
  kNull,
  kOld,
  kOr,
  kOrder,
  kPivot,
  kRemove,
  kReturning,
  kSelect,
  kSet,
  kTrue,
  kUpdate,
  kValue,
  kWhere,
};

class StatementLexer {
 public:
  struct Token {
    StatementToken kind = StatementToken::kEnd;
    Keyword keyword = Keyword::kNone;
    bool escaped = false;  // kQuoted, kString: holds a doubled quote
    uint32_t begin = 0;
    uint32_t size = 0;  // quotes included
  };

  explicit StatementLexer(std::string_view text)
      : text_(text), current_(Scan(0)), next_(Scan(End(current_))) {}

  const Token& current() const { return current_; }
  const Token& next() const { return next_; }
  bool Is(StatementToken kind) const { return current_.kind == kind; }
  bool Is(Keyword keyword) const { return current_.keyword == keyword; }
  // Steps forward; the end stays current for ever.
  void Advance() {
    current_ = next_;
    next_ = Scan(End(current_));
  }
  std::string_view Text(const Token& token) const { return text_.substr(token.begin, token.size); }
  // What a kQuoted or kString stands for.
  std::string Unquote(const Token& token) const;
  // "2:14:3": line and column, from 1, and length.
  std::string Position(const Token& token) const;

 private:
  static uint32_t End(const Token& token) { return token.begin + token.size; }
  Token Scan(uint32_t from) const;
  uint32_t SkipBlanks(uint32_t at) const;
  Token ScanQuoted(uint32_t begin, char quote) const;
  Token ScanNumber(uint32_t begin) const;

  std::string_view text_;
  Token current_;
  Token next_;
};

}  // namespace stator::expr
