#include "expr/statement_lex.h"

#include <algorithm>
#include <array>

namespace stator::expr {

namespace {

using Token = StatementLexer::Token;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct KeywordEntry {
  std::string_view name;
  Keyword keyword = Keyword::kReserved;
};

// Sorted. What DynamoDB Local refuses as a bare identifier.
constexpr auto kKeywords = std::to_array<KeywordEntry>({
    // clang-format off
    {"ABSOLUTE"}, {"ACTION"}, {"ADD"}, {"ALL", Keyword::kAll}, {"ALLOCATE"}, {"ALTER"},
    {"AND", Keyword::kAnd}, {"ANY"}, {"ARE"}, {"AS", Keyword::kAs}, {"ASC", Keyword::kAsc},
    {"ASSERTION"}, {"AT"}, {"AUTHORIZATION"}, {"AVG"}, {"BAG"}, {"BEGIN"},
    {"BETWEEN", Keyword::kBetween}, {"BIT"}, {"BIT_LENGTH"}, {"BLOB"}, {"BOOL"}, {"BOOLEAN"},
    {"BY", Keyword::kBy}, {"CASCADE"}, {"CASCADED"}, {"CASE"}, {"CAST"}, {"CATALOG"}, {"CHAR"},
    {"CHARACTER"}, {"CHARACTER_LENGTH"}, {"CHAR_LENGTH"}, {"CHECK"}, {"CLOB"}, {"CLOSE"},
    {"COALESCE"}, {"COLLATE"}, {"COLLATION"}, {"COLUMN"}, {"COMMIT"}, {"CONFLICT"}, {"CONNECT"},
    {"CONNECTION"}, {"CONSTRAINT"}, {"CONSTRAINTS"}, {"CONTINUE"}, {"CONVERT"}, {"CORRESPONDING"},
    {"COUNT"}, {"CREATE"}, {"CROSS"}, {"CURRENT"}, {"CURRENT_DATE"}, {"CURRENT_TIME"},
    {"CURRENT_TIMESTAMP"}, {"CURRENT_USER"}, {"CURSOR"}, {"DATE"}, {"DATE_ADD"}, {"DATE_DIFF"},
    {"DEALLOCATE"}, {"DEC"}, {"DECIMAL"}, {"DECLARE"}, {"DEFAULT"}, {"DEFERRABLE"}, {"DEFERRED"},
    {"DELETE", Keyword::kDelete}, {"DESC", Keyword::kDesc}, {"DESCRIBE"}, {"DESCRIPTOR"},
    {"DIAGNOSTICS"}, {"DISCONNECT"}, {"DISTINCT", Keyword::kDistinct}, {"DO"}, {"DOMAIN"},
    {"DOUBLE"}, {"DROP"}, {"ELSE"}, {"END"}, {"ESCAPE"}, {"EXCEPT"}, {"EXCEPTION"}, {"EXEC"},
    {"EXECUTE"}, {"EXISTS", Keyword::kExists}, {"EXTERNAL"}, {"EXTRACT"},
    {"FALSE", Keyword::kFalse}, {"FETCH"}, {"FIRST"}, {"FLOAT"}, {"FOR"}, {"FOREIGN"}, {"FOUND"},
    {"FROM", Keyword::kFrom}, {"FULL"}, {"GET"}, {"GLOBAL"}, {"GO"}, {"GOTO"}, {"GRANT"},
    {"GROUP", Keyword::kGroup}, {"HAVING", Keyword::kHaving}, {"IDENTITY"}, {"IMMEDIATE"},
    {"IN", Keyword::kIn}, {"INDEX"}, {"INDICATOR"}, {"INITIALLY"}, {"INNER"}, {"INPUT"},
    {"INSENSITIVE"}, {"INSERT", Keyword::kInsert}, {"INT"}, {"INTEGER"}, {"INTERSECT"},
    {"INTERVAL"}, {"INTO", Keyword::kInto}, {"IS", Keyword::kIs}, {"ISOLATION"}, {"JOIN"}, {"KEY"},
    {"LANGUAGE"}, {"LAST"}, {"LEFT"}, {"LET"}, {"LEVEL"}, {"LIKE", Keyword::kLike},
    {"LIMIT", Keyword::kLimit}, {"LIST"}, {"LOCAL"}, {"LOWER"}, {"MATCH"}, {"MAX"}, {"MIN"},
    {"MISSING", Keyword::kMissing}, {"MODIFIED", Keyword::kModified}, {"MODULE"}, {"NAMES"},
    {"NATIONAL"}, {"NATURAL"}, {"NCHAR"}, {"NEW", Keyword::kNew}, {"NEXT"}, {"NO"},
    {"NOT", Keyword::kNot}, {"NOTHING"}, {"NULL", Keyword::kNull}, {"NULLIF"}, {"NUMERIC"},
    {"OCTET_LENGTH"}, {"OF"}, {"OLD", Keyword::kOld}, {"ON"}, {"ONLY"}, {"OPEN"}, {"OPTION"},
    {"OR", Keyword::kOr}, {"ORDER", Keyword::kOrder}, {"OUTER"}, {"OUTPUT"}, {"OVERLAPS"}, {"PAD"},
    {"PARTIAL"}, {"PIVOT", Keyword::kPivot}, {"POSITION"}, {"PRECISION"}, {"PREPARE"}, {"PRESERVE"},
    {"PRIMARY"}, {"PRIOR"}, {"PRIVILEGES"}, {"PROCEDURE"}, {"PUBLIC"}, {"READ"}, {"REAL"},
    {"REFERENCES"}, {"RELATIVE"}, {"REMOVE", Keyword::kRemove}, {"RESTRICT"},
    {"RETURNING", Keyword::kReturning}, {"REVOKE"}, {"RIGHT"}, {"ROLLBACK"}, {"ROWS"}, {"SCHEMA"},
    {"SCROLL"}, {"SECTION"}, {"SELECT", Keyword::kSelect}, {"SESSION"}, {"SESSION_USER"},
    {"SET", Keyword::kSet}, {"SEXP"}, {"SIZE"}, {"SMALLINT"}, {"SOME"}, {"SPACE"}, {"SQL"},
    {"SQLCODE"}, {"SQLERROR"}, {"SQLSTATE"}, {"STRING"}, {"STRUCT"}, {"SUBSTRING"}, {"SUM"},
    {"SYMBOL"}, {"SYSTEM_USER"}, {"TABLE"}, {"TEMPORARY"}, {"THEN"}, {"TIME"}, {"TIMESTAMP"},
    {"TO"}, {"TRANSACTION"}, {"TRANSLATE"}, {"TRANSLATION"}, {"TRIM"}, {"TRUE", Keyword::kTrue},
    {"TUPLE"}, {"UNION"}, {"UNIQUE"}, {"UNKNOWN"}, {"UNPIVOT"}, {"UPDATE", Keyword::kUpdate},
    {"UPPER"}, {"USAGE"}, {"USER"}, {"USING"}, {"VALUE", Keyword::kValue}, {"VALUES"}, {"VARCHAR"},
    {"VARYING"}, {"VIEW"}, {"WHEN"}, {"WHENEVER"}, {"WHERE", Keyword::kWhere}, {"WITH"}, {"WORK"},
    {"WRITE"}, {"ZONE"},
    // clang-format on
});
constexpr size_t kLongestKeyword = 17;
static_assert(std::is_sorted(kKeywords.begin(), kKeywords.end(),
                             [](const KeywordEntry& a, const KeywordEntry& b) {
                               return a.name < b.name;
                             }));

// Where the keywords of each letter begin, and the end.
constexpr auto kFirstOf = [] {
  std::array<uint8_t, 27> first{};
  for (size_t letter = 0, at = 0; letter < 27; ++letter) {
    while (at < kKeywords.size() && kKeywords[at].name[0] < static_cast<char>('A' + letter)) ++at;
    first[letter] = static_cast<uint8_t>(at);
  }
  return first;
}();
static_assert(kKeywords.size() < 256);

Keyword FindKeyword(std::string_view text) {
  if (text.size() < 2 || text.size() > kLongestKeyword || text[0] == '_' || text[0] == '$')
    return Keyword::kNone;
  char upper[kLongestKeyword];
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    upper[i] = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  const std::string_view wanted(upper, text.size());
  const auto begin = kKeywords.begin() + kFirstOf[static_cast<size_t>(upper[0] - 'A')];
  const auto end = kKeywords.begin() + kFirstOf[static_cast<size_t>(upper[0] - 'A') + 1];
  const auto found = std::lower_bound(
      begin, end, wanted,
      [](const KeywordEntry& entry, std::string_view name) { return entry.name < name; });
  return found != end && found->name == wanted ? found->keyword : Keyword::kNone;
}

}  // namespace

uint32_t StatementLexer::SkipBlanks(uint32_t at) const {
  for (;;) {
    while (at < text_.size() && IsBlank(text_[at])) ++at;
    if (text_.substr(at, 2) == "--") {
      while (at < text_.size() && text_[at] != '\n') ++at;
    } else if (text_.substr(at, 2) == "/*") {
      const size_t end = text_.find("*/", at + 2);
      if (end == std::string_view::npos) return at;
      at = static_cast<uint32_t>(end + 2);
    } else {
      return at;
    }
  }
}

Token StatementLexer::ScanQuoted(uint32_t begin, char quote) const {
  Token token{quote == '"' ? StatementToken::kQuoted : StatementToken::kString, Keyword::kNone,
              false, begin, 0};
  for (uint32_t at = begin + 1; at < text_.size(); ++at) {
    if (text_[at] != quote) continue;
    if (at + 1 < text_.size() && text_[at + 1] == quote) {
      token.escaped = true;
      ++at;
      continue;
    }
    token.size = at + 1 - begin;
    return token;
  }
  return {StatementToken::kUnknown, Keyword::kNone, false, begin,
          static_cast<uint32_t>(text_.size()) - begin};
}

Token StatementLexer::ScanNumber(uint32_t begin) const {
  uint32_t at = begin;
  const auto digits = [&] {
    while (at < text_.size() && IsDigit(text_[at])) ++at;
  };
  digits();
  if (at < text_.size() && text_[at] == '.') {
    ++at;
    digits();
  }
  if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
    uint32_t exponent = at + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (exponent < text_.size() && IsDigit(text_[exponent])) {
      at = exponent;
      digits();
    }
  }
  StatementToken kind = StatementToken::kNumber;
  for (; at < text_.size() && IsNamePart(text_[at]); ++at) kind = StatementToken::kUnknown;
  return {kind, Keyword::kNone, false, begin, at - begin};
}

