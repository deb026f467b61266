// Streams over time: iterators expire, shards age, records are trimmed, streams end; and reads that
// find nothing in memory.
#include "ops/streams.h"

#include <gtest/gtest.h>

#include "ops/test_world.h"
#include "stream/iterator.h"
#include "table/partition_split.h"
#include "table/stream_upkeep.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

constexpr int64_t kMinute = 60'000'000;
constexpr int64_t kHour = 60 * kMinute;

struct StreamWorld : TestWorld {
  explicit StreamWorld(uint64_t seed = 1) : TestWorld(seed) {
    CreateTableRequest request;
    request.table_name = "t";
    request.key_schema = {{"pk", KeyType::kHash}};
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    request.provisioned_throughput = ProvisionedThroughput{1, 1};  // one partition, so one shard
    request.stream_specification = StreamSpecification{true, StreamViewType::kNewAndOldImages};
    const auto created = Call(CreateTable, std::move(request));
    EXPECT_TRUE(created.ok());
    arn = *created->table_description.latest_stream_arn;
  }
  std::vector<ShardDescription> Shards() {
    DescribeStreamRequest request;
    request.stream_arn = arn;
    const auto answer = Call(DescribeStream, std::move(request));
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer->shards : std::vector<ShardDescription>();
  }
  Result<std::string> IteratorAt(const std::string& shard, ShardIteratorType type,
                                 std::optional<std::string> number = {}) {
    GetShardIteratorRequest request{arn, shard, type, std::move(number)};
    ASSIGN_OR_RETURN(GetShardIteratorResponse answer, Call(GetShardIterator, std::move(request)));
    return answer.shard_iterator;
  }
  Result<GetRecordsResponse> Read(std::string iterator, std::optional<int64_t> limit = {}) {
    return Call(GetRecords, GetRecordsRequest{std::move(iterator), limit});
  }
  ErrorCode ErrorOf(const Result<GetRecordsResponse>& answer) {
    return answer.ok() ? ErrorCode::kInternal : answer.error().code();
  }
  void Upkeep() { EXPECT_TRUE(table::MaintainStreams(*store, 0).ok()); }

  std::string arn;
};

TEST(StreamOpsTest, IteratorsExpireAfterFifteenMinutes) {
  StreamWorld world;
  ASSERT_TRUE(world.Put("t", Item("{pk: 'a'}")).ok());
  const std::string iterator =
      world.IteratorAt(world.Shards()[0].shard_id, ShardIteratorType::kTrimHorizon).value();
  world.clock.AdvanceMicros(15 * kMinute - 1);
  const Result<GetRecordsResponse> page = world.Read(iterator);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->records.size(), 1u);
  world.clock.AdvanceMicros(1);
  EXPECT_EQ(world.ErrorOf(world.Read(iterator)), ErrorCode::kExpiredIterator);
  // The next one was given out later.
  EXPECT_TRUE(world.Read(*page->next_shard_iterator).ok());
}

