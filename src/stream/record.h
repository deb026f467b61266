// Change records in the store:
//
//   tablet := Space::kLog, the stream's id
//   key    := shard:4 stamp:8 index:2                     big-endian; the engine writes the stamp
//   value  := stamp:8 01 event:1 time:8 { which varint(length) item }
//   event  := 1 insert, 2 modify, 3 remove; | 80: by the service itself, not by a client
//   time   := microseconds since the epoch, little-endian
//   which  := 1 key attributes, 2 new image, 3 old image
//
// Only the images that the view type shows are stored, and the key attributes only if no image
// contains them. Records of a shard are ordered by commit, so a reader that continues from a
// position never sees a later record before an earlier one.
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
// kService: time to live deleted an expired item.
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

  // Returns the size that clients see: keys and images by DynamoDB's rules for items.
  size_t size_bytes() const;
};

// Returns the key of the record at `position`, whether it exists or not.
std::string RecordKey(uint32_t shard, Position position);
// Returns the position in a record's key; kCorruption if the key is not one.
Result<Position> PositionOfKey(std::string_view key);
// Returns the record; kCorruption if key or value is not a record of the stream.
Result<Record> DecodeRecord(const StreamDescriptor& stream, std::string_view key,
                            std::string_view value);
// Returns only the creation time.
Result<int64_t> TimeOfRecord(std::string_view value);

// Appends records to an enabled stream, for one version of its open shards. Immutable.
class Appender {
 public:
  explicit Appender(const StreamDescriptor& stream);

  // Adds the record of a change of an item with this hash to `batch`; `index` is the change's
  // number in the batch. ItemView() stands for an absent item. Returns false and adds nothing if
  // the images are equal.
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
