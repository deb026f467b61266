// Streams of tables: what a consumer that follows the shards has read is what was written, whatever
// happens to the shards meanwhile; and streams have the life that the service gives them.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "stream/reader.h"
#include "table/key_encoding.h"
#include "table/partition_split.h"
#include "table/store.h"
#include "table/stream_upkeep.h"
#include "table/test_await.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using model::ItemView;
using stream::ViewType;

constexpr int64_t kHour = 3'600'000'000;

TableDescriptor Describe(std::optional<ViewType> view_type, int64_t partitions = 1) {
  TableDescriptor d;
  d.name = "tab";
  d.table_id = "id";
  d.key_schema = {{"pk", model::Type::kS}, model::KeyAttribute{"sk", model::Type::kN}};
  d.attribute_definitions = {{"pk", model::Type::kS}, {"sk", model::Type::kN}};
  d.partitions = throughput::PartitionMap::Even(partitions);
  d.stream_view_type = view_type;
  return d;
}

struct World {
  explicit World(bool rocks = false) : rocks(rocks), workers(2, 1000) {
    if (!rocks) engine = std::make_unique<kv::MemoryEngine>();
    Open();
  }
  ~World() {
    store.reset();
    workers.Stop();
  }
  void Open() {
    if (rocks)
      engine =
          kv_rocks::OpenRocks({.path = directory.store(), .memory_budget_bytes = 16 << 20}).value();
    store = Store::Open(*engine, clock, workers).value();
  }
  void Restart() {
    store.reset();
    if (rocks) engine.reset();
    Open();
  }
  Result<TablePtr> Create(TableDescriptor d) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Create(std::move(d), std::move(done)); });
  }
  Result<TablePtr> SetStream(std::optional<ViewType> view_type) {
    return Await<Result<TablePtr>>([&](auto done) {
      store->Alter(
          "tab",
          [view_type](TableDescriptor* d) {
            d->stream_view_type = view_type;
            return OkStatus();
          },
          std::move(done));
    });
  }
  Result<TablePtr> SetCapture(KinesisDestination::Status status) {
    return Await<Result<TablePtr>>([&](auto done) {
      store->Alter(
          "tab",
          [status](TableDescriptor* d) {
            d->kinesis = {{.stream_arn = "arn", .id = "id", .status = status}};
            return OkStatus();
          },
          std::move(done));
    });
  }
  stream::StreamPtr Hidden() {
    return store->FindStream("tab", store->Find("tab")->descriptor.capture_label);
  }
  Result<TablePtr> Split(std::optional<uint64_t> at = {}) {
    return Await<Result<TablePtr>>(
        [&](auto done) { SplitPartition(*store, "tab", at, std::move(done)); });
  }
  Result<TablePtr> Rotate() {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->RotateShards("tab", clock.NowMicros(), std::move(done)); });
  }
  Status Drop() {
    const auto dropped = Await<Result<TablePtr>>([&](auto done) {
      store->Drop(
          "tab", [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
    return dropped.ok() ? OkStatus() : Status(dropped.error());
  }
  // Stores the items, or deletes what has their keys, in one batch.
  Status Write(const std::vector<std::string>& items, bool remove = false) {
    const TablePtr table = store->Find("tab");
    std::vector<WriteTarget> targets;
    for (const std::string& item : items)
      targets.push_back({table, EncodeItemKey(table->key_schema(), ItemView(item))});
    return Await<Status>([&](auto done) {
      store->Write(
          std::move(targets),
          [&](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
            std::vector<Change> changes(items.size());
            for (size_t i = 0; i < items.size(); ++i) {
              changes[i].kind = remove ? Change::kDelete : Change::kPut;
              if (!remove) changes[i].item = items[i];
            }
            return changes;
          },
          std::move(done));
    });
  }
  stream::StreamPtr Latest() {
    const TablePtr table = store->Find("tab");
    return table == nullptr ? nullptr : store->FindStream("tab", table->descriptor.stream_label);
  }
  size_t KeysInTablet(kv::Tablet tablet) {
    size_t keys = 0;
    EXPECT_TRUE(engine
                    ->Scan({tablet, "", "", false}, kv::Tier::kAny,
                           [&](std::string_view, std::string_view) {
                             ++keys;
                             return true;
                           })
                    .ok());
    return keys;
  }

  const bool rocks;
  kv_rocks::TemporaryDirectory directory;
  ManualClock clock;
  WorkerPool workers;
  std::unique_ptr<kv::Engine> engine;
  std::unique_ptr<Store> store;
};

// Reads every shard behind its parent and replays what it reads. An old image that is not what was
// replayed so far is a record lost, repeated or out of order.
class Consumer {
 public:
  explicit Consumer(std::string label) : label_(std::move(label)) {}

  // Reads what there is now; true if that was anything.
  bool Poll(Store& store, const stream::ReadLimits& limits = {}) {
    const stream::StreamPtr stream = store.FindStream("tab", label_);
    if (stream == nullptr) return false;
    bool any = false;
    for (const stream::Shard& shard : stream->shards) {
      const std::string id = stream::ShardIdOf(shard);
      if (ended_.contains(id) || (!shard.parent_id.empty() && !ended_.contains(shard.parent_id)))
        continue;
      const auto [place, fresh] = positions_.try_emplace(id, stream::TrimHorizon(shard));
      Result<stream::Page> page =
          stream::ReadShard(store.engine(), *stream, shard, place->second, limits, kv::Tier::kAny);
      if (!page.ok()) {
        ADD_FAILURE() << page.error().message();
        return false;
      }
      for (const stream::Record& record : page->records) {
        EXPECT_LE(place->second, record.position);
        EXPECT_GE(record.position, shard.first());
        if (!shard.open()) {
          EXPECT_LT(record.position, shard.end());
        }
        Replay(record);
      }
      place->second = page->next;
      if (page->ended) ended_.insert(id);
      any |= !page->records.empty() || page->ended;
    }
    return any;
  }
  const std::map<std::string, std::string>& items() const { return items_; }
  size_t records() const { return records_; }

 private:
  void Replay(const stream::Record& record) {
    ++records_;
    const auto found = items_.find(record.keys);
    const std::string before = found == items_.end() ? "" : found->second;
    EXPECT_EQ(record.old_image.value_or(""), before) << stream::SequenceNumberOf(record.position);
    if (record.new_image) {
      items_[record.keys] = *record.new_image;
    } else {
      items_.erase(record.keys);
    }
  }

  const std::string label_;
  std::map<std::string, stream::Position> positions_;
  std::set<std::string> ended_;
  std::map<std::string, std::string> items_;
  size_t records_ = 0;
};

void ExpectReplayIsTheTable(World& world, const Consumer& consumer) {
  const TablePtr table = world.store->Find("tab");
  std::map<std::string, std::string> items;
  ASSERT_TRUE(world.store
                  ->Scan(*table, FirstKeyOfHash(0), EndOfItemKeys(), false, kv::Tier::kAny,
                         [&](std::string_view, ItemView item) {
                           items[model::KeyAttributesOf(table->key_schema(), item)] =
                               item.encoded();
                           return true;
                         })
                  .ok());
  EXPECT_EQ(consumer.items(), items);
}

std::string RandomItem(SeededRandom& random) {
  return Item("{pk: 'p" + std::to_string(random.Below(20)) + "', sk: " +
              std::to_string(random.Below(4)) + ", v: " + std::to_string(random.Below(3)) + "}");
}

class StreamsOnEngines : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Engines, StreamsOnEngines, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Rocks" : "Memory"; });

TEST_P(StreamsOnEngines, AConsumerSeesEveryChangeOnceInOrder) {
  World world(GetParam());
  ASSERT_TRUE(world.Create(Describe(ViewType::kNewAndOldImages, 2)).ok());
  Consumer consumer(world.Latest()->label);
  std::atomic<bool> writing = true;
  std::atomic<int> writes = 0;
  std::vector<std::thread> writers;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    writers.emplace_back([&, seed] {
      SeededRandom random(seed);
      while (writing) {
        std::map<std::string, std::string> items;  // a batch names an item once
        const uint64_t count = 1 + random.Below(3);
        for (uint64_t i = 0; i < count; ++i) {
          std::string item = RandomItem(random);
          std::string key = model::KeyAttributesOf(Describe({}).key_schema, ItemView(item));
          items[std::move(key)] = std::move(item);
        }
        std::vector<std::string> batch;
        for (auto& [key, item] : items) batch.push_back(std::move(item));
        EXPECT_TRUE(world.Write(batch, random.Below(3) == 0).ok());
        ++writes;
      }
    });
  }
  std::thread reader([&] {
    while (writing) consumer.Poll(*world.store, {7, 1 << 20});
  });
  for (int round = 0; round < 30; ++round) {
    const int until = writes + 20;
    while (writes < until) std::this_thread::yield();
    world.clock.AdvanceMicros(1000);
    if (round % 3 == 2) {
      EXPECT_TRUE(world.Rotate().ok());
    } else {
      EXPECT_TRUE(world.Split().ok());
    }
  }
  writing = false;
  for (std::thread& writer : writers) writer.join();
  reader.join();
  if (GetParam()) world.Restart();
  while (consumer.Poll(*world.store)) {
  }
  EXPECT_GT(consumer.records(), 200u);
  EXPECT_EQ(world.store->Find("tab")->descriptor.partitions.size(), 22u);
  ExpectReplayIsTheTable(world, consumer);

  // Who comes later reads the same from the beginning, and after the table is gone too.
  ASSERT_TRUE(world.Drop().ok());
  Consumer late(world.store->ListStreams().at(0)->label);
  while (late.Poll(*world.store)) {
  }
  EXPECT_EQ(late.records(), consumer.records());
  EXPECT_EQ(late.items(), consumer.items());
}

TEST_P(StreamsOnEngines, RestartsKeepStreamsAsTheyWere) {
  World world(GetParam());
  ASSERT_TRUE(world.Create(Describe(ViewType::kNewAndOldImages)).ok());
  Consumer consumer(world.Latest()->label);
  SeededRandom random(5);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(world.Write({RandomItem(random)}, random.Below(4) == 0).ok());
    if (round % 2 == 0) {
      ASSERT_TRUE(world.Split().ok());
    }
    const std::string before = world.Latest()->Encode();
    world.Restart();
    EXPECT_EQ(world.Latest()->Encode(), before);
  }
  while (consumer.Poll(*world.store)) {
  }
  ExpectReplayIsTheTable(world, consumer);
}

TEST_P(StreamsOnEngines, AHiddenStreamIsKeptBesideTheOneThatClientsSee) {
  using State = KinesisDestination::Status;
  World world(GetParam());
  ASSERT_TRUE(world.Create(Describe({})).ok());
  ASSERT_TRUE(world.SetCapture(State::kEnabling).ok());
  const stream::StreamPtr first = world.Hidden();
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->hidden() && first->enabled());
  EXPECT_EQ(first->view_type, ViewType::kNewAndOldImages);
  EXPECT_EQ(world.Latest(), nullptr);
  Consumer hidden(first->label);
  SeededRandom random(7);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(world.Write({RandomItem(random)}, random.Below(4) == 0).ok());
    world.clock.AdvanceMicros(1000);
    switch (round) {
      case 1: ASSERT_TRUE(world.SetCapture(State::kActive).ok()); break;
      case 2: ASSERT_TRUE(world.Split().ok()); break;
      case 3: ASSERT_TRUE(world.SetStream(ViewType::kKeysOnly).ok()); break;
      case 4: ASSERT_TRUE(world.Split().ok()); break;
      case 5: ASSERT_TRUE(world.Rotate().ok()); break;
      case 6: world.Restart(); break;
      case 7: ASSERT_TRUE(world.SetStream({}).ok()); break;
      default: break;
    }
    EXPECT_EQ(world.Hidden()->label, first->label);
  }
  EXPECT_EQ(world.Hidden()->shards.size(), 8u);  // 1, two splits with 2 children, 3 by age
  while (hidden.Poll(*world.store)) {
  }
  ExpectReplayIsTheTable(world, hidden);

  // Off: nothing more is recorded. On again: another stream, which ends with the table.
  ASSERT_TRUE(world.SetCapture(State::kDisabling).ok());
  EXPECT_FALSE(world.Hidden()->enabled());
  ASSERT_TRUE(world.Write({Item("{pk: 'off', sk: 1}")}).ok());
  EXPECT_EQ(world.store->Find("tab")->capture, nullptr);
  world.Restart();
  EXPECT_EQ(world.store->Find("tab")->capture, nullptr);
  ASSERT_TRUE(world.SetCapture(State::kActive).ok());
  const stream::StreamPtr second = world.Hidden();
  EXPECT_NE(second->label, first->label);
  ASSERT_TRUE(world.Write({Item("{pk: 'on', sk: 1}")}).ok());
  EXPECT_EQ(world.KeysInTablet(second->tablet()), 1u);
  // Both at once.
  const auto both = Await<Result<TablePtr>>([&](auto done) {
    world.store->Alter(
        "tab",
        [](TableDescriptor* d) {
          d->kinesis.clear();
          d->stream_view_type = ViewType::kNewImage;
          return OkStatus();
        },
        std::move(done));
  });
  ASSERT_TRUE(both.ok());
  EXPECT_FALSE(world.store->FindStream("tab", second->label)->enabled());
  EXPECT_TRUE(world.Latest()->enabled());
  EXPECT_NE(world.Latest()->tablet_id, second->tablet_id);
  ASSERT_TRUE(world.SetCapture(State::kActive).ok());
  ASSERT_TRUE(world.Drop().ok());
  for (const stream::StreamPtr& stream : world.store->ListStreams())
    EXPECT_FALSE(stream->enabled());
}

