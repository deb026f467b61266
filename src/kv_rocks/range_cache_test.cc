// Ranges that the engine answers from memory: they are what RocksDB would answer.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "kv_rocks/value_cache.h"

namespace stator::kv_rocks {
namespace {

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

kv::Put PutOf(std::string key, std::string_view text) {
  return {kTablet, std::move(key), std::string(kv::kStampBytes, '\0').append(text)};
}

class RangeCacheTest : public testing::Test {
 protected:
  RangeCacheTest() {
    Result<std::unique_ptr<kv::Engine>> engine = OpenRocks({.path = directory_.store(),
                                                            .memory_budget_bytes = 64 << 20,
                                                            .sync = false,
                                                            .items_prefix_bytes = 3});
    EXPECT_TRUE(engine.ok()) << engine.error().message();
    engine_ = std::move(*engine);
  }

  void Apply(kv::Batch batch) { ASSERT_TRUE(kv::ApplyAndWait(*engine_, std::move(batch)).ok()); }
  void Put(std::string key, std::string_view text) {
    kv::Batch batch;
    batch.puts.push_back(PutOf(std::move(key), text));
    Apply(std::move(batch));
  }
  // "key=text ..." of the keys visited; stops after `most`.
  std::string Scan(std::string_view begin, std::string_view end, bool reverse = false,
                   size_t most = SIZE_MAX) {
    std::string found;
    size_t count = 0;
    const Status status = engine_->Scan(
        {kTablet, begin, end, reverse}, kv::Tier::kAny,
        [&](std::string_view key, std::string_view value) {
          found.append(key).append("=").append(value.substr(kv::kStampBytes)).append(" ");
          return ++count < most;
        });
    EXPECT_TRUE(status.ok());
    return found;
  }
  double Hits() { return engine_->Statistics().at("kv_range_cache_hits"); }

