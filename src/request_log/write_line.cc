#include "request_log/write_line.h"

#include <fmt/format.h>

namespace stator::request_log {
namespace {

void Texts(JsonWriter* json, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json->Key(name).Open('[');
  for (const std::string& text : texts) json->Text(text);
  json->Close(']');
}

void Whole(JsonWriter* json, std::string_view name, const std::optional<int64_t>& number) {
  if (number) json->Key(name).Whole(*number);
}

// Writes nothing for 0.
void Units(JsonWriter* json, std::string_view name, double units) {
  if (units != 0) json->Field(name, units);
}

void Key(JsonWriter* json, const std::vector<std::string>& partition,
         const std::vector<std::string>& sort) {
  Texts(json, "pk", partition);
  Texts(json, "sk", sort);
}

void Index(JsonWriter* json, const IndexDefinition& index) {
  static constexpr std::string_view kProjections[] = {"ALL", "KEYS_ONLY", "INCLUDE"};
  json->Open('{').Field("name", index.name).Field("kind", index.global ? "global" : "local");
  Key(json, index.partition, index.sort);
  json->Field("projection", kProjections[static_cast<size_t>(index.projection)]);
  Texts(json, "attributes", index.attributes);
  Units(json, "read", index.read_units);
  Units(json, "write", index.write_units);
  json->Key("bytes").Whole(index.bytes).Key("items").Whole(index.items).Close('}');
}

void Hash(const HashSecret& secret, std::string* key) {
  if (!key->empty()) *key = fmt::format("#{:016x}", KeyedHash(secret, *key));
}

}  // namespace

std::string WriteLine(const Header& header) {
  JsonWriter json;
  json.Open('{').Key("stator_request_log").Whole(kVersion).Key("at").Whole(header.at_micros);
  json.Field("keys", header.keys == KeyForm::kHashed ? "hashed" : "plain");
  if (!header.salt.empty()) json.Field("salt", header.salt);
  json.Close('}');
  return json.Take();
}

std::string WriteLine(const TableDefinition& table) {
  JsonWriter json;
  json.Open('{').Field("table", table.name).Key("at").Whole(table.at_micros);
  Key(&json, table.partition, table.sort);
  json.Field("billing", table.on_demand ? "on-demand" : "provisioned");
  Units(&json, "read", table.read_units);
  Units(&json, "write", table.write_units);
  if (table.max_read) json.Field("max_read", *table.max_read);
  if (table.max_write) json.Field("max_write", *table.max_write);
  if (table.stream) json.Key("stream").Bool(true);
  json.Key("bytes").Whole(table.bytes).Key("items").Whole(table.items);
  if (!table.indexes.empty()) {
    json.Key("indexes").Open('[');
    for (const IndexDefinition& index : table.indexes) Index(&json, index);
    json.Close(']');
  }
  json.Close('}');
  return json.Take();
}

std::string WriteLine(const Request& request) {
  static constexpr std::string_view kOutcomes[] = {"", "throttled", "condition", "cancelled"};
  JsonWriter json;
  json.Open('{').Key("t").Whole(request.at_micros);
  json.Field("op", request.operation).Field("tb", request.table);
  if (!request.index.empty()) json.Field("ix", request.index);
  if (request.keys.size() == 1) {
    json.Field("pk", request.keys[0].partition);
    if (!request.keys[0].sort.empty()) json.Field("sk", request.keys[0].sort);
  } else if (!request.keys.empty()) {
    json.Key("m").Open('[');
    for (const KeyUse& touch : request.keys) {
      json.Open('[').Text(touch.partition).Text(touch.sort);
      if (touch.bytes) json.Whole(*touch.bytes);
      json.Close(']');
    }
    json.Close(']');
  }
  Whole(&json, "b", request.stored_bytes);
  Whole(&json, "a", request.asked_bytes);
  Units(&json, "r", request.read_units);
  Units(&json, "w", request.write_units);
  if (!request.index_writes.empty()) {
    json.Key("iw").Open('[');
    for (const IndexWrite& write : request.index_writes) {
      json.Open('[').Text(write.index).Number(write.units);
      if (!write.partition.empty()) json.Text(write.partition);
      json.Close(']');
    }
    json.Close(']');
  }
  if (request.consistency != Consistency::kEventual) {
    json.Key("c").Whole(static_cast<int64_t>(request.consistency));
  }
  Whole(&json, "s", request.scanned);
  Whole(&json, "n", request.returned);
  Texts(&json, "at", request.attributes);
  Texts(&json, "f", request.filter);
  if (request.ttl_form != TtlForm::kFine)
    json.Field("tt", request.ttl_form == TtlForm::kMillis ? "millis" : "text");
  if (request.outcome != Outcome::kServed) {
    json.Field("x", kOutcomes[static_cast<size_t>(request.outcome)]);
  }
  json.Close('}');
  return json.Take();
}

std::string WriteLine(const Lost& lost) {
  JsonWriter json;
  json.Open('{').Key("lost").Whole(lost.count).Key("at").Whole(lost.at_micros).Close('}');
  return json.Take();
}

std::string WriteLine(const End& end) {
  JsonWriter json;
  json.Open('{').Field("end", end.reason).Key("at").Whole(end.at_micros).Close('}');
  return json.Take();
}

void HashKeys(const HashSecret& secret, Request* request) {
  for (KeyUse& touch : request->keys) {
    Hash(secret, &touch.partition);
    Hash(secret, &touch.sort);
  }
  for (IndexWrite& write : request->index_writes) Hash(secret, &write.partition);
}

}  // namespace stator::request_log