TEST(StreamsTest, OnlyChangesAreRecordedAndOnlyWhileEnabled) {
  World world;
  ASSERT_TRUE(world.Create(Describe({})).ok());
  EXPECT_EQ(world.Latest(), nullptr);
  ASSERT_TRUE(world.Write({Item("{pk: 'a', sk: 1}")}).ok());
  ASSERT_TRUE(world.SetStream(ViewType::kNewAndOldImages).ok());
  const stream::StreamPtr first = world.Latest();
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(world.Write({Item("{pk: 'a', sk: 1}")}).ok());        // changes nothing
  ASSERT_TRUE(world.Write({Item("{pk: 'b', sk: 1}")}, true).ok());  // deletes nothing
  EXPECT_EQ(world.KeysInTablet(first->tablet()), 0u);
  ASSERT_TRUE(world.Write({Item("{pk: 'a', sk: 1, v: 1}"), Item("{pk: 'b', sk: 1}")}).ok());
  EXPECT_EQ(world.KeysInTablet(first->tablet()), 2u);
  ASSERT_TRUE(world.SetStream({}).ok());
  EXPECT_FALSE(world.Latest()->enabled());
  EXPECT_EQ(world.Latest()->label, first->label);
  ASSERT_TRUE(world.Write({Item("{pk: 'c', sk: 1}")}).ok());
  EXPECT_EQ(world.KeysInTablet(first->tablet()), 2u);

  // Another stream, in the same millisecond: another name, another tablet.
  ASSERT_TRUE(world.SetStream(ViewType::kKeysOnly).ok());
  const stream::StreamPtr second = world.Latest();
  EXPECT_NE(second->label, first->label);
  EXPECT_NE(second->tablet_id, first->tablet_id);
  ASSERT_TRUE(world.Write({Item("{pk: 'd', sk: 1}")}).ok());
  EXPECT_EQ(world.KeysInTablet(second->tablet()), 1u);
  EXPECT_EQ(world.store->ListStreams().size(), 2u);
  world.Restart();
  EXPECT_EQ(world.store->ListStreams().size(), 2u);
  EXPECT_EQ(world.Latest()->label, second->label);
}

