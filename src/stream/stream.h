// A stream and its shards, as the catalog stores them. A stream outlives its table.
//
// A shard holds the changes of one partition of the table's hash space. When the partition splits,
// or the shard has grown old, the shard is closed and one or several child shards continue it. All
// records of a parent come before those of its children.
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

// [G] Records can be read for 24 hours, also after the stream is disabled.
inline constexpr int64_t kRetentionMicros = 24 * int64_t{3'600'000'000};
// [K] A shard is replaced by a child after about four hours.
inline constexpr int64_t kShardLifeMicros = 4 * int64_t{3'600'000'000};

// The end of the label of a stream that the server makes for itself.
inline constexpr std::string_view kHiddenSuffix = "+kinesis";

// In the order of the API's enum.
enum class ViewType : uint8_t { kNewImage = 0, kOldImage = 1, kNewAndOldImages = 2, kKeysOnly = 3 };

struct Shard {
  uint32_t number = 0;      // unique within the stream, rising; the prefix of its keys
  std::string parent_id;    // name of the shard that it continues, which may be gone; empty: none
  uint64_t first_hash = 0;  // of its partition
  uint64_t last_hash = UINT64_MAX;
  int64_t opened_micros = 0;
  int64_t closed_micros = 0;  // 0: open
  // The shard's records have stamps above start_stamp and, once it is closed, below end_stamp. Both
  // are 0 until Settle has set them.
  uint64_t start_stamp = 0;
  uint64_t end_stamp = 0;
  Position trimmed_to;  // records before this are gone

  bool open() const { return closed_micros == 0; }
  // The position of the first possible record and, for a closed shard, the end of its records.
  Position first() const { return {start_stamp + 1, 0}; }
  Position end() const { return {end_stamp, 0}; }
};

// Times are microseconds since the epoch.
struct StreamDescriptor {
  uint32_t tablet_id = 0;  // Space::kLog; from the same counter as the tablets of tables
  std::string table_name;
  std::string table_id;  // the table's UUID: several tables may use one name in turn
  std::string label;     // unique among the streams of tables of this name
  int64_t created_micros = 0;
  int64_t disabled_micros = 0;  // 0: enabled
  ViewType view_type = ViewType::kKeysOnly;
  model::KeySchema key_schema;
  uint32_t next_shard = 0;
  std::vector<Shard> shards;  // by number

  bool enabled() const { return disabled_micros == 0; }
  // Whether the server alone reads it: no client sees it.
  bool hidden() const { return label.ends_with(kHiddenSuffix); }
  kv::Tablet tablet() const { return {kv::Space::kLog, tablet_id}; }
  // Returns null if the shard does not exist, or no longer.
  const Shard* Find(uint32_t number) const;

  // Opens one shard for each partition. A partition is given by its lowest hash; the hashes are
  // sorted and begin with 0.
  void Open(const std::vector<uint64_t>& partition_starts, int64_t now_micros);
  // Adapts the shards to split partitions: closes the shards of partitions that no longer exist and
  // opens children for the new partitions. Returns true if anything changed.
  bool Repartition(const std::vector<uint64_t>& partition_starts, int64_t now_micros);
  // Replaces each open shard that was opened at `opened_before` or earlier by a child. Returns true
  // if there was any.
  bool Rotate(int64_t opened_before, int64_t now_micros);
  // Disables the stream: closes all shards.
  void Close(int64_t now_micros);
  // Sets the stamps of the shards that this version opens or closes to `stamp`, the stamp of the
  // batch that stored this version. Between that batch and this call nothing may be appended to any
  // of them.
  void Settle(uint64_t stamp);

  // Returns the catalog's entry. A stamp of 0 in the entry means the stamp of the entry itself.
  std::string Encode() const;
  // Returns kCorruption if the bytes are not a descriptor.
  static Result<StreamDescriptor> Decode(std::string_view encoded);

 private:
  void OpenShard(std::string parent_id, uint64_t first_hash, uint64_t last_hash,
                 int64_t now_micros);
};
using StreamPtr = std::shared_ptr<const StreamDescriptor>;

// Returns a label of the form 2026-11-01T00:00:00.000.
std::string LabelOf(int64_t micros);

// Returns the name of a shard: "shardId-", the milliseconds at which it was opened in 20 digits,
// "-", its number in 8 hexadecimal digits.
std::string ShardIdOf(const Shard& shard);
// Returns the shard of that name; null if there is none.
const Shard* FindShard(const StreamDescriptor& stream, std::string_view shard_id);
// Returns the number in a well-formed shard name, whether the shard exists or not.
std::optional<uint32_t> NumberInShardId(std::string_view shard_id);

}  // namespace stator::stream
