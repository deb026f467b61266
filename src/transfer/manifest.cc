#include "transfer/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "simdjson.h"

namespace stator::transfer {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;
using table::IndexDescriptor;
using table::TableDescriptor;

constexpr std::string_view kFormat = "stator-backup";
constexpr std::string_view kChecksumKey = ",\"Checksum\":\"";
constexpr size_t kChecksumDigits = 32;
constexpr std::string_view kEnd = "\"}\n";
constexpr size_t kMillisDigits = 14, kRandomDigits = 8;
constexpr size_t kMostIndexes = 25;

constexpr std::string_view kProjections[] = {"ALL", "KEYS_ONLY", "INCLUDE"};
constexpr std::string_view kViews[] = {"NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"};
constexpr std::pair<stream::ViewType, std::string_view> kViewTypes[] = {
    {stream::ViewType::kNewImage, kViews[0]},
    {stream::ViewType::kOldImage, kViews[1]},
    {stream::ViewType::kNewAndOldImages, kViews[2]},
    {stream::ViewType::kKeysOnly, kViews[3]}};

std::string ChecksumOf(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// --- Writing -------------------------------------------------------------------------------------

void WriteKey(const model::IndexKeySchema& key, JsonWriter* out) {
  out->Key("KeySchema").Open('[');
  const auto write = [&](const model::KeyAttribute& attribute, std::string_view type) {
    out->Open('{').Field("AttributeName", attribute.name).Field("KeyType", type).Close('}');
  };
  for (const model::KeyAttribute& attribute : key.partition) write(attribute, "HASH");
  for (const model::KeyAttribute& attribute : key.sort) write(attribute, "RANGE");
  out->Close(']');
}

// Throughput is a table or the throughput of an index: both have members of these names.
template <typename Throughput>
void WriteThroughput(const Throughput& units, JsonWriter* out) {
  out->Key("ReadCapacityUnits").Whole(units.read_units);
  out->Key("WriteCapacityUnits").Whole(units.write_units);
  if (units.max_read_request_units)
    out->Key("MaxReadRequestUnits").Whole(*units.max_read_request_units);
  if (units.max_write_request_units)
    out->Key("MaxWriteRequestUnits").Whole(*units.max_write_request_units);
}

void WriteIndex(const IndexDescriptor& index, JsonWriter* out) {
  out->Open('{').Field("IndexName", index.name);
  out->Field("Kind", std::string_view(index.is_global() ? "GLOBAL" : "LOCAL"));
  WriteKey(index.key, out);
  out->Field("ProjectionType", kProjections[static_cast<size_t>(index.projection)]);
  if (index.projection == IndexDescriptor::Projection::kInclude) {
    out->Key("NonKeyAttributes").Open('[');
    for (const std::string& name : index.non_key_attributes) out->Text(name);
    out->Close(']');
  }
  if (index.is_global()) WriteThroughput(index.throughput, out);
  out->Close('}');
}

void WriteTable(const TableDescriptor& table, JsonWriter* out) {
  out->Key("Table").Open('{');
  out->Field("TableName", table.name).Field("TableId", table.table_id);
  out->Key("TableCreationMicros").Whole(table.created_micros);
  const bool on_demand = table.billing_mode == table::BillingMode::kPayPerRequest;
  out->Field("BillingMode", std::string_view(on_demand ? "PAY_PER_REQUEST" : "PROVISIONED"));
  WriteThroughput(table, out);
  out->Key("AttributeDefinitions").Open('[');
  for (const model::KeyAttribute& attribute : table.attribute_definitions) {
    out->Open('{').Field("AttributeName", attribute.name);
    out->Field("AttributeType", model::TypeName(attribute.type)).Close('}');
  }
  out->Close(']');
  WriteKey(model::IndexKeySchema::Of(table.key_schema), out);
  out->Key("Indexes").Open('[');
  for (const IndexDescriptor& index : table.indexes) WriteIndex(index, out);
  out->Close(']');
  for (const auto& [view, name] : kViewTypes)
    if (table.stream_view_type == view) out->Field("StreamViewType", name);
  if (table.expiry) out->Field("TimeToLiveAttribute", table.expiry->attribute);
  out->Close('}');
}

// --- Reading -------------------------------------------------------------------------------------

// The members of one JSON object; the first that is not as it should be is remembered.
class Members {
 public:
  Members(object from, Status* status) : from_(from), status_(status) {}

  bool Has(std::string_view name) const { return !from_[name].error(); }
  std::string Text(std::string_view name) {
    std::string_view text;
    if (from_[name].get(text)) Fail(name);
    return std::string(text);
  }
  int64_t Whole(std::string_view name) {
    int64_t number = 0;
    if (from_[name].get(number) || number < 0) Fail(name);
    return number;
  }
  std::optional<int64_t> MaybeWhole(std::string_view name) {
    if (!Has(name)) return std::nullopt;
    int64_t number = 0;
    if (from_[name].get(number)) Fail(name);
    return number;
  }
  Members Object(std::string_view name) {
    object found;
    if (from_[name].get(found)) Fail(name);
    return {found, status_};
  }
  // Calls each(element) for the elements of a list.
  template <typename Each>
  void List(std::string_view name, Each each) {
    array found;
    if (from_[name].get(found)) return Fail(name);
    for (const element one : found) each(one);
  }
  // Calls each(members) for the elements of a list of objects.
  template <typename Each>
  void Objects(std::string_view name, Each each) {
    List(name, [&](element one) {
      object found;
      if (one.get(found)) return Fail(name);
      Members members(found, status_);
      each(members);
    });
  }
  void Fail(std::string_view name) {
    if (status_->ok())
      *status_ = CorruptionError(fmt::format("its member {} is not as it should be", name));
  }
  bool ok() const { return status_->ok(); }

 private:
  object from_;
  Status* status_;
};

model::KeyAttribute AttributeOf(const std::string& name, const TableDescriptor& table,
                                Members* members) {
  for (const model::KeyAttribute& attribute : table.attribute_definitions)
    if (attribute.name == name) return attribute;
  members->Fail("KeySchema");
  return {name, model::Type::kS};
}

model::IndexKeySchema ReadKey(const TableDescriptor& table, Members* members) {
  model::IndexKeySchema key;
  members->Objects("KeySchema", [&](Members& one) {
    const std::string type = one.Text("KeyType");
    const model::KeyAttribute attribute = AttributeOf(one.Text("AttributeName"), table, members);
    if (type == "HASH") {
      key.partition.push_back(attribute);
    } else if (type == "RANGE") {
      key.sort.push_back(attribute);
    } else {
      one.Fail("KeyType");
    }
  });
  if (key.partition.empty() || key.partition.size() > model::kMaxIndexKeyAttributes ||
      key.sort.size() > model::kMaxIndexKeyAttributes)
    members->Fail("KeySchema");
  return key;
}

template <typename Throughput>
void ReadThroughput(Members* members, Throughput* units) {
  units->read_units = members->Whole("ReadCapacityUnits");
  units->write_units = members->Whole("WriteCapacityUnits");
  units->max_read_request_units = members->MaybeWhole("MaxReadRequestUnits");
  units->max_write_request_units = members->MaybeWhole("MaxWriteRequestUnits");
}

IndexDescriptor ReadIndex(const TableDescriptor& table, Members* members) {
  IndexDescriptor index;
  index.name = members->Text("IndexName");
  const std::string kind = members->Text("Kind");
  index.kind = kind == "LOCAL" ? IndexDescriptor::Kind::kLocal : IndexDescriptor::Kind::kGlobal;
  if (kind != "LOCAL" && kind != "GLOBAL") members->Fail("Kind");
  index.key = ReadKey(table, members);
  const std::string projection = members->Text("ProjectionType");
  const auto found = std::ranges::find(kProjections, projection);
  if (found == std::end(kProjections)) {
    members->Fail("ProjectionType");
  } else {
    index.projection = static_cast<IndexDescriptor::Projection>(found - std::begin(kProjections));
  }
  if (index.projection == IndexDescriptor::Projection::kInclude) {
    members->List("NonKeyAttributes", [&](element one) {
      std::string_view name;
      if (one.get(name)) members->Fail("NonKeyAttributes");
      index.non_key_attributes.emplace_back(name);
    });
  }
  if (index.is_global()) ReadThroughput(members, &index.throughput);
  return index;
}

TableDescriptor ReadTable(Members* members) {
  TableDescriptor table;
  table.name = members->Text("TableName");
  table.table_id = members->Text("TableId");
  table.created_micros = members->Whole("TableCreationMicros");
  const std::string billing = members->Text("BillingMode");
  if (billing != "PROVISIONED" && billing != "PAY_PER_REQUEST") members->Fail("BillingMode");
  table.billing_mode = billing == "PAY_PER_REQUEST" ? table::BillingMode::kPayPerRequest
                                                    : table::BillingMode::kProvisioned;
  ReadThroughput(members, &table);
  members->Objects("AttributeDefinitions", [&](Members& one) {
    const std::optional<model::Type> type = model::TypeFromName(one.Text("AttributeType"));
    if (type != model::Type::kS && type != model::Type::kN && type != model::Type::kB)
      one.Fail("AttributeType");
    table.attribute_definitions.push_back(
        {one.Text("AttributeName"), type.value_or(model::Type::kS)});
  });
  const model::IndexKeySchema key = ReadKey(table, members);
  if (key.HasSeveral()) members->Fail("KeySchema");
  if (!key.partition.empty()) table.key_schema.partition = key.partition.front();
  if (!key.sort.empty()) table.key_schema.sort = key.sort.front();
  members->Objects("Indexes",
                   [&](Members& one) { table.indexes.push_back(ReadIndex(table, &one)); });
  if (table.indexes.size() > kMostIndexes) members->Fail("Indexes");
  if (members->Has("StreamViewType")) {
    const std::string view = members->Text("StreamViewType");
    for (const auto& [type, name] : kViewTypes)
      if (view == name) table.stream_view_type = type;
    if (!table.stream_view_type) members->Fail("StreamViewType");
  }
  if (members->Has("TimeToLiveAttribute"))
    table.expiry.emplace().attribute = members->Text("TimeToLiveAttribute");
  return table;
}

Error Damaged(std::string_view why) {
  return CorruptionError(fmt::format("{} is damaged: {}", kManifestName, why));
}

}  // namespace

int64_t Manifest::size_bytes() const {
  int64_t bytes = 0;
  for (const DataFile& file : files) bytes += file.bytes;
  return bytes;
}

bool IsBackupId(std::string_view text) {
  if (text.size() != kMillisDigits + 1 + kRandomDigits || text[kMillisDigits] != '-') return false;
  return text.substr(0, kMillisDigits).find_first_not_of("0123456789") == std::string_view::npos &&
         text.substr(kMillisDigits + 1).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

bool IsSystemId(std::string_view id) { return id.ends_with("-00000000"); }

TableDescriptor DefinitionOf(const TableDescriptor& table) {
  TableDescriptor out;
  out.name = table.name;
  out.table_id = table.table_id;
  out.created_micros = table.created_micros;
  out.billing_mode = table.billing_mode;
  out.read_units = table.read_units;
  out.write_units = table.write_units;
  out.max_read_request_units = table.max_read_request_units;
  out.max_write_request_units = table.max_write_request_units;
  out.attribute_definitions = table.attribute_definitions;
  out.key_schema = table.key_schema;
  for (const IndexDescriptor& index : table.indexes) {
    if (index.state == IndexDescriptor::State::kDeleting) continue;
    IndexDescriptor& one = out.indexes.emplace_back();
    one.name = index.name;
    one.kind = index.kind;
    one.key = index.key;
    one.projection = index.projection;
    one.non_key_attributes = index.non_key_attributes;
    one.throughput.read_units = index.throughput.read_units;
    one.throughput.write_units = index.throughput.write_units;
    one.throughput.max_read_request_units = index.throughput.max_read_request_units;
    one.throughput.max_write_request_units = index.throughput.max_write_request_units;
  }
  out.stream_view_type = table.stream_view_type;
  if (table.HasTimeToLive()) out.expiry.emplace().attribute = table.expiry->attribute;
  return out;
}

std::string EncodeManifest(const Manifest& manifest) {
  JsonWriter out;
  out.Open('{').Field("Format", kFormat).Key("Version").Whole(kManifestVersion);
  out.Field("BackupId", manifest.id).Field("BackupName", manifest.name);
  out.Key("BackupCreationMillis").Whole(manifest.created_millis);
  WriteTable(manifest.table, &out);
  out.Key("ItemCount").Whole(manifest.item_count);
  out.Key("TableSizeBytes").Whole(manifest.table_bytes);
  out.Key("Files").Open('[');
  for (const DataFile& file : manifest.files) {
    out.Open('{').Field("Name", file.name).Key("Bytes").Whole(file.bytes);
    out.Key("Items").Whole(file.items).Field("Checksum", file.checksum).Close('}');
  }
  out.Close(']');
  std::string text = out.Take();
  text.pop_back();  // the line feed
  const std::string checksum = ChecksumOf(text);
  return text.append(kChecksumKey).append(checksum).append(kEnd);
}

Result<Manifest> DecodeManifest(std::string_view text) {
  const size_t tail = kChecksumKey.size() + kChecksumDigits + kEnd.size();
  if (text.size() < tail || !text.ends_with(kEnd) ||
      text.substr(text.size() - tail, kChecksumKey.size()) != kChecksumKey)
    return Damaged("it does not end with a checksum");
  const std::string_view covered = text.substr(0, text.size() - tail);
  if (text.substr(covered.size() + kChecksumKey.size(), kChecksumDigits) != ChecksumOf(covered))
    return Damaged("its checksum is wrong");
  simdjson::dom::parser parser;
  object root;
  if (parser.parse(text.data(), text.size()).get(root)) return Damaged("it is no JSON object");
  Status status = OkStatus();
  Members members(root, &status);
  if (members.Text("Format") != kFormat) return Damaged("it is no manifest of a backup");
  const int64_t version = members.Whole("Version");
  if (version > kManifestVersion) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("{} has version {}; this version of Stator reads backups up to {}. "
                             "Start the newer Stator that wrote it.",
                             kManifestName, version, kManifestVersion));
  }
  Manifest manifest;
  manifest.id = members.Text("BackupId");
  manifest.name = members.Text("BackupName");
  manifest.created_millis = members.Whole("BackupCreationMillis");
  Members table = members.Object("Table");
  if (!status.ok()) return Damaged(status.error().message());
  manifest.table = ReadTable(&table);
  manifest.item_count = members.Whole("ItemCount");
  manifest.table_bytes = members.Whole("TableSizeBytes");
  members.Objects("Files", [&](Members& one) {
    manifest.files.push_back(
        {one.Text("Name"), one.Whole("Bytes"), one.Whole("Items"), one.Text("Checksum")});
  });
  if (!IsBackupId(manifest.id)) members.Fail("BackupId");
  if (!status.ok()) return Damaged(status.error().message());
  return manifest;
}

}  // namespace stator::transfer
