#include "table/index_entries.h"

#include <algorithm>
#include <vector>

#include "table/key_encoding.h"
#include "throughput/units.h"

namespace stator::table {
namespace {

using model::ItemView;
using model::KeyAttribute;
using model::ValueView;

// Bytes that a value counts towards the limits of key sizes; a number never comes near them.
size_t KeyBytes(ValueView value) {
  return value.type() == model::Type::kN ? 0 : value.text().size();
}

bool GoodSide(const std::vector<KeyAttribute>& attributes, ItemView item, size_t max_bytes) {
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
                 bool is_partition, ItemView old_item, ItemView new_item, bool updating) {
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

}  // namespace

bool HasEntry(const IndexDescriptor& index, ItemView item) {
  return item.exists() && GoodSide(index.key.partition, item, model::kMaxPartitionKeyBytes) &&
         GoodSide(index.key.sort, item, model::kMaxSortKeyBytes);
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
  if (index.projection == IndexDescriptor::Projection::kAll) return std::string(item.encoded());
  return Select(item, [&](std::string_view name) { return Projects(table, index, name); });
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
void Derive(const TableDescriptor& table, const IndexDescriptor& index, ItemView old_item,
            ItemView new_item, EntryChange& change) {
  change.had = HasEntry(index, old_item);
  change.has = HasEntry(index, new_item);
  std::string old_projected;
  ItemView old_entry = old_item;
  if (change.had) {
    change.old_key = EncodeEntryKey(table, index, old_item);
    if (index.projection != IndexDescriptor::Projection::kAll) {
      old_projected = ProjectEntry(table, index, old_item);
      old_entry = ItemView(old_projected);
    }
    change.old_bytes = static_cast<int64_t>(old_entry.size_bytes());
  }
  if (change.has) {
    change.new_key = EncodeEntryKey(table, index, new_item);
    change.new_entry = ProjectEntry(table, index, new_item);
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
  Derive(table, index, old_item, new_item, change);
  return change;
}

EntryChanges ChangesOfEntries(const TableDescriptor& table, ItemView old_item, ItemView new_item) {
  EntryChanges changes{&table, old_item, std::vector<EntryChange>(table.indexes.size())};
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    const IndexDescriptor& index = table.indexes[i];
    if (index.state != IndexDescriptor::State::kDeleting)
      Derive(table, index, old_item, new_item, changes.by_index[i]);
  }
  return changes;
}

bool FitsWithLocalEntries(const TableDescriptor& table, ItemView item) {
  if (2 * item.size_bytes() <= model::kMaxItemBytes)
    return true;  // an entry is no larger than its item
  for (const IndexDescriptor& index : table.indexes) {
    if (index.is_global() || !HasEntry(index, item)) continue;
    const std::string entry = ProjectEntry(table, index, item);
    if (item.size_bytes() + ItemView(entry).size_bytes() > model::kMaxItemBytes) return false;
  }
  return true;
}

Status CheckIndexKeys(const TableDescriptor& table, ItemView old_item, ItemView new_item,
                      bool updating) {
  for (const IndexDescriptor& index : table.indexes) {
    if (index.state == IndexDescriptor::State::kDeleting) continue;
    TRY(CheckSide(index, index.key.partition, true, old_item, new_item, updating));
    TRY(CheckSide(index, index.key.sort, false, old_item, new_item, updating));
  }
  return OkStatus();
}

}  // namespace stator::table
