#include "kv_rados/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "kv/fixed_bytes.h"

namespace stator::kv_rados {
namespace {

constexpr char kVersionByte = 1;  // of headers and map entries
constexpr char kMaxVersion = 31;  // what is beyond is more likely damage than a Stator of that day
constexpr char kValueByte = 1;    // between a value's stamp and its rest
constexpr char kEnd = 1;          // behind the bytes of a key
constexpr char kEscape = 2;
constexpr std::string_view kFormatWord = "stator-rados ";

void AppendLittle32(std::string* to, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) to->push_back(static_cast<char>(value >> shift));
}
void AppendLittle64(std::string* to, uint64_t value) {
  char bytes[8];
  kv::StoreLittle64(bytes, value);
  to->append(bytes, sizeof bytes);
}
void AppendText(std::string* to, std::string_view text) {
  AppendLittle32(to, static_cast<uint32_t>(text.size()));
  to->append(text);
}

// Takes fields from the front of some bytes. Once a field is missing, all later fields are 0 or
// empty, and `whole` returns false.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}
  uint8_t Byte() { return static_cast<uint8_t>(Take(1)[0]); }
  uint32_t Little32() {
    const std::string_view bytes = Take(4);
    uint32_t value = 0;
    for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }
  uint64_t Little64() { return kv::LoadLittle64(Take(8).data()); }
  std::string Text() {
    const uint32_t length = Little32();
    if (length > bytes_.size()) missing_ = true;
    if (missing_) return {};
    return std::string(Take(length));
  }
  bool whole() const { return !missing_ && bytes_.empty(); }

 private:
  std::string_view Take(size_t count) {
    static constexpr char kZeros[8] = {};
    if (missing_ || bytes_.size() < count) {
      missing_ = true;
      return {kZeros, sizeof kZeros};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
  bool missing_ = false;
};

Error NewerError(std::string_view what, int version, int known) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("{} has format {}, and this Stator knows formats up to {}. Start the "
                           "newer Stator that wrote it.",
                           what, version, known));
}

// Checks a version byte. Returns one error for a version of a newer Stator, and kCorruption for a
// byte that no Stator has written.
Status CheckVersionByte(std::string_view bytes, std::string_view what) {
  if (bytes.empty() || bytes[0] <= 0 || bytes[0] > kMaxVersion)
    return CorruptionError(fmt::format("{} is damaged.", what));
  if (bytes[0] != kVersionByte)
    return NewerError(what, static_cast<uint8_t>(bytes[0]), kVersionByte);
  return OkStatus();
}

// Whether a key has bytes that have to be escaped. An escaped one without them is the key itself.
// Of eight bytes together: the first that is too small borrows its high bit, and none before it
// does.
bool HasEscapes(std::string_view key) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x80 * kOnes,
                     kLeast = (kEscape + 1) * kOnes;
  for (; key.size() >= sizeof(uint64_t); key.remove_prefix(sizeof(uint64_t))) {
    uint64_t bytes;
    std::memcpy(&bytes, key.data(), sizeof(bytes));
    if (((bytes - kLeast) & ~bytes & kHigh) != 0) return true;
  }
  return std::any_of(key.begin(), key.end(),
                     [](char byte) { return static_cast<uint8_t>(byte) <= kEscape; });
}

void AppendEscaped(std::string* to, std::string_view key) {
  if (!HasEscapes(key)) {
    to->append(key);
    return;
  }
  for (const char byte : key) {
    if (static_cast<uint8_t>(byte) <= kEscape) {
      to->push_back(kEscape);
      to->push_back(static_cast<char>(byte + 1));
    } else {
      to->push_back(byte);
    }
  }
}

// Reverses the order of bytes and keeps clear of zero, which `text` must not have.
void Negate(std::string* text, size_t from) {
  for (size_t i = from; i < text->size(); ++i) (*text)[i] = static_cast<char>(-(*text)[i]);
}

// Returns the longest common prefix of all keys in [begin, end).
std::string_view CommonPrefix(std::string_view begin, std::string_view end) {
  if (end.empty()) return {};
  const size_t shared = static_cast<size_t>(
      std::mismatch(begin.begin(), begin.end(), end.begin(), end.end()).first - begin.begin());
  // One byte more if `end` is the first text behind those that begin with it.
  if (shared < begin.size() && shared + 1 == end.size() &&
      static_cast<uint8_t>(begin[shared]) + 1 == static_cast<uint8_t>(end[shared])) {
    return begin.substr(0, shared + 1);
  }
  return begin.substr(0, shared);
}

}  // namespace

