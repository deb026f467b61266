// For tests: a table with indexes of every kind, and the proof that they hold what its items say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "expr/test_notation.h"
#include "model/node.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"
#include "table/store.h"

namespace stator::table::indexes {

using model::ItemView;
using model::KeyAttribute;
using model::Type;
using Projection = IndexDescriptor::Projection;

inline const KeyAttribute kPk = {"pk", Type::kS};
inline const KeyAttribute kSk = {"sk", Type::kN};
inline const KeyAttribute kA = {"a", Type::kS};
inline const KeyAttribute kB = {"b", Type::kN};
inline const KeyAttribute kC = {"c", Type::kB};

inline IndexDescriptor Index(const std::string& name, IndexDescriptor::Kind kind,
                             std::vector<KeyAttribute> partition, std::vector<KeyAttribute> sort,
                             Projection projection, std::vector<std::string> include = {}) {
  IndexDescriptor index;
  index.name = name;
  index.kind = kind;
  index.key = {std::move(partition), std::move(sort)};
  index.projection = projection;
  index.non_key_attributes = std::move(include);
  return index;
}

inline TableDescriptor Describe() {
  constexpr auto kLocal = IndexDescriptor::Kind::kLocal;
  constexpr auto kGlobal = IndexDescriptor::Kind::kGlobal;
  TableDescriptor d;
  d.name = "tab";
  d.table_id = "id";
  d.key_schema = {kPk, kSk};
  d.attribute_definitions = {kPk, kSk, kA, kB, kC};
  d.indexes = {Index("local-a", kLocal, {kPk}, {kA}, Projection::kKeysOnly),
               Index("local-b", kLocal, {kPk}, {kB}, Projection::kAll),
               Index("by-a", kGlobal, {kA}, {}, Projection::kAll),
               Index("by-a-b", kGlobal, {kA}, {kB}, Projection::kInclude, {"x"}),
               Index("inverted", kGlobal, {kSk}, {kPk}, Projection::kKeysOnly),
               Index("many", kGlobal, {kA, kB}, {kC, kSk}, Projection::kKeysOnly)};
  d.indexes[1].number = 1;
  return d;
}

// A random item of a small world, so that index keys repeat, are missing, or are of another type:
// as notation without its closing brace, and encoded.
inline std::string RandomText(SeededRandom& random, const std::string& pk, int sk) {
  std::string text = "{pk: '" + pk + "', sk: " + std::to_string(sk);
  if (random.Below(4) != 0) text += ", a: 'a" + std::to_string(random.Below(3)) + "'";
  if (random.Below(4) != 0)
    text += random.Below(8) == 0 ? ", b: 'no number'" : ", b: " + std::to_string(random.Below(3));
  if (random.Below(3) != 0)
    text += ", c: x'" + std::string(random.Below(2) == 0 ? "aa" : "00") + "'";
  if (random.Below(2) != 0) text += ", x: " + std::to_string(random.Below(3));
  if (random.Below(2) != 0) text += ", y: " + std::to_string(random.Below(3));
  return text;
}
inline std::string RandomItem(SeededRandom& random, const std::string& pk, int sk) {
  return expr::notation::Item(RandomText(random, pk, sk) + "}");
}

// Items or entries of a tablet by key, encoded.
inline std::map<std::string, std::string> ScanAll(Store& store, kv::Tablet tablet, char kind) {
  std::map<std::string, std::string> found;
  EXPECT_TRUE(store
                  .ScanTablet({tablet, FirstKeyOfHash(0, kind), EndOfKind(kind)}, kv::Tier::kAny,
                              [&](std::string_view key, ItemView item) {
                                found.emplace(key, item.encoded());
                                return true;
                              })
                  .ok());
  return found;
}

// What the index should hold, as sorted lists of entries: computed without the functions under
// test.
inline std::vector<std::string> Recompute(const TableDescriptor& table,
                                          const IndexDescriptor& index,
                                          const std::map<std::string, std::string>& items) {
  std::vector<std::string> entries;
  for (const auto& [key, bytes] : items) {
    const ItemView item(bytes);
    std::set<std::string_view> names = {"pk", "sk"};
    bool complete = true;
    for (const auto* side : {&index.key.partition, &index.key.sort}) {
      for (const KeyAttribute& attribute : *side) {
        names.insert(attribute.name);
        const model::ValueView value = item.Find(attribute.name);
        complete &= !value.empty() && value.type() == attribute.type;
      }
    }
    if (!complete) continue;
    names.insert(index.non_key_attributes.begin(), index.non_key_attributes.end());
    model::Node entry;
    for (const model::MapView::Entry& attribute : item.attributes()) {
      if (index.projection == Projection::kAll || names.contains(attribute.name)) {
        entry.map()[std::string(attribute.name)] = model::Node::FromView(attribute.value);
      }
    }
    entries.push_back(entry.EncodeItem());
  }
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(table.key_schema.partition, kPk);
  return entries;
}

// Every index is what it should be, in order, and counted.
inline void ExpectIndexesMatch(Store& store, const std::string& where) {
  const TablePtr table = store.Find("tab");
  const TableDescriptor& d = table->descriptor;
  const auto items = ScanAll(store, d.tablet(), kItemKind);
  int64_t table_bytes = 0;
  for (const auto& [key, item] : items)
    table_bytes += static_cast<int64_t>(ItemView(item).size_bytes());
  const Result<TableCounts> table_counts = store.Counts(*table);
  ASSERT_TRUE(table_counts.ok());
  EXPECT_EQ(table_counts->items, static_cast<int64_t>(items.size())) << where;
  EXPECT_EQ(table_counts->bytes, table_bytes) << where;
  std::map<std::string, int64_t> collections;
  for (const auto& [key, item] : items) {
    collections[std::string(ItemView(item).Find("pk").text())] +=
        static_cast<int64_t>(ItemView(item).size_bytes());
  }
  for (const IndexDescriptor& index : d.indexes) {
    std::vector<std::string> entries;
    int64_t bytes = 0;
    std::string last_group;
    std::optional<ItemView> last;
    const auto found = ScanAll(store, d.TabletOf(index), EntryKind(index));
    for (const auto& [key, entry] : found) {
      const ItemView view(entry);
      entries.push_back(entry);
      bytes += static_cast<int64_t>(view.size_bytes());
      if (!index.is_global()) {
        collections[std::string(view.Find("pk").text())] += static_cast<int64_t>(view.size_bytes());
      }
      // Within one partition key value entries are in the order of the first sort attribute.
      std::string group;
      for (const KeyAttribute& attribute : index.key.partition)
        group.append(view.Find(attribute.name).encoded());
      if (last && group == last_group && !index.key.sort.empty()) {
        const std::string& sort = index.key.sort[0].name;
        EXPECT_LE(model::CompareValues(last->Find(sort), view.Find(sort)), 0)
            << where << " " << index.name;
      }
      last_group = group;
      last = view;
    }
    std::sort(entries.begin(), entries.end());
    EXPECT_EQ(entries, Recompute(d, index, items)) << where << " " << index.name;
    const Result<TableCounts> counts = store.IndexCounts(*table, index);
    ASSERT_TRUE(counts.ok());
    EXPECT_EQ(counts->items, static_cast<int64_t>(entries.size())) << where << " " << index.name;
    EXPECT_EQ(counts->bytes, bytes) << where << " " << index.name;
  }
  if (!d.HasLocalIndexes()) return;
  for (const auto& [key, item] : items) {
    const Result<int64_t> collection = store.CollectionBytes(*table, key, kv::Tier::kAny);
    ASSERT_TRUE(collection.ok());
    EXPECT_EQ(*collection, collections[std::string(ItemView(item).Find("pk").text())]) << where;
  }
}

}  // namespace stator::table::indexes
