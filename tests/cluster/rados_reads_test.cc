// Reads of single keys: many at once, and from what the process remembers.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cluster_under_test.h"
#include "increments.h"
#include "kv/engine.h"

namespace stator {
namespace {

using kv_rados::RadosOptions;

// What a read says: a text without its stamp, "absent", or the error's message.
std::string Text(const Result<bool>& exists, const std::string& value) {
  if (!exists.ok()) return exists.error().code() == ErrorCode::kWouldBlock ? "would block" : exists.error().message();
  return *exists ? value.substr(kv::kStampBytes) : "absent";
}
std::string Read(kv::Engine& engine, std::string_view key, kv::Tier tier = kv::Tier::kAny, kv::Tablet tablet = kTablet) {
  std::string value;
  const Result<bool> exists = engine.Get(tablet, key, tier, &value);
  return Text(exists, value);
}
std::string Guarded(kv::Engine& engine, std::string_view key) { return Read(engine, key, kv::Tier::kGuarded); }

// Each thread reads what it has just written, and what another process has.
TEST(RadosReads, ManyAtOnceSeeWhatWasWrittenBefore) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      const std::string key = "key" + std::to_string(t);
      for (int i = 0; i < 20; ++i) {
        kv::Engine& writer = i % 3 == 0 ? *other : *engine;
        ASSERT_TRUE(kv::ApplyAndWait(writer, PutOne(key, std::to_string(i))).ok());
        EXPECT_EQ(Read(*engine, key), std::to_string(i));
        std::vector<std::optional<std::string>> values;
        const std::string absent = "absent" + key;
        const std::vector<kv::Point> points = {{kTablet, key}, {kTablet, absent}, {kTablet, key}};
        ASSERT_TRUE(engine->MultiGet(points, kv::Tier::kAny, &values).ok());
        ASSERT_TRUE(values[0] && !values[1] && values[2]);
        EXPECT_EQ(values[0]->substr(kv::kStampBytes), std::to_string(i));
        EXPECT_EQ(values[2], values[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, double> statistics = engine->Statistics();
  EXPECT_EQ(statistics["kv_rados_point_reads"], 32 * 20 * 2);
  EXPECT_LT(statistics["kv_rados_point_read_operations"], statistics["kv_rados_point_reads"]) << "none went together";
}

// The header that operations compare changes while many wait for one.
TEST(RadosReads, ManyAtOnceWhileTheHeaderChanges) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other && kv::ApplyAndWait(*other, PutOne("a", "1")).ok());
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 16; ++t) {
    readers.emplace_back([&] {
      while (!stop) EXPECT_EQ(Read(*engine, "a"), "1");
    });
  }
  for (uint64_t fence = 1; fence <= 20; ++fence) EXPECT_TRUE(other->RaiseFence(kTablet, fence).ok());
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

// Before the first write reads find nothing, and make the empty tablet; a write of anybody shows at once.
TEST(RadosReads, TabletsThatWereNeverWrittenTo) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  EXPECT_EQ(Read(*engine, "a"), "absent");
  EXPECT_TRUE(engine->Scan({kTablet, {}, {}}, kv::Tier::kAny, [](auto, auto) { return ADD_FAILURE(), true; }).ok());
  while (ClusterUnderTest::Command(RadosCommand(options) + "listomapkeys stator").find("items.00000007") == std::string::npos) {
  }
  // Now that it is there it takes one operation to see that it is empty.
  EXPECT_EQ(Read(*engine, "a"), "absent");
  const double operations = engine->Statistics()["kv_rados_point_read_operations"];
  EXPECT_GE(operations, 1);
  EXPECT_EQ(Read(*engine, "a"), "absent");
  EXPECT_EQ(engine->Statistics()["kv_rados_point_read_operations"], operations + 1);
  EXPECT_EQ(Guarded(*engine, "a"), "absent");
  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("a", "1")).ok());
  EXPECT_EQ(Read(*engine, "a"), "1");
}

TEST(RadosReads, NoReadOutlivesItsDeadline) {
  RadosOptions options = Impatient();
  options.deadline_seconds = 2;
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  ASSERT_EQ(Read(*engine, "a"), "1");
  const auto read_by_ten = [&](const std::string& text) {
    std::vector<std::thread> readers;
    for (int i = 0; i < 10; ++i) readers.emplace_back([&] { EXPECT_EQ(Read(*engine, "a"), text); });
    for (std::thread& reader : readers) reader.join();
  };
  ClusterUnderTest::ForAllOsds("freeze-osd");
  read_by_ten("The Ceph cluster did not answer in time.");
  ClusterUnderTest::ForAllOsds("thaw-osd");
  while (Read(*engine, "a") != "1") {
  }
  read_by_ten("1");
}

