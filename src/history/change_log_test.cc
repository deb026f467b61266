#include "history/change_log.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "history/change_clock.h"
#include "kv/memory_engine.h"

namespace stator::history {
namespace {

constexpr int64_t kNow = 1'790'000'000'000'000;

// Bytes in which 00, 01 and ff are frequent.
std::string RandomKey(SeededRandom& random) {
  static constexpr char kBytes[] = {'\0', '\x01', '\xff', 'a'};
  std::string key;
  for (uint64_t length = random.Below(6); length > 0; --length)
    key.push_back(kBytes[random.Below(sizeof kBytes)]);
  return key;
}

kv::Put PutOf(const std::string& item_key, std::string_view before, int64_t micros) {
  ChangeLog log;
  log.tablet_id = 7;
  kv::Batch batch;
  AppendBefore(log, item_key, model::ItemView(before), micros, &batch);
  EXPECT_EQ(batch.puts.size(), 1u);
  EXPECT_TRUE(kv::CheckBatch(batch).ok());
  return batch.puts[0];
}

TEST(ChangeLog, RecordIsDecoded) {
  const std::string item_key("\x01\0\0\xff sort\0", 9);
  kv::Put put = PutOf(item_key, "image", kNow);
  EXPECT_EQ(put.tablet, (kv::Tablet{kv::Space::kLog, 7}));
  kv::SetKeyStamp(&put.key, static_cast<size_t>(put.key_stamp_offset), 41);
  const Result<Record> record = DecodeRecord(put.key, put.value);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->item_key, item_key);
  EXPECT_EQ(record->micros, kNow);
  EXPECT_EQ(record->stamp, 41u);
  EXPECT_EQ(record->before, "image");
  EXPECT_EQ(DecodeRecord(put.key, PutOf(item_key, "", kNow).value)->before, "");
}

TEST(ChangeLog, DayIsInTheOrderOfItemKeysThenOfTimes) {
  SeededRandom random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string a = RandomKey(random), b = RandomKey(random);
    const int64_t at = kNow + static_cast<int64_t>(random.Below(3));
    const int64_t bt = kNow + static_cast<int64_t>(random.Below(3));
    const std::string first = PutOf(a, "", at).key, second = PutOf(b, "", bt).key;
    EXPECT_EQ(first < second, a != b ? a < b : at < bt) << i;
    EXPECT_EQ(FirstKeyOf(DayOf(kNow), b, bt) <= first, a != b ? b < a : bt <= at) << i;
  }
}

TEST(ChangeLog, DayComesBeforeEverythingElse) {
  const int64_t day = DayOf(kNow);
  EXPECT_LT(PutOf("zz", "", (day + 1) * kDayMicros - 1).key, FirstKeyOfDay(day + 1));
  EXPECT_GE(PutOf("", "", (day + 1) * kDayMicros).key, FirstKeyOfDay(day + 1));
  EXPECT_GE(PutOf("", "", kNow).key, FirstKeyOfDay(day));
}

TEST(ChangeLog, DamagedRecordIsCorruption) {
  const kv::Put put = PutOf(std::string("k\0k", 3), "image", kNow);
  EXPECT_TRUE(DecodeRecord(put.key, put.value).ok());
  const auto bad = [](std::string key, std::string value) {
    const Result<Record> record = DecodeRecord(key, value);
    return !record.ok() && record.error().code() == ErrorCode::kCorruption;
  };
  for (size_t length = 0; length < 9; ++length)
    EXPECT_TRUE(bad(put.key, put.value.substr(0, length)));
  std::string value = put.value;
  value[kv::kStampBytes] = 2;
  EXPECT_TRUE(bad(put.key, value));
  std::string key = put.key;
  for (size_t length = 0; length + 20 < key.size(); ++length)
    EXPECT_TRUE(bad(key.substr(0, length), put.value)) << length;
  key[0] = 2;
  EXPECT_TRUE(bad(key, put.value));
  key = put.key;
  key[4] = static_cast<char>(key[4] + 1);  // another day than that of the time
  EXPECT_TRUE(bad(key, put.value));
  key = put.key;
  key[7] = 'x';  // a zero byte of the item's key, of which the escape is left
  EXPECT_FALSE(DecodeRecord(key, put.value).ok() && !bad(key, put.value) &&
               DecodeRecord(key, put.value)->item_key == std::string("k\0k", 3));
}

TEST(ChangeLog, MarkIsThatOfTheLatestBatch) {
  kv::MemoryEngine engine;
  ChangeLog log;
  log.tablet_id = 3;
  EXPECT_EQ(ReadMark(engine, log).value(), 0);
  for (const int64_t micros : {kNow, kNow + 5}) {
    kv::Batch batch;
    AppendMark(log, micros, &batch);
    ASSERT_TRUE(kv::ApplyAndWait(engine, std::move(batch)).ok());
    EXPECT_EQ(ReadMark(engine, log).value(), micros);
  }
  EXPECT_GT(std::string("\x02"), FirstKeyOfDay(DayOf(kNow) + 1'000'000)) << "days end before it";
}

TEST(ChangeLog, EarliestIsTheBeginningOrThePeriod) {
  ChangeLog log;
  log.since_micros = kNow;
  log.period_days = 2;
  EXPECT_EQ(log.EarliestAt(kNow), kNow);
  EXPECT_EQ(log.EarliestAt(kNow + 2 * kDayMicros), kNow);
  EXPECT_EQ(log.EarliestAt(kNow + 2 * kDayMicros + 5), kNow + 5);
  EXPECT_EQ(log.EarliestAt(kNow - kDayMicros), kNow) << "the clock was set back";
}

TEST(ChangeClock, NeverGoesBack) {
  ChangeClock clock;
  EXPECT_EQ(clock.At(5), 5);
  EXPECT_EQ(clock.At(3), 5);
  EXPECT_EQ(clock.At(6), 6);
}

}  // namespace
}  // namespace stator::history