Token StatementLexer::Scan(uint32_t from) const {
  const uint32_t begin = SkipBlanks(from);
  if (begin >= text_.size())
    return {StatementToken::kEnd, Keyword::kNone, false, static_cast<uint32_t>(text_.size()), 0};
  const char c = text_[begin];
  const char following = begin + 1 < text_.size() ? text_[begin + 1] : '\0';
  const auto token = [&](StatementToken kind, uint32_t size) {
    return Token{kind, Keyword::kNone, false, begin, size};
  };
  if (IsNameStart(c)) {
    uint32_t at = begin + 1;
    while (at < text_.size() && IsNamePart(text_[at])) ++at;
    Token name = token(StatementToken::kIdentifier, at - begin);
    name.keyword = FindKeyword(Text(name));
    if (name.keyword != Keyword::kNone) name.kind = StatementToken::kKeyword;
    return name;
  }
  if (IsDigit(c) || (c == '.' && IsDigit(following))) return ScanNumber(begin);
  switch (c) {
    case '"':
    case '\'': return ScanQuoted(begin, c);
    case '?': return token(StatementToken::kParameter, 1);
    case '=': return token(StatementToken::kEq, 1);
    case '!':
      return following == '=' ? token(StatementToken::kNe, 2) : token(StatementToken::kUnknown, 1);
    case '<':
      if (following == '>') return token(StatementToken::kNe, 2);
      if (following == '=') return token(StatementToken::kLe, 2);
      if (following == '<') return token(StatementToken::kBagOpen, 2);
      return token(StatementToken::kLt, 1);
    case '>':
      if (following == '=') return token(StatementToken::kGe, 2);
      if (following == '>') return token(StatementToken::kBagClose, 2);
      return token(StatementToken::kGt, 1);
    case '|':
      return following == '|' ? token(StatementToken::kConcat, 2)
                              : token(StatementToken::kUnknown, 1);
    case '+': return token(StatementToken::kPlus, 1);
    case '-': return token(StatementToken::kMinus, 1);
    case '*': return token(StatementToken::kStar, 1);
    case '/': return token(StatementToken::kSlash, 1);
    case '%': return token(StatementToken::kPercent, 1);
    case '(': return token(StatementToken::kLeftParen, 1);
    case ')': return token(StatementToken::kRightParen, 1);
    case '[': return token(StatementToken::kLeftBracket, 1);
    case ']': return token(StatementToken::kRightBracket, 1);
    case '{': return token(StatementToken::kLeftBrace, 1);
    case '}': return token(StatementToken::kRightBrace, 1);
    case '.': return token(StatementToken::kDot, 1);
    case ',': return token(StatementToken::kComma, 1);
    case ':': return token(StatementToken::kColon, 1);
    case ';': return token(StatementToken::kSemicolon, 1);
    default: break;
  }
  // A whole character, so that an error that quotes it stays UTF-8.
  uint32_t size = 1;
  while (begin + size < text_.size() && (text_[begin + size] & 0xc0) == 0x80) ++size;
  return token(StatementToken::kUnknown, size);
}

std::string StatementLexer::Unquote(const Token& token) const {
  const std::string_view inner = text_.substr(token.begin + 1, token.size - 2);
  if (!token.escaped) return std::string(inner);
  std::string out;
  for (size_t i = 0; i < inner.size(); ++i) {
    out.push_back(inner[i]);
    if (inner[i] == text_[token.begin]) ++i;
  }
  return out;
}

std::string StatementLexer::Position(const Token& token) const {
  const std::string_view before = text_.substr(0, token.begin);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return std::to_string(line) + ":" + std::to_string(column) + ":" + std::to_string(token.size);
}

}  // namespace stator::expr