std::string FormatText(const kv::Features& features) {
  return fmt::format("{}{}", kFormatWord, features.empty() ? kPlainVersion : kFormatVersion);
}

Result<kv::Features> ReadFormat(std::string_view format, std::string_view features,
                                std::span<const std::string_view> known) {
  int version = 0;
  if (format.starts_with(kFormatWord)) {
    const std::string_view number = format.substr(kFormatWord.size());
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), version);
    if (error != std::errc() || end != number.data() + number.size()) version = 0;
  }
  if (version < 1)
    return CorruptionError(
        fmt::format("The object \"{}\" is none that Stator made.", kStoreObject));
  if (version > kFormatVersion)
    return NewerError("The store in this pool", version, kFormatVersion);
  if (version == kPlainVersion) return kv::Features();
  ASSIGN_OR_RETURN(kv::Features needed, kv::SplitFeatures(features));
  if (needed.empty()) {
    return CorruptionError(fmt::format("The object \"{}\" has lost its attribute \"{}\".",
                                       kStoreObject, kFeaturesAttribute));
  }
  TRY(kv::CheckFeatures("The store in this pool", needed, known));
  return needed;
}

std::string TabletName(kv::Tablet tablet) {
  static constexpr const char* kNames[] = {"catalog", "items", "log"};
  return fmt::format("{}.{:08x}", kNames[static_cast<size_t>(tablet.space)], tablet.id);
}

std::string PartObject(kv::Tablet tablet, uint32_t part) {
  return fmt::format("{}.{}", TabletName(tablet), part);
}

std::string EncodeHeader(const PartHeader& header) {
  std::string bytes(1, kVersionByte);
  bytes.push_back(static_cast<char>(header.tablet.space));
  AppendLittle32(&bytes, header.tablet.id);
  AppendLittle32(&bytes, header.part);
  AppendLittle64(&bytes, header.epoch);
  AppendLittle64(&bytes, header.fence);
  AppendText(&bytes, header.routes.begin);
  AppendText(&bytes, header.routes.end);
  AppendLittle64(&bytes, header.given.bytes);
  AppendLittle64(&bytes, header.given.keys);
  bytes.push_back(static_cast<char>(header.state));
  using State = PartHeader::State;
  if (header.state != State::kOpen) AppendLittle32(&bytes, header.other);
  if (header.state == State::kCopying) AppendText(&bytes, header.boundary);
  if (header.state == State::kFilling) {
    AppendText(&bytes, header.owner);
    AppendLittle64(&bytes, header.until);
    AppendText(&bytes, header.copied);
  }
  return bytes;
}

Result<PartHeader> DecodeHeader(std::string_view bytes) {
  TRY(CheckVersionByte(bytes, "The header of a tablet's object"));
  Fields fields(bytes.substr(1));
  PartHeader header;
  const uint8_t space = fields.Byte();
  header.tablet.space = static_cast<kv::Space>(space);
  header.tablet.id = fields.Little32();
  header.part = fields.Little32();
  header.epoch = fields.Little64();
  header.fence = fields.Little64();
  header.routes.begin = fields.Text();
  header.routes.end = fields.Text();
  header.given.bytes = fields.Little64();
  header.given.keys = fields.Little64();
  const uint8_t state = fields.Byte();
  using State = PartHeader::State;
  header.state = static_cast<State>(state);
  if (header.state != State::kOpen) header.other = fields.Little32();
  if (header.state == State::kCopying) header.boundary = fields.Text();
  if (header.state == State::kFilling) {
    header.owner = fields.Text();
    header.until = fields.Little64();
    header.copied = fields.Text();
  }
  if (!fields.whole() || space > static_cast<uint8_t>(kv::Space::kLog) ||
      state > static_cast<uint8_t>(State::kFilling)) {
    return CorruptionError("The header of a tablet's object is damaged.");
  }
  return header;
}

std::string EncodeMapEntry(const MapEntry& entry) {
  std::string bytes(1, kVersionByte);
  AppendLittle32(&bytes, entry.next);
  AppendLittle32(&bytes, static_cast<uint32_t>(entry.parts.size()));
  for (const auto& [begin, part] : entry.parts) {
    AppendLittle32(&bytes, part);
    AppendText(&bytes, begin);
  }
  return bytes;
}

