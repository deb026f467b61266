#include "stream/record.h"

#include <algorithm>

#include "kv/fixed_bytes.h"

namespace stator::stream {
namespace {

constexpr char kFormat = 0x01;
constexpr uint8_t kByService = 0x80;
constexpr char kKeyAttributes = 1;
constexpr char kNewImage = 2;
constexpr char kOldImage = 3;
constexpr size_t kStampOffset = 4;
constexpr size_t kKeyBytes = 14;
constexpr size_t kEventOffset = kv::kStampBytes + 1;
constexpr size_t kTimeOffset = kEventOffset + 1;
constexpr size_t kImagesOffset = kTimeOffset + 8;

void AppendImage(std::string* value, char which, std::string_view item) {
  value->push_back(which);
  model::AppendVarint(value, item.size());
  value->append(item);
}

// Like model::ReadVarint, for unchecked bytes.
bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

Error BadRecord() { return CorruptionError("a record of a stream is damaged"); }

}  // namespace

size_t Record::size_bytes() const {
  size_t size = model::ItemView(keys).size_bytes();
  if (new_image) size += model::ItemView(*new_image).size_bytes();
  if (old_image) size += model::ItemView(*old_image).size_bytes();
  return size;
}

std::string RecordKey(uint32_t shard, Position position) {
  std::string key(kKeyBytes, '\0');
  kv::StoreBig32(key.data(), shard);
  kv::StoreBig64(key.data() + kStampOffset, position.stamp);
  const uint32_t index = std::min(position.index, kMaxIndex + 1);
  key[12] = static_cast<char>(index >> 8);
  key[13] = static_cast<char>(index);
  return key;
}

Result<Position> PositionOfKey(std::string_view key) {
  if (key.size() != kKeyBytes) return BadRecord();
  Position position;
  position.stamp = kv::LoadBig64(key.data() + kStampOffset);
  position.index =
      static_cast<uint32_t>(static_cast<uint8_t>(key[12])) << 8 | static_cast<uint8_t>(key[13]);
  return position;
}

Result<int64_t> TimeOfRecord(std::string_view value) {
  if (value.size() < kImagesOffset || value[kv::kStampBytes] != kFormat) return BadRecord();
  return static_cast<int64_t>(kv::LoadLittle64(value.data() + kTimeOffset));
}

Result<Record> DecodeRecord(const StreamDescriptor& stream, std::string_view key,
                            std::string_view value) {
  Record record;
  ASSIGN_OR_RETURN(record.position, PositionOfKey(key));
  ASSIGN_OR_RETURN(record.created_micros, TimeOfRecord(value));
  const uint8_t event = static_cast<uint8_t>(value[kEventOffset]);
  record.event = static_cast<Event>(event & ~kByService);
  record.cause = (event & kByService) != 0 ? Cause::kService : Cause::kClient;
  if (record.event < Event::kInsert || record.event > Event::kRemove) return BadRecord();
  value.remove_prefix(kImagesOffset);
  while (!value.empty()) {
    const char which = value.front();
    value.remove_prefix(1);
    uint64_t length = 0;
    if (!TakeVarint(&value, &length) || length > value.size()) return BadRecord();
    std::string item(value.substr(0, length));
    value.remove_prefix(length);
    TRY(model::CheckItem(item));
    switch (which) {
      case kKeyAttributes: record.keys = std::move(item); break;
      case kNewImage: record.new_image = std::move(item); break;
      case kOldImage: record.old_image = std::move(item); break;
      default: return BadRecord();
    }
  }
  if (!record.keys.empty()) return record;
  const std::optional<std::string>& image = record.new_image ? record.new_image : record.old_image;
  if (!image) return BadRecord();
  const model::ItemView item(*image);
  const model::KeySchema& schema = stream.key_schema;
  if (item.Find(schema.partition.name).empty() ||
      (schema.sort && item.Find(schema.sort->name).empty()))
    return BadRecord();
  record.keys = model::KeyAttributesOf(schema, item);
  return record;
}

Appender::Appender(const StreamDescriptor& stream)
    : tablet_(stream.tablet()), view_type_(stream.view_type), key_schema_(stream.key_schema) {
  std::vector<std::pair<uint64_t, uint32_t>> open;
  for (const Shard& shard : stream.shards) {
    if (shard.open()) open.emplace_back(shard.first_hash, shard.number);
  }
  std::sort(open.begin(), open.end());
  for (const auto& [first_hash, number] : open) {
    first_hashes_.push_back(first_hash);
    shards_.push_back(number);
  }
}

bool Appender::Append(uint64_t hash, model::ItemView old_item, model::ItemView new_item,
                      Cause cause, int64_t now_micros, uint32_t index, kv::Batch* batch) const {
  // The encoding is canonical: a set in another order or a number in another spelling has the same
  // bytes.
  if (old_item.encoded() == new_item.encoded()) return false;
  const bool shows_new = new_item.exists() && (view_type_ == ViewType::kNewImage ||
                                               view_type_ == ViewType::kNewAndOldImages);
  const bool shows_old = old_item.exists() && (view_type_ == ViewType::kOldImage ||
                                               view_type_ == ViewType::kNewAndOldImages);
  const Event event = !old_item.exists()  ? Event::kInsert
                      : new_item.exists() ? Event::kModify
                                          : Event::kRemove;

  kv::Put put;
  put.tablet = tablet_;
  put.key_stamp_offset = static_cast<int>(kStampOffset);
  const size_t shard =
      static_cast<size_t>(std::upper_bound(first_hashes_.begin(), first_hashes_.end(), hash) -
                          first_hashes_.begin()) -
      1;
  put.key = RecordKey(shards_[shard], {0, index});
  put.value.reserve(kImagesOffset + 12 + (shows_new ? new_item.encoded().size() : 0) +
                    (shows_old ? old_item.encoded().size() : 0));
  put.value.assign(kImagesOffset, '\0');
  put.value[kv::kStampBytes] = kFormat;
  put.value[kEventOffset] =
      static_cast<char>(static_cast<uint8_t>(event) | (cause == Cause::kService ? kByService : 0));
  kv::StoreLittle64(put.value.data() + kTimeOffset, static_cast<uint64_t>(now_micros));
  if (!shows_new && !shows_old) {
    AppendImage(&put.value, kKeyAttributes,
                model::KeyAttributesOf(key_schema_, new_item.exists() ? new_item : old_item));
  }
  if (shows_new) AppendImage(&put.value, kNewImage, new_item.encoded());
  if (shows_old) AppendImage(&put.value, kOldImage, old_item.encoded());
  batch->puts.push_back(std::move(put));
  return true;
}

}  // namespace stator::stream