TEST(StreamsTest, ShardsAgeRecordsGoAndStreamsEnd) {
  World world;
  ASSERT_TRUE(world.Create(Describe(ViewType::kNewAndOldImages)).ok());
  const std::string label = world.Latest()->label;
  const kv::Tablet tablet = world.Latest()->tablet();
  // A write an hour for two days, upkeep in between.
  size_t shards_seen = 0;
  for (int hour = 0; hour < 48; ++hour) {
    ASSERT_TRUE(world.Write({Item("{pk: 'a', sk: " + std::to_string(hour) + "}")}).ok());
    world.clock.AdvanceMicros(kHour);
    ASSERT_TRUE(MaintainStreams(*world.store).ok());
    const stream::StreamPtr stream = world.Latest();
    shards_seen = stream->next_shard;
    // What is left is what was written in the last 24 hours, or a little more.
    const size_t left = world.KeysInTablet(tablet);
    EXPECT_GE(left, std::min<size_t>(24, hour + 1)) << hour;
    EXPECT_LE(left, 25u) << hour;
    EXPECT_EQ(std::count_if(stream->shards.begin(), stream->shards.end(),
                            [](const auto& s) { return s.open(); }),
              1);
    EXPECT_LE(stream->shards.size(), 8u);
  }
  EXPECT_EQ(shards_seen, 13u);  // one every four hours

  ASSERT_TRUE(world.Drop().ok());
  world.clock.AdvanceMicros(23 * kHour);
  ASSERT_TRUE(MaintainStreams(*world.store).ok());
  EXPECT_NE(world.store->FindStream("tab", label), nullptr);
  EXPECT_EQ(world.KeysInTablet(tablet), 1u);
  world.Restart();
  world.clock.AdvanceMicros(kHour);
  ASSERT_TRUE(MaintainStreams(*world.store).ok());
  EXPECT_EQ(world.store->FindStream("tab", label), nullptr);
  EXPECT_EQ(world.KeysInTablet(tablet), 0u);
  EXPECT_EQ(world.KeysInTablet({kv::Space::kCatalog, 0}), 1u);  // the next tablet's number
}

