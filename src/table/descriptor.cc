#include "table/descriptor.h"

#include <charconv>

#include "model/node.h"

namespace stator::table {
namespace {

using model::MapView;
using model::Node;
using model::Number;
using model::Type;
using model::ValueView;

// Each member is written and read by one line of Visit, so that neither side can forget one.
class Writer {
 public:
  void String(const char* name, const std::string& value) {
    std::string encoded;
    model::AppendString(&encoded, value);
    Put(name, std::move(encoded));
  }
  template <typename Int>
  void Integer(const char* name, const Int& value) {
    std::string encoded;
    model::AppendNumber(&encoded, Number::FromInt(static_cast<int64_t>(value)));
    Put(name, std::move(encoded));
  }
  void Bool(const char* name, const bool& value) {
    std::string encoded;
    model::AppendBool(&encoded, value);
    Put(name, std::move(encoded));
  }
  void Optional(const char* name, const std::optional<int64_t>& value) {
    if (value) Integer(name, *value);
  }
  void KeyAttributes(const char* name, const std::vector<model::KeyAttribute>& attributes) {
    std::string elements;
    for (const model::KeyAttribute& attribute : attributes) {
      model::AppendString(&elements, std::string(model::TypeName(attribute.type)) + ":" + attribute.name);
    }
    std::string encoded;
    model::AppendList(&encoded, attributes.size(), elements);
    Put(name, std::move(encoded));
  }
  void Key(const char* name, const model::KeySchema& schema) {
    std::vector<model::KeyAttribute> attributes = {schema.partition};
    if (schema.sort) attributes.push_back(*schema.sort);
    KeyAttributes(name, attributes);
  }
  void Strings(const char* name, const std::map<std::string, std::string>& map) {
    Node node;
    for (const auto& [key, value] : map) {
      std::string encoded;
      model::AppendString(&encoded, value);
      node.map()[key] = Node::FromOwned(std::move(encoded));
    }
    root_.map()[name] = std::move(node);
  }
  void Partitions(const char* name, const throughput::PartitionMap& map) {
    std::string elements;
    for (uint64_t start : map.starts()) model::AppendString(&elements, std::to_string(start));
    std::string encoded;
    model::AppendList(&encoded, map.size(), elements);
    Put(name, std::move(encoded));
  }
  void Texts(const char* name, const std::vector<std::string>& texts) {
    std::string elements;
    for (const std::string& text : texts) model::AppendString(&elements, text);
    std::string encoded;
    model::AppendList(&encoded, texts.size(), elements);
    Put(name, std::move(encoded));
  }
  // Left out when there are none, as in descriptors of versions that had none.
  void Indexes(const char* name, const std::vector<IndexDescriptor>& indexes);
  void Expiry(const char* name, const std::optional<ExpiryIndex>& expiry);
  std::string Finish() const { return root_.EncodeItem(); }

 private:
  void Put(const char* name, std::string encoded) { root_.map()[name] = Node::FromOwned(std::move(encoded)); }
  Node root_;
};

class Reader {
 public:
  explicit Reader(MapView map) : map_(map) {}

