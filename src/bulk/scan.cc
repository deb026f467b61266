#include "bulk/scan.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

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
