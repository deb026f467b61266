#include "triggers/book.h"

#include <charconv>

#include "base/log.h"
#include "kv/features.h"

namespace stator::triggers {
namespace {

std::string EndOf(std::string prefix) {
  ++prefix.back();
  return prefix;
}

std::string PairValue(const std::string& uuid) {
  std::string value(kv::kStampBytes, '\0');
  value.push_back(1);
  return value + uuid;
}

}  // namespace

Result<std::vector<StoredMapping>> Book::Mappings() {
  std::vector<StoredMapping> mappings;
  TRY(engine_.Scan(
      {kTriggersTablet, "m/", "m0"}, kv::Tier::kAny,
      [&](std::string_view key, std::string_view value) {
        Result<Mapping> mapping = Mapping::Decode(value);
        if (mapping.ok()) {
          mappings.push_back({*std::move(mapping), kv::StampOf(value)});
        } else {
          LogWarn("mapping_not_read", {{"key", key}, {"error", mapping.error().message()}});
        }
        return true;
      }));
  return mappings;
}

Result<Checkpoints> Book::CheckpointsOf(std::string_view uuid) {
  const std::string prefix = CheckpointPrefix(uuid);
  const std::string end = EndOf(prefix);
  Checkpoints checkpoints;
  Status bad;
  TRY(engine_.Scan({kTriggersTablet, prefix, end}, kv::Tier::kAny,
                   [&](std::string_view key, std::string_view value) {
                     key.remove_prefix(prefix.size());
                     uint32_t shard = 0;
                     std::from_chars(key.data(), key.data() + key.size(), shard, 16);
                     const Result<Checkpoint> checkpoint = Checkpoint::Decode(value);
                     if (!checkpoint.ok()) {
                       bad = checkpoint.error();
                       return false;
                     }
                     checkpoints.emplace(shard, *checkpoint);
                     return true;
                   }));
  TRY(std::move(bad));
  return checkpoints;
}

Status Book::RequireFeatures(const Mapping& mapping) {
  TRY(kv::RequireFeature(engine_, kFeature));
  if (mapping.tumbling_seconds > 0) TRY(kv::RequireFeature(engine_, kWindowsFeature));
  return OkStatus();
}

Status Book::Create(const Mapping& mapping, const Checkpoints& start) {
  TRY(RequireFeatures(mapping));
  kv::Batch batch;
  batch.guards.push_back({kTriggersTablet, PairKey(mapping), 0});
  batch.puts.push_back({kTriggersTablet, PairKey(mapping), PairValue(mapping.uuid)});
  batch.puts.push_back({kTriggersTablet, MappingKey(mapping.uuid), mapping.Encode()});
  for (const auto& [shard, checkpoint] : start) {
    batch.puts.push_back(
        {kTriggersTablet, CheckpointKey(mapping.uuid, shard), checkpoint.Encode()});
  }
  const Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
  if (applied.ok()) return OkStatus();
  if (applied.error().code() == ErrorCode::kGuardFailed)
    return Error(ErrorCode::kResourceInUse, "The stream and function have a mapping.");
  return applied.error();
}

Status Book::Update(const Mapping& mapping, uint64_t stamp) {
  TRY(RequireFeatures(mapping));
  kv::Batch batch;
  const std::string key = MappingKey(mapping.uuid);
  batch.guards.push_back({kTriggersTablet, key, stamp});
  batch.puts.push_back({kTriggersTablet, key, mapping.Encode()});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
  if (!applied.ok()) return applied.error();
  return OkStatus();
}

Status Book::Remove(const Mapping& mapping, uint64_t stamp) {
  kv::Batch batch;
  const std::string key = MappingKey(mapping.uuid);
  const std::string prefix = CheckpointPrefix(mapping.uuid);
  batch.guards.push_back({kTriggersTablet, key, stamp});
  batch.range_deletes.push_back({kTriggersTablet, prefix, EndOf(prefix)});
  batch.deletes.push_back({kTriggersTablet, key});
  batch.deletes.push_back({kTriggersTablet, PairKey(mapping)});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
  if (!applied.ok()) return applied.error();
  return OkStatus();
}

void Book::StoreCheckpoint(std::string_view uuid, uint32_t shard, const Checkpoint& checkpoint,
                           kv::ApplyDone done) {
  kv::Batch batch;
  std::string key = CheckpointKey(uuid, shard);
  batch.guards.push_back({kTriggersTablet, key, checkpoint.stamp});
  batch.puts.push_back({kTriggersTablet, std::move(key), checkpoint.Encode()});
  engine_.Apply(std::move(batch), std::move(done));
}

Status Book::ForgetAll(std::string_view uuid) {
  kv::Batch batch;
  const std::string prefix = CheckpointPrefix(uuid);
  batch.range_deletes.push_back({kTriggersTablet, prefix, EndOf(prefix)});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
  if (!applied.ok()) return applied.error();
  return OkStatus();
}

Status Book::Forget(std::string_view uuid, const std::vector<uint32_t>& shards) {
  kv::Batch batch;
  for (const uint32_t shard : shards)
    batch.deletes.push_back({kTriggersTablet, CheckpointKey(uuid, shard)});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
  if (!applied.ok()) return applied.error();
  return OkStatus();
}

}  // namespace stator::triggers
