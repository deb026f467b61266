#include "kv_tx/layout.h"

#include <gtest/gtest.h>

namespace stator::kv_tx {
namespace {

constexpr kv::Tablet kTablet = {kv::Space::kItems, 7};

TransactionRef Transaction() {
  return {{0x0102030405060708, 9}, {kv::Space::kLog, 3}, RecordKeyOf("route", {1, 2})};
}

// Every text that is shorter or longer is refused.
template <typename Decode>
void ExpectDamageIsFound(const std::string& encoded, Decode decode) {
  ASSERT_TRUE(decode(encoded).ok());
  for (size_t length = 0; length < encoded.size(); ++length) {
    const auto cut = decode(encoded.substr(0, length));
    ASSERT_FALSE(cut.ok()) << length;
    ASSERT_EQ(cut.error().code(), ErrorCode::kCorruption);
  }
  EXPECT_FALSE(decode(encoded + "x").ok());
}

TEST(TransactionLayout, EngineKeysTellRouteAndTransaction) {
  const TransactionId id = {0xfedcba9876543210, 0x0f1e2d3c4b5a6978};
  for (const std::string_view route : {std::string_view(), std::string_view("a key\0b", 7)}) {
    for (const std::string& key : {NoteKeyOf(route, id), RecordKeyOf(route, id)}) {
      EXPECT_EQ(IdOfKey(key), id);
      EXPECT_EQ(RouteOf(key), route);
    }
    EXPECT_GE(NoteKeyOf(route, id), FirstOfKind(kNoteKind));
    EXPECT_LT(NoteKeyOf(route, id), EndOfKind(kNoteKind));
  }
  EXPECT_EQ(IdOfKey("an ordinary key of some length"), std::nullopt);
  EXPECT_EQ(IdOfKey("\xfft"), std::nullopt);
  EXPECT_EQ(RouteOf("plain"), "plain");
}

TEST(TransactionLayout, IntentHasBothValues) {
  const std::string old_value = std::string("\x05\0\0\0\0\0\0\0", 8) + "old";
  Intent intent{.transaction = Transaction(),
                .note_key = NoteKeyOf("r", {1, 3}),
                .kind = Intent::New::kPut,
                .fresh = "new",
                .old = old_value};
  const std::string encoded = EncodeIntent(intent);
  EXPECT_TRUE(IsIntent(encoded));
  EXPECT_FALSE(IsIntent(old_value));
  const Result<Intent> back = DecodeIntent(encoded);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->transaction.id, intent.transaction.id);
  EXPECT_EQ(back->transaction.primary, intent.transaction.primary);
  EXPECT_EQ(back->transaction.record_key, intent.transaction.record_key);
  EXPECT_EQ(back->note_key, intent.note_key);
  EXPECT_EQ(back->IfNot(), old_value);
  EXPECT_EQ(back->IfCommitted(6), std::string("\x06\0\0\0\0\0\0\0", 8) + "new");
  ExpectDamageIsFound(encoded, [](std::string_view bytes) { return DecodeIntent(bytes); });
}

TEST(TransactionLayout, IntentMayDeleteOrKeep) {
  const std::string old_value = std::string("\x05\0\0\0\0\0\0\0", 8) + "old";
  Intent intent{.transaction = Transaction(), .kind = Intent::New::kDelete, .old = old_value};
  EXPECT_EQ(DecodeIntent(EncodeIntent(intent))->IfCommitted(6), std::nullopt);
  intent.kind = Intent::New::kKeep;
  EXPECT_EQ(DecodeIntent(EncodeIntent(intent))->IfCommitted(6),
            std::string("\x06\0\0\0\0\0\0\0", 8) + "old");
  intent.old = std::nullopt;
  EXPECT_EQ(DecodeIntent(EncodeIntent(intent))->IfCommitted(6), std::nullopt);
  EXPECT_EQ(DecodeIntent(EncodeIntent(intent))->IfNot(), std::nullopt);
}

TEST(TransactionLayout, NotePutsItsStampIntoKeys) {
  Note note{.transaction = Transaction(),
            .time_micros = 123456789,
            .keys = {{"plain", -1}, {std::string("q\0\0\0\0\0\0\0\0z", 10), 1}},
            .adds = {{kTablet, "count", -5}},
            .ranges = {{kTablet, "a", "b"}, {kTablet, "", ""}}};
  std::string encoded = EncodeNote(note);
  kv::SetStamp(&encoded, 0x0102);
  const Result<Note> back = DecodeNote(kTablet, encoded);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->transaction.id, note.transaction.id);
  EXPECT_EQ(back->time_micros, note.time_micros);
  ASSERT_EQ(back->keys.size(), 2u);
  EXPECT_EQ(back->keys[0].key, "plain");
  EXPECT_EQ(back->keys[0].stamp_offset, -1);
  EXPECT_EQ(back->keys[1].key, std::string("q\0\0\0\0\0\0\x01\x02z", 10));
  EXPECT_EQ(back->keys[1].stamp_offset, 1);
  ASSERT_EQ(back->adds.size(), 1u);
  EXPECT_EQ(back->adds[0].key, "count");
  EXPECT_EQ(back->adds[0].delta, -5);
  ASSERT_EQ(back->ranges.size(), 2u);
  EXPECT_EQ(back->ranges[0].begin, "a");
  EXPECT_EQ(back->ranges[1].end, "");
  ExpectDamageIsFound(encoded, [](std::string_view bytes) { return DecodeNote(kTablet, bytes); });
}

TEST(TransactionLayout, NoteWithAStampBeyondItsKeyIsDamaged) {
  Note note{.transaction = Transaction(), .keys = {{"short", 1}}};
  EXPECT_FALSE(DecodeNote(kTablet, EncodeNote(note)).ok());
}

TEST(TransactionLayout, RecordNamesEveryShare) {
  Record record{.state = Decision::kAborted,
                .time_micros = 42,
                .shares = {{kTablet, "note one"}, {{kv::Space::kLog, 8}, ""}}};
  const std::string encoded = EncodeRecord(record);
  const Result<Record> back = DecodeRecord(encoded);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->state, Decision::kAborted);
  EXPECT_EQ(back->time_micros, 42);
  ASSERT_EQ(back->shares.size(), 2u);
  EXPECT_EQ(back->shares[0].note_key, "note one");
  EXPECT_EQ(back->shares[1].tablet, (kv::Tablet{kv::Space::kLog, 8}));
  ExpectDamageIsFound(encoded, [](std::string_view bytes) { return DecodeRecord(bytes); });
  record.state = Decision::kUndecided;
  EXPECT_FALSE(DecodeRecord(EncodeRecord(record)).ok());
}

}  // namespace
}  // namespace stator::kv_tx