Result<MapEntry> DecodeMapEntry(std::string_view bytes) {
  TRY(CheckVersionByte(bytes, "An entry of the tablet map"));
  Fields fields(bytes.substr(1));
  MapEntry entry;
  entry.next = fields.Little32();
  const uint32_t count = fields.Little32();
  bool below = true;
  for (uint32_t i = 0; i < count && i < bytes.size(); ++i) {  // no entry has more parts than bytes
    const uint32_t part = fields.Little32();
    below &= part < entry.next;
    entry.parts.emplace(fields.Text(), part);
  }
  if (!fields.whole() || !below || entry.parts.empty() || entry.parts.size() != count ||
      !entry.parts.begin()->first.empty()) {
    return CorruptionError("An entry of the tablet map is damaged.");
  }
  return entry;
}

std::string EncodeStamp(uint64_t stamp) {
  std::string bytes;
  AppendLittle64(&bytes, stamp);
  return bytes;
}

Result<uint64_t> DecodeStamp(std::string_view bytes) {
  if (bytes.size() != 8) return CorruptionError("The stamp of a tablet's object is damaged.");
  return kv::LoadLittle64(bytes.data());
}

std::string EncodeSize(const PartSize& size) {
  std::string bytes;
  AppendLittle64(&bytes, size.bytes);
  AppendLittle64(&bytes, size.keys);
  AppendLittle64(&bytes, size.unsure);
  return bytes;
}

Result<PartSize> DecodeSize(std::string_view bytes) {
  Fields fields(bytes);
  PartSize size;
  size.bytes = fields.Little64();
  size.keys = fields.Little64();
  size.unsure = fields.Little64();
  if (!fields.whole()) return CorruptionError("The size of a tablet's object is damaged.");
  return size;
}

std::string MarksFrom(char kind, uint64_t stamp) { return fmt::format("{}{:016x}", kind, stamp); }

std::string MarkCell(uint64_t stamp, std::string_view key) {
  std::string cell = MarksFrom(kMarkCell, stamp);
  AppendEscaped(&cell, key);
  cell.push_back(kEnd);
  return cell;
}

std::string RangeMarkCell(uint64_t stamp, size_t number) {
  return MarksFrom(kRangeMarkCell, stamp) + fmt::format("{:08x}", number);
}

Result<std::string> KeyOfMark(std::string_view cell) {
  constexpr size_t kBefore = 16;  // behind the kind
  if (cell.size() <= kBefore || cell[0] != kMarkCell)
    return CorruptionError("A mark in a tablet's object is damaged.");
  return KeyOfCell(std::string(1, kKeyCell).append(cell.substr(1 + kBefore)));
}

std::string EncodeRangeMark(const KeyRange& range) {
  std::string bytes;
  AppendText(&bytes, range.begin);
  AppendText(&bytes, range.end);
  return bytes;
}

Result<KeyRange> DecodeRangeMark(std::string_view bytes) {
  Fields fields(bytes);
  KeyRange range;
  range.begin = fields.Text();
  range.end = fields.Text();
  if (!fields.whole())
    return CorruptionError("A mark of a deleted range in a tablet's object is damaged.");
  return range;
}

std::string LedgerKey(std::string_view process) {
  return std::string(1, kLedgerCell).append(process);
}

std::string EncodeLedger(const LedgerCell& cell) {
  std::string bytes;
  AppendLittle64(&bytes, cell.seq);
  AppendLittle64(&bytes, static_cast<uint64_t>(cell.time_micros));
  return bytes;
}

Result<LedgerCell> DecodeLedger(std::string_view bytes) {
  if (bytes.size() != 16) return CorruptionError("A ledger cell of a tablet's object is damaged.");
  return LedgerCell{kv::LoadLittle64(bytes.data()),
                    static_cast<int64_t>(kv::LoadLittle64(bytes.data() + 8))};
}

std::string StartAt(std::string_view key) {
  std::string cell(1, kKeyCell);
  cell.reserve(key.size() + 8);
  AppendEscaped(&cell, key);
  return cell;
}

std::string KeyCell(std::string_view key) {
  std::string cell = StartAt(key);
  cell.push_back(kEnd);
  return cell;
}

std::string ReverseCell(std::string_view key) {
  std::string cell = KeyCell(key);
  cell[0] = kReverseCell;
  Negate(&cell, 1);
  return cell;
}

size_t EscapedBytes(std::string_view key) {
  return static_cast<size_t>(std::count_if(
      key.begin(), key.end(), [](char byte) { return static_cast<uint8_t>(byte) <= kEscape; }));
}

size_t CellBytes(std::string_view key, size_t value_bytes) {
  return StoredCellBytes(key.size() + EscapedBytes(key) + 2, value_bytes + 1);
}

