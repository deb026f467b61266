#include "history/change_log.h"

#include <algorithm>

#include "kv/fixed_bytes.h"

namespace stator::history {
namespace {

constexpr char kRecordKind = 0x01;
constexpr char kMarkKind = 0x02;
constexpr char kFormat = 0x01;
constexpr size_t kDayEnd = 5;  // of kind and day
constexpr size_t kTimeAndStamp = 16;
constexpr size_t kValueHeader = kv::kStampBytes + 1;
constexpr std::string_view kItemEnd("\0\x01", 2);

Error BadRecord() { return CorruptionError("a record of a change log is damaged"); }

void AppendEscaped(std::string* out, std::string_view bytes) {
  size_t from = 0;
  for (size_t zero = bytes.find('\0'); zero != std::string_view::npos;
       zero = bytes.find('\0', from)) {
    out->append(bytes.substr(from, zero - from));
    out->append("\0\xff", 2);
    from = zero + 1;
  }
  out->append(bytes.substr(from));
}

// Decodes what AppendEscaped wrote. Returns false for any other form.
bool Unescape(std::string_view bytes, std::string* out) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    out->push_back(bytes[i]);
    if (bytes[i] != '\0') continue;
    if (++i == bytes.size() || bytes[i] != '\xff') return false;
  }
  return true;
}

void AppendBig64(std::string* out, uint64_t value) {
  char bytes[8];
  kv::StoreBig64(bytes, value);
  out->append(bytes, sizeof bytes);
}

std::string ValueWithRoom(size_t more) {
  std::string value;
  value.reserve(kValueHeader + more);
  value.assign(kv::kStampBytes, '\0');
  value.push_back(kFormat);
  return value;
}

}  // namespace

int64_t ChangeLog::EarliestAt(int64_t now_micros) const {
  return std::max(since_micros, now_micros - period_days * kDayMicros);
}

int64_t DayOf(int64_t micros) { return std::max<int64_t>(micros, 0) / kDayMicros; }

std::string FirstKeyOfDay(int64_t day) {
  std::string key(kDayEnd, kRecordKind);
  kv::StoreBig32(key.data() + 1, static_cast<uint32_t>(day));
  return key;
}

std::string FirstKeyOf(int64_t day, std::string_view item_key, int64_t micros) {
  std::string key;
  key.reserve(kDayEnd + item_key.size() + item_key.size() / 4 + kItemEnd.size() + kTimeAndStamp);
  key.assign(kDayEnd, kRecordKind);
  kv::StoreBig32(key.data() + 1, static_cast<uint32_t>(day));
  AppendEscaped(&key, item_key);
  key.append(kItemEnd);
  AppendBig64(&key, static_cast<uint64_t>(std::max<int64_t>(micros, 0)));
  return key;
}

void AppendBefore(const ChangeLog& log, std::string_view item_key, model::ItemView before,
                  int64_t micros, kv::Batch* batch) {
  kv::Put put;
  put.tablet = log.tablet();
  put.key = FirstKeyOf(DayOf(micros), item_key, micros);
  put.key_stamp_offset = static_cast<int>(put.key.size());
  put.key.append(sizeof(uint64_t), '\0');
  put.value = ValueWithRoom(before.encoded().size());
  put.value.append(before.encoded());
  batch->puts.push_back(std::move(put));
}

void AppendMark(const ChangeLog& log, int64_t micros, kv::Batch* batch) {
  kv::Put put;
  put.tablet = log.tablet();
  put.key.assign(1, kMarkKind);
  put.value = ValueWithRoom(sizeof(uint64_t));
  put.value.resize(kValueHeader + sizeof(uint64_t));
  kv::StoreLittle64(put.value.data() + kValueHeader, static_cast<uint64_t>(micros));
  batch->puts.push_back(std::move(put));
}

Result<int64_t> ReadMark(kv::Engine& engine, const ChangeLog& log, kv::Tier tier) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   engine.Get(log.tablet(), std::string_view(&kMarkKind, 1), tier, &value));
  if (!found) return int64_t{0};
  if (value.size() != kValueHeader + sizeof(uint64_t) || value[kv::kStampBytes] != kFormat)
    return CorruptionError("the mark of a change log is damaged");
  return static_cast<int64_t>(kv::LoadLittle64(value.data() + kValueHeader));
}

Result<Record> DecodeRecord(std::string_view key, std::string_view value) {
  if (key.size() < kDayEnd + kItemEnd.size() + kTimeAndStamp || key[0] != kRecordKind ||
      value.size() < kValueHeader || value[kv::kStampBytes] != kFormat)
    return BadRecord();
  Record record;
  const size_t end = key.size() - kTimeAndStamp;
  std::string_view item = key.substr(kDayEnd, end - kDayEnd);
  if (!item.ends_with(kItemEnd)) return BadRecord();
  item.remove_suffix(kItemEnd.size());
  record.item_key.reserve(item.size());
  if (!Unescape(item, &record.item_key)) return BadRecord();
  record.micros = static_cast<int64_t>(kv::LoadBig64(key.data() + end));
  record.stamp = kv::LoadBig64(key.data() + end + sizeof(uint64_t));
  if (DayOf(record.micros) != static_cast<int64_t>(kv::LoadBig32(key.data() + 1)))
    return BadRecord();
  record.before = value.substr(kValueHeader);
  return record;
}

}  // namespace stator::history
