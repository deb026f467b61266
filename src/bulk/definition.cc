#include "bulk/definition.h"

#include <fmt/format.h>

#include "simdjson.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

Error NoDescription() {
  return ValidationError("the source describes its table in an unknown way");
}

// Appends `,"name":json`.
void AppendMember(std::string_view name, std::string_view json, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{}\"{}\":{}", out->ends_with('{') ? "" : ",", name,
                 json);
}

// Appends the member as it is, if it is there.
void CopyMember(Element from, std::string_view name, std::string* out) {
  Element member;
  if (from[name].get(member) == simdjson::SUCCESS && !member.is_null())
    AppendMember(name, simdjson::minify(member), out);
}

// Appends the two numbers of ProvisionedThroughput without what else is described beside them.
Status CopyThroughput(Element from, std::string* out) {
  int64_t read = 0, write = 0;
  Element throughput;
  if (from["ProvisionedThroughput"].get(throughput) != simdjson::SUCCESS ||
      throughput["ReadCapacityUnits"].get(read) != simdjson::SUCCESS ||
      throughput["WriteCapacityUnits"].get(write) != simdjson::SUCCESS)
    return NoDescription();
  AppendMember("ProvisionedThroughput",
               fmt::format("{{\"ReadCapacityUnits\":{},\"WriteCapacityUnits\":{}}}", read, write),
               out);
  return OkStatus();
}

enum class Billing { kProvisioned, kOnDemand, kOnDemandInstead };

// Capacity of a table or of a global index.
Status CopyCapacity(Element from, Billing billing, std::string* out) {
  if (billing == Billing::kProvisioned) return CopyThroughput(from, out);
  if (billing == Billing::kOnDemand) CopyMember(from, "OnDemandThroughput", out);
  return OkStatus();
}

Status CopyIndexes(Element table, std::string_view member, bool global, Billing billing,
                   std::string* out) {
  simdjson::dom::array indexes;
  if (table[member].get(indexes) != simdjson::SUCCESS || indexes.size() == 0) return OkStatus();
  std::string list = "[";
  for (const Element index : indexes) {
    std::string one = "{";
    for (const char* name : {"IndexName", "KeySchema", "Projection"}) CopyMember(index, name, &one);
    if (global) TRY(CopyCapacity(index, billing, &one));
    list += (list.size() > 1 ? "," : "") + one + '}';
  }
  AppendMember(member, list + ']', out);
  return OkStatus();
}

Billing BillingOf(Element table, bool on_demand) {
  std::string_view mode;
  const bool pays = table["BillingModeSummary"]["BillingMode"].get(mode) == simdjson::SUCCESS &&
                    mode == "PAY_PER_REQUEST";
  return pays ? Billing::kOnDemand : on_demand ? Billing::kOnDemandInstead : Billing::kProvisioned;
}

}  // namespace

Result<std::string> CreateTableJson(std::string_view description, bool on_demand) {
  simdjson::dom::parser parser;
  Element table;
  if (parser.parse(description.data(), description.size()).get(table) != simdjson::SUCCESS)
    return NoDescription();
  std::string json = "{";
  for (const char* name : {"TableName", "AttributeDefinitions", "KeySchema"})
    CopyMember(table, name, &json);
  const Billing billing = BillingOf(table, on_demand);
  AppendMember("BillingMode",
               billing == Billing::kProvisioned ? "\"PROVISIONED\"" : "\"PAY_PER_REQUEST\"", &json);
  TRY(CopyCapacity(table, billing, &json));
  TRY(CopyIndexes(table, "LocalSecondaryIndexes", false, billing, &json));
  TRY(CopyIndexes(table, "GlobalSecondaryIndexes", true, billing, &json));
  Element table_class;
  if (table["TableClassSummary"]["TableClass"].get(table_class) == simdjson::SUCCESS)
    AppendMember("TableClass", simdjson::minify(table_class), &json);
  return json + '}';
}

Result<LateSettings> LateSettingsOf(std::string_view description) {
  simdjson::dom::parser parser;
  Element table, stream;
  if (parser.parse(description.data(), description.size()).get(table) != simdjson::SUCCESS)
    return NoDescription();
  LateSettings late;
  const auto text = [](Element from, std::string_view name) {
    std::string_view value;
    return from[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
  };
  late.arn = text(table, "TableArn");
  late.stream_arn = text(table, "LatestStreamArn");
  if (table["DeletionProtectionEnabled"].get(late.protect) != simdjson::SUCCESS)
    late.protect = false;
  bool enabled = false;
  if (table["StreamSpecification"].get(stream) == simdjson::SUCCESS &&
      stream["StreamEnabled"].get(enabled) == simdjson::SUCCESS && enabled) {
    late.stream = simdjson::minify(stream);
    late.stream_view = text(stream, "StreamViewType");
  }
  return late;
}

}  // namespace stator::bulk
