#include "bulk/scan.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

constexpr size_t kMostTables = 1'000'000;   // of a source
constexpr int64_t kBetweenLooks = 200'000;  // at a table that is being made or changed

Error Odd(std::string_view operation) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("the answer to {} is not what DynamoDB answers", operation));
}

Result<model::Type> TypeOf(Element table, std::string_view attribute) {
  simdjson::dom::array definitions;
  if (table["AttributeDefinitions"].get(definitions) != simdjson::SUCCESS)
    return Odd("DescribeTable");
  for (const Element definition : definitions) {
    std::string_view name, type;
    if (definition["AttributeName"].get(name) != simdjson::SUCCESS || name != attribute ||
        definition["AttributeType"].get(type) != simdjson::SUCCESS)
      continue;
    if (const std::optional<model::Type> known = model::TypeFromName(type)) return *known;
  }
  return Odd("DescribeTable");
}

Status ReadKey(Element table, model::KeySchema* key) {
  simdjson::dom::array schema;
  if (table["KeySchema"].get(schema) != simdjson::SUCCESS) return Odd("DescribeTable");
  for (const Element element : schema) {
    std::string_view name, kind;
    if (element["AttributeName"].get(name) != simdjson::SUCCESS ||
        element["KeyType"].get(kind) != simdjson::SUCCESS)
      return Odd("DescribeTable");
    ASSIGN_OR_RETURN(const model::Type type, TypeOf(table, name));
    if (kind == "HASH") {
      key->partition = {std::string(name), type};
    } else {
      key->sort = model::KeyAttribute{std::string(name), type};
    }
  }
  return key->partition.name.empty() ? Odd("DescribeTable") : OkStatus();
}

}  // namespace

Result<TableInfo> DescribeTable(api_client::Client& client, const std::string& table) {
  JsonWriter body;
  body.Open('{').Field("TableName", table).Close('}');
  const Result<std::string> answer = client.Call("DynamoDB_20120810.DescribeTable", body.Take());
  if (!answer.ok() && api_client::RefusalType(answer.error()) == "ResourceNotFoundException") {
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("{} has no table {}", client.endpoint().url.origin(), table));
  }
  if (!answer.ok()) return answer.error();
  simdjson::dom::parser parser;
  Element json;
  if (parser.parse(*answer).get(json) != simdjson::SUCCESS ||
      json["Table"].get(json) != simdjson::SUCCESS)
    return Odd("DescribeTable");
  TableInfo info;
  info.name = table;
  info.description = simdjson::minify(json);
  std::string_view text;
  if (json["TableStatus"].get(text) == simdjson::SUCCESS) info.status = text;
  Element created;
  if (json["TableId"].get(text) == simdjson::SUCCESS) {
    info.id = text;
  } else if (json["CreationDateTime"].get(created) == simdjson::SUCCESS) {
    info.id = simdjson::minify(created);
  }
  if (json["ItemCount"].get(info.items) != simdjson::SUCCESS) info.items = 0;
  if (json["TableSizeBytes"].get(info.bytes) != simdjson::SUCCESS) info.bytes = 0;
  TRY(ReadKey(json, &info.key));
  return info;
}

Result<TableInfo> WaitForTable(api_client::Client& client, const std::string& table,
                               const api_client::Pause& pause) {
  for (;;) {
    ASSIGN_OR_RETURN(TableInfo info, DescribeTable(client, table));
    // An index that is being made has a status of its own.
    const bool builds = info.description.find("\"IndexStatus\":\"CREATING\"") != std::string::npos;
    if (info.status == "ACTIVE" && !builds) return info;
    if (!pause(kBetweenLooks)) return Error(ErrorCode::kUnavailable, "interrupted");
  }
}

Result<TableInfo> MakeTable(api_client::Client& client, const std::string& table,
                            const std::string& body, const api_client::Pause& pause) {
  const Result<std::string> made = client.Call("DynamoDB_20120810.CreateTable", body);
  // A repeated call finds the table of the first one.
  if (!made.ok() && api_client::RefusalType(made.error()) != "ResourceInUseException")
    return made.error();
  return WaitForTable(client, table, pause);
}

Result<bool> IsEmpty(api_client::Client& client, const std::string& table) {
  JsonWriter json;
  json.Open('{').Field("TableName", table).Key("ConsistentRead").Bool(true);
  json.Key("Limit").Whole(1).Close('}');
  ASSIGN_OR_RETURN(const std::string answer, client.Call("DynamoDB_20120810.Scan", json.Take()));
  simdjson::dom::parser parser;
  Element root;
  simdjson::dom::array items;
  if (parser.parse(answer).get(root) != simdjson::SUCCESS ||
      root["Items"].get(items) != simdjson::SUCCESS)
    return Odd("Scan");
  return items.size() == 0;
}

Result<std::vector<std::string>> ListTables(api_client::Client& client) {
  std::vector<std::string> names;
  std::string last;
  do {
    JsonWriter json;
    json.Open('{');
    if (!last.empty()) json.Field("ExclusiveStartTableName", last);
    json.Close('}');
    ASSIGN_OR_RETURN(const std::string answer,
                     client.Call("DynamoDB_20120810.ListTables", json.Take()));
    simdjson::dom::parser parser;
    Element root;
    simdjson::dom::array page;
    if (parser.parse(answer).get(root) != simdjson::SUCCESS ||
        root["TableNames"].get(page) != simdjson::SUCCESS)
      return Odd("ListTables");
    for (const Element each : page) {
      std::string_view name;
      if (each.get(name) != simdjson::SUCCESS) return Odd("ListTables");
      names.emplace_back(name);
    }
    std::string_view next;
    last = root["LastEvaluatedTableName"].get(next) == simdjson::SUCCESS ? std::string(next)
                                                                         : std::string();
    // A source that has always more, and names nothing, would be asked for ever.
    if ((!last.empty() && page.size() == 0) || names.size() > kMostTables) return Odd("ListTables");
  } while (!last.empty());
  return names;
}

Status ScanPage(api_client::Client& client, const std::string& table, size_t segment,
                size_t segments, const std::string& start, bool consistent,
                FunctionRef<Status(const Page& page)> take) {
  JsonWriter json;
  json.Open('{').Field("TableName", table).Field("ReturnConsumedCapacity", "TOTAL");
  if (consistent) json.Key("ConsistentRead").Bool(true);
  if (segments > 1) {
    json.Key("Segment").Whole(static_cast<int64_t>(segment));
    json.Key("TotalSegments").Whole(static_cast<int64_t>(segments));
  }
  std::string body = json.Take();
  body.pop_back();
  if (!start.empty()) body += ",\"ExclusiveStartKey\":" + start;
  ASSIGN_OR_RETURN(const std::string answer, client.Call("DynamoDB_20120810.Scan", body + '}'));
  simdjson::dom::parser parser;
  Element root, last;
  Page page;
  if (parser.parse(answer).get(root) != simdjson::SUCCESS ||
      root["Items"].get(page.items) != simdjson::SUCCESS)
    return Odd("Scan");
  if (root["LastEvaluatedKey"].get(last) == simdjson::SUCCESS) page.next = simdjson::minify(last);
  if (root["ConsumedCapacity"]["CapacityUnits"].get(page.read_units) != simdjson::SUCCESS)
    page.read_units = 0;
  return take(page);
}

}  // namespace stator::bulk