  const TemporaryDirectory directory_;
  std::unique_ptr<kv::Engine> engine_;
};

TEST_F(RangeCacheTest, AnswersPartsOfWhatItHas) {
  for (const char* key : {"abc1", "abc2", "abc3", "abc4", "abd1"}) Put(key, "x");
  EXPECT_EQ(Scan("abc", "abc9"), "abc1=x abc2=x abc3=x abc4=x ");
  EXPECT_EQ(Hits(), 0);
  EXPECT_EQ(Scan("abc", "abc9"), "abc1=x abc2=x abc3=x abc4=x ");
  EXPECT_EQ(Scan("abc", "abc9", true), "abc4=x abc3=x abc2=x abc1=x ");
  EXPECT_EQ(Scan("abc2", "abc4"), "abc2=x abc3=x ");
  EXPECT_EQ(Scan("abc2", "abc4", true), "abc3=x abc2=x ");
  EXPECT_EQ(Scan("abc1\x01", "abc9", false, 1), "abc2=x ");
  EXPECT_EQ(Scan("abc", "abc4", true, 2), "abc3=x abc2=x ");
  EXPECT_EQ(Scan("abc5", "abc9"), "");
  EXPECT_EQ(Hits(), 7);
  EXPECT_EQ(Scan("abc", "abca"),
            "abc1=x abc2=x abc3=x abc4=x ");  // reaches further than what is kept
  EXPECT_EQ(Scan("abc", "abd9"), "abc1=x abc2=x abc3=x abc4=x abd1=x ");
  EXPECT_EQ(Hits(), 7);
}

TEST_F(RangeCacheTest, ScansInReverseAreKeptInOrder) {
  for (const char* key : {"abc1", "abc2", "abc3"}) Put(key, "x");
  EXPECT_EQ(Scan("abc", "abc9", true), "abc3=x abc2=x abc1=x ");
  EXPECT_EQ(Scan("abc", "abc9", false), "abc1=x abc2=x abc3=x ");
  EXPECT_EQ(Scan("abc2", "abc9", true), "abc3=x abc2=x ");
  EXPECT_EQ(Hits(), 2);
}

TEST_F(RangeCacheTest, EveryKindOfWriteIsSeen) {
  Put("abc1", "a");
  Put("abc3", "a");
  Put("xyz1", "a");
  const auto scan = [this] { return Scan("abc", "abc9"); };
  EXPECT_EQ(scan(), "abc1=a abc3=a ");
  Put("abc2", "new");
  EXPECT_EQ(scan(), "abc1=a abc2=new abc3=a ");
  Put("abc2", "newer");
  EXPECT_EQ(scan(), "abc1=a abc2=newer abc3=a ");
  kv::Batch gone;
  gone.deletes.push_back({kTablet, "abc1"});
  gone.puts.push_back(PutOf("xyz1", "b"));
  Apply(std::move(gone));
  EXPECT_EQ(scan(), "abc2=newer abc3=a ");
  EXPECT_EQ(Scan("xyz", "xyz9"), "xyz1=b ");
  kv::Batch range;
  range.range_deletes.push_back({kTablet, "abc2\x01", "abd"});
  Apply(std::move(range));
  EXPECT_EQ(scan(), "abc2=newer ");
  const double hits = Hits();
  EXPECT_EQ(scan(), "abc2=newer ");
  EXPECT_EQ(Hits(), hits + 1);
  kv::Batch add;
  add.adds.push_back({kTablet, "abc4", 1});
  Apply(std::move(add));
  EXPECT_NE(scan(), "abc2=newer ");
  EXPECT_EQ(Hits(), hits + 1);
}

TEST_F(RangeCacheTest, LargeRangesAreNotKept) {
  for (int i = 0; i < 10; ++i) Put("abc" + std::to_string(i), std::string(10'000, 'x'));
  for (int i = 0; i < 2; ++i) EXPECT_GT(Scan("abc", "abca").size(), 100'000u);
  EXPECT_EQ(Hits(), 0);
}

// Scans run beside writes: none sees less than what was acknowledged before it began, and none sees
// a part of a batch.
TEST_F(RangeCacheTest, NeverShowsAnOldOrTornState) {
  constexpr int kCollections = 4;
  constexpr int kWrites = 3000;
  std::atomic<int> acknowledged[kCollections] = {};
  std::atomic<bool> stop = false;
  const auto write = [&](int c, int number) {
    const std::string prefix = "ab" + std::to_string(c);
    kv::Batch batch;
    for (const char* key : {"x", "y"})
      batch.puts.push_back(PutOf(prefix + key, std::to_string(number)));
    ASSERT_TRUE(kv::ApplyAndWait(*engine_, std::move(batch)).ok());
    acknowledged[c].store(number);
  };
  for (int c = 0; c < kCollections; ++c) write(c, 1);
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      SeededRandom random(t + 1);
      while (!stop.load()) {
        const int c = static_cast<int>(random.Below(kCollections));
        const std::string prefix = "ab" + std::to_string(c);
        const int least = acknowledged[c].load();
        std::vector<int> seen;
        const Status status =
            engine_->Scan({kTablet, prefix, prefix + "z", random.Below(2) == 0}, kv::Tier::kAny,
                          [&](std::string_view, std::string_view value) {
                            seen.push_back(std::stoi(std::string(value.substr(kv::kStampBytes))));
                            return true;
                          });
        ASSERT_TRUE(status.ok());
        ASSERT_EQ(seen.size(), 2u);
        ASSERT_EQ(seen[0], seen[1]);
        ASSERT_GE(seen[0], least);
      }
    });
  }
  SeededRandom random(7);
  for (int i = 2; i < kWrites; ++i) write(static_cast<int>(random.Below(kCollections)), i);
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(Hits(), 0);
}

TEST(ValueCacheRange, IsRefusedToAReaderThatAWriteOvertook) {
  ValueCache cache(16 << 20, 3);
  const auto range = [] {
    auto made = std::make_shared<CachedRange>("abc", "abd");
    made->Append("abc1", "value");
    made->Finish(false);
    return made;
  };
  const uint64_t prefix = *cache.PrefixOf("abc1");
  uint64_t before = 0;
  EXPECT_EQ(cache.FindRange("abc", "abd", &before), nullptr);
  cache.BeginRangeChanges({&prefix, 1});
  cache.InsertRange("abc", range(), before);  // while it is being changed
  uint64_t during = 0;
  EXPECT_EQ(cache.FindRange("abc", "abd", &during), nullptr);
  cache.EndRangeChanges({&prefix, 1});
  cache.InsertRange("abc", range(), during);  // may have been read before the change was visible
  uint64_t after = 0;
  EXPECT_EQ(cache.FindRange("abc", "abd", &after), nullptr);
  cache.InsertRange("abc", range(), after);
  EXPECT_NE(cache.FindRange("abc1", "abc2", &after), nullptr);
  EXPECT_EQ(cache.FindRange("abc1", "abe", &after), nullptr);
  cache.BeginChangeAll();
  EXPECT_EQ(cache.FindRange("abc1", "abc2", &after), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
  cache.EndChangeAll();
}

TEST(ValueCacheRange, MakesRoomByAge) {
  ValueCache cache(64 * 64 << 10, 3);
  for (int i = 0; i < 4000; ++i) {
    const std::string prefix = {'a', static_cast<char>(i / 100), static_cast<char>(i % 100)};
    auto range = std::make_shared<CachedRange>(prefix, prefix + "z");
    range->Append(prefix + "1", std::string(4000, 'x'));
    range->Finish(false);
    uint64_t ticket = 0;
    EXPECT_EQ(cache.FindRange(prefix, prefix + "z", &ticket), nullptr);
    cache.InsertRange(prefix, std::move(range), ticket);
    EXPECT_NE(cache.FindRange(prefix, prefix + "y", &ticket), nullptr);
    EXPECT_LE(cache.bytes(), 64u * 64 << 10);
  }
  EXPECT_GT(cache.bytes(), 32u * 64 << 10);
}

}  // namespace
}  // namespace stator::kv_rocks
