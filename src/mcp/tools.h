// The tools that an agent has: one table, from which tools/list and the documents are made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "mcp/arguments.h"
#include "mcp/endpoint.h"

namespace stator::mcp {

// The maximum size of an answer. A longer one is cut; a list of items ends with a token for the
// next page.
inline constexpr size_t kMostAnswerBytes = 100'000;

struct ToolAnswer {
  std::string json;     // an object
  std::string text;     // for people and models; empty: `json` is that too
  bool failed = false;  // the tool could not do what was asked; `json` says why
};

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::string schema;  // of the arguments: a JSON Schema
  enum class Kind {
    kReads,
    kAdds,       // this and the next are offered and run only with --allow-writes
    kChanges,    // it can replace or remove what is there
    kChangesTo,  // likewise, and the same call again changes nothing more
  } kind = Kind::kReads;
  bool writes() const { return kind != Kind::kReads; }
  // Errors are sentences for the model.
  Result<ToolAnswer> (*run)(const Arguments& arguments, Endpoint& endpoint) = nullptr;
  bool plays = false;  // it computes for up to some seconds
};

// In the order of tools/list.
const std::vector<Tool>& AllTools();

// Handlers, by file.
Result<ToolAnswer> ServerStatus(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> ListTables(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> DescribeTable(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> GetItem(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> Query(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> Scan(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> Partiql(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> ExplainPartiql(const Arguments& arguments, Endpoint& endpoint);

Result<ToolAnswer> WhyThrottled(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> HotKeys(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> TableCost(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> Advise(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> Simulate(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> Lessons(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> ShowFaults(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> ShowClock(const Arguments& arguments, Endpoint& endpoint);

Result<ToolAnswer> PutItem(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> UpdateItem(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> DeleteItem(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> CreateTable(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> SetFaults(const Arguments& arguments, Endpoint& endpoint);
Result<ToolAnswer> AdvanceClock(const Arguments& arguments, Endpoint& endpoint);

}  // namespace stator::mcp
