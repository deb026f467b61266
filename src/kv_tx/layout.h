// The data that batches on several units leave in the store for a while: intents, notes and
// records.
//
//   note key   = FF 't' route number:16   beside the intents of one unit
//   record key = FF 'x' route txid:16     where the batch is decided
//
//   intent  = stamp:8 FE txid:16 primary text(record key) text(note key) new old
//             in place of a key's value
//   note    = stamp:8 FD txid:16 primary text(record key) time:8 counts { key } { add } { range }
//   record  = stamp:8 FC state:1 time:8 count:4 { primary text(note key) }
//
//   route   = a key of the note's unit, or nothing; for a record, a key of the primary unit
//   number  = txid + 0, 1, ...            one for each participant
//   primary = space:1 id:4                a tablet
//   text    = length:4 bytes
//   new     = 00                          delete
//           | 01 text(rest)               put: the value behind its stamp
//           | 02                          keep: a key that is only guarded
//   old     = 00 | 01 text(value)         absent, or the value with its stamp
//   counts  = count:4 count:4 count:4     of keys, adds and ranges
//   key     = offset:4 text(key)          of an intent; offset: place of the note's stamp in
//                                         the key, FFFFFFFF: nowhere
//   add     = delta:8 text(key)
//   range   = text(begin) text(end)       deleted when the batch is committed
//   state   = 01 committed | 02 aborted
//   time    = microseconds since the epoch, when it was written
//
// Numbers are little-endian. FF 'K' route txid belongs to the unit that `route` belongs to.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "kv/engine.h"

namespace stator::kv_tx {

struct TransactionId {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const TransactionId&) const = default;
};

// A transaction, and the key that decides it.
struct TransactionRef {
  TransactionId id;
  kv::Tablet primary;
  std::string record_key;
};

enum class Decision : uint8_t { kUndecided = 0, kCommitted = 1, kAborted = 2 };

struct Intent {
  enum class New : uint8_t { kDelete = 0, kPut = 1, kKeep = 2 };

  TransactionRef transaction;
  std::string note_key;  // in the intent's tablet
  New kind = New::kDelete;
  std::string_view fresh;               // for kPut: the new value without its stamp
  std::optional<std::string_view> old;  // the old value with its stamp

  // Returns the value that the key has if the transaction is committed, or nullopt if it is
  // deleted. Its stamp is that of the intent.
  std::optional<std::string> IfCommitted(uint64_t stamp) const;
  // Returns the value that the key has if the transaction is not committed, with the stamp of the
  // old value.
  std::optional<std::string> IfNot() const;
};

struct NoteKey {
  std::string key;  // a decoded note has the stamp in its place
  int stamp_offset = -1;
};

struct Note {
  TransactionRef transaction;
  int64_t time_micros = 0;
  std::vector<NoteKey> keys;
  std::vector<kv::Add> adds;  // in the note's tablet, like the ranges
  std::vector<kv::DeleteRange> ranges;
};

// One unit's part in a transaction, as other processes find it.
struct Participation {
  kv::Tablet tablet;
  std::string note_key;
};

struct Record {
  Decision state = Decision::kCommitted;
  int64_t time_micros = 0;
  std::vector<Participation> shares;
};

inline constexpr char kEngineKey = '\xff';
inline constexpr std::string_view kEngineKeys = "\xff";  // the first engine key
inline constexpr char kNoteKind = 't';
inline constexpr char kRecordKind = 'x';

std::string NoteKeyOf(std::string_view route, TransactionId id);
std::string RecordKeyOf(std::string_view route, TransactionId id);
// Returns the transaction of a note or record by its key; nullopt for other keys.
std::optional<TransactionId> IdOfKey(std::string_view key);
// Returns the key that determines the unit of `key`: the route of a note or record, else the key
// itself.
std::string_view RouteOf(std::string_view key);
// Return the bounds [first, end) of the keys of a kind.
std::string FirstOfKind(char kind);
std::string EndOfKind(char kind);

inline bool IsIntent(std::string_view value) {
  return value.size() > kv::kCounterBytes && static_cast<uint8_t>(value[kv::kStampBytes]) == 0xFE;
}

// The encoders write zeros in place of the stamp.
std::string EncodeIntent(const Intent& intent);
std::string EncodeNote(const Note& note);
std::string EncodeRecord(const Record& record);
// The decoders return kCorruption for anything else. The views of an intent point into `value`.
Result<Intent> DecodeIntent(std::string_view value);
Result<Note> DecodeNote(kv::Tablet tablet, std::string_view value);
Result<Record> DecodeRecord(std::string_view value);

}  // namespace stator::kv_tx
