// Change records in the store:
//
//   tablet := Space::kLog, the stream's id
//   key    := shard:4 stamp:8 index:2                     big-endian; the engine fills the stamp in
//   value  := stamp:8 01 event:1 time:8 { which varint(length) item }
//   event  := 1 insert, 2 modify, 3 remove; | 80: by the service itself, not by a client
//   time   := microseconds since the epoch, little-endian
//   which  := 1 key attributes, 2 new image, 3 old image
//
// Only the images that the view type shows are stored, and the key attributes only where no image
// holds them. Records of a shard lie in the order of their commits, so whoever reads on from a
// position never passes a later one before an earlier one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "model/value.h"
#include "stream/stream.h"

namespace stator::stream {

enum class Event : uint8_t { kInsert = 1, kModify = 2, kRemove = 3 };
// kService: an expired item, deleted by time to live.
enum class Cause : uint8_t { kClient, kService };

// One change of one item. Owns its bytes.
struct Record {
  Position position;
  Event event = Event::kInsert;
  Cause cause = Cause::kClient;
  int64_t created_micros = 0;
  std::string keys;                      // encoded item: the key attributes
  std::optional<std::string> new_image;  // encoded items; as the view type has it
  std::optional<std::string> old_image;

  // The size that clients are told: of keys and images, by DynamoDB's rules for items.
  size_t size_bytes() const;
};

// The key of the record at `position`, or where it would be.
std::string RecordKey(uint32_t shard, Position position);
// kCorruption if the key is none.
Result<Position> PositionOfKey(std::string_view key);
// kCorruption if key or value are no record of the stream.
Result<Record> DecodeRecord(const StreamDescriptor& stream, std::string_view key,
                            std::string_view value);
// The time alone.
Result<int64_t> TimeOfRecord(std::string_view value);

// Writes the records of an enabled stream: one version of its open shards. Immutable.
class Appender {
 public:
  explicit Appender(const StreamDescriptor& stream);

  // Adds to `batch` the record of a change of an item with this hash, which is number `index` of
  // the batch. No image (ItemView()) stands for no item. False, and adds nothing, if the images are
  // equal: nothing changed.
  bool Append(uint64_t hash, model::ItemView old_item, model::ItemView new_item, Cause cause,
              int64_t now_micros, uint32_t index, kv::Batch* batch) const;

 private:
  const kv::Tablet tablet_;
  const ViewType view_type_;
  const model::KeySchema key_schema_;
  std::vector<uint64_t> first_hashes_;  // of the open shards, sorted
  std::vector<uint32_t> shards_;
};

}  // namespace stator::stream
