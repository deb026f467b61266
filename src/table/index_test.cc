// Secondary indexes: after any mix of writes, restarts and index builds every index holds what a
// plain re-computation from the table's items gives, and its counters count that.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/random.h"
#include "expr/test_notation.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"
#include "table/test_indexes.h"
#include "table/test_world.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using indexes::Describe;
using indexes::ExpectIndexesMatch;
using indexes::kA;
using indexes::kB;
using indexes::kPk;
using indexes::kSk;
using indexes::RandomItem;
using model::ItemView;
using model::KeyAttribute;
using test::World;

// World::Write on `table`, whose body says itself what becomes of the entries: `derive(change, old
// item)`.
template <typename Derive>
Status WriteDeriving(World& world, const TablePtr& table, const std::string& item, bool remove,
                     Derive derive) {
  std::vector<WriteTarget> targets;
  targets.push_back({table, EncodeItemKey(table->key_schema(), ItemView(item))});
  return Await<Status>([&](auto done) {
    world.store->Write(
        std::move(targets),
        [=](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
          std::vector<Change> changes(1);
          changes[0].kind = remove ? Change::kDelete : Change::kPut;
          if (!remove) changes[0].item = item;
          derive(changes[0], old_items[0]);
          return changes;
        },
        std::move(done));
  });
}

Status WriteDeriving(World& world, const std::string& item, bool remove) {
  const TablePtr table = world.store->Find("tab");
  return WriteDeriving(world, table, item, remove, [table](Change& change, ItemView old_item) {
    change.DeriveEntries(*table, old_item);
  });
}

class Indexes : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Engines, Indexes, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("Rocks") : std::string("Memory");
});

TEST_P(Indexes, HoldWhatTheItemsSay) {
  const uint64_t seed = 11;
  SeededRandom random(seed);
  World world(GetParam());
  ASSERT_TRUE(world.Create(Describe()).ok());
  for (int step = 0; step < 600; ++step) {
    const std::string item = RandomItem(random, "p" + std::to_string(random.Below(4)),
                                        static_cast<int>(random.Below(5)) - 2);
    const bool remove = random.Below(4) == 0;
    ASSERT_TRUE(
        (step % 2 == 0 ? world.Write(item, remove) : WriteDeriving(world, item, remove)).ok());
    if (step % 150 == 149) {
      ExpectIndexesMatch(*world.store,
                         "seed " + std::to_string(seed) + " step " + std::to_string(step));
      world.Restart();
    }
  }
  ExpectIndexesMatch(*world.store, "at the end");
  // Nothing is left in an index of an empty table.
  for (int p = 0; p < 4; ++p) {
    for (int s = -2; s < 3; ++s)
      ASSERT_TRUE(world.Write(RandomItem(random, "p" + std::to_string(p), s), true).ok());
  }
  ExpectIndexesMatch(*world.store, "emptied");
}

// An index that is built while writers run and the store restarts equals one that was there from
// the start.
TEST_P(Indexes, BuiltWhileWritersRun) {
  World world(GetParam());
  TableDescriptor d = Describe();
  std::vector<IndexDescriptor> late = {d.indexes[3], d.indexes[5]};
  ASSERT_TRUE(world.Create(d).ok());
  SeededRandom seeding(3);
  for (int i = 0; i < 400; ++i)
    ASSERT_TRUE(world.Write(RandomItem(seeding, "p" + std::to_string(i % 40), i % 10), false).ok());
  for (IndexDescriptor& index : late) {
    const std::string twin = index.name;
    index.name = "late-" + twin;
    index.state = IndexDescriptor::State::kCreating;
    std::atomic<bool> stop = false;
    std::vector<std::thread> writers;
    for (uint64_t writer = 0; writer < 3; ++writer) {
      writers.emplace_back([&, writer] {
        SeededRandom random(writer + 100);
        while (!stop) {
          const std::string item = RandomItem(random, "p" + std::to_string(random.Below(40)),
                                              static_cast<int>(random.Below(10)));
          const bool remove = random.Below(3) == 0;
          EXPECT_TRUE(
              (writer == 0 ? WriteDeriving(world, item, remove) : world.Write(item, remove)).ok());
        }
      });
    }
    const Result<TablePtr> altered = world.Alter([&index](TableDescriptor* descriptor) {
      descriptor->indexes.push_back(index);
      return OkStatus();
    });
    ASSERT_TRUE(altered.ok());
    EXPECT_EQ((*altered)->descriptor.indexes.back().state, IndexDescriptor::State::kCreating);
    if (twin == "many") {
      // Once in the middle of it: the writers pause for the restart, the build goes on behind it.
      stop = true;
      for (std::thread& writer : writers) writer.join();
      writers.clear();
      world.Restart();
    }
    world.WaitForBuilds();
    stop = true;
    for (std::thread& writer : writers) writer.join();
    const TablePtr table = world.store->Find("tab");
    const IndexDescriptor& built = *table->descriptor.FindIndex(index.name);
    const IndexDescriptor& original = *table->descriptor.FindIndex(twin);
    EXPECT_EQ(built.state, IndexDescriptor::State::kActive);
    EXPECT_EQ(world.ScanAll(table->descriptor.TabletOf(built), kItemKind),
              world.ScanAll(table->descriptor.TabletOf(original), kItemKind));
    ExpectIndexesMatch(*world.store, "after building " + index.name);
  }
}

