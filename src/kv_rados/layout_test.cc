#include "kv_rados/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace stator::kv_rados {
namespace {

using testing::HasSubstr;

// Keys over few bytes, so that prefixes and neighbours meet: the escaped ones, those next to them
// and the last. Some begin with bytes that are not escaped, and more of them than are looked at
// together.
std::string RandomKey(Random& random) {
  static constexpr std::string_view kBytes("\x00\x01\x02\x03\x7f\x80\xfe\xff", 8);
  std::string key;
  if (random.Below(4) == 0) key.assign(random.Below(12), kBytes[3 + random.Below(5)]);
  for (uint64_t i = random.Below(6); i > 0; --i) key.push_back(kBytes[random.Below(kBytes.size())]);
  return key;
}

TEST(RadosLayout, CellsSortLikeKeysAndBack) {
  SeededRandom random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::string a = RandomKey(random), b = RandomKey(random);
    ASSERT_EQ(a < b, KeyCell(a) < KeyCell(b));
    ASSERT_EQ(a < b, ReverseCell(b) < ReverseCell(a));
    ASSERT_EQ(*KeyOfCell(KeyCell(a)), a);
    ASSERT_EQ(*KeyOfCell(ReverseCell(a)), a);
    std::string both = b;
    ASSERT_TRUE(AppendKeyOfCell(KeyCell(a), &both).ok());
    ASSERT_EQ(both, b + a);
    ASSERT_EQ(KeyCell(a).find('\0'), std::string::npos);
    ASSERT_EQ(ReverseCell(a).find('\0'), std::string::npos);
    ASSERT_EQ(a >= b, KeyCell(a) > StartAt(b))
        << "an exclusive start there is an inclusive one at the key";
  }
}

TEST(RadosLayout, RangesOfCells) {
  SeededRandom random(4);
  int longer_prefixes = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = RandomKey(random), begin = RandomKey(random);
    const std::string end = random.Below(4) == 0 ? "" : RandomKey(random);
    if (!end.empty() && begin >= end) continue;
    const bool in = key >= begin && (end.empty() || key < end);
    const CellRange forward = KeyCellRange(begin, end), reverse = ReverseCellRange(begin, end);
    ASSERT_EQ(in, KeyCell(key) >= forward.begin && KeyCell(key) < forward.end);
    ASSERT_EQ(in, ReverseCell(key) >= reverse.begin && ReverseCell(key) < reverse.end);
    if (!in) continue;
    ASSERT_TRUE(KeyCell(key).starts_with(CommonCellPrefix(begin, end)));
    ASSERT_TRUE(ReverseCell(key).starts_with(CommonReversePrefix(begin, end)));
    longer_prefixes += CommonCellPrefix(begin, end).size() > 1 ? 1 : 0;
  }
  EXPECT_GT(longer_prefixes, 10);
  // The range of all keys with a prefix is read with just this prefix.
  EXPECT_EQ(CommonCellPrefix("abc", "abd"), "kabc");
  EXPECT_EQ(CommonCellPrefix("abcx", "abd"), "kabc");
  EXPECT_EQ(CommonCellPrefix("abc", "abda"), "kab");
  EXPECT_EQ(CommonCellPrefix("abc", ""), "k");
}

TEST(RadosLayout, PrefixesThatAreAllOfARange) {
  for (const bool reverse : {false, true}) {
    EXPECT_TRUE(IsBoundedByPrefix("", "", reverse));
    EXPECT_TRUE(IsBoundedByPrefix("ab", "ac", reverse));
    EXPECT_FALSE(IsBoundedByPrefix("abx", "aby1", reverse));
    EXPECT_FALSE(IsBoundedByPrefix("ab1", "ab3", reverse));
  }
  EXPECT_TRUE(IsBoundedByPrefix("abx", "ac", false)) << "from the middle to the end";
  EXPECT_FALSE(IsBoundedByPrefix("abx", "ac", true));
  EXPECT_TRUE(IsBoundedByPrefix("ab", "abx", true)) << "from the middle to the beginning";
  EXPECT_FALSE(IsBoundedByPrefix("ab", "abx", false));
  EXPECT_TRUE(IsBoundedByPrefix("abx", "", false));
  EXPECT_FALSE(IsBoundedByPrefix("abx", "", true));
}