TEST(StreamsTest, SplitsAreCheckedAndNeedNoStream) {
  World world;
  ASSERT_TRUE(world.Create(Describe({}, 2)).ok());
  const uint64_t half = uint64_t{1} << 63;
  EXPECT_EQ(world.Split(0).error().code(), ErrorCode::kValidation);
  EXPECT_EQ(world.Split(half).error().code(), ErrorCode::kValidation);
  ASSERT_TRUE(world.Split(half + half / 2).ok());
  EXPECT_EQ(world.store->Find("tab")->descriptor.partitions.starts(),
            (std::vector<uint64_t>{0, half, half + half / 2}));
  ASSERT_TRUE(world.Split().ok());  // the widest
  ASSERT_TRUE(world.Split(5).ok());
  world.Restart();
  EXPECT_EQ(world.store->Find("tab")->descriptor.partitions.starts(),
            (std::vector<uint64_t>{0, 5, half / 2, half, half + half / 2}));
  const auto missing = Await<Result<TablePtr>>(
      [&](auto done) { SplitPartition(*world.store, "none", {}, std::move(done)); });
  EXPECT_EQ(missing.error().code(), ErrorCode::kResourceNotFound);
}

// A refused change of the catalog leaves the stream as it was, and writes go on.
TEST(StreamsTest, RefusedChangesChangeNothing) {
  World world;
  world.store.reset();
  auto faults = std::make_unique<kv::FaultEngine>(std::move(world.engine), kv::FaultOptions{});
  kv::FaultEngine& engine = *faults;
  world.engine = std::move(faults);
  world.Restart();
  ASSERT_TRUE(world.Create(Describe(ViewType::kNewAndOldImages)).ok());
  Consumer consumer(world.Latest()->label);
  const TablePtr table = world.store->Find("tab");
  const std::string stream = world.Latest()->Encode();
  const auto expect_unchanged = [&](bool changed) {
    EXPECT_FALSE(changed);
    EXPECT_EQ(world.store->Find("tab"), table);
    EXPECT_EQ(world.Latest()->Encode(), stream);
    EXPECT_TRUE(
        world.Write({Item("{pk: 'a', sk: 1, v: " + std::to_string(consumer.records()) + "}")})
            .ok());
    consumer.Poll(*world.store);
  };
  engine.Trigger(kv::Fault::kUnavailable);
  expect_unchanged(world.Split().ok());
  engine.Trigger(kv::Fault::kUnavailable);
  expect_unchanged(world.Rotate().ok());
  engine.Trigger(kv::Fault::kUnavailable);
  expect_unchanged(world.SetStream({}).ok());
  engine.Trigger(kv::Fault::kUnavailable);
  expect_unchanged(world.Drop().ok());
  EXPECT_EQ(consumer.records(), 4u);
  ExpectReplayIsTheTable(world, consumer);
  EXPECT_TRUE(world.Split().ok());
}

}  // namespace
}  // namespace stator::table
