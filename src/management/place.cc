#include "management/place.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "api/attribute_json.h"
#include "base/json_writer.h"
#include "model/key_schema.h"
#include "simdjson.h"
#include "table/key_encoding.h"
#include "throughput/meter.h"

namespace stator::management {
namespace {

using Resource = ops::Admission::Resource;

constexpr std::string_view kShape =
    R"(The body must be {"key":{"NAME":{"S":"value"}}}, with the partition key)";
constexpr size_t kMostBytes = 64 << 10;

// Returns the hash of the item's partition key; nullopt if the item lacks a key attribute or has
// one of another type.
std::optional<uint64_t> HashIn(const std::vector<model::KeyAttribute>& partition,
                               model::ItemView item) {
  std::vector<model::ValueView> values;
  size_t bytes = 0;
  for (const model::KeyAttribute& attribute : partition) {
    const model::ValueView value = item.Find(attribute.name);
    if (value.empty() || value.type() != attribute.type) return std::nullopt;
    values.push_back(value);
    bytes += value.text().size();
  }
  if (bytes == 0 || bytes > model::kMaxPartitionKeyBytes * partition.size()) return std::nullopt;
  return table::HashOfKey(table::EncodePartitionPrefix(table::kItemKind, values));
}

void WriteBound(std::string_view name, const throughput::KeyBound* bound, JsonWriter* json) {
  json->Key(name);
  if (bound == nullptr) {
    json->Null();
    return;
  }
  json->Open('{').Field("hash", fmt::format("{:016x}", bound->hash)).Close('}');
}

void WritePlace(const Resource& resource, uint64_t hash, JsonWriter* json) {
  const std::vector<throughput::PartitionView> partitions = resource.meter->resource().Partitions();
  // A collection that is cut into several ranges has one hash: its first range is told.
  size_t number = 0;
  while (number + 1 < partitions.size() && partitions[number + 1].range.from.hash <= hash &&
         partitions[number].range.from.hash != hash) {
    ++number;
  }
  json->Open('{').Key("index");
  resource.index != nullptr ? json->Text(resource.index->name) : json->Null();
  json->Field("hash", fmt::format("{:016x}", hash));
  const throughput::PartitionView& partition = partitions[number];
  json->Key("partition").Whole(static_cast<int64_t>(partition.id));
  json->Key("number").Whole(static_cast<int64_t>(number));
  json->Key("of").Whole(static_cast<int64_t>(partitions.size()));
  WriteBound("from", &partition.range.from, json);
  WriteBound("to", partition.range.to_end ? nullptr : &partition.range.to, json);
  json->Field("heat", partition.heat).Close('}');
}

}  // namespace

Result<std::string> PlaceOf(const ops::Environment& environment, std::string_view table,
                            std::string_view body) {
  const std::vector<Resource> resources = environment.admission.ResourcesOf(table);
  if (resources.empty())
    return Error(ErrorCode::kResourceNotFound, fmt::format("There is no table {}", table));
  if (body.size() > kMostBytes) return ValidationError("The body is longer than 64 KB");
  simdjson::dom::parser parser;
  simdjson::dom::element document, key;
  if (parser.parse(body.data(), body.size()).get(document) != simdjson::SUCCESS ||
      document.at_key("key").get(key) != simdjson::SUCCESS || !key.is_object()) {
    return ValidationError(std::string(kShape));
  }
  std::string encoded;
  std::optional<Error> value_error;
  if (Status read = api::ReadItem(key, &encoded, &value_error); !read.ok())
    return ValidationError(read.error().message());
  if (value_error) return ValidationError(value_error->message());
  const model::ItemView item(encoded);
  JsonWriter json;
  json.Open('{').Field("table", table).Key("places").Open('[');
  for (const Resource& resource : resources) {
    const model::KeySchema& schema = resource.table->descriptor.key_schema;
    const std::optional<uint64_t> hash = HashIn(
        resource.index != nullptr ? resource.index->key.partition : std::vector{schema.partition},
        item);
    if (!hash && resource.index == nullptr) {
      return ValidationError(fmt::format("The key must have {} with the type of the table's key",
                                         schema.partition.name));
    }
    if (hash) WritePlace(resource, *hash, &json);
  }
  json.Close(']').Close('}');
  return json.Take();
}

}  // namespace stator::management
