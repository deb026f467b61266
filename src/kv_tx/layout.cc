#include "kv_tx/layout.h"

#include "kv/fixed_bytes.h"

namespace stator::kv_tx {
namespace {

using kv::kStampBytes;

constexpr char kIntentMark = '\xfe';
constexpr char kNoteMark = '\xfd';
constexpr char kRecordMark = '\xfc';
constexpr size_t kIdBytes = 16;
constexpr uint32_t kNoOffset = UINT32_MAX;

class Writer {
 public:
  explicit Writer(char mark) : bytes_(kStampBytes, '\0') { bytes_.push_back(mark); }
  void Byte(uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }
  void Little32(uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) Byte(static_cast<uint8_t>(number >> shift));
  }
  void Little64(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) Byte(static_cast<uint8_t>(number >> shift));
  }
  void Text(std::string_view text) {
    Little32(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  void Tablet(kv::Tablet tablet) {
    Byte(static_cast<uint8_t>(tablet.space));
    Little32(tablet.id);
  }
  void Transaction(const TransactionRef& transaction) {
    Little64(transaction.id.high);
    Little64(transaction.id.low);
    Tablet(transaction.primary);
    Text(transaction.record_key);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view value, char mark) : rest_(value) {
    good_ = value.size() > kStampBytes && value[kStampBytes] == mark;
    rest_.remove_prefix(good_ ? kStampBytes + 1 : rest_.size());
  }
  std::string_view Bytes(size_t count) {
    if (rest_.size() < count) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  uint64_t Number(size_t bytes) {
    uint64_t number = 0;
    size_t shift = 0;
    for (const char byte : Bytes(bytes)) {
      number |= static_cast<uint64_t>(static_cast<uint8_t>(byte)) << shift;
      shift += 8;
    }
    return number;
  }
  uint8_t Byte(uint8_t most) {
    const uint64_t byte = Number(1);
    good_ &= byte <= most;
    return good_ ? static_cast<uint8_t>(byte) : 0;
  }
  std::string_view Text() { return Bytes(Number(4)); }
  kv::Tablet Tablet() {
    kv::Tablet tablet;
    tablet.space = static_cast<kv::Space>(Byte(static_cast<uint8_t>(kv::Space::kLog)));
    tablet.id = static_cast<uint32_t>(Number(4));
    return tablet;
  }
  TransactionRef Transaction() {
    TransactionRef transaction;
    transaction.id.high = Number(8);
    transaction.id.low = Number(8);
    transaction.primary = Tablet();
    transaction.record_key = Text();
    return transaction;
  }
  // Reads a count of entries that take at least `bytes` each.
  size_t Count(size_t bytes) {
    const uint64_t count = Number(4);
    if (count > rest_.size() / bytes) good_ = false;
    return good_ ? count : 0;
  }
  void Fail() { good_ = false; }
  bool whole() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_;
};

std::string EngineKey(char kind, std::string_view route, TransactionId id) {
  std::string key;
  key.reserve(2 + route.size() + kIdBytes);
  key.push_back(kEngineKey);
  key.push_back(kind);
  key.append(route);
  key.resize(key.size() + kIdBytes);
  kv::StoreBig64(key.data() + key.size() - 16, id.high);
  kv::StoreBig64(key.data() + key.size() - 8, id.low);
  return key;
}

bool IsEngineKey(std::string_view key) {
  return key.size() >= 2 + kIdBytes && key[0] == kEngineKey &&
         (key[1] == kNoteKind || key[1] == kRecordKind);
}

}  // namespace

std::optional<std::string> Intent::IfCommitted(uint64_t stamp) const {
  std::string value;
  switch (kind) {
    case New::kDelete: return std::nullopt;
    case New::kPut:
      value.reserve(kStampBytes + fresh.size());
      value.assign(kStampBytes, '\0').append(fresh);
      break;
    case New::kKeep:
      if (!old) return std::nullopt;
      value = *old;
      break;
  }
  kv::SetStamp(&value, stamp);
  return value;
}

std::optional<std::string> Intent::IfNot() const {
  return old ? std::optional<std::string>(*old) : std::nullopt;
}

std::string NoteKeyOf(std::string_view route, TransactionId id) {
  return EngineKey(kNoteKind, route, id);
}
std::string RecordKeyOf(std::string_view route, TransactionId id) {
  return EngineKey(kRecordKind, route, id);
}

std::optional<TransactionId> IdOfKey(std::string_view key) {
  if (!IsEngineKey(key)) return std::nullopt;
  const char* id = key.data() + key.size() - kIdBytes;
  return TransactionId{kv::LoadBig64(id), kv::LoadBig64(id + 8)};
}

std::string_view RouteOf(std::string_view key) {
  return IsEngineKey(key) ? key.substr(2, key.size() - 2 - kIdBytes) : key;
}

std::string FirstOfKind(char kind) {
  const char key[] = {kEngineKey, kind};
  return std::string(key, sizeof key);
}
std::string EndOfKind(char kind) { return FirstOfKind(static_cast<char>(kind + 1)); }

std::string EncodeIntent(const Intent& intent) {
  Writer writer(kIntentMark);
  writer.Transaction(intent.transaction);
  writer.Text(intent.note_key);
  writer.Byte(static_cast<uint8_t>(intent.kind));
  if (intent.kind == Intent::New::kPut) writer.Text(intent.fresh);
  writer.Byte(intent.old ? 1 : 0);
  if (intent.old) writer.Text(*intent.old);
  return writer.Take();
}

Result<Intent> DecodeIntent(std::string_view value) {
  Reader reader(value, kIntentMark);
  Intent intent;
  intent.transaction = reader.Transaction();
  intent.note_key = reader.Text();
  intent.kind = static_cast<Intent::New>(reader.Byte(2));
  if (intent.kind == Intent::New::kPut) intent.fresh = reader.Text();
  if (reader.Byte(1) == 1) {
    intent.old = reader.Text();
    if (intent.old->size() < kStampBytes) reader.Fail();
  }
  if (!reader.whole()) return CorruptionError("an intent of a transaction is damaged.");
  return intent;
}

std::string EncodeNote(const Note& note) {
  Writer writer(kNoteMark);
  writer.Transaction(note.transaction);
  writer.Little64(static_cast<uint64_t>(note.time_micros));
  writer.Little32(static_cast<uint32_t>(note.keys.size()));
  writer.Little32(static_cast<uint32_t>(note.adds.size()));
  writer.Little32(static_cast<uint32_t>(note.ranges.size()));
  for (const NoteKey& key : note.keys) {
    writer.Little32(key.stamp_offset < 0 ? kNoOffset : static_cast<uint32_t>(key.stamp_offset));
    writer.Text(key.key);
  }
  for (const kv::Add& add : note.adds) {
    writer.Little64(static_cast<uint64_t>(add.delta));
    writer.Text(add.key);
  }
  for (const kv::DeleteRange& range : note.ranges) {
    writer.Text(range.begin);
    writer.Text(range.end);
  }
  return writer.Take();
}

Result<Note> DecodeNote(kv::Tablet tablet, std::string_view value) {
  Reader reader(value, kNoteMark);
  Note note;
  note.transaction = reader.Transaction();
  note.time_micros = static_cast<int64_t>(reader.Number(8));
  const size_t keys = reader.Count(8);
  const size_t adds = reader.Count(8);
  const size_t ranges = reader.Count(8);
  for (size_t i = 0; i < keys; ++i) {
    NoteKey key;
    const uint64_t offset = reader.Number(4);
    key.key = reader.Text();
    if (offset != kNoOffset) {
      if (offset + kStampBytes > key.key.size()) {
        reader.Fail();
        break;
      }
      key.stamp_offset = static_cast<int>(offset);
      kv::SetKeyStamp(&key.key, offset, kv::StampOf(value));
    }
    note.keys.push_back(std::move(key));
  }
  for (size_t i = 0; i < adds; ++i) {
    const auto delta = static_cast<int64_t>(reader.Number(8));
    note.adds.push_back({tablet, std::string(reader.Text()), delta});
  }
  for (size_t i = 0; i < ranges; ++i) {
    std::string begin(reader.Text());
    note.ranges.push_back({tablet, std::move(begin), std::string(reader.Text())});
  }
  if (!reader.whole()) return CorruptionError("the note of a transaction is damaged.");
  return note;
}

std::string EncodeRecord(const Record& record) {
  Writer writer(kRecordMark);
  writer.Byte(static_cast<uint8_t>(record.state));
  writer.Little64(static_cast<uint64_t>(record.time_micros));
  writer.Little32(static_cast<uint32_t>(record.shares.size()));
  for (const Participation& share : record.shares) {
    writer.Tablet(share.tablet);
    writer.Text(share.note_key);
  }
  return writer.Take();
}

Result<Record> DecodeRecord(std::string_view value) {
  Reader reader(value, kRecordMark);
  Record record;
  record.state = static_cast<Decision>(reader.Byte(2));
  record.time_micros = static_cast<int64_t>(reader.Number(8));
  const size_t shares = reader.Count(9);
  for (size_t i = 0; i < shares; ++i) {
    const kv::Tablet tablet = reader.Tablet();
    record.shares.push_back({tablet, std::string(reader.Text())});
  }
  if (!reader.whole() || record.state == Decision::kUndecided)
    return CorruptionError("the record of a transaction is damaged.");
  return record;
}

}  // namespace stator::kv_tx