// ---- Tier::kGuarded ------------------------------------------------------------------------------------------------

TEST(RadosReads, GuardedReadsAnswerWhatTheProcessKnows) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  EXPECT_EQ(Guarded(*engine, "a"), "would block");
  EXPECT_EQ(Read(*engine, "a"), "absent");
  const Result<uint64_t> first = kv::ApplyAndWait(*engine, PutOne("a", "1"));
  ASSERT_TRUE(first.ok());
  std::string value;
  ASSERT_TRUE(*engine->Get(kTablet, "a", kv::Tier::kGuarded, &value));
  EXPECT_EQ(kv::StampOf(value), *first) << "own writes are known, with their stamps";
  EXPECT_EQ(Read(*engine, "a", kv::Tier::kMemory), "would block") << "that asks for what is there now";
  EXPECT_EQ(Read(*engine, "b"), "absent");
  EXPECT_EQ(Guarded(*engine, "b"), "absent");

  // Another process writes: what is known is old, and a write that rests on it is refused. Then it is forgotten.
  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("a", "2")).ok());
  EXPECT_EQ(Guarded(*engine, "a"), "1");
  kv::Batch stale = PutOne("a", "3");
  stale.guards.push_back({kTablet, "a", *first});
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, stale)), ErrorCode::kGuardFailed);
  EXPECT_EQ(Guarded(*engine, "a"), "would block");
  EXPECT_EQ(Read(*engine, "a"), "2");
  EXPECT_EQ(Guarded(*engine, "a"), "2");

  std::vector<std::optional<std::string>> values;
  const std::vector<kv::Point> known = {{kTablet, "a"}, {kTablet, "b"}}, unknown = {{kTablet, "a"}, {kTablet, "c"}};
  ASSERT_TRUE(engine->MultiGet(known, kv::Tier::kGuarded, &values).ok());
  EXPECT_TRUE(values[0] && !values[1]);
  EXPECT_EQ(engine->MultiGet(unknown, kv::Tier::kGuarded, &values).error().code(), ErrorCode::kWouldBlock);

  kv::Batch gone;
  gone.deletes.push_back({kTablet, "a"});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(gone)).ok());
  EXPECT_EQ(Guarded(*engine, "a"), "absent");
  EXPECT_EQ(Guarded(*other, "a"), "2");
  EXPECT_EQ(engine->Scan({kTablet, {}, {}}, kv::Tier::kGuarded, [](auto, auto) { return true; }).error().code(), ErrorCode::kWouldBlock);

  kv::Batch range = PutOne("kept", "1");
  range.range_deletes.push_back({kTablet, "a", "c"});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(range)).ok());
  EXPECT_EQ(Guarded(*engine, "b"), "would block");
  EXPECT_EQ(Guarded(*engine, "kept"), "1");
  ASSERT_TRUE(kv::ApplyAndWait(*engine, AddOne("n")).ok());
  EXPECT_EQ(Guarded(*engine, "n"), "would block") << "counters are not";
}

// Two processes write one key by what they know, which is wrong again and again; nothing is lost.
TEST(RadosReads, WritesThatRestOnGuardedReadsLoseNothing) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  std::atomic<int64_t> unknown = 0;
  const int64_t acknowledged = Increment({first.get(), second.get()}, 4, For(2000), &unknown, true);
  EXPECT_GT(acknowledged, 50);
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
  EXPECT_GT(first->Statistics()["kv_rados_cache_hits"], 0);
}

// One process alone reads each key once, whatever it writes.
TEST(RadosReads, WhatAProcessWritesItNeedNotRead) {
  const auto engine = Open(ClusterUnderTest::NewStore());
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("number", "0")).ok());
  std::atomic<int64_t> unknown = 0;
  const int64_t acknowledged = Increment({engine.get()}, 1, For(500), &unknown, true);
  EXPECT_GT(acknowledged, 50);
  EXPECT_EQ(engine->Statistics()["kv_rados_point_reads"], 0);
  EXPECT_EQ(engine->Statistics()["kv_rados_races"], 0);
}

}  // namespace
}  // namespace stator
