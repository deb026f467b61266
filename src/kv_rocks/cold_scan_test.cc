// Scans that may not wait for the disk see all keys or say that they would wait, whichever part of
// the store is in memory and whatever was deleted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kv/reclaim.h"
#include "kv/rewind.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

constexpr kv::Tablet kBefore = {kv::Space::kItems, 1}, kTable = {kv::Space::kItems, 2},
                     kBehind = {kv::Space::kItems, 3};
constexpr int kKeys = 200;

Status Fill(kv::Engine& engine, kv::Tablet tablet, int begin, int end) {
  kv::Batch batch;
  for (int i = begin; i < end; ++i)
    batch.puts.push_back({tablet, fmt::format("k{:05}", i), std::string(1'000, '\0')});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
  return applied.ok() ? OkStatus() : Status(applied.error());
}

// Returns the number of keys, up to `most`.
Result<int> Count(kv::Engine& engine, kv::Tier tier, int most = kKeys) {
  int count = 0;
  TRY(engine.Scan({kTable, "", ""}, tier,
                  [&](std::string_view, std::string_view) { return ++count < most; }));
  return count;
}

// RocksDB 7.8 lost the keys of a file that was not in memory, behind one with deleted ranges.
TEST(ColdScan, SeesAllOrSaysThatItWouldWait) {
  const TemporaryDirectory directory;
  const RocksOptions options{.path = directory.store(), .sync = false};
  int left = 0;
  {
    const auto engine = OpenRocks(options).value();
    // Two files below the first level: space that is given back brings them there.
    std::atomic<bool> stop = false;
    ASSERT_TRUE(Fill(*engine, kTable, kKeys / 2, kKeys).ok());
    ASSERT_TRUE(Fill(*engine, kBehind, 0, 10).ok());
    ASSERT_TRUE(engine->reclaimer()->Reclaim(kBehind, &stop).ok());
    ASSERT_TRUE(Fill(*engine, kTable, 0, kKeys / 2).ok());
    ASSERT_TRUE(Fill(*engine, kBefore, 0, 10).ok());
    // For a snapshot the deletion of a range is kept.
    std::vector<kv::Watched> watched;
    watched.push_back({.tablet = kTable});
    const auto point = engine->rewinder()->SetPoint(
        std::move(watched), std::make_shared<kv::RewindBudget>(size_t{1} << 20));
    kv::Batch batch;
    batch.range_deletes.push_back({kTable, "k00010", "k00020"});
    ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(batch)).ok());
    ASSERT_TRUE(engine->reclaimer()->Reclaim(kBefore, &stop).ok());
    left = Count(*engine, kv::Tier::kAny).value();
    EXPECT_EQ(left, kKeys - 10);
  }
  for (const int warm : {0, 1, kKeys / 2 - 11, kKeys / 2 - 10, kKeys / 2, kKeys}) {
    const auto engine = OpenRocks(options).value();
    if (warm > 0) {
      ASSERT_TRUE(Count(*engine, kv::Tier::kAny, warm).ok());
    }
    const Result<int> found = Count(*engine, kv::Tier::kMemory);
    if (found.ok()) {
      ASSERT_EQ(*found, left) << "after " << warm << " keys";
    } else {
      ASSERT_EQ(found.error().code(), ErrorCode::kWouldBlock);
    }
    EXPECT_EQ(Count(*engine, kv::Tier::kAny).value(), left);
  }
}

}  // namespace
}  // namespace stator::kv_rocks
