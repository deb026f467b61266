#include "expr/statement_parse.h"

#include <algorithm>

#include "expr/bind.h"

namespace stator::expr {

namespace {

constexpr size_t kQuotedInErrors = 40;  // bytes of a token

// What a projected path is called in the answer: its last name and the indexes behind it.
std::string OutputName(const Tree& tree, const Node& path) {
  uint32_t first = path.size - 1;
  while (first > 0 && tree.steps[path.begin + first].is_index) --first;
  std::string name(tree.Name(tree.steps[path.begin + first]));
  for (uint32_t i = first + 1; i < path.size; ++i) {
    name += "[" + std::to_string(tree.steps[path.begin + i].begin) + "]";
  }
  return name;
}

}  // namespace

Error StatementParser::Malformed(std::string detail) {
  return ValidationError(std::string(kMalformedStatement) +
                         ", can't be processed: " + std::move(detail));
}

Error StatementParser::Unexpected() const {
  const Token& token = lexer_.current();
  if (token.kind == StatementToken::kEnd)
    return Malformed("Unexpected end of statement at " + lexer_.Position(token));
  std::string detail = "Unexpected token ";
  if (token.size <= kQuotedInErrors) detail.append(lexer_.Text(token)).append(" ");
  return Malformed(detail + "at " + lexer_.Position(token));
}

Error StatementParser::At(std::string text, const Token& token) const {
  return ValidationError(std::move(text) + " at " + lexer_.Position(token));
}

Status StatementParser::Expect(StatementToken kind) {
  if (!lexer_.Is(kind)) return Unexpected();
  lexer_.Advance();
  return OkStatus();
}

Status StatementParser::Expect(Keyword keyword) {
  if (!lexer_.Is(keyword)) return Unexpected();
  lexer_.Advance();
  return OkStatus();
}

Result<Statement> StatementParser::Parse() {
  Statement statement;
  switch (lexer_.current().keyword) {
    case Keyword::kSelect: TRY(ParseSelect(&statement)); break;
    case Keyword::kExists: TRY(ParseExists(&statement)); break;
    case Keyword::kInsert: TRY(ParseInsert(&statement)); break;
    case Keyword::kUpdate: TRY(ParseUpdateStatement(&statement)); break;
    case Keyword::kDelete: TRY(ParseDelete(&statement)); break;
    default: return Unexpected();
  }
  if (lexer_.Is(StatementToken::kSemicolon)) lexer_.Advance();
  if (!lexer_.Is(StatementToken::kEnd)) return Unexpected();
  return statement;
}

Status StatementParser::ParseTarget(Statement* out) {
  if (!lexer_.Is(StatementToken::kIdentifier) && !lexer_.Is(StatementToken::kQuoted)) {
    if (lexer_.Is(StatementToken::kLeftParen) || AtLiteral())
      return ValidationError("Unexpected from source");
    return Unexpected();
  }
  ASSIGN_OR_RETURN(out->table, ParseName());
  if (!lexer_.Is(StatementToken::kDot)) return OkStatus();
  lexer_.Advance();
  ASSIGN_OR_RETURN(out->index, ParseName());
  if (lexer_.Is(StatementToken::kDot)) {
    return ValidationError("A path may contain at most 2 components in the FROM clause");
  }
  return OkStatus();
}

Status StatementParser::ParseWriteTarget(Statement* out) {
  TRY(ParseTarget(out));
  if (!out->index) return OkStatus();
  if (out->kind == StatementKind::kInsert) {
    return ValidationError(
        "FROM clause may only contain a single table name in data manipulation statements");
  }
  return ValidationError("This operation is not supported on an index");
}

Status StatementParser::ParseWhere(Statement* out) {
  if (!lexer_.Is(Keyword::kWhere)) return OkStatus();
  lexer_.Advance();
  auto condition = std::make_shared<ConditionTree>();
  // Room for two equalities, the most frequent condition.
  condition->tree.nodes.reserve(7);
  condition->tree.steps.reserve(2);
  tree_ = &condition->tree;
  mode_ = Mode::kCondition;
  ASSIGN_OR_RETURN(const Part whole, ParseOr(0));
  if (!whole.is_condition) {
    // What follows may be why: two operands side by side are no condition.
    if (!lexer_.Is(StatementToken::kEnd) && !lexer_.Is(Keyword::kOrder) &&
        !lexer_.Is(Keyword::kReturning))
      return Unexpected();
    return ValidationError("WHERE clause must contain an expression that resolves to a boolean");
  }
  condition->root = whole.node;
  TRY(CheckBoundCondition(&condition->tree));
  out->condition = Condition(std::move(condition));
  return OkStatus();
}

Status StatementParser::ParseSelectItems(ProjectionTree* projection) {
  tree_ = &projection->tree;
  for (;;) {
    const Token token = lexer_.current();
    const bool name =
        token.kind == StatementToken::kIdentifier || token.kind == StatementToken::kQuoted;
    if ((token.kind == StatementToken::kIdentifier || token.kind == StatementToken::kKeyword) &&
        lexer_.next().kind == StatementToken::kLeftParen) {
      return At("Unexpected path component", token);
    }
    if (!name) {
      if (AtLiteral() || lexer_.Is(Keyword::kMissing))
        return At("Unexpected path component", token);
      return Unexpected();
    }
    ASSIGN_OR_RETURN(const NodeId path, ParsePath());
    projection->paths.push_back(path);
    projection->outputs.push_back({OutputName(*tree_, tree_->nodes[path]), path});
    if (lexer_.Is(Keyword::kAs) || lexer_.Is(StatementToken::kIdentifier) ||
        lexer_.Is(StatementToken::kQuoted)) {
      return ValidationError("Aliasing is not supported");
    }
    if (!lexer_.Is(StatementToken::kComma)) break;
    lexer_.Advance();
  }
  return OkStatus();
}

Status StatementParser::RefuseSources() {
  if (lexer_.Is(StatementToken::kComma))
    return ValidationError("Only select from a single table or index is supported.");
  if (lexer_.Is(Keyword::kAs) || lexer_.Is(StatementToken::kIdentifier) ||
      lexer_.Is(StatementToken::kQuoted)) {
    return ValidationError("Aliasing is not supported");
  }
  return OkStatus();
}

Status StatementParser::RefuseClauses() {
  if (lexer_.Is(Keyword::kGroup)) return ValidationError("Unsupported clause: GROUP BY");
  if (lexer_.Is(Keyword::kHaving) || lexer_.Is(Keyword::kLimit)) {
    const std::string clause = lexer_.Is(Keyword::kLimit) ? "LIMIT" : "HAVING";
    lexer_.Advance();
    return At("Unsupported clause: " + clause, lexer_.current());
  }
  return OkStatus();
}

Status StatementParser::ParseSelect(Statement* out) {
  out->kind = StatementKind::kSelect;
  lexer_.Advance();
  if (lexer_.Is(Keyword::kDistinct))
    return ValidationError("Unsupported token in expression: DISTINCT");
  if (lexer_.Is(Keyword::kValue) || lexer_.Is(Keyword::kPivot)) {
    return ValidationError("Select projection doesn't support value or pivot keywords");
  }
  std::shared_ptr<ProjectionTree> projection;
  if (lexer_.Is(StatementToken::kStar)) {
    lexer_.Advance();
  } else {
    projection = std::make_shared<ProjectionTree>();
    TRY(ParseSelectItems(projection.get()));
  }
  TRY(Expect(Keyword::kFrom));
  TRY(ParseTarget(out));
  TRY(RefuseSources());
  TRY(ParseWhere(out));
  TRY(ParseOrderBy(out));
  TRY(RefuseClauses());
  if (projection == nullptr) return OkStatus();
  TRY(CheckBoundPaths(&projection->tree));
  std::vector<ProjectionTree::Output>& outputs = projection->outputs;
  std::sort(outputs.begin(), outputs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto same =
      std::adjacent_find(outputs.begin(), outputs.end(),
                         [](const auto& a, const auto& b) { return a.name == b.name; });
  if (same != outputs.end())
    return ValidationError("Duplicate identifiers in select clause: " + same->name);
  TRY(BuildPathTrie("", projection->tree, projection->paths, &projection->trie));
  out->projection = Projection(std::move(projection));
  return OkStatus();
}

Status StatementParser::ParseOrderBy(Statement* out) {
  if (!lexer_.Is(Keyword::kOrder)) return OkStatus();
  lexer_.Advance();
  TRY(Expect(Keyword::kBy));
  for (;;) {
    const Token token = lexer_.current();
    if (AtLiteral()) {
      return ValidationError("Argument to ORDER BY must be of type VariableReference. Type: " +
                             std::string(lexer_.Text(token)));
    }
    OrderBy& order = out->order_by.emplace_back();
    ASSIGN_OR_RETURN(order.attribute, ParseName());
    if (lexer_.Is(StatementToken::kDot) || lexer_.Is(StatementToken::kLeftBracket)) {
      return ValidationError("Argument to ORDER BY must be of type VariableReference. Type: PATH");
    }
    order.descending = lexer_.Is(Keyword::kDesc);
    if (order.descending || lexer_.Is(Keyword::kAsc)) lexer_.Advance();
    if (!lexer_.Is(StatementToken::kComma)) return OkStatus();
    lexer_.Advance();
  }
}

Status StatementParser::ParseExists(Statement* out) {
  lexer_.Advance();
  TRY(Expect(StatementToken::kLeftParen));
  if (!lexer_.Is(Keyword::kSelect)) return Unexpected();
  TRY(ParseSelect(out));
  out->kind = StatementKind::kExists;
  return Expect(StatementToken::kRightParen);
}

Status StatementParser::ParseInsert(Statement* out) {
  out->kind = StatementKind::kInsert;
  lexer_.Advance();
  TRY(Expect(Keyword::kInto));
  TRY(ParseWriteTarget(out));
  TRY(Expect(Keyword::kValue));
  if (!lexer_.Is(StatementToken::kLeftBrace)) {
    if (!AtLiteral()) return Unexpected();
    return At(
        "Unsupported format in item expression. Please use struct format {...} to express item "
        "values for insert "
        "statement.",
        lexer_.current());
  }
  std::string entries;
  size_t count = 0;
  TRY(ParseTuple(1, &entries, &count));
  model::AppendItem(&out->item, count, entries);
  if (lexer_.Is(Keyword::kReturning))
    return ValidationError("RETURNING is not supported in INSERT");
  return OkStatus();
}

Status StatementParser::ParseSetFunction(NodeId target, Action::Kind kind, UpdateTree* update) {
  const std::string function = kind == Action::kAdd ? "SET_ADD" : "SET_DELETE";
  const Token name = lexer_.current();
  lexer_.Advance();
  lexer_.Advance();
  const Token first = lexer_.current();
  std::vector<NodeId> arguments;
  while (!lexer_.Is(StatementToken::kRightParen)) {
    if (!arguments.empty()) TRY(Expect(StatementToken::kComma));
    ASSIGN_OR_RETURN(const Part argument, ParseOperand(1));
    arguments.push_back(argument.node);
  }
  lexer_.Advance();
  if (arguments.size() != 2) return At(function + " must have exactly two arguments", name);
  const Node& path = tree_->nodes[arguments[0]];
  const Node& value = tree_->nodes[arguments[1]];
  if (path.op != Op::kPath || ComparePaths(*tree_, path, tree_->nodes[target]) != 0) {
    return ValidationError("The first argument to " + function +
                           " must equal the assignment value");
  }
  const auto is_set = [](model::Type type) {
    return type == model::Type::kSS || type == model::Type::kNS || type == model::Type::kBS;
  };
  if (value.op != Op::kValue || !is_set(tree_->Value(value).type())) {
    return At("The second argument to " + function + " must be a value with type SET", first);
  }
  update->actions.push_back({kind, target, arguments[1]});
  return OkStatus();
}

Status StatementParser::ParseSet(UpdateTree* update) {
  lexer_.Advance();
  for (;;) {
    ASSIGN_OR_RETURN(const NodeId target, ParsePath());
    TRY(Expect(StatementToken::kEq));
    if (lexer_.Is(StatementToken::kIdentifier) &&
        lexer_.next().kind == StatementToken::kLeftParen) {
      std::string name(lexer_.Text(lexer_.current()));
      for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      if (name == "SET_ADD" || name == "SET_DELETE") {
        TRY(ParseSetFunction(target, name == "SET_ADD" ? Action::kAdd : Action::kDelete, update));
        if (!lexer_.Is(StatementToken::kComma)) return OkStatus();
        lexer_.Advance();
        continue;
      }
    }
    ASSIGN_OR_RETURN(const NodeId value, ParseSum(0));
    tree_->nodes[value].used_as_operand = true;
    update->actions.push_back({Action::kSet, target, value});
    if (!lexer_.Is(StatementToken::kComma)) return OkStatus();
    lexer_.Advance();
  }
}

Status StatementParser::ParseUpdateStatement(Statement* out) {
  out->kind = StatementKind::kUpdate;
  lexer_.Advance();
  TRY(ParseWriteTarget(out));
  auto update = std::make_shared<UpdateTree>();
  tree_ = &update->tree;
  mode_ = Mode::kUpdate;
  while (lexer_.Is(Keyword::kSet) || lexer_.Is(Keyword::kRemove)) {
    if (lexer_.Is(Keyword::kSet)) {
      TRY(ParseSet(update.get()));
      continue;
    }
    lexer_.Advance();
    ASSIGN_OR_RETURN(const NodeId target, ParsePath());
    update->actions.push_back({Action::kRemove, target, kNoNode});
  }
  if (update->actions.empty()) return Unexpected();
  TRY(ParseWhere(out));
  TRY(ParseReturning(out));
  TRY(CheckBoundUpdate(update->actions, &update->tree));
  std::vector<NodeId> targets;
  targets.reserve(update->actions.size());
  for (const Action& action : update->actions) targets.push_back(action.path);
  TRY(BuildPathTrie("", update->tree, targets, &update->trie));
  out->update = Update(std::move(update));
  return OkStatus();
}

Status StatementParser::ParseDelete(Statement* out) {
  out->kind = StatementKind::kDelete;
  lexer_.Advance();
  TRY(Expect(Keyword::kFrom));
  TRY(ParseWriteTarget(out));
  TRY(ParseWhere(out));
  TRY(ParseReturning(out));
  if (out->returning == Returning::kNone || out->returning == Returning::kAllOld) return OkStatus();
  const std::string_view written = out->returning == Returning::kAllNew        ? "ALL NEW"
                                   : out->returning == Returning::kModifiedOld ? "MODIFIED OLD"
                                                                               : "MODIFIED NEW";
  return ValidationError("Invalid returning clause: RETURNING " + std::string(written) +
                         " *. Only RETURNING ALL OLD * is allowed in DELETE statements.");
}

Status StatementParser::ParseReturning(Statement* out) {
  if (!lexer_.Is(Keyword::kReturning)) return OkStatus();
  lexer_.Advance();
  const bool all = lexer_.Is(Keyword::kAll);
  if (!all) {
    TRY(Expect(Keyword::kModified));
  } else {
    lexer_.Advance();
  }
  const bool old_image = lexer_.Is(Keyword::kOld);
  if (!old_image) {
    TRY(Expect(Keyword::kNew));
  } else {
    lexer_.Advance();
  }
  if (!lexer_.Is(StatementToken::kStar)) {
    if (!lexer_.Is(StatementToken::kIdentifier) && !lexer_.Is(StatementToken::kQuoted))
      return Unexpected();
    return ValidationError(
        "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause");
  }
  lexer_.Advance();
  if (lexer_.Is(StatementToken::kComma)) {
    return ValidationError("Invalid syntax with multiple returning elements in RETURNING clause");
  }
  if (old_image) {
    out->returning = all ? Returning::kAllOld : Returning::kModifiedOld;
  } else {
    out->returning = all ? Returning::kAllNew : Returning::kModifiedNew;
  }
  return OkStatus();
}

bool IsSelect(std::string_view text) { return StatementLexer(text).Is(Keyword::kSelect); }

Result<Statement> ParseStatement(std::string_view text, std::span<const std::string> parameters) {
  StatementParser parser(text, parameters);
  Result<Statement> statement = parser.Parse();
  // Checks that have met a parameter that is not there have nothing to say.
  const bool malformed =
      !statement.ok() && statement.error().message().starts_with(kMalformedStatement);
  if ((parser.lacks_parameters() && !malformed) ||
      (statement.ok() && parser.has_parameters_left())) {
    return ValidationError("Number of parameters in request and statement don't match.");
  }
  return statement;
}

}  // namespace stator::expr
