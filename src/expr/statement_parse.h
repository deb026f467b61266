// The parser of statements: recursive descent, with a limit on how deep parentheses and literals
// may be nested.
//
//   statement := (select | insert | update | delete | exists) [ ";" ]
//   select    := SELECT ("*" | path { "," path }) FROM name [ "." name ] [ where ]
//                [ ORDER BY name [ASC | DESC] { "," ... } ]
//   insert    := INSERT INTO name VALUE tuple
//   update    := UPDATE name { SET set { "," set } | REMOVE path } [ where ] [ returning ]
//   delete    := DELETE FROM name [ where ] [ returning ]
//   exists    := EXISTS "(" select ")"
//   set       := path "=" (sum | set_add "(" path "," literal ")"
//              | set_delete "(" path "," literal ")")
//   sum       := operand { ("+" | "-") operand }
//   returning := RETURNING (ALL | MODIFIED) (OLD | NEW) "*"
//   where     := WHERE or
//   or        := and { OR and }
//   and       := not { AND not }
//   not       := { NOT } predicate
//   predicate := operand [ comparator operand | [NOT] BETWEEN operand AND operand
//              | [NOT] IN list | IS [NOT] (MISSING | NULL) ]
//   list      := "[" operand { "," operand } "]", likewise in "( )" and "<< >>"
//   operand   := literal | path | function "(" [ operand { "," operand } ] ")"
//              | "(" or ")", in sum "(" sum ")"
//   path      := name { "." name | "[" digits "]" | "[" string "]" }
//   literal   := string | [ "+" | "-" ] number | TRUE | FALSE | NULL | "?" | tuple
//              | "[" [ literal { "," literal } ] "]" | "<<" literal { "," literal } ">>"
//   tuple     := "{" [ string ":" literal { "," string ":" literal } ] "}"
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "expr/condition.h"
#include "expr/projection.h"
#include "expr/statement.h"
#include "expr/statement_lex.h"
#include "expr/update.h"

namespace stator::expr {

inline constexpr int kMaxStatementDepth = 200;  // of parentheses and calls

class StatementParser {
 public:
  StatementParser(std::string_view text, std::span<const std::string> parameters)
      : lexer_(text), parameters_(parameters) {}

  Result<Statement> Parse();
  // Parameters that no question mark of a whole statement has asked for.
  bool has_parameters_left() const { return parameters_used_ < parameters_.size(); }
  // There were more question marks than parameters; NULL stood for them.
  bool lacks_parameters() const { return parameters_used_ > parameters_.size(); }

 private:
  using Token = StatementLexer::Token;
  enum class Mode : uint8_t { kCondition, kUpdate };
  // A parsed part of a condition or of an update's right side.
  struct Part {
    NodeId node = kNoNode;
    bool is_condition = false;
  };

  // --- Statements (statement_parse.cc) ---
  Status ParseSelect(Statement* out);
  Status ParseExists(Statement* out);
  Status ParseInsert(Statement* out);
  Status ParseUpdateStatement(Statement* out);
  Status ParseDelete(Statement* out);
  Status ParseSelectItems(ProjectionTree* projection);
  Status ParseTarget(Statement* out);
  // The table of a write, which may not be an index.
  Status ParseWriteTarget(Statement* out);
  Status ParseWhere(Statement* out);
  Status ParseOrderBy(Statement* out);
  Status ParseReturning(Statement* out);
  Status ParseSet(UpdateTree* update);
  // SET path = set_add(path, set), likewise set_delete.
  Status ParseSetFunction(NodeId target, Action::Kind kind, UpdateTree* update);
  // What PartiQL has and DynamoDB does not: several sources and aliases, and clauses at the end.
  Status RefuseSources();
  Status RefuseClauses();

  // --- Conditions, operands and paths (statement_operand.cc) ---
  Result<Part> ParseOr(int depth);
  Result<Part> ParseAnd(int depth);
  Result<Part> ParseNot(int depth);
  Result<Part> ParsePredicate(int depth);
  Result<Part> ParseComparison(Part left, Op op, int depth);
  Result<Part> ParseBetween(Part left, int depth);
  Result<Part> ParseIn(Part left, int depth);
  Result<Part> ParseIs(Part left);
  Result<Part> ParseOperand(int depth);
  Result<Part> ParseCall(int depth);
  // term { (+ | -) term }
  Result<NodeId> ParseSum(int depth);
  Result<NodeId> ParsePath();
  Result<std::string> ParseName();
  Part Negate(Part part);
  Part Finish(Op op, std::initializer_list<NodeId> children);
  Status CountOperator();

  // --- Literals (statement_literal.cc) ---
  bool AtLiteral() const;
  // Appends the encoded value. `depth` is the level of a list or tuple that begins here.
  Status ParseLiteral(int depth, std::string* out);
  Status ParseNumber(std::string* out);
  Status ParseParameter(int depth, std::string* out);
  Status ParseList(StatementToken close, int depth, std::string* out);
  Status ParseBag(std::string* out);
  // The entries of a tuple, sorted, one behind the other.
  Status ParseTuple(int depth, std::string* entries, size_t* count);
  Result<NodeId> AddLiteral();

  // --- Errors ---
  static Error Malformed(std::string detail);
  // About the current token.
  Error Unexpected() const;
  Error At(std::string text, const Token& token) const;
  Status Expect(StatementToken kind);
  Status Expect(Keyword keyword);

  StatementLexer lexer_;
  std::span<const std::string> parameters_;
  size_t parameters_used_ = 0;
  Tree* tree_ = nullptr;  // what is being parsed goes there
  Mode mode_ = Mode::kCondition;
};

}  // namespace stator::expr
