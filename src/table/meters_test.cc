#include "table/meters.h"

#include <gtest/gtest.h>

#include <map>

#include "table/descriptor.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"

namespace stator::table {
namespace {

using model::KeyAttribute;
using model::KeySchema;
using model::Type;

std::string S(std::string_view text) {
  std::string value;
  model::AppendString(&value, text);
  return value;
}
std::string B(std::string_view bytes) {
  std::string value;
  model::AppendBinary(&value, bytes);
  return value;
}
std::string N(std::string_view text) {
  std::string value;
  model::AppendNumber(&value, model::Number::Parse(text).value());
  return value;
}
std::string ItemOf(const std::map<std::string, std::string>& attributes) {
  std::string entries;
  for (const auto& [name, value] : attributes) {
    model::AppendName(&entries, name);
    entries.append(value);
  }
  std::string item;
  model::AppendItem(&item, attributes.size(), entries);
  return item;
}

TEST(Meters, PointOfAnItemHasItsHashAndItsSortKeyAndItsPartitionKey) {
  const struct {
    Type partition;
    std::string value;
    std::string readable;
  } cases[] = {
      {Type::kS, S("2026-11-22"), "2026-11-22"},
      {Type::kS, S(std::string("a\0b", 3)), "a\\x00b"},
      {Type::kS, S("caf\xc3\xa9\n"), "caf\xc3\xa9\\x0a"},
      {Type::kB, B(std::string("\xff\x00z", 3)), "\\xff\\x00z"},
      {Type::kN, N("-12.5"), "-12.5"},
      {Type::kN, N("0"), "0"},
      {Type::kN, N("1000000"), "1000000"},
  };
  for (const auto& each : cases) {
    for (const Type sort_type : {Type::kS, Type::kN}) {
      const KeySchema schema{{"p", each.partition}, KeyAttribute{"s", sort_type}};
      const std::string item =
          ItemOf({{"p", each.value}, {"s", sort_type == Type::kS ? S("tail") : N("42")}});
      const std::string key = EncodeItemKey(schema, model::ItemView(item));
      const throughput::KeyPoint point = PointOfItem(schema, key);
      const model::IndexKeySchema parts = model::IndexKeySchema::Of(schema);
      EXPECT_EQ(point.hash, HashOfKey(key));
      EXPECT_EQ(ReadablePartition(parts.partition, point.partition), each.readable);
      EXPECT_EQ(ReadableSort(parts, false, point.sort), sort_type == Type::kS ? "tail" : "42");
      EXPECT_EQ(point.sort == "tail", sort_type == Type::kS);
    }
  }
}

TEST(Meters, PointOfAnItemWithoutSortKeyHasNone) {
  const KeySchema schema{{"p", Type::kS}, {}};
  const std::string key = EncodeItemKey(schema, model::ItemView(ItemOf({{"p", S("x")}})));
  EXPECT_EQ(PointOfItem(schema, key).sort, "");
  EXPECT_EQ(ReadablePartition({schema.partition}, PointOfItem(schema, key).partition), "x");
}

TEST(Meters, PointOfAnEntryOrdersBySortKeysOfTheIndexThenByItem) {
  TableDescriptor table;
  table.key_schema = {{"p", Type::kS}, {}};
  IndexDescriptor index;
  index.key = {{{"a", Type::kS}, {"b", Type::kN}}, {{"c", Type::kS}}};
  const auto key = [&](std::string_view c, std::string_view p) {
    return EncodeEntryKey(
        table, index,
        model::ItemView(ItemOf({{"p", S(p)}, {"a", S("left")}, {"b", N("7")}, {"c", S(c)}})));
  };
  const std::string first = key("k", "2");
  const std::string second = key("k", "3");
  const std::string third = key("l", "1");
  const throughput::KeyPoint point = PointOfEntry(index, first);
  EXPECT_EQ(point.hash, PointOfEntry(index, third).hash);
  EXPECT_LT(point.sort, PointOfEntry(index, second).sort);
  EXPECT_LT(PointOfEntry(index, second).sort, PointOfEntry(index, third).sort);
  EXPECT_EQ(ReadablePartition(index.key.partition, point.partition), "left, 7");
  EXPECT_EQ(ReadableSort(index.key, true, point.sort), "k");
}

TEST(Meters, KeysThatWereCutSaySo) {
  const KeySchema schema{{"p", Type::kS}, {}};
  const std::string key =
      EncodeItemKey(schema, model::ItemView(ItemOf({{"p", S(std::string(100, 'x'))}})));
  const std::string_view label = PointOfItem(schema, key).partition.substr(0, 10);
  EXPECT_EQ(ReadablePartition({schema.partition}, label), "xxxxxxxxxx...");
  // In the middle of a character.
  EXPECT_EQ(ReadablePartition({schema.partition}, "ab\xc3"), "ab\\xc3...");
  EXPECT_EQ(ReadablePartition({{"n", Type::kN}}, "\x03\x90"), "...");
}

}  // namespace
}  // namespace stator::table