TEST(StreamOpsTest, WhatIsOlderThanADayIsTrimmed) {
  StreamWorld world;
  ASSERT_TRUE(world.Put("t", Item("{pk: 'a'}")).ok());
  ASSERT_TRUE(world.Put("t", Item("{pk: 'b'}")).ok());
  const std::string shard = world.Shards()[0].shard_id;
  const std::string start = world.Shards()[0].starting_sequence_number;
  world.clock.AdvanceMicros(kHour);
  ASSERT_TRUE(world.Put("t", Item("{pk: 'c'}")).ok());
  const auto all = world.Read(world.IteratorAt(shard, ShardIteratorType::kTrimHorizon).value());
  ASSERT_EQ(all->records.size(), 3u);
  world.clock.AdvanceMicros(23 * kHour + kMinute - 10 * kMinute);
  const std::string before = world.IteratorAt(shard, ShardIteratorType::kTrimHorizon).value();
  world.clock.AdvanceMicros(10 * kMinute);
  world.Upkeep();

  EXPECT_EQ(world.ErrorOf(world.Read(before)), ErrorCode::kTrimmedDataAccess);
  const auto at = [&](ShardIteratorType type, const std::string& number) {
    const Result<std::string> iterator = world.IteratorAt(shard, type, number);
    return iterator.ok() ? ErrorCode::kInternal : iterator.error().code();
  };
  EXPECT_EQ(at(ShardIteratorType::kAtSequenceNumber, start), ErrorCode::kTrimmedDataAccess);
  EXPECT_EQ(at(ShardIteratorType::kAtSequenceNumber, all->records[1].sequence_number),
            ErrorCode::kTrimmedDataAccess);
  EXPECT_EQ(at(ShardIteratorType::kAfterSequenceNumber, all->records[0].sequence_number),
            ErrorCode::kTrimmedDataAccess);
  // Who has read up to there misses nothing.
  const Result<std::string> after = world.IteratorAt(shard, ShardIteratorType::kAfterSequenceNumber,
                                                     all->records[1].sequence_number);
  ASSERT_TRUE(after.ok());
  for (const std::string& iterator :
       {*after, *world.IteratorAt(shard, ShardIteratorType::kTrimHorizon)}) {
    const auto left = world.Read(iterator);
    ASSERT_TRUE(left.ok());
    ASSERT_EQ(left->records.size(), 1u);
    EXPECT_EQ(left->records[0].sequence_number, all->records[2].sequence_number);
  }

  // When its last record has gone, so has the shard.
  world.clock.AdvanceMicros(kHour);
  const std::string late = world.IteratorAt(shard, ShardIteratorType::kTrimHorizon).value();
  world.Upkeep();
  world.clock.AdvanceMicros(24 * kHour);
  world.Upkeep();
  EXPECT_EQ(world.IteratorAt(shard, ShardIteratorType::kLatest).error().code(),
            ErrorCode::kResourceNotFound);
  for (const ShardDescription& left : world.Shards()) EXPECT_NE(left.shard_id, shard);
}

TEST(StreamOpsTest, AnIteratorOfAShardThatIsGoneIsOfTrimmedData) {
  StreamWorld world;
  const std::string shard = world.Shards()[0].shard_id;
  world.clock.AdvanceMicros(4 * kHour);
  world.Upkeep();
  ASSERT_EQ(world.Shards().size(), 2u);
  EXPECT_EQ(world.Shards()[1].parent_shard_id, shard);
  world.clock.AdvanceMicros(24 * kHour - kMinute);
  const std::string iterator = world.IteratorAt(shard, ShardIteratorType::kTrimHorizon).value();
  world.clock.AdvanceMicros(kMinute);
  world.Upkeep();
  EXPECT_EQ(world.ErrorOf(world.Read(iterator)), ErrorCode::kTrimmedDataAccess);
}

TEST(StreamOpsTest, ADisabledStreamStaysForADay) {
  StreamWorld world;
  ASSERT_TRUE(world.Put("t", Item("{pk: 'a'}")).ok());
  const std::string shard = world.Shards()[0].shard_id;
  DeleteTableRequest request;
  request.table_name = "t";
  ASSERT_TRUE(world.Call(DeleteTable, std::move(request)).ok());
  world.clock.AdvanceMicros(24 * kHour - 1);
  world.Upkeep();
  const Result<std::string> iterator = world.IteratorAt(shard, ShardIteratorType::kTrimHorizon);
  ASSERT_TRUE(iterator.ok());
  const auto page = world.Read(*iterator);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->records.size(), 1u);
  EXPECT_EQ(page->next_shard_iterator, std::nullopt);
  world.clock.AdvanceMicros(1);
  world.Upkeep();
  EXPECT_EQ(world.IteratorAt(shard, ShardIteratorType::kLatest).error().code(),
            ErrorCode::kResourceNotFound);
  EXPECT_EQ(world.ErrorOf(world.Read(*iterator)), ErrorCode::kResourceNotFound);
  EXPECT_TRUE(world.Call(ListStreams, ListStreamsRequest{})->streams.empty());
}

