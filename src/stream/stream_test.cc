// Shards and their lineage, names, numbers and iterators.
#include "stream/stream.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "stream/iterator.h"

namespace stator::stream {
namespace {

StreamDescriptor NewStream(std::vector<uint64_t> starts, int64_t now = 1'000'000) {
  StreamDescriptor stream;
  stream.tablet_id = 7;
  stream.table_name = "tab";
  stream.table_id = "0123";
  stream.label = "label";
  stream.created_micros = now;
  stream.key_schema = {{"pk", model::Type::kS}, model::KeyAttribute{"sk", model::Type::kN}};
  stream.Open(starts, now);
  stream.Settle(10);
  return stream;
}

std::vector<const Shard*> OpenShards(const StreamDescriptor& stream) {
  std::vector<const Shard*> open;
  for (const Shard& shard : stream.shards) {
    if (shard.open()) open.push_back(&shard);
  }
  std::sort(open.begin(), open.end(),
            [](const Shard* a, const Shard* b) { return a->first_hash < b->first_hash; });
  return open;
}

// Open shards cover the hash space without overlap. Every shard but the first ones has a parent
// that was closed no later than the shard began, and that covers its hashes.
void CheckLineage(const StreamDescriptor& stream) {
  uint64_t next = 0;
  const std::vector<const Shard*> open = OpenShards(stream);
  for (const Shard* shard : open) {
    EXPECT_EQ(shard->first_hash, next);
    next = shard->last_hash + 1;
  }
  EXPECT_EQ(next, 0u);
  for (const Shard& shard : stream.shards) {
    if (shard.parent_id.empty()) continue;
    const Shard* parent = FindShard(stream, shard.parent_id);
    ASSERT_NE(parent, nullptr) << shard.parent_id;
    EXPECT_FALSE(parent->open());
    EXPECT_LE(parent->end_stamp, shard.start_stamp);
    EXPECT_LT(parent->end(), shard.first());
    EXPECT_LE(parent->first_hash, shard.first_hash);
    EXPECT_GE(parent->last_hash, shard.last_hash);
  }
}

TEST(StreamTest, PartitionSplitSplitsItsShard) {
  StreamDescriptor stream = NewStream({0, 1000});
  EXPECT_FALSE(stream.Repartition({0, 1000}, 2'000'000));
  ASSERT_TRUE(stream.Repartition({0, 400, 1000}, 2'000'000));
  stream.Settle(20);
  ASSERT_EQ(stream.shards.size(), 4u);
  EXPECT_FALSE(stream.shards[0].open());
  EXPECT_EQ(stream.shards[0].end_stamp, 20u);
  EXPECT_TRUE(stream.shards[1].open());
  EXPECT_EQ(stream.shards[1].end_stamp, 0u);
  for (const size_t child : {2, 3}) {
    EXPECT_EQ(stream.shards[child].parent_id, ShardIdOf(stream.shards[0]));
    EXPECT_EQ(stream.shards[child].start_stamp, 20u);
  }
  CheckLineage(stream);
}

TEST(StreamTest, LineageHoldsThroughRandomSplitsAndRotations) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    std::set<uint64_t> starts = {0};
    StreamDescriptor stream = NewStream({0});
    uint64_t stamp = 10;
    for (int64_t now = 2'000'000; now < 60'000'000; now += 1'000'000) {
      if (random.Below(2) == 0) {
        const uint64_t count = 1 + random.Below(3);  // several at once, also of one partition
        for (uint64_t i = 0; i < count; ++i) starts.insert(random.Next());
        EXPECT_TRUE(stream.Repartition({starts.begin(), starts.end()}, now));
      } else {
        stream.Rotate(now - static_cast<int64_t>(random.Below(20'000'000)), now);
      }
      stream.Settle(stamp += 1 + random.Below(5));
      CheckLineage(stream);
    }
    EXPECT_EQ(OpenShards(stream).size(), starts.size());
    const Result<StreamDescriptor> read = StreamDescriptor::Decode(stream.Encode());
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->Encode(), stream.Encode());
    CheckLineage(*read);
    stream.Close(99'000'000);
    EXPECT_TRUE(OpenShards(stream).empty());
    EXPECT_FALSE(stream.enabled());
  }
}

