// Tools that read tables and items.
#include <fmt/format.h>

#include <utility>

#include "mcp/paged.h"
#include "mcp/statement_plan.h"
#include "mcp/tools.h"

namespace stator::mcp {
namespace {

constexpr int64_t kUsualLimit = 25;
constexpr int64_t kTablesAtATime = 100;

// Members of a request that have the name of an argument of their own.
struct Same {
  std::string_view argument;
  std::string_view member;
};

void AddAll(const Arguments& arguments, std::initializer_list<Same> all, ObjectText* body) {
  for (const Same& each : all) {
    const std::string raw = arguments.Raw(each.argument);
    if (!raw.empty()) body->Add(each.member, raw);
  }
}

ObjectText ReadBody(const Arguments& arguments) {
  ObjectText body;
  AddAll(arguments,
         {{"table", "TableName"},
          {"projection", "ProjectionExpression"},
          {"consistent", "ConsistentRead"},
          {"names", "ExpressionAttributeNames"},
          {"values", "ExpressionAttributeValues"}},
         &body);
  body.AddText("ReturnConsumedCapacity", "TOTAL");
  return body;
}

Result<ToolAnswer> ReadItems(Read operation, const Arguments& arguments, Endpoint& endpoint) {
  const PageNames names{"LastEvaluatedKey", "next_start_key"};
  return ReadPage(arguments.Whole("limit", kUsualLimit), names, "", [&](int64_t limit) {
    ObjectText body = ReadBody(arguments);
    AddAll(arguments,
           {{"index", "IndexName"},
            {"key_condition", "KeyConditionExpression"},
            {"filter", "FilterExpression"},
            {"start_key", "ExclusiveStartKey"}},
           &body);
    if (arguments.Bool("descending")) body.AddBool("ScanIndexForward", false);
    body.AddWhole("Limit", limit);
    return endpoint.Ask(operation, body.Take());
  });
}

Result<Document> Describe(std::string_view table, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(
      const std::string reply,
      endpoint.Ask(Read::kDescribeTable, ObjectText().AddText("TableName", table).Take()));
  return Document::Parse(reply);
}

// A statement, and what it reads.
struct Planned {
  Select select;
  StatementPlan plan;
  int64_t items = 0;  // of the table or index, as the service counts them
};

Result<Planned> Plan(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(Select select,
                   ParseSelect(arguments.Text("statement"), arguments.Raw("parameters")));
  ASSIGN_OR_RETURN(const Document reply, Describe(select.statement().table, endpoint));
  const std::optional<Json> table = Member(reply.root(), "Table");
  if (!table) return ValidationError("The server's answer to DescribeTable is not as it should be");
  ASSIGN_OR_RETURN(StatementPlan plan, PlanSelect(select.statement(), *table));
  const auto items = static_cast<int64_t>(NumberMember(*table, "ItemCount").value_or(0));
  return Planned{std::move(select), std::move(plan), items};
}

}  // namespace

Result<ToolAnswer> ServerStatus(const Arguments&, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const std::string status, endpoint.Look("status"));
  ASSIGN_OR_RETURN(const std::string modes, endpoint.Look("throttling"));
  ASSIGN_OR_RETURN(const Document parsed, Document::Parse(status));
  ASSIGN_OR_RETURN(const Document throttling, Document::Parse(modes));
  ObjectText out;
  out.Add("server", TextOf(parsed.root())).Add("throttling", TextOf(throttling.root()));
  out.AddBool("writes_allowed", endpoint.allows_writes());
  return ToolAnswer{out.Take(), "", false};
}

Result<ToolAnswer> ListTables(const Arguments& arguments, Endpoint& endpoint) {
  ObjectText body;
  body.AddWhole("Limit", kTablesAtATime);
  AddAll(arguments, {{"start_after", "ExclusiveStartTableName"}}, &body);
  ASSIGN_OR_RETURN(const std::string text, endpoint.Ask(Read::kListTables, body.Take()));
  ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
  const std::optional<Json> names = Member(reply.root(), "TableNames");
  ObjectText out;
  out.Add("tables", names ? TextOf(*names) : "[]");
  if (const std::optional<Json> next = Member(reply.root(), "LastEvaluatedTableName"))
    out.Add("next_start_after", TextOf(*next));
  return ToolAnswer{out.Take(), "", false};
}

Result<ToolAnswer> DescribeTable(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const Document reply, Describe(arguments.Text("table"), endpoint));
  return ToolAnswer{ObjectText().AddMember(reply.root(), "Table").Take(), "", false};
}

Result<ToolAnswer> GetItem(const Arguments& arguments, Endpoint& endpoint) {
  ObjectText body = ReadBody(arguments);
  AddAll(arguments, {{"key", "Key"}}, &body);
  ASSIGN_OR_RETURN(const std::string text, endpoint.Ask(Read::kGetItem, body.Take()));
  ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
  const std::optional<Json> item = Member(reply.root(), "Item");
  ObjectText out;
  out.AddBool("found", item.has_value());
  const std::string found = item ? TextOf(*item) : "";
  if (found.size() > kMostAnswerBytes) {
    out.Add("attribute_sizes", SizesOf(*item));
    out.AddText("note", fmt::format("The item has {} bytes of JSON, more than the {} of an answer: "
                                    "name the attributes that you need in projection.",
                                    found.size(), kMostAnswerBytes));
  } else if (item) {
    out.Add("item", found);
  }
  return ToolAnswer{out.Take(), "", false};
}

Result<ToolAnswer> Query(const Arguments& arguments, Endpoint& endpoint) {
  return ReadItems(Read::kQuery, arguments, endpoint);
}

Result<ToolAnswer> Scan(const Arguments& arguments, Endpoint& endpoint) {
  return ReadItems(Read::kScan, arguments, endpoint);
}

Result<ToolAnswer> ExplainPartiql(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const Planned planned, Plan(arguments, endpoint));
  return ToolAnswer{ObjectText().Add("plan", planned.plan.Render()).Take(), "", false};
}

Result<ToolAnswer> Partiql(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const Planned planned, Plan(arguments, endpoint));
  const bool scans = planned.plan.access == StatementPlan::Access::kScan;
  if (scans && !arguments.Bool("allow_full_scan")) {
    ObjectText out;
    out.AddText("refused", fmt::format("{} ({} items). {}. With allow_full_scan: true it runs, "
                                       "limit items at a time.",
                                       planned.plan.says, planned.items, planned.plan.advice));
    out.Add("plan", planned.plan.Render());
    return ToolAnswer{out.Take(), "", true};
  }
  const PageNames names{"NextToken", "next_token"};
  const std::string extra = fmt::format(",\"plan\":{}", planned.plan.Render());
  return ReadPage(arguments.Whole("limit", kUsualLimit), names, extra, [&](int64_t limit) {
    return endpoint.Run(planned.select, limit, arguments.Bool("consistent"),
                        arguments.Text("next_token"));
  });
}

}  // namespace stator::mcp