size_t StoredCellBytes(size_t cell_bytes, size_t stored_bytes) {
  return 2 * cell_bytes + stored_bytes;
}

Status AppendKeyOfCell(std::string_view cell, std::string* key) {
  const auto damaged = [] { return CorruptionError("A key of a tablet's object is damaged."); };
  if (cell.size() < 2 || (cell[0] != kKeyCell && cell[0] != kReverseCell)) return damaged();
  const bool negated = cell[0] == kReverseCell;
  const auto byte_at = [&](size_t i) { return static_cast<uint8_t>(negated ? -cell[i] : cell[i]); };
  const size_t last = cell.size() - 1;
  if (byte_at(last) != kEnd) return damaged();
  const size_t before = key->size();
  if (!negated) {
    const std::string_view escaped = cell.substr(1, last - 1);
    if (!HasEscapes(escaped)) return key->append(escaped), OkStatus();
  }
  // A key is never longer than its cell.
  key->resize(before + cell.size());
  char* to = key->data() + before;
  for (size_t i = 1; i < last; ++i) {
    const uint8_t byte = byte_at(i);
    if (byte > kEscape) {
      *to++ = static_cast<char>(byte);
      continue;
    }
    const uint8_t escaped = byte == kEscape && i + 1 < last ? byte_at(++i) : 0;
    if (escaped < 1 || escaped > kEscape + 1) return damaged();
    *to++ = static_cast<char>(escaped - 1);
  }
  key->resize(static_cast<size_t>(to - key->data()));
  return OkStatus();
}

Result<std::string> KeyOfCell(std::string_view cell) {
  std::string key;
  TRY(AppendKeyOfCell(cell, &key));
  return key;
}

std::string CommonCellPrefix(std::string_view begin, std::string_view end) {
  return StartAt(CommonPrefix(begin, end));
}

std::string CommonReversePrefix(std::string_view begin, std::string_view end) {
  std::string prefix = CommonCellPrefix(begin, end);
  prefix[0] = kReverseCell;
  Negate(&prefix, 1);
  return prefix;
}

bool IsBoundedByPrefix(std::string_view begin, std::string_view end, bool reverse) {
  const std::string_view prefix = CommonPrefix(begin, end);
  if (reverse) return prefix == begin;
  if (end.empty()) return true;
  return !prefix.empty() && prefix.size() == end.size() &&
         prefix.substr(0, prefix.size() - 1) == end.substr(0, end.size() - 1) &&
         static_cast<uint8_t>(prefix.back()) + 1 == static_cast<uint8_t>(end.back());
}

CellRange KeyCellRange(std::string_view begin, std::string_view end) {
  return {StartAt(begin), end.empty() ? std::string(1, kKeyCell + 1) : StartAt(end)};
}

CellRange ReverseCellRange(std::string_view begin, std::string_view end) {
  // In reverse `end` comes first and does not belong, `begin` comes last and does. A zero byte
  // makes the next text of one.
  CellRange range{end.empty() ? std::string(1, kReverseCell) : ReverseCell(end),
                  ReverseCell(begin)};
  range.begin.push_back('\0');
  range.end.push_back('\0');
  return range;
}

std::string StoredValue(std::string_view value) {
  std::string stored;
  stored.reserve(value.size() + 1);
  stored.append(value.substr(0, kv::kStampBytes));
  stored.push_back(kValueByte);
  stored.append(value.substr(kv::kStampBytes));
  return stored;
}

namespace {

Status CheckStored(std::string_view stored) {
  if (stored.size() <= kv::kStampBytes || stored[kv::kStampBytes] != kValueByte) {
    return CorruptionError("A value in a tablet's object is damaged.");
  }
  return OkStatus();
}

}  // namespace

Result<std::string> LoadedValue(std::string_view stored) {
  TRY(CheckStored(stored));
  std::string value;
  value.reserve(stored.size() - 1);
  value.append(stored.substr(0, kv::kStampBytes));
  value.append(stored.substr(kv::kStampBytes + 1));
  return value;
}

Result<std::string_view> LoadedInPlace(std::string_view stored) {
  TRY(CheckStored(stored));
  // The stamp moves up to the rest.
  std::memmove(const_cast<char*>(stored.data()) + 1, stored.data(), kv::kStampBytes);
  return stored.substr(1);
}

std::string GuardAbove(uint64_t stamp) { return EncodeStamp(stamp); }

std::string GuardBelow(uint64_t stamp) {
  std::string bytes = EncodeStamp(stamp);
  bytes.push_back(kValueByte + 1);
  return bytes;
}

}  // namespace stator::kv_rados
