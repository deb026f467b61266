#include "bulk/live_finish.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "bulk/definition.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

// Calls an operation and returns its answer. If the server does not support the operation or the
// caller may not use it, adds a note and returns nullopt.
Result<std::optional<std::string>> Ask(api_client::Client& client, std::string_view operation,
                                       const std::string& body, const std::string& what,
                                       std::vector<std::string>* notes) {
  Result<std::string> answer = client.Call(fmt::format("DynamoDB_20120810.{}", operation), body);
  if (answer.ok()) return std::optional<std::string>(*std::move(answer));
  const std::string_view type = api_client::RefusalType(answer.error());
  if (type != "UnknownOperationException" && type != "AccessDeniedException") return answer.error();
  notes->push_back(fmt::format("{} not copied: {}", what, answer.error().message()));
  return std::optional<std::string>();
}

// Returns the tags as a JSON array; "[]": there are none. Those of AWS's own services cannot be
// set.
std::string OwnTags(Element answer) {
  std::string list = "[";
  simdjson::dom::array tags;
  if (answer["Tags"].get(tags) != simdjson::SUCCESS) return "[]";
  for (const Element tag : tags) {
    std::string_view key;
    if (tag["Key"].get(key) != simdjson::SUCCESS || key.starts_with("aws:")) continue;
    list += (list.size() > 1 ? "," : "") + std::string(simdjson::minify(tag));
  }
  return list + "]";
}

Status CopyTags(api_client::Client& source, api_client::Client& target, const std::string& from,
                const std::string& to, std::vector<std::string>* notes) {
  std::string next;
  do {
    JsonWriter json;
    json.Open('{').Field("ResourceArn", from);
    if (!next.empty()) json.Field("NextToken", next);
    ASSIGN_OR_RETURN(const auto answer,
                     Ask(source, "ListTagsOfResource", json.Close('}').Take(), "Tags are", notes));
    if (!answer) return OkStatus();
    simdjson::dom::parser parser;
    Element root;
    if (parser.parse(*answer).get(root) != simdjson::SUCCESS)
      return Error(ErrorCode::kUnavailable, "the answer to ListTagsOfResource is no JSON");
    const std::string tags = OwnTags(root);
    std::string_view token;
    next = root["NextToken"].get(token) == simdjson::SUCCESS ? std::string(token) : std::string();
    if (tags == "[]") continue;
    JsonWriter beginning;
    std::string body = beginning.Open('{').Field("ResourceArn", to).Take();
    body.pop_back();
    TRY(Ask(target, "TagResource", body + ",\"Tags\":" + tags + "}", "Tags are", notes));
  } while (!next.empty());
  return OkStatus();
}

// Returns the attribute of time to live; empty: it is off.
Result<std::string> TimeToLiveOf(api_client::Client& client, const std::string& table,
                                 std::vector<std::string>* notes) {
  JsonWriter json;
  json.Open('{').Field("TableName", table).Close('}');
  ASSIGN_OR_RETURN(const auto answer,
                   Ask(client, "DescribeTimeToLive", json.Take(), "Time to live is", notes));
  if (!answer) return std::string();
  simdjson::dom::parser parser;
  Element root;
  std::string_view status, attribute;
  if (parser.parse(*answer).get(root) != simdjson::SUCCESS ||
      root["TimeToLiveDescription"].get(root) != simdjson::SUCCESS ||
      root["TimeToLiveStatus"].get(status) != simdjson::SUCCESS)
    return Error(ErrorCode::kUnavailable,
                 "the answer to DescribeTimeToLive is not what DynamoDB answers");
  if (status != "ENABLED" && status != "ENABLING") return std::string();
  if (root["AttributeName"].get(attribute) != simdjson::SUCCESS) return std::string();
  return std::string(attribute);
}

Status CopyTimeToLive(api_client::Client& source, api_client::Client& target,
                      const std::string& table, std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const std::string attribute, TimeToLiveOf(source, table, notes));
  if (attribute.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const std::string there, TimeToLiveOf(target, table, notes));
  if (there == attribute) return OkStatus();
  JsonWriter json;
  json.Open('{').Field("TableName", table).Key("TimeToLiveSpecification").Open('{');
  json.Key("Enabled").Bool(true).Field("AttributeName", attribute).Close('}').Close('}');
  TRY(Ask(target, "UpdateTimeToLive", json.Take(), "Time to live is", notes));
  return OkStatus();
}

}  // namespace

Status FinishTable(api_client::Client& source, api_client::Client& target,
                   const TableInfo& described, bool with_stream, const api_client::Pause& pause,
                   std::vector<std::string>* notes) {
  const std::string& table = described.name;
  ASSIGN_OR_RETURN(const LateSettings wanted, LateSettingsOf(described.description));
  ASSIGN_OR_RETURN(const TableInfo there, DescribeTable(target, table));
  ASSIGN_OR_RETURN(const LateSettings had, LateSettingsOf(there.description));
  TRY(CopyTags(source, target, wanted.arn, had.arn, notes));
  const auto update = [&](const std::string& member) -> Status {
    JsonWriter json;
    std::string body = json.Open('{').Field("TableName", table).Take();
    body.pop_back();
    TRY(target.Call("DynamoDB_20120810.UpdateTable", body + ',' + member + '}'));
    TRY(WaitForTable(target, table, pause));
    return OkStatus();
  };
  if (with_stream && !wanted.stream.empty() && had.stream.empty())
    TRY(update("\"StreamSpecification\":" + wanted.stream));
  TRY(CopyTimeToLive(source, target, table, notes));
  if (wanted.protect && !had.protect) TRY(update("\"DeletionProtectionEnabled\":true"));
  return OkStatus();
}

}  // namespace stator::bulk
