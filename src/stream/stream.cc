#include "stream/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "model/fields.h"

namespace stator::stream {
namespace {

using model::FieldReader;
using model::FieldWriter;

constexpr std::string_view kShardIdPrefix = "shardId-";
constexpr size_t kMillisDigits = 20;
constexpr size_t kNumberDigits = 8;

void VisitHash(FieldWriter& v, const char* name, const uint64_t& hash) {
  v.String(name, std::to_string(hash));
}
void VisitHash(FieldReader& v, const char* name, uint64_t& hash) {
  std::string text;
  v.String(name, text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash);
  if (error != std::errc() || end != text.data() + text.size()) v.Fail();
}

template <typename Visitor, typename S>
void VisitShard(Visitor& v, S& s) {
  v.Integer("Number", s.number);
  v.StringIfAny("Parent", s.parent_id);
  VisitHash(v, "FirstHash", s.first_hash);
  VisitHash(v, "LastHash", s.last_hash);
  v.Integer("Opened", s.opened_micros);
  v.Integer("Closed", s.closed_micros);
  v.Integer("StartStamp", s.start_stamp);
  v.Integer("EndStamp", s.end_stamp);
  v.Integer("TrimmedStamp", s.trimmed_to.stamp);
  v.Integer("TrimmedIndex", s.trimmed_to.index);
}

template <typename Visitor, typename D>
void Visit(Visitor& v, D& d) {
  v.Integer("TabletId", d.tablet_id);
  v.String("TableName", d.table_name);
  v.String("TableId", d.table_id);
  v.String("Label", d.label);
  v.Integer("Created", d.created_micros);
  v.Integer("Disabled", d.disabled_micros);
  v.Integer("ViewType", d.view_type);
  v.Key("KeySchema", d.key_schema);
  v.Integer("NextShard", d.next_shard);
  v.Structures("Shards", d.shards, [](auto& visitor, auto& shard) { VisitShard(visitor, shard); });
}

// Returns the highest hash of partition `i`.
uint64_t LastHash(const std::vector<uint64_t>& starts, size_t i) {
  return i + 1 < starts.size() ? starts[i + 1] - 1 : UINT64_MAX;
}

}  // namespace

const Shard* StreamDescriptor::Find(uint32_t number) const {
  const auto found =
      std::lower_bound(shards.begin(), shards.end(), number,
                       [](const Shard& shard, uint32_t wanted) { return shard.number < wanted; });
  return found != shards.end() && found->number == number ? &*found : nullptr;
}

void StreamDescriptor::OpenShard(std::string parent_id, uint64_t first_hash, uint64_t last_hash,
                                 int64_t now_micros) {
  Shard shard;
  shard.number = next_shard++;
  shard.parent_id = std::move(parent_id);
  shard.first_hash = first_hash;
  shard.last_hash = last_hash;
  shard.opened_micros = now_micros;
  shards.push_back(std::move(shard));
}

void StreamDescriptor::Open(const std::vector<uint64_t>& partition_starts, int64_t now_micros) {
  for (size_t i = 0; i < partition_starts.size(); ++i) {
    OpenShard("", partition_starts[i], LastHash(partition_starts, i), now_micros);
  }
}

bool StreamDescriptor::Repartition(const std::vector<uint64_t>& partition_starts,
                                   int64_t now_micros) {
  const size_t before = shards.size();
  for (size_t i = 0; i < partition_starts.size(); ++i) {
    const uint64_t first = partition_starts[i];
    const uint64_t last = LastHash(partition_starts, i);
    for (size_t k = 0; k < before; ++k) {
      Shard& shard = shards[k];
      // A shard that this change has already closed for an earlier partition is the parent of this
      // partition's shard too.
      const bool closed_before = !shard.open() && shard.end_stamp != 0;
      if (closed_before || first < shard.first_hash || first > shard.last_hash) continue;
      if (first == shard.first_hash && last == shard.last_hash) break;
      shard.closed_micros = now_micros;
      OpenShard(ShardIdOf(shard), first, last, now_micros);  // `shard` is invalid from here on
      break;
    }
  }
  return shards.size() != before;
}

bool StreamDescriptor::Rotate(int64_t opened_before, int64_t now_micros) {
  const size_t before = shards.size();
  for (size_t k = 0; k < before; ++k) {
    if (!shards[k].open() || shards[k].opened_micros > opened_before) continue;
    shards[k].closed_micros = now_micros;
    OpenShard(ShardIdOf(shards[k]), shards[k].first_hash, shards[k].last_hash, now_micros);
  }
  return shards.size() != before;
}

void StreamDescriptor::Close(int64_t now_micros) {
  disabled_micros = now_micros;
  for (Shard& shard : shards) {
    if (shard.open()) shard.closed_micros = now_micros;
  }
}

void StreamDescriptor::Settle(uint64_t stamp) {
  for (Shard& shard : shards) {
    if (shard.start_stamp == 0) shard.start_stamp = stamp;
    if (!shard.open() && shard.end_stamp == 0) shard.end_stamp = stamp;
  }
}

std::string StreamDescriptor::Encode() const {
  FieldWriter writer;
  Visit(writer, *this);
  return writer.Finish();
}

Result<StreamDescriptor> StreamDescriptor::Decode(std::string_view encoded) {
  TRY(model::CheckItem(encoded));
  StreamDescriptor stream;
  FieldReader reader(model::ItemView(encoded).attributes());
  Visit(reader, stream);
  bool sound = reader.ok() && stream.tablet_id != 0 && stream.view_type <= ViewType::kKeysOnly;
  for (size_t i = 0; i + 1 < stream.shards.size(); ++i)
    sound &= stream.shards[i].number < stream.shards[i + 1].number;
  if (!sound)
    return CorruptionError("a stream descriptor in the catalog lacks a member or has a bad one");
  return stream;
}

std::string LabelOf(int64_t micros) {
  const time_t seconds = micros / 1'000'000;
  tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     micros / 1000 % 1000);
}

std::string ShardIdOf(const Shard& shard) {
  return fmt::format("{}{:020}-{:08x}", kShardIdPrefix, shard.opened_micros / 1000, shard.number);
}

std::optional<uint32_t> NumberInShardId(std::string_view shard_id) {
  constexpr size_t kDash = kShardIdPrefix.size() + kMillisDigits;
  if (shard_id.size() != kDash + 1 + kNumberDigits || !shard_id.starts_with(kShardIdPrefix) ||
      shard_id[kDash] != '-') {
    return std::nullopt;
  }
  const std::string_view digits = shard_id.substr(kDash + 1);
  uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

const Shard* FindShard(const StreamDescriptor& stream, std::string_view shard_id) {
  const std::optional<uint32_t> number = NumberInShardId(shard_id);
  const Shard* shard = number ? stream.Find(*number) : nullptr;
  return shard != nullptr && ShardIdOf(*shard) == shard_id ? shard : nullptr;
}

}  // namespace stator::stream
