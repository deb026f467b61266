#include "triggers/book.h"

#include <gtest/gtest.h>

#include <future>

#include "kv/memory_engine.h"

namespace stator::triggers {
namespace {

Mapping Sample() {
  Mapping mapping;
  mapping.uuid = "0a-1";
  mapping.table = "T";
  mapping.label = "2026";
  mapping.function = "f:live";
  mapping.latest = mapping.bisect = mapping.reports_failures = mapping.declared = true;
  mapping.batch = 7;
  mapping.window_seconds = 8;
  mapping.parallel = 9;
  mapping.age_seconds = 100;
  mapping.retries = 11;
  mapping.filters = {R"({"eventName":["INSERT"]})", "{\"a\":[\"\\u0001\\n\"]}"};
  mapping.on_failure = "arn:aws:sqs:x";
  mapping.modified_micros = 12;
  return mapping;
}

class BookTest : public testing::Test {
 protected:
  Result<uint64_t> Store(std::string_view uuid, uint32_t shard, const Checkpoint& checkpoint) {
    std::promise<Result<uint64_t>> stored;
    book_.StoreCheckpoint(uuid, shard, checkpoint,
                          [&](Result<uint64_t> stamp) { stored.set_value(std::move(stamp)); });
    return stored.get_future().get();
  }
  kv::MemoryEngine engine_;
  Book book_{engine_};
};

TEST_F(BookTest, KeepsMappingsAndCheckpoints) {
  const Mapping mapping = Sample();
  ASSERT_TRUE(book_.Create(mapping, {{3, {{70, 2}, false, 0}}, {4, {{80, 0}, true, 0}}}).ok());
  const std::vector<StoredMapping> stored = book_.Mappings().value();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].mapping, mapping);
  Checkpoints checkpoints = book_.CheckpointsOf(mapping.uuid).value();
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[3].next, (stream::Position{70, 2}));
  EXPECT_TRUE(checkpoints[4].ended);
  Mapping second = mapping;
  second.uuid = "0a-2";
  EXPECT_EQ(book_.Create(second, {}).error().code(), ErrorCode::kResourceInUse);
  second.function = "other";
  EXPECT_TRUE(book_.Create(second, {}).ok());
  ASSERT_TRUE(book_.Remove(mapping, stored[0].stamp).ok());
  EXPECT_TRUE(book_.CheckpointsOf(mapping.uuid).value().empty());
  EXPECT_TRUE(book_.Create(mapping, {}).ok()) << "the pair is free again";
}

TEST_F(BookTest, ACheckpointOfAnotherProcessIsNotOverwritten) {
  const Mapping mapping = Sample();
  ASSERT_TRUE(book_.Create(mapping, {{3, {{70, 0}, false, 0}}}).ok());
  Checkpoint checkpoint = book_.CheckpointsOf(mapping.uuid).value()[3];
  checkpoint.next = {71, 0};
  EXPECT_TRUE(Store(mapping.uuid, 3, checkpoint).ok());
  checkpoint.next = {69, 0};
  EXPECT_EQ(Store(mapping.uuid, 3, checkpoint).error().code(), ErrorCode::kGuardFailed);
  EXPECT_EQ(book_.CheckpointsOf(mapping.uuid).value()[3].next, (stream::Position{71, 0}));
  ASSERT_TRUE(book_.Remove(mapping, book_.Mappings().value()[0].stamp).ok());
  EXPECT_FALSE(Store(mapping.uuid, 3, checkpoint).ok()) << "the mapping is gone";
}

TEST_F(BookTest, DamageIsAnErrorAndNoAbsence) {
  EXPECT_FALSE(Mapping::Decode("").ok());
  std::string value = Sample().Encode();
  EXPECT_TRUE(Mapping::Decode(value).ok());
  for (size_t size = 0; size < value.size() - 2; ++size)
    EXPECT_FALSE(Mapping::Decode(std::string_view(value).substr(0, size)).ok()) << size;
  value[kv::kStampBytes] = 2;
  EXPECT_FALSE(Mapping::Decode(value).ok());
  std::string checkpoint = Checkpoint{{5, 6}, true, 0}.Encode();
  EXPECT_EQ(Checkpoint::Decode(checkpoint).value().next, (stream::Position{5, 6}));
  checkpoint.pop_back();
  EXPECT_FALSE(Checkpoint::Decode(checkpoint).ok());
}

TEST_F(BookTest, KeepsWindows) {
  Mapping mapping = Sample();
  mapping.parallel = 1;
  mapping.tumbling_seconds = 60;
  ASSERT_TRUE(book_.Create(mapping, {{3, {{70, 2}, false, 0}}}).ok());
  EXPECT_EQ(book_.Mappings().value()[0].mapping, mapping);
  Checkpoint checkpoint = book_.CheckpointsOf(mapping.uuid).value()[3];
  EXPECT_EQ(checkpoint.tumbling, Tumbling());
  for (const char* state : {"", "{}", "{\"n\":1}"}) {
    checkpoint.tumbling.ended_micros = 5;
    checkpoint.tumbling.open = OpenWindow{60, 120, nullptr};
    if (*state != 0) checkpoint.tumbling.open->state = std::make_shared<const std::string>(state);
    checkpoint.stamp = Store(mapping.uuid, 3, checkpoint).value();
    const Checkpoint read = book_.CheckpointsOf(mapping.uuid).value()[3];
    ASSERT_TRUE(read.tumbling.open);
    EXPECT_EQ(read.next, checkpoint.next);
    EXPECT_EQ(read.tumbling.ended_micros, 5);
    EXPECT_EQ(read.tumbling.open->end_micros, 120);
    EXPECT_EQ(read.tumbling.open->state == nullptr ? "" : *read.tumbling.open->state, state);
  }
  const std::string stored = checkpoint.Encode();
  for (size_t size = kv::kStampBytes; size < stored.size() - 6; ++size)
    EXPECT_FALSE(Checkpoint::Decode(std::string_view(stored).substr(0, size)).ok()) << size;
  checkpoint.tumbling.open.reset();
  EXPECT_EQ(Checkpoint::Decode(checkpoint.Encode()).value().tumbling, checkpoint.tumbling);
}

TEST_F(BookTest, LimitsAreThoseOfTheService) {
  Mapping mapping = Sample();
  EXPECT_TRUE(mapping.Check().ok());
  const auto wrong = [&](int64_t Mapping::*member, int64_t value) {
    Mapping changed = Sample();
    changed.*member = value;
    EXPECT_FALSE(changed.Check().ok()) << value;
  };
  wrong(&Mapping::batch, 0);
  wrong(&Mapping::batch, 10'001);
  wrong(&Mapping::window_seconds, 301);
  wrong(&Mapping::parallel, 11);
  wrong(&Mapping::age_seconds, 59);
  wrong(&Mapping::age_seconds, 604'801);
  wrong(&Mapping::retries, 10'001);
  wrong(&Mapping::retries, -2);
  wrong(&Mapping::tumbling_seconds, 60);  // with lanes
  mapping.parallel = 1;
  for (const auto& [seconds, good] : {std::pair{-1, false}, {0, true}, {900, true}, {901, false}}) {
    mapping.tumbling_seconds = seconds;
    EXPECT_EQ(mapping.Check().ok(), good) << seconds;
  }
}

}  // namespace
}  // namespace stator::triggers