  void String(const char* name, std::string& value) {
    if (const ValueView found = Find(name, Type::kS, true); !found.empty()) value = found.text();
  }
  template <typename Int>
  void Integer(const char* name, Int& value) {
    const ValueView found = Find(name, Type::kN, true);
    if (found.empty()) return;
    const int64_t integer = IntegerOf(found);
    value = static_cast<Int>(integer);
    if (static_cast<int64_t>(value) != integer) ok_ = false;
  }
  void Bool(const char* name, bool& value) {
    if (const ValueView found = Find(name, Type::kBool, true); !found.empty()) value = found.boolean();
  }
  void Optional(const char* name, std::optional<int64_t>& value) {
    const ValueView found = Find(name, Type::kN, false);
    if (!found.empty()) value = IntegerOf(found);
  }
  void KeyAttributes(const char* name, std::vector<model::KeyAttribute>& attributes) {
    const ValueView found = Find(name, Type::kL, true);
    if (found.empty()) return;
    for (ValueView element : found.list()) {
      const std::string_view text = TextOf(element);
      const size_t colon = text.find(':');
      const std::optional<Type> type = model::TypeFromName(text.substr(0, colon));
      if (colon == std::string_view::npos || !type) {
        ok_ = false;
        return;
      }
      attributes.push_back({std::string(text.substr(colon + 1)), *type});
    }
  }
  void Key(const char* name, model::KeySchema& schema) {
    std::vector<model::KeyAttribute> attributes;
    KeyAttributes(name, attributes);
    if (attributes.empty() || attributes.size() > 2) {
      ok_ = false;
      return;
    }
    schema.partition = attributes[0];
    if (attributes.size() == 2) schema.sort = attributes[1];
  }
  void Strings(const char* name, std::map<std::string, std::string>& map) {
    const ValueView found = Find(name, Type::kM, false);
    if (found.empty()) return;
    for (const MapView::Entry& entry : found.map()) map[std::string(entry.name)] = TextOf(entry.value);
  }
  void Partitions(const char* name, throughput::PartitionMap& map) {
    const ValueView found = Find(name, Type::kL, true);
    if (found.empty()) return;
    std::vector<uint64_t> starts;
    for (ValueView element : found.list()) {
      const std::string_view text = TextOf(element);
      uint64_t start = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), start);
      if (error != std::errc() || end != text.data() + text.size()) ok_ = false;
      starts.push_back(start);
    }
    map = throughput::PartitionMap::FromStarts(starts);
    if (map.starts() != starts) ok_ = false;
  }
  void Texts(const char* name, std::vector<std::string>& texts) {
    const ValueView found = Find(name, Type::kL, true);
    if (found.empty()) return;
    for (ValueView element : found.list()) texts.emplace_back(TextOf(element));
  }
  void Indexes(const char* name, std::vector<IndexDescriptor>& indexes);
  void Expiry(const char* name, std::optional<ExpiryIndex>& expiry);
  bool ok() const { return ok_; }

 private:
  ValueView Find(const char* name, Type type, bool required) {
    const ValueView value = map_.Find(name);
    if (value.empty() ? required : value.type() != type) {
      ok_ = false;
      return ValueView();
    }
    return value;
  }
  std::string_view TextOf(ValueView value) {
    if (value.type() == Type::kS) return value.text();
    ok_ = false;
    return "";
  }
  int64_t IntegerOf(ValueView number) {
    int64_t integer = 0;
    if (!number.number().ToInt64(&integer)) ok_ = false;
    return integer;
  }
  MapView map_;
  bool ok_ = true;
};

template <typename Visitor, typename Index>
void VisitIndex(Visitor& v, Index& d) {
  v.String("Name", d.name);
  v.Integer("Kind", d.kind);
  v.KeyAttributes("PartitionKey", d.key.partition);
  v.KeyAttributes("SortKey", d.key.sort);
  v.Integer("Projection", d.projection);
  v.Texts("NonKeyAttributes", d.non_key_attributes);
  v.Integer("State", d.state);
  v.Integer("Created", d.created_micros);
  v.Integer("Number", d.number);
  v.Integer("TabletId", d.tablet_id);
  v.Integer("ReadUnits", d.throughput.read_units);
  v.Integer("WriteUnits", d.throughput.write_units);
  v.Integer("LastIncrease", d.throughput.last_increase_micros);
  v.Integer("LastDecrease", d.throughput.last_decrease_micros);
  v.Integer("DecreasesToday", d.throughput.decreases_today);
  v.Integer("DecreasesDay", d.throughput.decreases_day);
  v.Optional("MaxReadRequestUnits", d.throughput.max_read_request_units);
  v.Optional("MaxWriteRequestUnits", d.throughput.max_write_request_units);
  v.Optional("WarmReadUnits", d.throughput.warm_read_units);
  v.Optional("WarmWriteUnits", d.throughput.warm_write_units);
  v.Partitions("Partitions", d.partitions);
}

void Writer::Indexes(const char* name, const std::vector<IndexDescriptor>& indexes) {
  if (indexes.empty()) return;
  std::string elements;
  for (const IndexDescriptor& index : indexes) {
    Writer writer;
    VisitIndex(writer, index);
    writer.root_.AppendTo(&elements);
  }
  std::string encoded;
  model::AppendList(&encoded, indexes.size(), elements);
  Put(name, std::move(encoded));
}

