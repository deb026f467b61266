// A stream and its shards: what the catalog knows of them. It outlives its table.
//
// A shard holds the changes of one partition of the table's hash space. It is closed and succeeded,
// by one child or by several, when its partition splits or when it has grown old: the records of a
// parent all come before those of its children.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "model/key_schema.h"
#include "stream/position.h"

namespace stator::stream {

// [G] Records may be read for 24 hours, those of a disabled stream too.
inline constexpr int64_t kRetentionMicros = 24 * int64_t{3'600'000'000};
// [K] A shard is succeeded by another one after about four hours.
inline constexpr int64_t kShardLifeMicros = 4 * int64_t{3'600'000'000};

// In the order of the API's enum.
enum class ViewType : uint8_t { kNewImage = 0, kOldImage = 1, kNewAndOldImages = 2, kKeysOnly = 3 };

struct Shard {
  uint32_t number = 0;      // unique within the stream, rising; its place in the stream's tablet
  std::string parent_id;    // name of the shard that it continues, which may be gone; empty: none
  uint64_t first_hash = 0;  // of its partition
  uint64_t last_hash = UINT64_MAX;
  int64_t opened_micros = 0;
  int64_t closed_micros = 0;  // 0: open
  // Its records have stamps above start_stamp and, once it is closed, below end_stamp. 0 until
  // Settle has set it.
  uint64_t start_stamp = 0;
  uint64_t end_stamp = 0;
  Position trimmed_to;  // records before this are gone

  bool open() const { return closed_micros == 0; }
  // Where its records begin and, if it is closed, end.
  Position first() const { return {start_stamp + 1, 0}; }
  Position end() const { return {end_stamp, 0}; }
};

// Times are microseconds since the epoch.
struct StreamDescriptor {
  uint32_t tablet_id = 0;  // Space::kLog; from the same counter as the tablets of tables
  std::string table_name;
  std::string table_id;  // the table's UUID: tables may follow each other under one name
  std::string label;     // unique among the streams of tables of this name
  int64_t created_micros = 0;
  int64_t disabled_micros = 0;  // 0: enabled
  ViewType view_type = ViewType::kKeysOnly;
  model::KeySchema key_schema;
  uint32_t next_shard = 0;
  std::vector<Shard> shards;  // by number

  bool enabled() const { return disabled_micros == 0; }
  kv::Tablet tablet() const { return {kv::Space::kLog, tablet_id}; }
  // Null if there is no such shard, or no longer.
  const Shard* Find(uint32_t number) const;

  // One open shard for each partition, given by the lowest hash of each, sorted, the first 0.
  void Open(const std::vector<uint64_t>& partition_starts, int64_t now_micros);
  // After partitions were split: closes the shards whose partitions are no more and opens children
  // for the new ones. True if that changed anything.
  bool Repartition(const std::vector<uint64_t>& partition_starts, int64_t now_micros);
  // Succeeds open shards that were opened at `opened_before` or earlier by one child each. True if
  // there were any.
  bool Rotate(int64_t opened_before, int64_t now_micros);
  // Disables the stream: closes all shards.
  void Close(int64_t now_micros);
  // To be called with the stamp of the batch that stored this version, when nothing was appended to
  // the shards that it closes any more and nothing yet to those that it opens: that stamp separates
  // them.
  void Settle(uint64_t stamp);

  // The catalog's entry. A stamp of 0 in there means the stamp of the entry itself.
  std::string Encode() const;
  // kCorruption if the bytes are no descriptor.
  static Result<StreamDescriptor> Decode(std::string_view encoded);

 private:
  void OpenShard(std::string parent_id, uint64_t first_hash, uint64_t last_hash,
                 int64_t now_micros);
};
using StreamPtr = std::shared_ptr<const StreamDescriptor>;

// 2026-11-01T00:00:00.000
std::string LabelOf(int64_t micros);

// "shardId-", the milliseconds at which it was opened in 20 digits, "-", its number in 8
// hexadecimal digits.
std::string ShardIdOf(const Shard& shard);
// The shard of that name; null if there is none.
const Shard* FindShard(const StreamDescriptor& stream, std::string_view shard_id);
// The number in a well-formed name of a shard, whether it exists or not.
std::optional<uint32_t> NumberInShardId(std::string_view shard_id);

}  // namespace stator::stream
