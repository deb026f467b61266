// Dropped tables, indexes and streams give their disk back, also after a restart.
#include "table/space_reclaimer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/random.h"
#include "expr/test_notation.h"
#include "table/catalog_entry.h"
#include "table/test_await.h"
#include "table/test_indexes.h"
#include "table/test_world.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using test::World;

uint64_t TableBytes(World& world) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(world.directory.store())) {
    std::error_code gone;
    if (entry.path().extension() == ".sst") bytes += entry.file_size(gone);
  }
  return bytes;
}

int DroppedEntries(World& world) {
  int entries = 0;
  EXPECT_TRUE(world.engine
                  ->Scan({kCatalogTablet, kDroppedPrefix, "dropped0", false}, kv::Tier::kAny,
                         [&](std::string_view, std::string_view) { return ++entries > 0; })
                  .ok());
  return entries;
}

void WaitUntilGivenBack(World& world) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (world.store->space().view().waiting > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(world.store->space().view().waiting, 0u) << world.store->space().view().error;
}

// A table with an index of everything and a stream, of about 3 x 8 MB.
void Fill(World& world) {
  TableDescriptor d = indexes::Describe();
  d.indexes = {d.indexes[2]};  // by-a, with all attributes
  d.stream_view_type = stream::ViewType::kNewImage;
  ASSERT_TRUE(world.Create(std::move(d)).ok());
  SeededRandom random(1);
  for (int i = 0; i < 200; ++i) {
    std::string noise;
    while (noise.size() < 40'000) noise.push_back(static_cast<char>('A' + random.Below(26)));
    ASSERT_TRUE(
        world
            .Write(Item("{pk: 'p" + std::to_string(i) + "', sk: 1, a: 'x', n: '" + noise + "'}"),
                   false)
            .ok());
  }
}

void Drop(World& world) {
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                world.store->Drop(
                    "tab", [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
              }).ok());
}

TEST(SpaceReclaimer, DroppedTableIndexAndStreamGiveTheirDiskBack) {
  World world(true);
  Fill(world);
  ASSERT_GT(TableBytes(world), 15u << 20);
  ASSERT_TRUE(world
                  .Alter([](TableDescriptor* d) {
                    d->indexes[0].state = IndexDescriptor::State::kDeleting;
                    return OkStatus();
                  })
                  .ok());
  world.WaitForBuilds();
  WaitUntilGivenBack(world);
  EXPECT_LT(TableBytes(world), 18u << 20);
  Drop(world);
  WaitUntilGivenBack(world);
  EXPECT_LT(TableBytes(world), 10u << 20) << "the stream is left";
  const stream::StreamPtr stream = world.store->ListStreams().at(0);
  ASSERT_TRUE(
      Await<Status>([&](auto done) { world.store->RemoveStream(stream, std::move(done)); }).ok());
  WaitUntilGivenBack(world);
  EXPECT_LT(TableBytes(world), 1u << 20);
  EXPECT_EQ(DroppedEntries(world), 0);
  EXPECT_GT(world.engine->Statistics().at("kv_reclaimed_bytes"), 0);
}

TEST(SpaceReclaimer, DropWaitsForReadersAndGoesOnAfterARestart) {
  World world(true);
  Fill(world);
  world.store->space().SetPredicate([](kv::Tablet) { return false; });
  const uint64_t before = TableBytes(world);
  Drop(world);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(DroppedEntries(world), 1);
  EXPECT_GE(TableBytes(world), before);
  EXPECT_EQ(world.store->space().view().waiting, 1u);
  world.Restart();
  WaitUntilGivenBack(world);
  EXPECT_EQ(DroppedEntries(world), 0);
  EXPECT_LT(TableBytes(world), 10u << 20) << "the stream is left";
}

TEST(SpaceReclaimer, MemoryNeedsNoEntries) {
  World world(false);
  ASSERT_TRUE(world.Create(indexes::Describe()).ok());
  Drop(world);
  EXPECT_FALSE(world.store->space().needed());
  EXPECT_EQ(DroppedEntries(world), 0);
}

}  // namespace
}  // namespace stator::table
