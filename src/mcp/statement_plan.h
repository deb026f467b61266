// The plan of a SELECT: it reads an item, a part of a table or index, or all of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/statement.h"
#include "mcp/json.h"

namespace stator::mcp {

struct StatementPlan {
  enum class Access {
    kItem,   // one item, by its whole key
    kQuery,  // the items of one or several partition keys
    kScan,   // everything
  } access = Access::kScan;
  std::string table;
  std::optional<std::string> index;
  int64_t partition_keys = 0;       // kQuery: their number
  std::vector<std::string> by_key;  // attributes whose conditions the key fulfils
  bool filters = false;             // the rest of the condition is a filter on what was read
  std::string says;                 // a sentence on what is read
  std::string advice;               // how to read less; may be empty

  // An object for the caller.
  std::string Render() const;
};

// `table` is the member Table of DescribeTable's answer. kValidation if the table has no such
// index. It follows the server's own rules (ops/statement_plan), which bind values as well: a
// statement that passes here may be refused there.
Result<StatementPlan> PlanSelect(const expr::Statement& statement, Json table);

}  // namespace stator::mcp
