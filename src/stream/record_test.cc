// Records: the images stored for each view type; reading and trimming records.
#include "stream/record.h"

#include <gtest/gtest.h>

#include "expr/test_notation.h"
#include "kv/memory_engine.h"
#include "stream/reader.h"

namespace stator::stream {
namespace {

using expr::notation::Item;
using model::ItemView;

constexpr uint64_t kHalf = uint64_t{1} << 63;

struct World {
  explicit World(ViewType view_type = ViewType::kNewAndOldImages) {
    stream.tablet_id = 7;
    stream.table_id = "id";
    stream.view_type = view_type;
    stream.key_schema = {{"pk", model::Type::kS}, model::KeyAttribute{"sk", model::Type::kN}};
    stream.Open({0, kHalf}, 0);
    stream.Settle(kv::ApplyAndWait(engine, Something()).value());
  }
  static kv::Batch Something() {
    kv::Batch batch;
    batch.puts.push_back({{kv::Space::kCatalog, 0}, "x", std::string(kv::kStampBytes, '\0')});
    return batch;
  }
  // One batch with one record for each pair of images; "" is no item.
  void Write(std::vector<std::pair<std::string, std::string>> changes, uint64_t hash = 0,
             int64_t time = 0, Cause cause = Cause::kClient) {
    kv::Batch batch = Something();
    const Appender appender(stream);
    uint32_t index = 0;
    for (const auto& [old_item, new_item] : changes) {
      if (appender.Append(hash, ItemView(old_item), ItemView(new_item), cause, time, index, &batch))
        ++index;
    }
    ASSERT_TRUE(kv::ApplyAndWait(engine, std::move(batch)).ok());
  }
  Page Read(uint32_t shard, Position from = {}, ReadLimits limits = {}) {
    Result<Page> page =
        ReadShard(engine, stream, *stream.Find(shard), from, limits, kv::Tier::kAny);
    EXPECT_TRUE(page.ok()) << (page.ok() ? "" : page.error().message());
    return page.ok() ? std::move(*page) : Page();
  }
  Position ExpiredTo(uint32_t shard, int64_t cutoff) {
    const auto found = ExpiredUpTo(engine, *stream.Find(shard), stream.tablet(), cutoff);
    EXPECT_TRUE(found.ok());
    return found->value_or(Position());
  }
  void Trim(uint32_t shard, Position to) {
    kv::Batch batch;
    Shard& trimmed = stream.shards[shard];
    batch.range_deletes.push_back(RangeOf(trimmed, stream.tablet(), trimmed.trimmed_to, to));
    ASSERT_TRUE(kv::ApplyAndWait(engine, std::move(batch)).ok());
    trimmed.trimmed_to = to;
  }