// What the body derived is what is written: it is not derived again.
TEST_P(Indexes, TakeWhatTheBodyDerived) {
  World world(GetParam());
  const TablePtr table = world.Create(Describe()).value();
  const std::string marked = Item("{pk: 'p', sk: 1, a: 'marked'}");
  const auto mark = [&](Change& change, ItemView old_item) {
    change.DeriveEntries(*table, old_item);
    change.entries.by_index[2].new_entry = marked;
  };
  ASSERT_TRUE(WriteDeriving(world, table, Item("{pk: 'p', sk: 1, a: 'q'}"), false, mark).ok());
  const auto entries =
      world.ScanAll(table->descriptor.TabletOf(table->descriptor.indexes[2]), kItemKind);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.begin()->second, marked);
}

// What was derived from anything but the old image and the version of the table that the write goes
// by is derived again.
TEST_P(Indexes, DoNotTakeWhatWasDerivedFromOtherThings) {
  World world(GetParam());
  const TablePtr first = world.Create(Describe()).value();
  ASSERT_TRUE(world.Write(Item("{pk: 'p', sk: 1, a: 'old', b: 1}"), false).ok());
  const std::string other = Item("{pk: 'p', sk: 1, a: 'other', b: 2}");
  const std::string item = Item("{pk: 'p', sk: 1, a: 'new', b: 3}");
  const auto from_other = [&](Change& change, ItemView) {
    change.DeriveEntries(*first, ItemView(other));
  };
  ASSERT_TRUE(WriteDeriving(world, first, item, false, from_other).ok());
  ExpectIndexesMatch(*world.store, "another image");
  const auto from_none = [&](Change& change, ItemView) {
    change.DeriveEntries(*first, ItemView());
  };
  ASSERT_TRUE(WriteDeriving(world, first, item, true, from_none).ok());
  ExpectIndexesMatch(*world.store, "no image");

  IndexDescriptor late = Describe().indexes[2];
  late.name = "late";
  late.state = IndexDescriptor::State::kCreating;
  ASSERT_TRUE(world
                  .Alter([&](TableDescriptor* descriptor) {
                    descriptor->indexes.push_back(late);
                    return OkStatus();
                  })
                  .ok());
  world.WaitForBuilds();
  const auto from_first = [&](Change& change, ItemView old_item) {
    change.DeriveEntries(*first, old_item);
  };
  ASSERT_TRUE(WriteDeriving(world, first, item, false, from_first).ok());
  EXPECT_NE(world.store->Find("tab")->descriptor.FindIndex("late"), nullptr);
  ExpectIndexesMatch(*world.store, "an earlier version");
}

