// PartiQL statements, parsed into the same conditions, projections and updates as the expression
// language, and evaluated by the same code. Pure. The grammar is in statement_parse.h.
//
// What differs from expressions: a comparison with a missing attribute does not hold, `<>`
// included; projected paths become attributes named by their last name; messages have no "Invalid
// ...Expression: " in front.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"

namespace stator::expr {

// What the message of a statement that does not follow the grammar begins with.
inline constexpr std::string_view kMalformedStatement = "Statement wasn't well formed";

enum class StatementKind : uint8_t { kSelect, kInsert, kUpdate, kDelete, kExists };

// RETURNING (ALL | MODIFIED) (OLD | NEW) *. DELETE has kNone and kAllOld only.
enum class Returning : uint8_t { kNone, kAllOld, kAllNew, kModifiedOld, kModifiedNew };

struct OrderBy {
  std::string attribute;
  bool descending = false;
};

struct Statement {
  StatementKind kind = StatementKind::kSelect;
  std::string table;
  std::optional<std::string> index;        // kSelect, kExists
  Condition condition;                     // WHERE; all but kInsert
  Projection projection;                   // kSelect, kExists
  std::vector<OrderBy> order_by;           // kSelect, kExists
  std::string item;                        // kInsert: encoded
  Update update;                           // kUpdate
  Returning returning = Returning::kNone;  // kUpdate, kDelete
};

// `parameters` are encoded values: the first replaces the first `?`, and so on; there must be as
// many values as `?`. Reports the errors that can be found without the table, all as kValidation.
// The depth of the stack is bounded, however deeply `text` is nested.
Result<Statement> ParseStatement(std::string_view text, std::span<const std::string> parameters);

// Whether a text is a SELECT, judged by its first word alone.
bool IsSelect(std::string_view text);

// The demand on a top-level attribute by one predicate of the condition. Only predicates that must
// all hold (joined by AND) are listed.
struct Demand {
  enum Op : uint8_t { kEq, kLt, kLe, kGt, kGe, kBetween, kBeginsWith, kIn };
  std::string_view attribute;
  Op op = kEq;
  model::ValueView value;
  model::ValueView value2;               // kBetween: the upper bound
  std::vector<model::ValueView> values;  // kIn
};

struct Demands {
  std::vector<Demand> all;
  bool complete = true;  // the condition demands nothing else
};

// Views into the condition, which must outlive them.
Demands DemandsOf(const Condition& condition);

// A value that the condition compares with a top-level attribute, anywhere in it.
struct Comparison {
  std::string_view attribute;
  model::ValueView value;
};
std::vector<Comparison> ComparisonsOf(const Condition& condition);

// The first of `names` that the condition has a path into, beyond the attribute itself; empty if
// there is none.
std::string_view NestedUse(const Condition& condition, std::span<const std::string_view> names);

}  // namespace stator::expr
