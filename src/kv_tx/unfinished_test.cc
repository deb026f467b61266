#include "kv_tx/unfinished.h"

#include <gtest/gtest.h>

#include "kv/shared_memory.h"
#include "kv_tx/layout.h"

namespace stator::kv_tx {
namespace {

constexpr kv::Tablet kHere{kv::Space::kItems, 1};
constexpr kv::Tablet kThere{kv::Space::kItems, 2};

TEST(UnfinishedTest, CountsNotesAndRecordsOfTablet) {
  kv::SharedMemory memory;
  const auto engine = memory.Attach();
  EXPECT_EQ(CountUnfinished(*engine, kHere)->units, 0u);
  kv::Batch batch;
  for (uint64_t i = 1; i <= 3; ++i) {
    const TransactionRef transaction{{0, i}, kThere, RecordKeyOf("a", {0, i})};
    Note note{transaction, 1000 - static_cast<int64_t>(i), {}, {}, {}};
    batch.puts.push_back({kHere, NoteKeyOf("a", {0, i}), EncodeNote(note)});
    Record record{i == 1 ? Decision::kAborted : Decision::kCommitted, 2000, {}};
    batch.puts.push_back({kHere, RecordKeyOf("b", {0, 10 + i}), EncodeRecord(record)});
  }
  batch.puts.push_back({kHere, "b", std::string(kv::kStampBytes, '\0') + "\1item"});
  ASSERT_TRUE(ApplyAndWait(*engine, std::move(batch)).ok());
  const Result<Unfinished> unfinished = CountUnfinished(*engine, kHere);
  ASSERT_TRUE(unfinished.ok()) << unfinished.error().message();
  EXPECT_EQ(unfinished->units, 3u);
  EXPECT_EQ(unfinished->committed, 2u);
  EXPECT_EQ(unfinished->aborted, 1u);
  EXPECT_EQ(unfinished->oldest_micros, 997);
  EXPECT_EQ(CountUnfinished(*engine, kThere)->units, 0u);
}

TEST(UnfinishedTest, DamageIsCorruptionAndDroppedTabletIsEmpty) {
  kv::SharedMemory memory;
  const auto engine = memory.Attach();
  kv::Batch batch;
  batch.puts.push_back(
      {kHere, NoteKeyOf("a", {0, 1}), std::string(kv::kStampBytes, '\0') + "\xFDnonsense"});
  ASSERT_TRUE(ApplyAndWait(*engine, std::move(batch)).ok());
  EXPECT_EQ(CountUnfinished(*engine, kHere).error().code(), ErrorCode::kCorruption);
  ASSERT_TRUE(engine->RaiseFence(kHere, kv::kDroppedFence).ok());
  EXPECT_EQ(CountUnfinished(*engine, kHere)->units, 0u);
}

}  // namespace
}  // namespace stator::kv_tx
