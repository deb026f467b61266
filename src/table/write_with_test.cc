// The additions of WriteWith to a batch are durable exactly if its items are.
#include "table/write_with.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "table/test_world.h"

namespace stator::table::test {
namespace {

constexpr kv::Tablet kNotes = {kv::Space::kCatalog, 9};

std::optional<std::string> Note(World& world) {
  std::string value;
  const Result<bool> found = world.engine->Get(kNotes, "note", kv::Tier::kAny, &value);
  EXPECT_TRUE(found.ok());
  if (!found.ok() || !*found) return std::nullopt;
  return value.substr(kv::kStampBytes);
}

std::string ItemOf(const char* pk) {
  std::string entries;
  model::AppendName(&entries, "pk");
  model::AppendString(&entries, pk);
  std::string item;
  model::AppendItem(&item, 1, entries);
  return item;
}

// Writes an item beside a note; with Change::kNone the note alone; without a kind the body refuses.
Status WriteNoted(World& world, const std::string& item, std::optional<Change::Kind> kind,
                  std::string note) {
  const TablePtr table = world.store->Find("tab");
  std::vector<WriteTarget> targets;
  targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(item))});
  return Await<Status>([&](auto done) {
    WriteWith(
        *world.store, std::move(targets),
        [&](const std::vector<model::ItemView>&) -> Result<std::vector<Change>> {
          if (!kind) return ValidationError("refused");
          std::vector<Change> changes(1);
          changes[0].kind = *kind;
          if (*kind == Change::kPut) changes[0].item = item;
          return changes;
        },
        [&](kv::Batch* batch) {
          batch->puts.push_back({kNotes, "note", std::string(kv::kStampBytes, '\0') + note});
        },
        std::move(done));
  });
}

TEST(WriteWith, TheExtraIsDurableExactlyIfTheBodyAccepts) {
  for (const bool rocks : {false, true}) {
    World world(rocks);
    TableDescriptor table;
    table.name = "tab";
    table.table_id = "id";
    table.key_schema.partition = {"pk", model::Type::kS};
    table.attribute_definitions = {{"pk", model::Type::kS}};
    ASSERT_TRUE(world.Create(table).ok());
    EXPECT_FALSE(WriteNoted(world, ItemOf("a"), std::nullopt, "refused").ok());
    EXPECT_EQ(Note(world), std::nullopt);
    ASSERT_TRUE(WriteNoted(world, ItemOf("a"), Change::kPut, "first").ok());
    EXPECT_EQ(Note(world), "first");
    ASSERT_TRUE(WriteNoted(world, ItemOf("b"), Change::kNone, "second").ok());
    EXPECT_EQ(Note(world), "second");
    world.Restart();
    EXPECT_EQ(Note(world), "second");
    const TablePtr found = world.store->Find("tab");
    std::string item;
    const auto has = [&](const char* pk) {
      const std::string key = EncodeItemKey(found->key_schema(), model::ItemView(ItemOf(pk)));
      return world.store->Get(*found, key, kv::Tier::kAny, &item).value();
    };
    EXPECT_TRUE(has("a"));
    EXPECT_FALSE(has("b"));
  }
}

}  // namespace
}  // namespace stator::table::test
