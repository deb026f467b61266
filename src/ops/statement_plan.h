// From parsed PartiQL statements to what they read or write: the same keys, ranges and actions that
// the other operations use.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "expr/statement.h"
#include "ops/context.h"
#include "ops/read_target.h"
#include "ops/transaction.h"

namespace stator::ops {

// What a SELECT reads: one item if the whole primary key of a table is given, else ranges of keys,
// one for each value of the partition key, else everything.
struct SelectPlan {
  ReadTarget target;
  std::string item_key;          // EncodeItemKey; empty: `ranges`
  std::string key_attributes;    // encoded item; with item_key
  std::vector<KeyRange> ranges;  // in the order of reading
  bool is_scan = false;
  bool reverse = false;
  bool fetch = false;      // see PageRequest
  expr::Condition filter;  // what the keys do not say already; absent: nothing
};

// kResourceNotFound, kValidation. `statement` is a SELECT or EXISTS.
Result<SelectPlan> PlanSelect(const Context& ctx, const expr::Statement& statement,
                              bool consistent);

inline constexpr std::string_view kNoKeyEquality =
    "Where clause does not contain a mandatory equality on all key attributes";

// What a write, or EXISTS, does. Takes parts of the statement. kValidation when it does not name
// one item of its table, or would store what may not be stored.
Result<TransactionAction> PlanWrite(table::TablePtr table, expr::Statement* statement);

// The parameters of a request's statement as they are bound; an invalid value is refused.
Result<expr::Statement> ParseStatementOf(const std::string& text,
                                         const std::optional<std::vector<std::string>>& parameters,
                                         const ValueErrors& value_errors);

}  // namespace stator::ops
