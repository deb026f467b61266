// Parses literals of PartiQL statements.
#include <algorithm>

#include "expr/statement_parse.h"

namespace stator::expr {

namespace {

Error TooDeep() { return ValidationError("Nesting Levels have exceeded supported limits"); }

}  // namespace

bool StatementParser::AtLiteral() const {
  switch (lexer_.current().kind) {
    case StatementToken::kString:
    case StatementToken::kNumber:
    case StatementToken::kParameter:
    case StatementToken::kLeftBrace:
    case StatementToken::kLeftBracket:
    case StatementToken::kBagOpen: return true;
    case StatementToken::kPlus:
    case StatementToken::kMinus: return lexer_.next().kind == StatementToken::kNumber;
    case StatementToken::kKeyword:
      return lexer_.Is(Keyword::kTrue) || lexer_.Is(Keyword::kFalse) || lexer_.Is(Keyword::kNull);
    default: return false;
  }
}

Status StatementParser::ParseNumber(std::string* out) {
  const bool negative = lexer_.Is(StatementToken::kMinus);
  if (!lexer_.Is(StatementToken::kNumber)) lexer_.Advance();
  std::string text = negative ? "-" : "";
  text += lexer_.Text(lexer_.current());
  ASSIGN_OR_RETURN(const model::Number number, model::Number::Parse(text));
  model::AppendNumber(out, number);
  lexer_.Advance();
  return OkStatus();
}

Status StatementParser::ParseParameter(int depth, std::string* out) {
  // One too few is told when the statement has turned out to be well-formed.
  if (parameters_used_ >= parameters_.size()) {
    model::AppendNull(out);
  } else {
    const std::string& value = parameters_[parameters_used_];
    if (depth - 1 + ContainerLevels(model::ValueView(value)) > model::kMaxNestingDepth)
      return TooDeep();
    out->append(value);
  }
  ++parameters_used_;
  lexer_.Advance();
  return OkStatus();
}

Status StatementParser::ParseList(StatementToken close, int depth, std::string* out) {
  if (depth > model::kMaxNestingDepth) return TooDeep();
  lexer_.Advance();
  std::string elements;
  size_t count = 0;
  while (!lexer_.Is(close)) {
    if (count > 0) TRY(Expect(StatementToken::kComma));
    TRY(ParseLiteral(depth + 1, &elements));
    ++count;
  }
  lexer_.Advance();
  model::AppendList(out, count, elements);
  return OkStatus();
}

Status StatementParser::ParseBag(std::string* out) {
  constexpr const char* kUnsupported =
      "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags";
  const Token open = lexer_.current();
  lexer_.Advance();
  if (lexer_.Is(StatementToken::kBagClose)) return At("Empty bags are not supported", open);
  std::vector<std::string> encoded;
  while (!lexer_.Is(StatementToken::kBagClose)) {
    if (!encoded.empty()) TRY(Expect(StatementToken::kComma));
    const Token token = lexer_.current();
    if (!AtLiteral()) return Unexpected();
    if (token.kind != StatementToken::kString && token.kind != StatementToken::kNumber &&
        token.kind != StatementToken::kPlus && token.kind != StatementToken::kMinus) {
      return At(kUnsupported, token);
    }
    TRY(ParseLiteral(1, &encoded.emplace_back()));
  }
  lexer_.Advance();
  const model::Type type = model::ValueView(encoded.front()).type();
  std::vector<std::string_view> members;
  members.reserve(encoded.size());
  for (const std::string& member : encoded) {
    const model::ValueView value(member);
    if (value.type() != type) return ValidationError(kUnsupported);
    members.push_back(value.text());
  }
  std::sort(members.begin(), members.end());
  if (std::adjacent_find(members.begin(), members.end()) != members.end()) {
    return ValidationError("Input collection contains duplicates");
  }
  model::AppendSet(out, type == model::Type::kS ? model::Type::kSS : model::Type::kNS,
                   std::move(members));
  return OkStatus();
}

Status StatementParser::ParseTuple(int depth, std::string* entries, size_t* count) {
  if (depth > model::kMaxNestingDepth) return TooDeep();
  struct Entry {
    std::string name;
    std::string value;
    Token token;
  };
  const Token open = lexer_.current();
  lexer_.Advance();
  std::vector<Entry> all;
  while (!lexer_.Is(StatementToken::kRightBrace)) {
    if (!all.empty()) TRY(Expect(StatementToken::kComma));
    const Token key = lexer_.current();
    if (key.kind == StatementToken::kIdentifier || key.kind == StatementToken::kQuoted) {
      return At("Tuple keys must be of type String. Actual type: VariableReference under root",
                key);
    }
    if (key.kind == StatementToken::kParameter) {
      return At("Tuple keys must be of type String. Actual type: Parameter under root", key);
    }
    if (key.kind != StatementToken::kString) return Unexpected();
    Entry& entry = all.emplace_back(Entry{lexer_.Unquote(key), "", key});
    if (entry.name.empty()) return ValidationError("Path component cannot be an empty string");
    lexer_.Advance();
    TRY(Expect(StatementToken::kColon));
    TRY(ParseLiteral(depth + 1, &entry.value));
  }
  lexer_.Advance();
  std::stable_sort(all.begin(), all.end(),
                   [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].name == all[i - 1].name) {
      return At("Duplicate keys in tuple. Key: " + all[i].name + " under root",
                depth == 1 ? all[i].token : open);
    }
    model::AppendName(entries, all[i].name);
    entries->append(all[i].value);
  }
  *count = all.size();
  return OkStatus();
}