TEST(StreamTest, OnlyOldShardsRotate) {
  StreamDescriptor stream = NewStream({0}, 1'000'000);
  EXPECT_FALSE(stream.Rotate(999'999, 5'000'000));
  EXPECT_TRUE(stream.Rotate(1'000'000, 5'000'000));
  EXPECT_EQ(stream.shards[1].parent_id, ShardIdOf(stream.shards[0]));
  EXPECT_FALSE(stream.Rotate(1'000'000, 6'000'000));
}

TEST(StreamTest, RefusesDamagedDescriptors) {
  const std::string good = NewStream({0, 5}).Encode();
  EXPECT_TRUE(StreamDescriptor::Decode(good).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    const Result<StreamDescriptor> cut =
        StreamDescriptor::Decode(std::string_view(good).substr(0, i));
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().code(), ErrorCode::kCorruption);
  }
}

TEST(StreamTest, ShardNamesAreParsed) {
  Shard shard;
  shard.number = 0xab;
  shard.opened_micros = 1'700'000'000'123'456;
  EXPECT_EQ(ShardIdOf(shard), "shardId-00000001700000000123-000000ab");
  EXPECT_EQ(NumberInShardId(ShardIdOf(shard)), 0xabu);
  for (const char* bad :
       {"", "shardId-00000001700000000123-000000a", "shardId-00000001700000000123-000000ag",
        "shardid-00000001700000000123-000000ab", "shardId-00000001700000000123_000000ab"}) {
    EXPECT_EQ(NumberInShardId(bad), std::nullopt) << bad;
  }
  StreamDescriptor stream = NewStream({0});
  EXPECT_EQ(FindShard(stream, ShardIdOf(stream.shards[0])), &stream.shards[0]);
  EXPECT_EQ(FindShard(stream, "shardId-00000000000000000002-00000000"),
            nullptr);  // right number, wrong time
  EXPECT_EQ(LabelOf(1'793'491'200'007'999), "2026-11-01T00:00:00.007");
}

TEST(PositionTest, SequenceNumbersCompareAsPositions) {
  const Position positions[] = {{0, 0}, {0, 1}, {1, 0}, {9, kMaxIndex}, {10, 0}, {UINT64_MAX, 3}};
  for (const Position& a : positions) {
    const std::string text = SequenceNumberOf(a);
    EXPECT_EQ(text.size(), 26u);
    EXPECT_EQ(ParseSequenceNumber(text), a);
    for (const Position& b : positions) EXPECT_EQ(a < b, text < SequenceNumberOf(b));
  }
  for (const char* bad : {"", "1", "00000000000000000000100000", "1000000000000000000010000x",
                          "100000000000000000001000000", "19999999999999999999900000",
                          "10000000000000000000165536"}) {
    EXPECT_EQ(ParseSequenceNumber(bad), std::nullopt) << bad;
  }
}

TEST(IteratorTest, AcceptsOnlyIteratorsIssuedForTheStream) {
  const Seal seal;
  const StreamDescriptor stream = NewStream({0});
  const Iterator iterator = {3, {77, 5}, 1'000'000};
  const std::string payload = EncodeIterator(seal, stream, iterator);
  const Result<Iterator> read =
      DecodeIterator(seal, stream, payload, 1'000'000 + kIteratorLifeMicros - 1);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->shard, 3u);
  EXPECT_EQ(read->position, (Position{77, 5}));
  const Result<Iterator> late =
      DecodeIterator(seal, stream, payload, 1'000'000 + kIteratorLifeMicros);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), ErrorCode::kExpiredIterator);

  StreamDescriptor other = stream;
  other.table_id = "0124";
  EXPECT_EQ(DecodeIterator(seal, other, payload, 1'000'000).error().code(), ErrorCode::kValidation);
  other = stream;
  other.tablet_id = 8;
  EXPECT_EQ(DecodeIterator(seal, other, payload, 1'000'000).error().code(), ErrorCode::kValidation);
  for (size_t i = 0; i < payload.size(); ++i) {
    std::string forged = payload;
    forged[i] = forged[i] == '0' ? '1' : '0';
    ASSERT_FALSE(DecodeIterator(seal, stream, forged, 1'000'000).ok()) << i;
    EXPECT_EQ(DecodeIterator(seal, stream, forged, 1'000'000).error().code(),
              ErrorCode::kValidation);
  }
  EXPECT_FALSE(DecodeIterator(seal, stream, "", 1'000'000).ok());
  const Seal of_another_store;
  EXPECT_EQ(DecodeIterator(of_another_store, stream, payload, 1'000'000).error().code(),
            ErrorCode::kValidation);
  // An iterator of format 01, which had no seal: a client that asks for another goes on.
  const std::string unsealed = "01" + std::string(72, '0');
  EXPECT_EQ(DecodeIterator(seal, stream, unsealed, 1'000'000).error().code(),
            ErrorCode::kExpiredIterator);
}

}  // namespace
}  // namespace stator::stream
