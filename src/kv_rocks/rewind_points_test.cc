// Returns of a store on disk: against a model, whatever was given up, on a full disk, after a
// restart and a power cut.
#include "kv_rocks/rewind_points.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "kv/reclaim.h"
#include "kv/rewind_conformance.h"
#include "kv_rocks/power_cut_disk.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

constexpr kv::Tablet kTable = {kv::Space::kItems, 1}, kOther = {kv::Space::kItems, 2};
using Contents = std::map<std::string, std::string>;

std::string Value(std::string_view text) { return std::string(kv::kStampBytes, '\0').append(text); }

Status Put(kv::Engine& engine, kv::Tablet tablet, const std::string& key, std::string_view text) {
  kv::Batch batch;
  batch.puts.push_back({tablet, key, Value(text)});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
  return applied.ok() ? OkStatus() : Status(applied.error());
}

Status PutMany(kv::Engine& engine, kv::Tablet tablet, int keys, std::string_view text) {
  kv::Batch batch;
  for (int i = 0; i < keys; ++i)
    batch.puts.push_back({tablet, "k" + std::to_string(i), Value(text)});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
  return applied.ok() ? OkStatus() : Status(applied.error());
}

Status Empty(kv::Engine& engine, kv::Tablet tablet) {
  kv::Batch batch;
  batch.range_deletes.push_back({tablet, "", ""});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
  return applied.ok() ? OkStatus() : Status(applied.error());
}

Contents All(kv::Engine& engine, kv::Tablet tablet = kTable) {
  Contents all;
  EXPECT_TRUE(engine
                  .Scan({tablet, "", ""}, kv::Tier::kAny,
                        [&](std::string_view key, std::string_view value) {
                          all.emplace(key, value);
                          return true;
                        })
                  .ok());
  return all;
}

std::unique_ptr<kv::RewindPoint> PointOf(kv::Engine& engine, kv::Tablet tablet = kTable) {
  std::vector<kv::Watched> watched;
  watched.push_back({.tablet = tablet});
  return engine.rewinder()->SetPoint(std::move(watched),
                                     std::make_shared<kv::RewindBudget>(64 << 20));
}

Result<uint64_t> Return(kv::RewindPoint& point, kv::Batch batch = {}) {
  return point.Rewind(std::move(batch),
                      [](kv::Tablet, std::string_view, const std::string*, const std::string*) {});
}