TEST_P(Indexes, DeletedOnesLeaveNothing) {
  World world(GetParam());
  ASSERT_TRUE(world.Create(Describe()).ok());
  SeededRandom random(5);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(world.Write(RandomItem(random, "p", i), false).ok());
  const kv::Tablet tablet = world.store->Find("tab")->descriptor.TabletOf(
      *world.store->Find("tab")->descriptor.FindIndex("many"));
  EXPECT_FALSE(world.ScanAll(tablet, kItemKind).empty());
  ASSERT_TRUE(world
                  .Alter([](TableDescriptor* descriptor) {
                    for (IndexDescriptor& index : descriptor->indexes) {
                      if (index.name == "many") index.state = IndexDescriptor::State::kDeleting;
                    }
                    return OkStatus();
                  })
                  .ok());
  world.WaitForBuilds();
  const TablePtr table = world.store->Find("tab");
  EXPECT_EQ(table->descriptor.FindIndex("many"), nullptr);
  EXPECT_EQ(table->descriptor.attribute_definitions, (std::vector<KeyAttribute>{kPk, kSk, kA, kB}))
      << "c is nobody's key";
  int keys = 0;
  ASSERT_TRUE(world.engine
                  ->Scan({tablet, "", "", false}, kv::Tier::kAny,
                         [&](std::string_view, std::string_view) {
                           ++keys;
                           return true;
                         })
                  .ok());
  EXPECT_EQ(keys, 0);
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(world.Write(RandomItem(random, "p", i), i % 3 == 0).ok());
  ExpectIndexesMatch(*world.store, "after the deletion");
}

// Damage of one table stops the work on that table, as far as it reads its items, and no other.
TEST_P(Indexes, DamagedTableHoldsUpNoOther) {
  World world(GetParam());
  const auto create = [&world](const std::string& name) {
    TableDescriptor d = Describe();
    d.name = name;
    d.indexes = {d.indexes[2], d.indexes[4]};  // by-a, inverted
    ASSERT_TRUE(world.Create(std::move(d)).ok());
  };
  const auto alter = [&world](const std::string& name, Store::ChangeDescriptor change) {
    ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                  world.store->Alter(name, std::move(change), std::move(done));
                }).ok());
  };
  create("damaged");
  create("tab");
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(
        world.Write(Item("{pk: 'p', sk: " + std::to_string(i) + ", a: 'x', b: 1}"), false).ok());
  kv::Batch batch;
  const TablePtr damaged = world.store->Find("damaged");
  batch.puts.push_back({damaged->descriptor.tablet(), FirstKeyOfHash(1), std::string(9, '\x7f')});
  ASSERT_TRUE(kv::ApplyAndWait(*world.engine, std::move(batch)).ok());

  // Its index waits, but the removal of another one reads no item.
  const auto work = [](TableDescriptor* d) {
    d->indexes.push_back(Describe().indexes[3]);  // by-a-b
    d->indexes.back().state = IndexDescriptor::State::kCreating;
    d->indexes[0].state = IndexDescriptor::State::kDeleting;
    d->expiry.emplace().attribute = "b";
    return OkStatus();
  };
  alter("damaged", work);
  alter("tab", work);
  world.WaitForBuilds();
  const TablePtr tab = world.store->Find("tab");
  ASSERT_NE(tab->descriptor.FindIndex("by-a-b"), nullptr);
  EXPECT_EQ(tab->descriptor.FindIndex("by-a-b")->state, IndexDescriptor::State::kActive);
  EXPECT_EQ(tab->descriptor.FindIndex("by-a"), nullptr);
  EXPECT_TRUE(tab->descriptor.HasTimeToLive());
  ExpectIndexesMatch(*world.store, "beside a damaged table");
  const TableDescriptor& other = world.store->Find("damaged")->descriptor;
  EXPECT_EQ(other.FindIndex("by-a"), nullptr);
  EXPECT_EQ(other.FindIndex("by-a-b")->state, IndexDescriptor::State::kCreating);
  const auto why = world.store->DamagedTables();
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why.begin()->first, "damaged");
  EXPECT_FALSE(why.begin()->second.empty());

  // Once the damage is gone, so is what waits for it; and it can be dropped.
  world.Restart();
  world.WaitForBuilds();
  EXPECT_EQ(world.store->DamagedTables().size(), 1u);
  kv::Batch mended;
  mended.deletes.push_back({damaged->descriptor.tablet(), FirstKeyOfHash(1)});
  ASSERT_TRUE(kv::ApplyAndWait(*world.engine, std::move(mended)).ok());
  while (!world.store->DamagedTables().empty()) std::this_thread::yield();
  world.WaitForBuilds();
  EXPECT_EQ(world.store->Find("damaged")->descriptor.FindIndex("by-a-b")->state,
            IndexDescriptor::State::kActive);
}