  kv::MemoryEngine engine;
  StreamDescriptor stream;
};

const std::string kKeys = Item("{pk: 'a', sk: 1}");
const std::string kOne = Item("{pk: 'a', sk: 1, v: 'one'}");
const std::string kTwo = Item("{pk: 'a', sk: 1, v: 'two', w: 2}");

TEST(RecordTest, EachViewTypeStoresItsImages) {
  for (const ViewType type : {ViewType::kNewImage, ViewType::kOldImage, ViewType::kNewAndOldImages,
                              ViewType::kKeysOnly}) {
    SCOPED_TRACE(static_cast<int>(type));
    const bool shows_new = type == ViewType::kNewImage || type == ViewType::kNewAndOldImages;
    const bool shows_old = type == ViewType::kOldImage || type == ViewType::kNewAndOldImages;
    World world(type);
    world.Write({{"", kOne}, {kOne, kTwo}, {kTwo, ""}});
    const Page page = world.Read(0);
    ASSERT_EQ(page.records.size(), 3u);
    const Event events[] = {Event::kInsert, Event::kModify, Event::kRemove};
    const std::string olds[] = {"", kOne, kTwo};
    const std::string news[] = {kOne, kTwo, ""};
    for (size_t i = 0; i < 3; ++i) {
      const Record& record = page.records[i];
      EXPECT_EQ(record.event, events[i]);
      EXPECT_EQ(record.keys, kKeys);
      EXPECT_EQ(record.new_image.value_or(""), shows_new ? news[i] : "");
      EXPECT_EQ(record.old_image.value_or(""), shows_old ? olds[i] : "");
      size_t size = ItemView(kKeys).size_bytes();
      if (record.new_image) size += ItemView(news[i]).size_bytes();
      if (record.old_image) size += ItemView(olds[i]).size_bytes();
      EXPECT_EQ(record.size_bytes(), size);
      EXPECT_EQ(record.position.index, i);
      EXPECT_EQ(record.position.stamp, page.records[0].position.stamp);
    }
  }
}

TEST(RecordTest, EqualImagesLeaveNoRecord) {
  World world;
  const std::string set = Item("{pk: 'a', sk: 1, s: <'x', 'y'>, n: 10}");
  const std::string same = Item("{pk: 'a', sk: 1, s: <'y', 'x'>, n: 1e1}");
  world.Write({{kOne, kOne}, {"", ""}, {set, same}});
  EXPECT_TRUE(world.Read(0).records.empty());
}

TEST(RecordTest, HashesChooseShardsAndCauseIsStored) {
  World world;
  world.Write({{"", kOne}}, kHalf - 1);
  world.Write({{kOne, ""}}, kHalf, 55, Cause::kService);
  ASSERT_EQ(world.Read(0).records.size(), 1u);
  EXPECT_EQ(world.Read(0).records[0].cause, Cause::kClient);
  ASSERT_EQ(world.Read(1).records.size(), 1u);
  EXPECT_EQ(world.Read(1).records[0].cause, Cause::kService);
  EXPECT_EQ(world.Read(1).records[0].created_micros, 55);
}

TEST(ReaderTest, PagesTogetherEqualTheShard) {
  World world;
  for (int i = 0; i < 40; ++i) {
    const std::string item = Item("{pk: 'a', sk: " + std::to_string(i) + "}");
    world.Write({{"", item}, {item, Item("{pk: 'a', sk: " + std::to_string(i) + ", v: 1}")}});
  }
  const Page all = world.Read(0);
  ASSERT_EQ(all.records.size(), 80u);
  EXPECT_FALSE(all.more);
  EXPECT_FALSE(all.ended);
  for (const ReadLimits limits :
       {ReadLimits{1, 1000}, ReadLimits{7, 1000}, ReadLimits{1000, 1}, ReadLimits{1000, 50}}) {
    Position next;
    size_t seen = 0;
    while (true) {
      const Page page = world.Read(0, next, limits);
      for (const Record& record : page.records) {
        ASSERT_LT(seen, all.records.size());
        EXPECT_EQ(record.position, all.records[seen].position);
        EXPECT_EQ(record.new_image, all.records[seen++].new_image);
      }
      next = page.next;
      if (!page.more) break;
    }
    EXPECT_EQ(seen, 80u);
    EXPECT_TRUE(world.Read(0, next).records.empty());
    EXPECT_EQ(world.Read(0, next).next, next);
  }
  EXPECT_EQ(
      LatestPosition(world.engine, *world.stream.Find(0), world.stream.tablet(), kv::Tier::kAny)
          .value(),
      all.next);
  EXPECT_EQ(
      LatestPosition(world.engine, *world.stream.Find(1), world.stream.tablet(), kv::Tier::kAny)
          .value(),
      world.stream.Find(1)->first());
  world.stream.Close(5);
  EXPECT_TRUE(world.Read(0).ended);
  EXPECT_FALSE(world.Read(0, {}, {79, 1 << 20}).ended);
  EXPECT_TRUE(world.Read(0, {}, {80, 1 << 20}).ended);
}

TEST(ReaderTest, TrimsByTime) {
  World world;
  for (int64_t i = 0; i < 100; ++i) {
    world.Write({{"", Item("{pk: 'a', sk: 1}")}, {"", Item("{pk: 'b', sk: 1}")}}, 0, i / 3);
    world.Write({{"", kOne}}, kHalf, i);  // between them, in the other shard
  }
  const std::vector<Record> all = world.Read(0).records;
  for (const int64_t cutoff : {-1, 0, 1, 2, 7, 20, 33, 34, 99}) {
    SCOPED_TRACE(cutoff);
    Position expected;
    for (const Record& record : all) {
      if (record.created_micros < cutoff) expected = record.position.Next();
    }
    EXPECT_EQ(world.ExpiredTo(0, cutoff), expected);
  }
  const Position cut = world.ExpiredTo(0, 20);
  world.Trim(0, cut);
  EXPECT_EQ(TrimHorizon(*world.stream.Find(0)), cut);
  const Page left = world.Read(0, cut);
  ASSERT_FALSE(left.records.empty());
  EXPECT_EQ(left.records[0].created_micros, 20);
  EXPECT_EQ(left.records.size(),
            static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const Record& record) {
              return record.created_micros >= 20;
            })));
  const Result<Page> before = ReadShard(world.engine, world.stream, *world.stream.Find(0),
                                        all[3].position, {}, kv::Tier::kAny);
  ASSERT_FALSE(before.ok());
  EXPECT_EQ(before.error().code(), ErrorCode::kTrimmedDataAccess);
  EXPECT_EQ(world.ExpiredTo(0, 20), Position());
  EXPECT_EQ(world.Read(1).records.size(), 100u);
  // A reader that had read all trimmed records gets no error.
  world.Trim(0, world.ExpiredTo(0, 1000));
  EXPECT_TRUE(world.Read(0, all.back().position.Next()).records.empty());
}

TEST(RecordTest, DamageIsReported) {
  World world;
  world.Write({{kOne, kTwo}});
  std::string key;
  std::string value;
  ASSERT_TRUE(world.engine
                  .Scan({world.stream.tablet(), "", "", false}, kv::Tier::kAny,
                        [&](std::string_view k, std::string_view v) {
                          key = k;
                          value = v;
                          return true;
                        })
                  .ok());
  ASSERT_TRUE(DecodeRecord(world.stream, key, value).ok());
  EXPECT_FALSE(DecodeRecord(world.stream, key.substr(1), value).ok());
  for (size_t i = 0; i < value.size(); ++i) {
    // A record cut between its two images is valid but has the wrong images. Cut anywhere else it
    // is damaged.
    const Result<Record> cut = DecodeRecord(world.stream, key, value.substr(0, i));
    if (!cut.ok()) {
      EXPECT_EQ(cut.error().code(), ErrorCode::kCorruption);
    } else {
      EXPECT_TRUE(cut->new_image.has_value() && !cut->old_image.has_value()) << i;
    }
  }
}

}  // namespace
}  // namespace stator::stream