TEST(RadosLayout, DamagedCells) {
  for (const std::string_view cell : {"", "k", "x\1", "kab", "ka\1b\1", "ka\2\1", "ka\2\4\1"}) {
    const Result<std::string> key = KeyOfCell(cell);
    ASSERT_FALSE(key.ok()) << cell;
    EXPECT_EQ(key.error().code(), ErrorCode::kCorruption);
  }
}

TEST(RadosLayout, ValuesAndTheGuardsOfTheirStamps) {
  for (const uint64_t stamp :
       {uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{0x0102030405060708}, UINT64_MAX}) {
    for (const std::string& rest :
         {std::string(), std::string("x"), std::string(300, '\xff'), std::string(3, '\0')}) {
      std::string value(kv::kStampBytes, '\0');
      kv::SetStamp(&value, stamp);
      value += rest;
      const std::string stored = StoredValue(value);
      EXPECT_EQ(*LoadedValue(stored), value);
      const std::string mine(stored.data(), stored.size());
      EXPECT_EQ(*LoadedInPlace(mine), value);
      for (const uint64_t other : {stamp - 1, stamp, stamp + 1, stamp ^ 0x100}) {
        EXPECT_EQ(GuardAbove(other) < stored && stored < GuardBelow(other), other == stamp);
      }
    }
  }
  EXPECT_EQ(LoadedValue("12345678").error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(LoadedValue("12345678\2rest").error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(LoadedInPlace("12345678\2rest").error().code(), ErrorCode::kCorruption);
}

TEST(RadosLayout, Headers) {
  using State = PartHeader::State;
  const PartHeader open{.tablet = {kv::Space::kLog, 0x01020304},
                        .part = 7,
                        .epoch = 99,
                        .fence = kv::kDroppedFence - 1,
                        .routes = {"begin", std::string("e\0d", 3)},
                        .given = {5, 1ull << 40}};
  PartHeader copying = open, leaving = open, filling = open;
  copying.state = State::kCopying, copying.other = 8, copying.boundary = "c";
  leaving.state = State::kLeaving, leaving.other = 8;
  filling.state = State::kFilling, filling.other = 3, filling.owner = "who", filling.until = 5,
  filling.copied = "kx";
  for (const PartHeader& header : {open, copying, leaving, filling}) {
    const std::string bytes = EncodeHeader(header);
    const Result<PartHeader> decoded = DecodeHeader(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(EncodeHeader(*decoded), bytes);
    EXPECT_EQ(decoded->tablet, header.tablet);
    EXPECT_EQ(decoded->fence, header.fence);
    EXPECT_EQ(decoded->routes, header.routes);
    EXPECT_EQ(decoded->given, header.given);
    EXPECT_EQ(decoded->state, header.state);
    EXPECT_EQ(decoded->other, header.other);
    EXPECT_EQ(decoded->boundary, header.boundary);
    EXPECT_EQ(decoded->owner, header.owner);
    EXPECT_EQ(decoded->until, header.until);
    EXPECT_EQ(decoded->copied, header.copied);
    for (size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_FALSE(DecodeHeader(bytes.substr(0, cut)).ok()) << cut;
    EXPECT_FALSE(DecodeHeader(bytes + "x").ok());
  }
  PartHeader unheard = open;
  unheard.state = static_cast<State>(4);
  EXPECT_EQ(DecodeHeader(EncodeHeader(unheard)).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(DecodeHeader("\2...").error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(DecodeHeader("\2...").error().message(), HasSubstr("Start the newer Stator"));
  EXPECT_THAT(DecodeHeader("x").error().message(), HasSubstr("damaged"))
      << "no version of a Stator";
}

TEST(RadosLayout, MapEntries) {
  const MapEntry entry{5, {{"", 0}, {"m", 3}}};
  const Result<MapEntry> map = DecodeMapEntry(EncodeMapEntry(entry));
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->parts, entry.parts);
  EXPECT_EQ(map->next, 5);
  const std::string bytes = EncodeMapEntry(entry);
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(DecodeMapEntry(bytes.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(DecodeMapEntry(EncodeMapEntry({5, {{"a", 0}}})).ok())
      << "the first part begins at the beginning";
  EXPECT_FALSE(DecodeMapEntry(EncodeMapEntry({5, {{"", 5}}})).ok())
      << "a number that was not given yet";
}

TEST(RadosLayout, Marks) {
  const std::string key("a\0b", 3);
  EXPECT_EQ(*KeyOfMark(MarkCell(255, key)), key);
  EXPECT_EQ(*KeyOfMark(MarkCell(UINT64_MAX, "")), "");
  for (const std::string_view cell :
       {"", "m", "m00000000000000ff", "k00000000000000ffa\1", "m00000000000000ffa"}) {
    EXPECT_EQ(KeyOfMark(cell).error().code(), ErrorCode::kCorruption) << cell;
  }
  for (const char kind : {kMarkCell, kRangeMarkCell}) {
    const auto cell = [kind](uint64_t stamp) {
      return kind == kMarkCell ? MarkCell(stamp, "") : RangeMarkCell(stamp, 9);
    };
    EXPECT_LT(cell(254), MarksFrom(kind, 255));
    EXPECT_GT(cell(255), MarksFrom(kind, 255));
    EXPECT_GT(cell(256), cell(255));
  }
  const std::string bytes = EncodeRangeMark({"a", {}});
  const Result<KeyRange> range = DecodeRangeMark(bytes);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->begin, "a");
  EXPECT_EQ(range->end, "");
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(DecodeRangeMark(bytes.substr(0, cut)).ok()) << cut;
}

TEST(RadosLayout, Sizes) {
  EXPECT_EQ(EncodeSize({0x0102, 4, 3}),
            std::string("\2\1\0\0\0\0\0\0\4\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24));
  EXPECT_EQ(*DecodeSize(EncodeSize({1ull << 63, 1, 7})), (PartSize{1ull << 63, 1, 7}));
  for (const size_t bytes : {0, 23, 25})
    EXPECT_EQ(DecodeSize(std::string(bytes, 'x')).error().code(), ErrorCode::kCorruption);
}

TEST(RadosLayout, FormatAndNames) {
  const std::string_view known[] = {"shapes", "colours"};
  const auto error = [&](std::string_view format, std::string_view features) {
    const Result<kv::Features> read = ReadFormat(format, features, known);
    return read.ok() ? std::optional<Error>() : read.error();
  };
  // Versions without features know version 1 alone.
  EXPECT_EQ(FormatText(), "stator-rados 1");
  EXPECT_EQ(*ReadFormat(FormatText(), "", known), kv::Features());
  const kv::Features both = {"shapes", "colours"};
  EXPECT_EQ(FormatText(both), "stator-rados 2");
  EXPECT_EQ(*ReadFormat(FormatText(both), kv::JoinFeatures(both), known), both);
  EXPECT_EQ(error("stator-rados 2", "shapes sounds")->message(),
            "The store in this pool needs the feature sounds, which this version of Stator does "
            "not know. Start the newer Stator that wrote it.");
  EXPECT_EQ(error("stator-rados 2", "")->code(), ErrorCode::kCorruption);
  EXPECT_EQ(error("stator-rados 3", "")->code(), ErrorCode::kUnavailable);
  for (const char* text : {"", "stator-rados", "stator-rados 0", "stator-rados 1x", "ceph 1"}) {
    EXPECT_EQ(error(text, "")->code(), ErrorCode::kCorruption) << text;
  }
  EXPECT_EQ(PartObject({kv::Space::kItems, 255}, 12), "items.000000ff.12");
  EXPECT_EQ(DecodeLedger(EncodeLedger({7, -1}))->time_micros, -1);
}

}  // namespace
}  // namespace stator::kv_rados