void Reader::Indexes(const char* name, std::vector<IndexDescriptor>& indexes) {
  const ValueView found = Find(name, Type::kL, false);
  if (found.empty()) return;
  for (ValueView element : found.list()) {
    if (element.type() != Type::kM) {
      ok_ = false;
      return;
    }
    Reader reader(element.map());
    VisitIndex(reader, indexes.emplace_back());
    const IndexDescriptor& index = indexes.back();
    const bool sound = index.kind <= IndexDescriptor::Kind::kGlobal && index.projection <= IndexDescriptor::Projection::kInclude &&
                       index.state <= IndexDescriptor::State::kDeleting && !index.key.partition.empty() &&
                       (index.is_global() ? index.tablet_id != 0 : index.key.sort.size() == 1);
    if (!reader.ok() || !sound) ok_ = false;
  }
}

template <typename Visitor, typename Index>
void VisitExpiry(Visitor& v, Index& d) {
  v.String("Attribute", d.attribute);
  v.Integer("State", d.state);
  v.Integer("TabletId", d.tablet_id);
}

void Writer::Expiry(const char* name, const std::optional<ExpiryIndex>& expiry) {
  if (!expiry) return;
  Writer writer;
  VisitExpiry(writer, *expiry);
  root_.map()[name] = std::move(writer.root_);
}

void Reader::Expiry(const char* name, std::optional<ExpiryIndex>& expiry) {
  const ValueView found = Find(name, Type::kM, false);
  if (found.empty()) return;
  Reader reader(found.map());
  VisitExpiry(reader, expiry.emplace());
  const bool sound = expiry->state <= IndexDescriptor::State::kDeleting && expiry->tablet_id != 0;
  if (!reader.ok() || !sound) ok_ = false;
}

template <typename Visitor, typename Descriptor>
void Visit(Visitor& v, Descriptor& d) {
  v.String("Name", d.name);
  v.Integer("TabletId", d.tablet_id);
  v.String("TableId", d.table_id);
  v.Integer("Created", d.created_micros);
  v.Integer("Changed", d.changed_micros);
  v.Integer("Deleting", d.deleting_micros);
  v.KeyAttributes("AttributeDefinitions", d.attribute_definitions);
  v.Key("KeySchema", d.key_schema);
  v.Integer("BillingMode", d.billing_mode);
  v.Bool("BillingModeGiven", d.billing_mode_given);
  v.Integer("ToPayPerRequest", d.to_pay_per_request_micros);
  v.Integer("ReadUnits", d.read_units);
  v.Integer("WriteUnits", d.write_units);
  v.Integer("LastIncrease", d.last_increase_micros);
  v.Integer("LastDecrease", d.last_decrease_micros);
  v.Integer("DecreasesToday", d.decreases_today);
  v.Integer("DecreasesDay", d.decreases_day);
  v.Optional("MaxReadRequestUnits", d.max_read_request_units);
  v.Optional("MaxWriteRequestUnits", d.max_write_request_units);
  v.Optional("WarmReadUnits", d.warm_read_units);
  v.Optional("WarmWriteUnits", d.warm_write_units);
  v.Integer("TableClass", d.table_class);
  v.Bool("TableClassGiven", d.table_class_given);
  v.Integer("TableClassChanged", d.table_class_changed_micros);
  v.Bool("DeletionProtection", d.deletion_protection);
  v.Strings("Tags", d.tags);
  v.Partitions("Partitions", d.partitions);
  v.Indexes("Indexes", d.indexes);
  v.Expiry("TimeToLive", d.expiry);
  v.Optional("TimeToLiveChanged", d.expiry_changed_micros);
}

}  // namespace

const IndexDescriptor* TableDescriptor::FindIndex(std::string_view index_name) const {
  for (const IndexDescriptor& index : indexes) {
    if (index.name == index_name) return &index;
  }
  return nullptr;
}

std::string TableDescriptor::Encode() const {
  Writer writer;
  Visit(writer, *this);
  return writer.Finish();
}

Result<TableDescriptor> TableDescriptor::Decode(std::string_view encoded) {
  TRY(model::CheckItem(encoded));
  TableDescriptor descriptor;
  Reader reader(model::ItemView(encoded).attributes());
  Visit(reader, descriptor);
  if (!reader.ok()) return CorruptionError("a table descriptor in the catalog lacks a member or has a bad one");
  return descriptor;
}

}  // namespace stator::table
