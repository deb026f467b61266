// The mappings and checkpoints of a store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "triggers/mapping.h"

namespace stator::triggers {

// Checkpoints by the number of their shard.
using Checkpoints = std::map<uint32_t, Checkpoint>;

// Blocks on the engine, but for StoreCheckpoint. Thread-safe.
class Book {
 public:
  explicit Book(kv::Engine& engine) : engine_(engine) {}

  // Returns all mappings, by UUID. A damaged one is left out and logged.
  Result<std::vector<StoredMapping>> Mappings();
  Result<Checkpoints> CheckpointsOf(std::string_view uuid);

  // Stores a new mapping with the checkpoints that it starts from. kResourceInUse if the stream
  // and function have one; kUnavailable if a process of the store does not know mappings, or those
  // with tumbling windows.
  Status Create(const Mapping& mapping, const Checkpoints& start);
  // Replaces a mapping that was read with this stamp. kGuardFailed if it has changed since;
  // kUnavailable as above.
  Status Update(const Mapping& mapping, uint64_t stamp);
  // Removes a mapping with its checkpoints. kGuardFailed as above.
  Status Remove(const Mapping& mapping, uint64_t stamp);

  // Stores `checkpoint` if the stored one still has the stamp checkpoint.stamp; 0 means that none
  // is stored yet. Calls `done` with the new stamp, or with kGuardFailed if another process has
  // stored a checkpoint since, or has removed the mapping and with it the checkpoint. With stamp 0
  // a removed mapping is not noticed.
  void StoreCheckpoint(std::string_view uuid, uint32_t shard, const Checkpoint& checkpoint,
                       kv::ApplyDone done);
  // Forgets all checkpoints of a mapping.
  Status ForgetAll(std::string_view uuid);
  // Forgets checkpoints of shards that are gone.
  Status Forget(std::string_view uuid, const std::vector<uint32_t>& shards);

 private:
  Status RequireFeatures(const Mapping& mapping);

  kv::Engine& engine_;
};

}  // namespace stator::triggers