TEST(IndexDescriptors, SurviveEncoding) {
  TableDescriptor d = Describe();
  d.tablet_id = 7;
  for (IndexDescriptor& index : d.indexes) index.tablet_id = index.is_global() ? 8 : 0;
  d.indexes[3].throughput = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  d.indexes[3].state = IndexDescriptor::State::kCreating;
  d.indexes[3].partitions = throughput::PartitionMap::Even(3);
  const Result<TableDescriptor> read = TableDescriptor::Decode(d.Encode());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->Encode(), d.Encode());
  ASSERT_EQ(read->indexes.size(), 6u);
  EXPECT_EQ(read->indexes[3].key, d.indexes[3].key);
  EXPECT_EQ(read->indexes[3].non_key_attributes, std::vector<std::string>{"x"});
  EXPECT_EQ(read->indexes[3].state, IndexDescriptor::State::kCreating);
  EXPECT_EQ(read->indexes[1].number, 1u);
  EXPECT_TRUE(read->HasLocalIndexes());
}

// What each kind of change costs (reference: limits-and-capacity.md, section 4).
TEST(EntryChanges, CostWhatTheReferenceSays) {
  const TableDescriptor d = Describe();
  const auto units = [&](int index, const std::string& before, const std::string& after) {
    return ChangeOfEntry(d, d.indexes[static_cast<size_t>(index)], ItemView(before),
                         ItemView(after))
        .write_units();
  };
  const std::string none;
  const std::string big(1500, 'x');
  const std::string without = Item("{pk: 'p', sk: 1, x: 1}");
  const std::string plain = Item("{pk: 'p', sk: 1, a: 'q'}");
  const std::string large = Item("{pk: 'p', sk: 1, a: 'q', y: '" + big + "'}");
  const std::string moved = Item("{pk: 'p', sk: 1, a: 'r', y: '" + big + "'}");
  EXPECT_EQ(units(2, none, without), 0);
  EXPECT_EQ(units(2, none, plain), 1);
  EXPECT_EQ(units(2, none, large), 2);
  EXPECT_EQ(units(2, plain, plain), 0);
  EXPECT_EQ(units(2, plain, large), 2);
  EXPECT_EQ(units(2, large, plain), 2);
  EXPECT_EQ(units(2, plain, moved), 1 + 2);
  EXPECT_EQ(units(2, large, without), 2);
  EXPECT_EQ(units(2, large, none), 2);
  EXPECT_EQ(units(0, plain, large), 0) << "outside the projection";
  EXPECT_EQ(units(0, plain, moved), 2) << "two small entries";
}

TEST(IndexKeys, AreChecked) {
  const TableDescriptor d = Describe();
  const auto message = [&](const std::string& before, const std::string& after, bool updating) {
    const Status checked = CheckIndexKeys(d, ItemView(before), ItemView(after), updating);
    return checked.ok() ? std::string() : checked.error().message();
  };
  const std::string wrong = Item("{pk: 'p', sk: 1, a: 5}");
  EXPECT_EQ(message("", wrong, false),
            "One or more parameter values were invalid: Type mismatch for Index Key a Expected: S "
            "Actual: N IndexName: local-a");
  EXPECT_EQ(
      message("", wrong, true),
      "The update expression attempted to update the secondary index key to unsupported type");
  EXPECT_EQ(message(wrong, wrong, true), "") << "it was there before the index";
  EXPECT_EQ(message("", Item("{pk: 'p', sk: 1, a: ''}"), false),
            "One or more parameter values are not valid. A value specified for a secondary index "
            "key is not supported. The "
            "AttributeValue for a key attribute cannot contain an empty string value. IndexName: "
            "local-a, IndexKey: a");
  EXPECT_EQ(message("", Item("{pk: 'p', sk: 1, a: '" + std::string(1024, 'x') + "'}"), false), "");
  EXPECT_EQ(message("", Item("{pk: 'p', sk: 1, a: '" + std::string(1025, 'x') + "'}"), false),
            "One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
}

}  // namespace
}  // namespace stator::table
