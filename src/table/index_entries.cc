#include "table/index_entries.h"

#include <algorithm>
#include <vector>

#include "model/entry_offsets.h"
#include "table/key_encoding.h"
#include "throughput/units.h"

namespace stator::table {
namespace {

using model::AttributeFinder;
using model::ItemView;
using model::KeyAttribute;
using model::ValueView;

// Bytes that a value counts towards the limits of key sizes; a number never comes near them.
size_t KeyBytes(ValueView value) {
  return value.type() == model::Type::kN ? 0 : value.text().size();
}

bool GoodSide(const std::vector<KeyAttribute>& attributes, AttributeFinder& item,
              size_t max_bytes) {
  size_t bytes = 0;
  for (const KeyAttribute& attribute : attributes) {
    const ValueView value = item.Find(attribute.name);
    if (value.empty() || value.type() != attribute.type) return false;
    if (value.type() != model::Type::kN && value.text().empty()) return false;
    bytes += KeyBytes(value);
  }
  return bytes <= max_bytes;
}

// The attributes of `item` that `wanted` names, as an encoded item.
template <typename Wanted>
std::string Select(ItemView item, Wanted wanted) {
  std::string entries;
  size_t count = 0;
  for (const model::MapView::Entry& entry : item.attributes()) {
    if (!wanted(entry.name)) continue;
    model::AppendName(&entries, entry.name);
    entries.append(entry.value.encoded());
    ++count;
  }
  std::string out;
  model::AppendItem(&out, count, entries);
  return out;
}

bool IsKey(const TableDescriptor& table, const IndexDescriptor& index, std::string_view attribute) {
  return table.key_schema.Has(attribute) || index.key.Has(attribute);
}

Error WrongType(const KeyAttribute& attribute, const IndexDescriptor& index, ValueView value,
                bool updating) {
  if (updating)
    return ValidationError(
        "The update expression attempted to update the secondary index key to unsupported type");
  return ValidationError(
      "One or more parameter values were invalid: Type mismatch for Index Key " + attribute.name +
      " Expected: " + std::string(model::TypeName(attribute.type)) +
      " Actual: " + std::string(model::TypeName(value.type())) + " IndexName: " + index.name);
}

Error EmptyKey(const KeyAttribute& attribute, const IndexDescriptor& index, bool updating) {
  std::string message = "One or more parameter values are not valid. ";
  message.append(
      updating
          ? "The update expression attempted to update a secondary index key to a value that is "
            "not supported. "
          : "A value specified for a secondary index key is not supported. ");
  message.append("The AttributeValue for a key attribute cannot contain an empty ");
  message.append(attribute.type == model::Type::kS ? "string" : "binary").append(" value.");
  if (!updating)
    message.append(" IndexName: ").append(index.name).append(", IndexKey: ").append(attribute.name);
  return ValidationError(std::move(message));
}

Error TooLong(bool is_partition, bool updating) {
  if (updating) {
    return ValidationError(
        "The update expression attempted to update the secondary index key beyond allowed size "
        "limits");
  }
  return ValidationError(
      is_partition
          ? "One or more parameter values were invalid: Size of hashkey has exceeded the maximum "
            "size limit of2048 bytes"
          : "One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
}

Status CheckSide(const IndexDescriptor& index, const std::vector<KeyAttribute>& attributes,
                 bool is_partition, AttributeFinder& old_item, AttributeFinder& new_item,
                 bool updating) {
  size_t bytes = 0;
  bool fresh = false;
  for (const KeyAttribute& attribute : attributes) {
    const ValueView value = new_item.Find(attribute.name);
    if (value.empty()) continue;
    if (value.type() == attribute.type) bytes += KeyBytes(value);
    if (model::ValuesEqual(value, old_item.Find(attribute.name))) continue;
    fresh = true;
    if (value.type() != attribute.type) return WrongType(attribute, index, value, updating);
    if (value.type() != model::Type::kN && value.text().empty())
      return EmptyKey(attribute, index, updating);
  }
  if (fresh && bytes > (is_partition ? model::kMaxPartitionKeyBytes : model::kMaxSortKeyBytes)) {
    return TooLong(is_partition, updating);
  }
  return OkStatus();
}

bool HasEntryOf(const IndexDescriptor& index, AttributeFinder& item) {
  return item.item().exists() &&
         GoodSide(index.key.partition, item, model::kMaxPartitionKeyBytes) &&
         GoodSide(index.key.sort, item, model::kMaxSortKeyBytes);
}

std::string EntryKeyOf(const TableDescriptor& table, const IndexDescriptor& index,
                       AttributeFinder& item) {
  std::vector<ValueView> partition;
  partition.reserve(index.key.partition.size());
  for (const KeyAttribute& attribute : index.key.partition)
    partition.push_back(item.Find(attribute.name));
  std::string key = EncodePartitionPrefix(EntryKind(index), partition);
  for (const KeyAttribute& attribute : index.key.sort)
    AppendComponent(&key, item.Find(attribute.name));
  // The partition key of a local entry is the item's already.
  if (index.is_global()) AppendComponent(&key, item.Find(table.key_schema.partition.name));
  if (table.key_schema.sort) AppendSortKey(&key, item.Find(table.key_schema.sort->name));
  return key;
}

// The names that entries hold, in the order of the encoding, each once. Not for projections of all.
std::vector<std::string_view> ProjectedNames(const TableDescriptor& table,
                                             const IndexDescriptor& index) {
  std::vector<std::string_view> names = {table.key_schema.partition.name};
  if (table.key_schema.sort) names.push_back(table.key_schema.sort->name);
  for (const auto* side : {&index.key.partition, &index.key.sort}) {
    for (const KeyAttribute& attribute : *side) names.push_back(attribute.name);
  }
  names.insert(names.end(), index.non_key_attributes.begin(), index.non_key_attributes.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string EntryOf(const TableDescriptor& table, const IndexDescriptor& index,
                    AttributeFinder& item) {
  if (index.projection == IndexDescriptor::Projection::kAll)
    return std::string(item.item().encoded());
  if (!item.large())
    return Select(item.item(), [&](std::string_view name) { return Projects(table, index, name); });
  std::string entries;
  size_t count = 0;
  for (const std::string_view name : ProjectedNames(table, index)) {
    const ValueView value = item.Find(name);
    if (value.empty()) continue;
    model::AppendName(&entries, name);
    entries.append(value.encoded());
    ++count;
  }
  std::string out;
  model::AppendItem(&out, count, entries);
  return out;
}

}  // namespace

bool HasEntry(const IndexDescriptor& index, ItemView item) {
  AttributeFinder finder(item);
  return HasEntryOf(index, finder);
}

char EntryKind(const IndexDescriptor& index) {
  return index.is_global() ? kItemKind : static_cast<char>(kLocalEntryKind + index.number);
}

std::string EncodeIndexCounterKey(const IndexDescriptor& index, std::string_view name) {
  if (index.is_global()) return EncodeCounterKey(name);
  return EncodeCounterKey(std::string(name) + "." + std::to_string(index.number));
}

std::string EncodeEntryKey(const TableDescriptor& table, const IndexDescriptor& index,
                           ItemView item) {
  AttributeFinder finder(item);
  return EntryKeyOf(table, index, finder);
}

std::string ItemKeyOfEntry(const TableDescriptor& table, ItemView entry) {
  return EncodeItemKey(table.key_schema, entry);
}

bool Projects(const TableDescriptor& table, const IndexDescriptor& index,
              std::string_view attribute) {
  if (index.projection == IndexDescriptor::Projection::kAll || IsKey(table, index, attribute))
    return true;
  return std::find(index.non_key_attributes.begin(), index.non_key_attributes.end(), attribute) !=
         index.non_key_attributes.end();
}

std::string ProjectEntry(const TableDescriptor& table, const IndexDescriptor& index,
                         ItemView item) {
  AttributeFinder finder(item);
  return EntryOf(table, index, finder);
}

std::string EntryKeyAttributesOf(const TableDescriptor& table, const IndexDescriptor& index,
                                 ItemView entry) {
  return Select(entry, [&](std::string_view name) { return IsKey(table, index, name); });
}

int64_t EntryChange::write_units() const {
  if (!changes()) return 0;
  if (rewritten) return throughput::WriteUnits(std::max(old_bytes, new_bytes));
  return (had ? throughput::WriteUnits(old_bytes) : 0) +
         (has ? throughput::WriteUnits(new_bytes) : 0);
}

namespace {

// `change` is as it was made.
void Derive(const TableDescriptor& table, const IndexDescriptor& index, AttributeFinder& old_item,
            AttributeFinder& new_item, EntryChange& change) {
  change.had = HasEntryOf(index, old_item);
  change.has = HasEntryOf(index, new_item);
  std::string old_projected;
  ItemView old_entry = old_item.item();
  if (change.had) {
    change.old_key = EntryKeyOf(table, index, old_item);
    if (index.projection != IndexDescriptor::Projection::kAll) {
      old_projected = EntryOf(table, index, old_item);
      old_entry = ItemView(old_projected);
    }
    change.old_bytes = static_cast<int64_t>(old_entry.size_bytes());
  }
  if (change.has) {
    change.new_key = EntryKeyOf(table, index, new_item);
    change.new_entry = EntryOf(table, index, new_item);
    change.new_bytes = static_cast<int64_t>(ItemView(change.new_entry).size_bytes());
  }
  if (change.had && change.has) {
    change.moved = change.old_key != change.new_key;
    // The encoding is canonical, so equal bytes mean equal entries.
    change.rewritten = !change.moved && old_entry.encoded() != change.new_entry;
  }
}

}  // namespace

EntryChange ChangeOfEntry(const TableDescriptor& table, const IndexDescriptor& index,
                          ItemView old_item, ItemView new_item) {
  EntryChange change;
  AttributeFinder before(old_item), after(new_item);
  Derive(table, index, before, after, change);
  return change;
}

EntryChanges ChangesOfEntries(const TableDescriptor& table, ItemView old_item, ItemView new_item) {
  EntryChanges changes{&table, old_item, std::vector<EntryChange>(table.indexes.size())};
  AttributeFinder before(old_item), after(new_item);
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    const IndexDescriptor& index = table.indexes[i];
    if (index.state != IndexDescriptor::State::kDeleting)
      Derive(table, index, before, after, changes.by_index[i]);
  }
  return changes;
}

bool FitsWithLocalEntries(const TableDescriptor& table, ItemView item) {
  if (2 * item.size_bytes() <= model::kMaxItemBytes)
    return true;  // an entry is no larger than its item
  AttributeFinder finder(item);
  for (const IndexDescriptor& index : table.indexes) {
    if (index.is_global() || !HasEntryOf(index, finder)) continue;
    const std::string entry = EntryOf(table, index, finder);
    if (item.size_bytes() + ItemView(entry).size_bytes() > model::kMaxItemBytes) return false;
  }
  return true;
}

Status CheckIndexKeys(const TableDescriptor& table, ItemView old_item, ItemView new_item,
                      bool updating) {
  AttributeFinder before(old_item), after(new_item);
  for (const IndexDescriptor& index : table.indexes) {
    if (index.state == IndexDescriptor::State::kDeleting) continue;
    TRY(CheckSide(index, index.key.partition, true, before, after, updating));
    TRY(CheckSide(index, index.key.sort, false, before, after, updating));
  }
  return OkStatus();
}

}  // namespace stator::table