TEST(StreamOpsTest, PagesAreWholeWhateverHasToBeReadFromTheDisk) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    StreamWorld world(seed);
    const std::string text(3000, 'x');
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(
          world.Put("t", Item("{pk: 'p" + std::to_string(i) + "', text: '" + text + "'}")).ok());
    }
    world.engine.set_stutter(0.4);
    SeededRandom random(seed);
    Result<std::string> next =
        world.IteratorAt(world.Shards()[0].shard_id, ShardIteratorType::kTrimHorizon);
    int seen = 0;
    while (seen < 100) {
      ASSERT_TRUE(next.ok());
      const int64_t limit = 1 + static_cast<int64_t>(random.Below(60));
      const auto page = world.Read(*next, limit);
      ASSERT_TRUE(page.ok());
      EXPECT_EQ(static_cast<int64_t>(page->records.size()), std::min<int64_t>(limit, 100 - seen));
      for (const StreamRecord& record : page->records) {
        EXPECT_EQ(model::ItemView(record.keys).Find("pk").text(), "p" + std::to_string(seen++));
      }
      next = *page->next_shard_iterator;
    }
  }
}

// Each record costs a digest, whatever its size: so the loop's thread makes few of them.
TEST(StreamOpsTest, ManySmallRecordsAreForAWorker) {
  StreamWorld world;
  for (int i = 0; i < 129; ++i)
    ASSERT_TRUE(world.Put("t", Item("{pk: 'p" + std::to_string(i) + "'}")).ok());
  const std::string iterator =
      world.IteratorAt(world.Shards()[0].shard_id, ShardIteratorType::kTrimHorizon).value();
  EXPECT_EQ(world.Read(iterator)->records.size(), 129u);

  world.workers.Stop();
  const auto refused = world.Read(iterator);
  ASSERT_FALSE(refused.ok()) << "the loop's thread made " << refused->records.size() << " records";
  EXPECT_TRUE(IsOverload(refused.error())) << refused.error().message();
  const auto few = world.Read(iterator, 128);
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few->records.size(), 128u);
  EXPECT_EQ(world.Read(*few->next_shard_iterator)->records.size(), 1u);
}

TEST(StreamOpsTest, ShardsAreDescribedPageByPage) {
  StreamWorld world;
  for (int i = 0; i < 60; ++i) {
    std::optional<Status> split;
    table::SplitPartition(*world.store, "t", {}, [&](Result<table::TablePtr> table) {
      split = table.ok() ? OkStatus() : Status(table.error());
    });
    ASSERT_TRUE(split && split->ok());
  }
  std::vector<std::string> ids;
  DescribeStreamRequest request;
  request.stream_arn = world.arn;
  for (const std::optional<int64_t> limit : {std::optional<int64_t>(), std::optional<int64_t>(7)}) {
    request.limit = limit;
    request.exclusive_start_shard_id.reset();
    std::vector<std::string> found;
    while (true) {
      const auto page = world.Call(DescribeStream, request);
      ASSERT_TRUE(page.ok());
      EXPECT_LE(page->shards.size(), static_cast<size_t>(limit.value_or(100)));
      for (const ShardDescription& shard : page->shards) found.push_back(shard.shard_id);
      if (!page->last_evaluated_shard_id) break;
      request.exclusive_start_shard_id = page->last_evaluated_shard_id;
    }
    EXPECT_EQ(found.size(), 121u);
    if (!ids.empty()) {
      EXPECT_EQ(found, ids);
    }
    ids = found;
  }
  request.limit = 101;
  EXPECT_EQ(world.Call(DescribeStream, request).error().code(), ErrorCode::kValidation);
}

}  // namespace
}  // namespace stator::ops
