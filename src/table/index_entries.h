// What a secondary index holds of an item, and what a write changes in it. Pure.
//
// An item has an entry in an index if it has every key attribute of the index with the declared
// type, none of them empty and neither side too long. The entry is an item of the projected
// attributes; its key ends with the item's own (key_encoding.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/value.h"
#include "table/descriptor.h"

namespace stator::table {

bool HasEntry(const IndexDescriptor& index, model::ItemView item);
// The key of the entry of an item that has one. Needs only the key attributes of the index and the
// table.
std::string EncodeEntryKey(const TableDescriptor& table, const IndexDescriptor& index,
                           model::ItemView item);
// Kind byte of the entries' keys in their tablet.
char EntryKind(const IndexDescriptor& index);
// The counter "count" or "bytes" of an index, in the tablet of its entries.
std::string EncodeIndexCounterKey(const IndexDescriptor& index, std::string_view name);
// The key of the item that an entry is of.
std::string ItemKeyOfEntry(const TableDescriptor& table, model::ItemView entry);

// Whether entries hold the attribute (if the item does).
bool Projects(const TableDescriptor& table, const IndexDescriptor& index,
              std::string_view attribute);
// The projected attributes of an item, as an encoded item.
std::string ProjectEntry(const TableDescriptor& table, const IndexDescriptor& index,
                         model::ItemView item);
// Returns the key attributes of index and table as an encoded item, as a LastEvaluatedKey has them.
std::string EntryKeyAttributesOf(const TableDescriptor& table, const IndexDescriptor& index,
                                 model::ItemView entry);

// The change of an item's entry in one index when the item changes.
struct EntryChange {
  bool had = false;
  bool has = false;
  bool moved = false;      // had and has, under different keys
  bool rewritten = false;  // had and has, under one key, with different contents
  std::string old_key;     // if had
  std::string new_key;     // if has
  std::string new_entry;   // if has: encoded
  int64_t old_bytes = 0;   // sizes by DynamoDB's rules
  int64_t new_bytes = 0;

  bool changes() const { return had != has || moved || rewritten; }
  // The new entry has to be written.
  bool puts() const { return has && changes(); }
  // The old entry has to be deleted.
  bool deletes() const { return had && (!has || moved); }
  // What the index is charged for (reference: limits-and-capacity.md, section 4).
  int64_t write_units() const;
};

// Either image may be "no item".
EntryChange ChangeOfEntry(const TableDescriptor& table, const IndexDescriptor& index,
                          model::ItemView old_item, model::ItemView new_item);

// What becomes of an item's entries in all indexes of its table.
struct EntryChanges {
  // What they were derived from: the very definition and the very bytes, neither owned. Null: not
  // derived.
  const TableDescriptor* table = nullptr;
  model::ItemView old_item;
  std::vector<EntryChange> by_index;  // of table->indexes; one that is being deleted is left alone

  bool AreFrom(const TableDescriptor& definition, model::ItemView image) const {
    return table == &definition && old_item.encoded().data() == image.encoded().data() &&
           old_item.encoded().size() == image.encoded().size();
  }
};
EntryChanges ChangesOfEntries(const TableDescriptor& table, model::ItemView old_item,
                              model::ItemView new_item);

// Whether the item and its entry are within an item's limit of 400 KB together, for each local
// index.
bool FitsWithLocalEntries(const TableDescriptor& table, model::ItemView item);

// Whether an item may be stored: index key attributes of the wrong type, empty or too long refuse
// it, except where the stored item has the very same value (it was there before the index was).
// `updating` chooses UpdateItem's texts.
Status CheckIndexKeys(const TableDescriptor& table, model::ItemView old_item,
                      model::ItemView new_item, bool updating);

}  // namespace stator::table
