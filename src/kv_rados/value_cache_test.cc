#include "kv_rados/value_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace stator::kv_rados {
namespace {

constexpr kv::Tablet kTablet{kv::Space::kItems, 7}, kOther{kv::Space::kItems, 8},
    kLog{kv::Space::kLog, 7};

int64_t kNever() { return 0; }  // as ticks: no time passes

std::string Value(uint64_t stamp, std::string_view text) {
  std::string value(kv::kStampBytes, '\0');
  kv::SetStamp(&value, stamp);
  return value.append(text);
}

// What is known of a key: a text, "absent" or "unknown".
std::string Known(ValueCache& cache, std::string_view key, kv::Tablet tablet = kTablet) {
  std::optional<std::string> value = "left alone";
  switch (cache.Find(tablet, key, &value)) {
    case ValueCache::Known::kNo: return "unknown";
    case ValueCache::Known::kDoubted: return "doubted";
    case ValueCache::Known::kYes: break;
  }
  return value ? value->substr(kv::kStampBytes) : "absent";
}

TEST(ValueCache, RemembersWhatIsThereAndWhatIsNot) {
  ValueCache cache(1 << 20, kNever);
  EXPECT_EQ(Known(cache, "a"), "unknown");
  cache.NoteWritten(kTablet, "a", Value(5, "one"));
  cache.NoteRead(kTablet, "b", Value(3, "two"), cache.Now());
  cache.NoteRead(kTablet, "c", std::nullopt, cache.Now());
  EXPECT_EQ(Known(cache, "a"), "one");
  EXPECT_EQ(Known(cache, "b"), "two");
  EXPECT_EQ(Known(cache, "c"), "absent");
  EXPECT_EQ(Known(cache, "a", kOther), "unknown");
  EXPECT_EQ(cache.SizeOf(kTablet, "a", 5), kv::kStampBytes + 3);
  EXPECT_EQ(cache.SizeOf(kTablet, "a", 4), std::nullopt);
  EXPECT_EQ(cache.SizeOf(kTablet, "c", 0), std::nullopt);
  cache.NoteWritten(kTablet, "a", std::nullopt);
  EXPECT_EQ(Known(cache, "a"), "absent");
  cache.Forget(kTablet, "a");
  cache.Forget(kTablet, "never known");
  EXPECT_EQ(Known(cache, "a"), "unknown");
  EXPECT_EQ(cache.hits(), 4u);
  EXPECT_EQ(cache.misses(), 3u);
}

TEST(ValueCache, AReadDoesNotReplaceWhatWasWrittenMeanwhile) {
  ValueCache cache(1 << 20, kNever);
  const ValueCache::Moment before = cache.Now();
  cache.NoteWritten(kTablet, "a", Value(5, "new"));
  cache.NoteWritten(kTablet, "gone", std::nullopt);
  cache.NoteRead(kTablet, "a", std::nullopt, before);
  cache.NoteRead(kTablet, "gone", Value(4, "old"), before);
  EXPECT_EQ(Known(cache, "a"), "new");
  EXPECT_EQ(Known(cache, "gone"), "absent");
  cache.NoteRead(kTablet, "a", Value(4, "old"), cache.Now());
  EXPECT_EQ(Known(cache, "a"), "new") << "its stamp is higher";
  cache.NoteRead(kTablet, "a", Value(6, "of another process"), cache.Now());
  EXPECT_EQ(Known(cache, "a"), "of another process");
  cache.NoteWritten(kTablet, "a", Value(5, "told late"));
  EXPECT_EQ(Known(cache, "a"), "of another process");
  cache.NoteRead(kTablet, "a", std::nullopt, cache.Now());
  EXPECT_EQ(Known(cache, "a"), "absent");
}

TEST(ValueCache, RangesAreForgotten) {
  ValueCache cache(1 << 20, kNever);
  for (const char* key : {"a", "b", "c", "d"}) {
    cache.NoteWritten(kTablet, key, Value(1, key));
    cache.NoteWritten(kOther, key, Value(1, key));
  }
  cache.ForgetRange(kTablet, "b", "c");
  EXPECT_EQ(Known(cache, "a") + Known(cache, "b") + Known(cache, "c"), "aunknownc");
  cache.ForgetRange(kTablet, "c", {});
  EXPECT_EQ(Known(cache, "a") + Known(cache, "c") + Known(cache, "d"), "aunknownunknown");
  cache.ForgetRange(kTablet, {}, {});
  EXPECT_EQ(Known(cache, "a"), "unknown");
  EXPECT_EQ(Known(cache, "b", kOther), "b");
}

TEST(ValueCache, WhatIsNotKept) {
  ValueCache cache(1 << 20, kNever);
  cache.NoteWritten(kTablet, "\2counter", Value(1, "v"));
  cache.NoteRead(kTablet, "\2counter", std::nullopt, cache.Now());
  cache.NoteWritten(kTablet,
                    "\xff"
                    "x",
                    Value(1, "v"));
  cache.NoteWritten(kTablet, "large", std::string(ValueCache::kMaxValueBytes + 1, 'v'));
  EXPECT_LT(cache.bytes(), 300u);  // that it was written
  cache.NoteWritten(kTablet, "grows", Value(1, "small"));
  cache.NoteWritten(kTablet, "grows", std::string(ValueCache::kMaxValueBytes + 1, 'v'));
  EXPECT_EQ(Known(cache, "grows"), "unknown");
  EXPECT_LT(cache.bytes(), 600u);
  cache.NoteWritten(kLog, "\2", Value(1, "queued"));
  EXPECT_EQ(Known(cache, "\2", kLog), "queued");
}

TEST(ValueCache, WhatIsUsedStaysWithinTheLimit) {
  constexpr size_t kMax = 1 << 20;
  ValueCache cache(kMax, kNever);
  for (int i = 0; i < 10'000; ++i) {
    cache.NoteWritten(kTablet, "key" + std::to_string(i), Value(1, std::string(1000, 'v')));
    EXPECT_NE(Known(cache, "key0"), "unknown") << i;
    ASSERT_LE(cache.bytes(), kMax);
  }
  EXPECT_GT(cache.bytes(), kMax / 2);
  EXPECT_EQ(Known(cache, "key1"), "unknown");
  EXPECT_NE(Known(cache, "key9999"), "unknown");
}

TEST(ValueCache, WhatOthersChangeOftenIsKnownForAShortTimeOnly) {
  int64_t now = 0;
  ValueCache cache(1 << 20, [&now] { return now; });
  cache.NoteWritten(kTablet, "a", Value(1, "one"));
  cache.NoteWritten(kTablet, "b", Value(2, "two"));
  cache.NoteWritten(kOther, "a", Value(1, "one"));
  now += 60'000'000;
  const auto refused = [&cache](uint64_t stamp, std::string_view key = "a") {
    const std::vector<kv::Guard> guards = {{kTablet, "unknown", 0},
                                           {kTablet, std::string(key), stamp}};
    cache.NoteRefused(guards);
  };
  refused(1);
  EXPECT_EQ(Known(cache, "a"), "one") << "one was unlucky";
  for (int i = 0; i < 10; ++i) refused(5), refused(0), refused(0, "c");
  EXPECT_EQ(Known(cache, "a"), "one") << "that was not what was known";
  for (int i = 0; i < 5; ++i) refused(1);
  EXPECT_EQ(Known(cache, "a"), "doubted");
  EXPECT_EQ(Known(cache, "c"), "unknown");
  EXPECT_EQ(Known(cache, "a", kOther), "one");
  cache.NoteRead(kTablet, "a", Value(7, "seven"), cache.Now());
  cache.NoteWritten(kTablet, "b", std::nullopt);
  now += ValueCache::kYoungMicros;
  EXPECT_EQ(Known(cache, "a"), "seven");
  EXPECT_EQ(Known(cache, "b"), "absent");
  ++now;
  EXPECT_EQ(Known(cache, "a"), "doubted");
  EXPECT_EQ(Known(cache, "b"), "doubted");

  // They have gone: what is read is what was known.
  int reads = 0;
  for (; Known(cache, "b") == "doubted" && reads < 1000; ++reads) {
    now += ValueCache::kYoungMicros + 1;
    cache.NoteRead(kTablet, "a", Value(7, "seven"), cache.Now());
  }
  EXPECT_GT(reads, 10);
  EXPECT_LT(reads, 200);
  EXPECT_EQ(Known(cache, "a"), "seven");
  // They are back: one of three reads finds something else.
  for (uint64_t i = 0; i < 60; ++i) {
    now += ValueCache::kYoungMicros + 1;
    cache.NoteRead(kTablet, "a", Value(10 + i / 3, "more"), cache.Now());
  }
  now += ValueCache::kYoungMicros + 1;
  EXPECT_EQ(Known(cache, "a"), "doubted");
}

// One thread: what is known is always what was noted last.
TEST(ValueCache, AgreesWithAModel) {
  const uint64_t seed = SystemSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededRandom random(seed);
  ValueCache cache(200'000, kNever);
  std::map<std::string, std::string> model;
  size_t known = 0;
  for (uint64_t stamp = 1; stamp < 20'000; ++stamp) {
    const std::string key = "key" + std::to_string(random.Below(2000));
    switch (random.Below(6)) {
      case 0:
        cache.NoteWritten(kTablet, key, std::nullopt);
        model[key] = "absent";
        break;
      case 1:
        cache.Forget(kTablet, key);
        model.erase(key);
        break;
      case 2:
        cache.NoteRead(kTablet, key, std::nullopt, cache.Now());
        model[key] = "absent";
        break;
      default:
        cache.NoteWritten(kTablet, key, Value(stamp, std::to_string(stamp)));
        model[key] = std::to_string(stamp);
    }
    const std::string asked = "key" + std::to_string(random.Below(2000));
    const std::string answer = Known(cache, asked);
    if (answer == "unknown") continue;
    ASSERT_EQ(answer, model.at(asked));
    ++known;
  }
  EXPECT_GT(known, 1000u);
}

// Returns the answer of FindRecent for a key, with at most 100 us; a "?" behind it if it asks for a
// read.
std::string Recent(ValueCache& cache, std::string_view key) {
  std::optional<std::string> value;
  bool ask = false;
  if (!cache.FindRecent(kTablet, key, 100, &value, &ask)) return "unknown";
  return (value ? value->substr(kv::kStampBytes) : "absent") + (ask ? "?" : "");
}

TEST(ValueCache, ARecentValueIsAsOldAsItsRead) {
  int64_t now = 1000;
  ValueCache cache(1 << 20, [&now] { return now; });
  const ValueCache::Moment began = cache.Now();
  now = 1040;
  cache.NoteRead(kTablet, "a", Value(5, "one"), began);
  EXPECT_EQ(Recent(cache, "a"), "one");
  now = 1051;
  EXPECT_EQ(Recent(cache, "a"), "one?") << "one reader is told to read";
  EXPECT_EQ(Recent(cache, "a"), "one") << "and no other";
  now = 1100;
  EXPECT_EQ(Recent(cache, "a"), "one");
  now = 1101;
  EXPECT_EQ(Recent(cache, "a"), "unknown");
  EXPECT_EQ(Known(cache, "a"), "one");
  cache.NoteRead(kTablet, "a", Value(5, "one"), cache.Now());
  EXPECT_EQ(Recent(cache, "a"), "one") << "the same value was read again";
  EXPECT_EQ(cache.recent_hits(), 5u);
}

TEST(ValueCache, ARecentValueIsNotOlderThanAWrite) {
  int64_t now = 1000;
  ValueCache cache(1 << 20, [&now] { return now; });
  cache.NoteRead(kTablet, "a", Value(5, "old"), cache.Now());
  const ValueCache::Moment before = cache.Now();
  now = 1020;
  cache.NoteWritten(kTablet, "a", Value(6, "new"), 1010);
  EXPECT_EQ(Recent(cache, "a"), "new");
  cache.NoteRead(kTablet, "a", Value(5, "old"), before);
  EXPECT_EQ(Recent(cache, "a"), "new");
  now = 1111;
  EXPECT_EQ(Recent(cache, "a"), "unknown") << "its time counts from before it was sent";
  cache.NoteWritten(kTablet, "large", Value(7, std::string(ValueCache::kMaxValueBytes, 'x')), now);
  cache.NoteRead(kTablet, "large", Value(5, "old"), {0, now - 5});
  EXPECT_EQ(Recent(cache, "large"), "unknown");
}

TEST(ValueCache, ARecentValueIsNotOlderThanAWriteElsewhere) {
  int64_t now = 1000;
  ValueCache cache(1 << 20, [&now] { return now; });
  cache.NoteRead(kTablet, "a", Value(5, "old"), cache.Now());
  const ValueCache::Moment before = cache.Now();
  now = 1020;
  cache.NoteElsewhere(kTablet, "a");
  EXPECT_EQ(Recent(cache, "a"), "unknown");
  EXPECT_EQ(Known(cache, "a"), "unknown");
  cache.NoteRead(kTablet, "a", Value(5, "old"), before);
  EXPECT_EQ(Recent(cache, "a"), "unknown") << "sent before the write";
  now = 1021;
  cache.NoteRead(kTablet, "a", Value(6, "new"), cache.Now());
  EXPECT_EQ(Recent(cache, "a"), "new");
}

TEST(ValueCache, BetweenAValueAndNoneTheOrderOfReadsDecides) {
  int64_t now = 1000;
  ValueCache cache(1 << 20, [&now] { return now; });
  const ValueCache::Moment early = cache.Now();
  now = 1010;
  cache.NoteRead(kTablet, "a", std::nullopt, cache.Now());
  EXPECT_EQ(Recent(cache, "a"), "absent");
  now = 1020;
  cache.NoteRead(kTablet, "a", Value(5, "one"), early);
  EXPECT_EQ(Recent(cache, "a"), "unknown") << "perhaps from before the deletion";
  cache.NoteRead(kTablet, "a", Value(5, "one"), {early.writes, 1015});
  EXPECT_EQ(Recent(cache, "a"), "unknown") << "sent before the doubt";
  now = 1021;
  cache.NoteRead(kTablet, "a", Value(5, "one"), cache.Now());
  EXPECT_EQ(Recent(cache, "a"), "one");
  now = 1030;
  cache.NoteRead(kTablet, "a", std::nullopt, cache.Now());
  EXPECT_EQ(Recent(cache, "a"), "absent") << "sent after the other was answered";
}

TEST(ValueCache, WhatWentIsNotComeBackToByALateRead) {
  int64_t now = 1000;
  ValueCache cache(16 * 600, [&now] { return now; });
  const ValueCache::Moment before = cache.Now();
  now = 1010;
  cache.NoteRead(kTablet, "a", std::nullopt, cache.Now());
  EXPECT_EQ(Recent(cache, "a"), "absent");
  for (int i = 0; i < 200; ++i) cache.NoteRead(kTablet, std::to_string(i), std::nullopt, before);
  EXPECT_EQ(Recent(cache, "a"), "unknown") << "there was no room for it";
  cache.NoteRead(kTablet, "a", Value(5, "old"), before);
  EXPECT_EQ(Recent(cache, "a"), "unknown");
}

}  // namespace
}  // namespace stator::kv_rados