Status StatementParser::ParseLiteral(int depth, std::string* out) {
  if (!AtLiteral()) {
    // Parentheses around one literal are nothing, around several they make a list.
    if (lexer_.Is(StatementToken::kLeftParen)) {
      std::string list;
      TRY(ParseList(StatementToken::kRightParen, depth, &list));
      const model::ListView elements = model::ValueView(list).list();
      if (elements.size() == 0) return Unexpected();
      if (elements.size() == 1) {
        out->append(elements.At(0).encoded());
      } else {
        out->append(list);
      }
      return OkStatus();
    }
    const Token& token = lexer_.current();
    if (token.kind == StatementToken::kIdentifier || token.kind == StatementToken::kQuoted ||
        lexer_.Is(Keyword::kMissing)) {
      return At("Unsupported data type: " + std::string(lexer_.Text(token)) + " under key root",
                token);
    }
    return Unexpected();
  }
  switch (lexer_.current().kind) {
    case StatementToken::kString:
      model::AppendString(out, lexer_.Unquote(lexer_.current()));
      lexer_.Advance();
      break;
    case StatementToken::kPlus:
    case StatementToken::kMinus:
    case StatementToken::kNumber: TRY(ParseNumber(out)); break;
    case StatementToken::kParameter: TRY(ParseParameter(depth, out)); break;
    case StatementToken::kLeftBracket:
      TRY(ParseList(StatementToken::kRightBracket, depth, out));
      break;
    case StatementToken::kBagOpen: TRY(ParseBag(out)); break;
    case StatementToken::kLeftBrace: {
      std::string entries;
      size_t count = 0;
      // Depth 1 is the item of an INSERT; elsewhere a tuple stands in something.
      TRY(ParseTuple(std::max(depth, 2), &entries, &count));
      model::AppendMap(out, count, entries);
      break;
    }
    default:
      if (lexer_.Is(Keyword::kNull)) {
        model::AppendNull(out);
      } else {
        model::AppendBool(out, lexer_.Is(Keyword::kTrue));
      }
      lexer_.Advance();
      break;
  }
  return OkStatus();
}

Result<NodeId> StatementParser::AddLiteral() {
  const auto begin = static_cast<uint32_t>(tree_->text.size());
  TRY(ParseLiteral(2, &tree_->text));
  const NodeId node =
      tree_->Add(Op::kValue, begin, static_cast<uint32_t>(tree_->text.size()) - begin);
  tree_->nodes[node].bound = true;
  return node;
}

}  // namespace stator::expr