TEST(RewindPoints, Conform) {
  for (const uint64_t seed : {uint64_t{1}, SystemSeed()}) {
    for (const size_t prefix : {0, 4 + 1}) {
      const TemporaryDirectory directory;
      const auto engine = OpenRocks({.path = directory.store(),
                                     .memory_budget_bytes = 16 << 20,
                                     .sync = false,
                                     .items_prefix_bytes = prefix})
                              .value();
      const Status status = kv::CheckRewinds(*engine, seed, 1'000);
      EXPECT_TRUE(status.ok()) << status.error().message();
    }
  }
}

TEST(RewindPoints, AreGivenUpByWhatTheyKeep) {
  const TemporaryDirectory directory;
  const auto engine = OpenRocks({.path = directory.store(), .sync = false}).value();
  const Status status = kv::CheckGivingUp(*engine);
  EXPECT_TRUE(status.ok()) << status.error().message();
}

// A return is one write, so it has a bound.
TEST(RewindPoints, ReturnOfTooMuchIsRefused) {
  const TemporaryDirectory directory;
  const auto engine = OpenRocks({.path = directory.store(), .sync = false}).value();
  const std::string large(300'000, 'x');
  for (int i = 0; i < 240; ++i)
    ASSERT_TRUE(Put(*engine, kTable, "k" + std::to_string(i), large).ok());
  const auto point = PointOf(*engine);
  ASSERT_TRUE(Empty(*engine, kTable).ok());
  kv::Batch batch;
  batch.puts.push_back({kOther, "k", Value("x")});
  const Result<uint64_t> returned = Return(*point, batch);
  ASSERT_FALSE(returned.ok());
  EXPECT_EQ(returned.error().code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(point->given_up());
  EXPECT_TRUE(All(*engine).empty());
  EXPECT_TRUE(All(*engine, kOther).empty());
}

TEST(RewindPoints, OnAFullDiskNothingChanges) {
  const TemporaryDirectory directory;
  std::atomic<uint64_t> free{uint64_t{1} << 40};
  RocksOptions options{.path = directory.store(), .sync = false};
  options.free_bytes = [&free](const std::string&) { return free.load(); };
  options.free_bytes_interval_micros = 0;
  const auto engine = OpenRocks(options).value();
  ASSERT_TRUE(PutMany(*engine, kTable, 10, "then").ok());
  const Contents then = All(*engine);
  const auto point = PointOf(*engine);
  ASSERT_TRUE(PutMany(*engine, kTable, 20, std::string(300'000, 'x')).ok());
  const Contents now = All(*engine);
  free = options.reserve_free_bytes - 1;
  const Result<uint64_t> refused = Return(*point);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message().find("disk is full"), std::string::npos);
  EXPECT_EQ(All(*engine), now);
  free = uint64_t{1} << 40;
  ASSERT_TRUE(Return(*point).ok());
  EXPECT_EQ(All(*engine), then);
  // One large write needs more than the disk has.
  ASSERT_TRUE(Empty(*engine, kTable).ok());
  ASSERT_TRUE(PutMany(*engine, kTable, 20, std::string(300'000, 'y')).ok());
  const auto large = PointOf(*engine);
  ASSERT_TRUE(Empty(*engine, kTable).ok());
  free = options.reserve_free_bytes + (1 << 20);
  EXPECT_FALSE(Return(*large).ok());
  EXPECT_TRUE(All(*engine).empty());
  free = uint64_t{1} << 40;
  EXPECT_TRUE(Return(*large).ok());
  EXPECT_EQ(All(*engine).size(), 20u);
}

// Space of dropped tablets is given back beside a point, but not what it may return to, and not
// what has come back.
TEST(RewindPoints, NothingIsReclaimedThatMayReturn) {
  const TemporaryDirectory directory;
  const auto engine = OpenRocks({.path = directory.store(), .sync = false}).value();
  ASSERT_TRUE(PutMany(*engine, kTable, 100, "then").ok());
  ASSERT_TRUE(PutMany(*engine, kOther, 100, "then").ok());
  const Contents then = All(*engine);
  auto point = PointOf(*engine);
  ASSERT_TRUE(Empty(*engine, kTable).ok());
  ASSERT_TRUE(Empty(*engine, kOther).ok());
  std::atomic<bool> stop = false;
  EXPECT_TRUE(engine->reclaimer()->Reclaim(kOther, &stop).ok());
  const auto in_use = [&] {
    const Result<uint64_t> reclaimed = engine->reclaimer()->Reclaim(kTable, &stop);
    return !reclaimed.ok() && reclaimed.error().code() == ErrorCode::kResourceInUse;
  };
  EXPECT_TRUE(in_use());
  ASSERT_TRUE(Return(*point).ok());
  EXPECT_EQ(All(*engine), then);
  point = nullptr;
  EXPECT_TRUE(in_use());
  EXPECT_EQ(All(*engine), then);
  ASSERT_TRUE(Empty(*engine, kTable).ok());
  EXPECT_TRUE(engine->reclaimer()->Reclaim(kTable, &stop).ok());
  EXPECT_TRUE(All(*engine).empty());
}

TEST(RewindPoints, ARestartFindsWhatReturned) {
  const TemporaryDirectory directory;
  Contents then;
  {
    const auto engine = OpenRocks({.path = directory.store()}).value();
    ASSERT_TRUE(PutMany(*engine, kTable, 100, "then").ok());
    then = All(*engine);
    const auto point = PointOf(*engine);
    ASSERT_TRUE(PutMany(*engine, kTable, 200, "now").ok());
    ASSERT_TRUE(Return(*point).ok());
  }
  const auto engine = OpenRocks({.path = directory.store()}).value();
  EXPECT_EQ(All(*engine), then);
  // Stamps go on above those of what was taken back.
  kv::Batch batch;
  batch.puts.push_back({kTable, "k", Value("x")});
  EXPECT_GT(*kv::ApplyAndWait(*engine, std::move(batch)), 3u);
}

// A point is of a moment between two batches, and a return is one batch, whoever writes beside.
TEST(RewindPoints, ReturnBesideWriters) {
  const TemporaryDirectory directory;
  const auto engine = OpenRocks({.path = directory.store(), .sync = false}).value();
  const auto both = [&engine](const std::string& text) {
    kv::Batch batch;
    for (const char* key : {"x", "y"}) batch.puts.push_back({kTable, key, Value(text)});
    batch.puts.push_back({kOther, text, Value(text)});
    return kv::ApplyAndWait(*engine, std::move(batch)).ok();
  };
  const auto texts = [&engine] {
    Contents all = All(*engine);
    EXPECT_EQ(all["x"], all["y"]);
    return all["x"];
  };
  ASSERT_TRUE(both("first"));
  std::atomic<bool> ended = false;
  std::vector<std::thread> writers;
  for (const std::string name : {"a", "b"}) {
    writers.emplace_back([&, name] {
      for (int i = 0; !ended; ++i) EXPECT_TRUE(both(name + std::to_string(i)));
    });
  }
  std::vector<std::pair<std::unique_ptr<kv::RewindPoint>, std::string>> points;
  for (int round = 0; round < 100; ++round) {
    if (points.size() == 4) points.erase(points.begin());
    points.emplace_back(PointOf(*engine), std::string());
    for (const auto& [point, text] : points) EXPECT_TRUE(Return(*point).ok());
    texts();
  }
  ended = true;
  for (std::thread& writer : writers) writer.join();
  for (int round = 0; round < 3; ++round) {
    for (auto& [point, text] : points) {
      ASSERT_TRUE(Return(*point).ok());
      if (round == 0) text = texts();
      EXPECT_EQ(texts(), text);
      EXPECT_FALSE(text.empty());
    }
  }
}

// The power goes at each of the disk's writes: a return is there, or it is not.
TEST(RewindPoints, AReturnSurvivesAPowerCutWholeOrNotAtAll) {
  SetLogLevel(LogLevel::kOff);
  int returned = 0, lost = 0;
  SeededRandom random(SystemSeed());
  for (int after = 1; after < 12; ++after) {
    SCOPED_TRACE(after);
    const TemporaryDirectory directory;
    const std::unique_ptr<PowerCutDisk> disk = PowerCutDisk::Make(directory.store());
    const RocksOptions options{
        .path = directory.store(), .reserve_free_bytes = 0, .env = disk->env()};
    Contents then, now;
    bool acknowledged = false;
    {
      const auto engine = OpenRocks(options).value();
      ASSERT_TRUE(PutMany(*engine, kTable, 1'000, "then").ok());
      then = All(*engine);
      const auto point = PointOf(*engine);
      ASSERT_TRUE(PutMany(*engine, kTable, 1'500, "now").ok());
      now = All(*engine);
      disk->CutAfter(after);
      acknowledged = Return(*point).ok();
    }
    disk->CutNow();
    disk->LoseUnsynced(random, after % 2 == 0);
    const auto engine = OpenRocks(options);
    ASSERT_TRUE(engine.ok()) << engine.error().message();
    const Contents found = All(**engine);
    ASSERT_TRUE(found == then || (!acknowledged && found == now));
    (found == then ? returned : lost) += 1;
  }
  EXPECT_GT(returned, 0);
  EXPECT_GT(lost, 0);
}

}  // namespace
}  // namespace stator::kv_rocks
