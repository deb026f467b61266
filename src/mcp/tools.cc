#include "mcp/tools.h"

#include <fmt/format.h>

#include <vector>

#include "mcp/json.h"

namespace stator::mcp {
namespace {

using Kind = Tool::Kind;
// Members of a schema's properties, joined by commas.
using Properties = std::string;

Properties Property(std::string_view name, std::string_view type, std::string_view description) {
  ObjectText schema;
  schema.AddText("type", type);
  if (!description.empty()) schema.AddText("description", description);
  return fmt::format("{}:{}", Quoted(name), schema.Take());
}
Properties Text(std::string_view name, std::string_view description) {
  return Property(name, "string", description);
}
Properties Bool(std::string_view name, std::string_view description) {
  return Property(name, "boolean", description);
}
Properties Object(std::string_view name, std::string_view description) {
  return Property(name, "object", description);
}

Properties TableName() { return Text("table", "name of the table"); }
Properties Key() { return Object("key", R"(the whole primary key: {"id":{"S":"x"}})"); }
Properties Expression() {
  return Object("names", R"(ExpressionAttributeNames: {"#n":"name"})") + "," +
         Object("values", R"(ExpressionAttributeValues: {":v":{"S":"x"}})");
}
Properties Condition() {
  return Text("condition", "ConditionExpression that must hold") + "," + Expression();
}
Properties Consistent() { return Bool("consistent", "read strongly, at twice the cost"); }
Properties Reading() {
  return Text("projection", "attributes to return, comma-separated") + "," + Consistent() + "," +
         Expression();
}
Properties Limit() {
  return R"("limit":{"type":"integer","minimum":1,"maximum":1000,)"
         R"("description":"items to look at; 25"})";
}
Properties Page() {
  return Limit() + "," + Object("start_key", "next_start_key of the answer before");
}
Properties Statement() {
  return Text("statement", "a SELECT, with values as ? or as literals") + "," +
         Property("parameters", "array", R"(values of the ?, each like {"S":"x"})");
}

std::string Schema(const std::vector<Properties>& properties,
                   const std::vector<std::string_view>& required) {
  std::string members, names;
  for (const Properties& each : properties) members += (members.empty() ? "" : ",") + each;
  for (const std::string_view each : required) names += (names.empty() ? "" : ",") + Quoted(each);
  return fmt::format(
      R"({{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}})",
      members, names);
}
std::string NoArguments() { return R"({"type":"object","additionalProperties":false})"; }

void AddReads(std::vector<Tool>* tools) {
  const auto add = [tools](std::string_view name, std::string_view title, std::string schema,
                           auto run, std::string_view description) {
    tools->push_back({name, title, description, std::move(schema), Kind::kReads, run});
  };
  add("server_status", "Server and its tables", NoArguments(), ServerStatus,
      "What the Stator server is and holds: version, engine, Region, tables with items, bytes and "
      "partitions, and whether requests beyond a table's throughput are refused.");
  add("list_tables", "List tables",
      Schema({Text("start_after", "next_start_after of the answer before")}, {}), ListTables,
      "Names of tables, 100 at a time.");
  add("describe_table", "Describe a table", Schema({TableName()}, {"table"}), DescribeTable,
      "Keys, indexes, capacity, stream and size of a table, as DescribeTable answers. Look here "
      "before you query: it says which attributes are keys.");
  add("get_item", "Get an item", Schema({TableName(), Key(), Reading()}, {"table", "key"}), GetItem,
      "One item by its whole primary key, in DynamoDB's JSON.");
  add("query", "Query a table or index",
      Schema({TableName(), Text("index", ""), Text("key_condition", "KeyConditionExpression"),
              Text("filter", "FilterExpression"), Bool("descending", ""), Page(), Reading()},
             {"table", "key_condition"}),
      Query,
      "Items of one partition key, with a key_condition such as \"pk = :p AND begins_with(sk, "
      ":s)\". It reads these items only. A filter drops items after they were read and paid for.");
  add("scan", "Scan a table or index",
      Schema(
          {TableName(), Text("index", ""), Text("filter", "FilterExpression"), Page(), Reading()},
          {"table"}),
      Scan,
      "Looks at items in no useful order, 25 unless limit says more. A filter drops items after "
      "they were read and paid for. For samples: use query where a key is known.");
  add("partiql", "Run a PartiQL SELECT",
      Schema({Statement(), Limit(), Bool("allow_full_scan", ""), Consistent(),
              Text("next_token", "that of the answer before")},
             {"statement"}),
      Partiql,
      "Runs SELECT ... FROM \"table\" or FROM \"table\".\"index\", and answers items and the plan: "
      "one item, a query, or a full scan. A full scan is refused, with advice, unless "
      "allow_full_scan is true. There are no joins, aggregates or subqueries. Statements that "
      "write are never run.");
  add("explain_partiql", "Plan of a PartiQL SELECT", Schema({Statement()}, {"statement"}),
      ExplainPartiql,
      "Says what a SELECT would read, without running it: by which key or index, whether it is a "
      "full scan, and how to read less.");
}

void AddInsights(std::vector<Tool>* tools) {
  const auto add = [tools](std::string_view name, std::string_view title, std::string schema,
                           auto run, std::string_view description) {
    tools->push_back({name, title, description, std::move(schema), Kind::kReads, run});
  };
  add("why_throttled", "Why is a table throttled", Schema({TableName()}, {"table"}), WhyThrottled,
      "The cause of refused requests of a table and its indexes (hot key, partition, capacity), "
      "the demand against the limit, the cure, the hottest keys and partitions, and faults that "
      "are set on purpose.");
  add("hot_keys", "Hottest keys of a time",
      Schema({TableName(), Text("index", "a global index"),
              Text("from", "like 2026-11-26T10:00:00Z"), Text("to", "")},
             {"table"}),
      HotKeys, "Partition keys with the most traffic in a time (the last ten minutes).");
  add("table_cost", "What a table's load costs",
      Schema({TableName(), Text("last", "a duration like 6h or 7d")}, {"table"}), TableCost,
      "The load of a time (7 days), priced for a month in each way to pay.");
  add("advise", "Advice from recorded requests", Schema({Text("last", "a duration like 10m")}, {}),
      Advise,
      "Advice on keys, items, indexes and cost from requests that the server has recorded. Without "
      "a recording it says how one is started.");
  add("simulate", "Simulate a design", Schema({Text("scenario", "the TOML text")}, {"scenario"}),
      Simulate,
      "Plays a scenario (tables, capacity, keys, traffic over time; TOML) on the throughput model "
      "and reports what would be throttled, why, and the cure. Nothing on the server is touched. "
      "Start from a scenario of the tool lessons. It plays for two seconds at most.");
  tools->back().plays = true;
  add("lessons", "Lessons on partitions and keys", Schema({Text("name", "such as hot-date")}, {}),
      Lessons,
      "Without name: the list of lessons. With name: its outcome, its sentences, and the scenarios "
      "that it plays, which simulate takes.");
  tools->back().plays = true;
  add("show_faults", "Faults that are set", Schema({TableName()}, {}), ShowFaults,
      "Rules of the fault dial (throttles, stale reads, lost answers, made on purpose for tests), "
      "and how often each has struck.");
  add("show_clock", "The server's clock", NoArguments(), ShowClock,
      "Time of the server, and whether it is moved by hand.");
}

void AddWrites(std::vector<Tool>* tools) {
  const auto add = [tools](std::string_view name, std::string_view title, Kind kind,
                           std::string schema, auto run, std::string_view description) {
    tools->push_back({name, title, description, std::move(schema), kind, run});
  };
  add("put_item", "Put an item", Kind::kChangesTo,
      Schema({TableName(), Object("item", "all attributes, in DynamoDB's JSON"), Condition()},
             {"table", "item"}),
      PutItem, "Writes an item, and replaces one that has its key.");
  add("update_item", "Update an item", Kind::kChanges,
      Schema({TableName(), Key(), Text("update", "UpdateExpression: SET a = :v REMOVE b"),
              Condition()},
             {"table", "key", "update"}),
      UpdateItem,
      "Changes attributes of an item, which is made if it is missing, and answers the new one.");
  add("delete_item", "Delete an item", Kind::kChangesTo,
      Schema({TableName(), Key(), Condition()}, {"table", "key"}), DeleteItem,
      "Removes an item and answers what it was.");
  add("create_table", "Create a table", Kind::kAdds,
      Schema({Object("definition",
                     "the body of CreateTable: TableName, AttributeDefinitions, KeySchema, "
                     "BillingMode and so on")},
             {"definition"}),
      CreateTable, "Makes a table and answers its description.");
  add("set_faults", "Set faults of a table", Kind::kChangesTo,
      Schema({TableName(), Property("faults", "array", "the rules; none: they are removed"),
              R"("seed":{"type":"integer","minimum":0})"},
             {"table", "faults"}),
      SetFaults,
      "Replaces the fault rules of a table; * is every table. A rule is like "
      "{\"fault\":\"throttle\",\"probability\":0.1,\"operations\":[\"PutItem\"]}; faults are "
      "stale-read, index-delay, conflict, in-progress, throttle, error, unprocessed, slow.");
  add("advance_clock", "Advance the clock", Kind::kChanges,
      Schema({Text("by", "seconds, or a duration like 24h")}, {"by"}), AdvanceClock,
      "Moves the clock of a server that was started with --clock=manual forward; what is due by "
      "then is done.");
}

}  // namespace

const std::vector<Tool>& AllTools() {
  static const std::vector<Tool>* const tools = [] {
    auto* all = new std::vector<Tool>;
    AddReads(all);
    AddInsights(all);
    AddWrites(all);
    return all;
  }();
  return *tools;
}

}  // namespace stator::mcp
