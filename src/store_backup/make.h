// Makes a whole-store backup, and lets old ones go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kv/engine.h"
#include "store_backup/flow.h"
#include "store_backup/manifest.h"
#include "store_backup/place.h"

namespace stator::store_backup {

struct MakeOptions {
  FlowOptions flow;
  std::string version;
  std::string key_id;  // of the store's encryption; empty: it is plain
  // Hears how many bytes the store has, once it is known; may be null.
  std::function<void(uint64_t bytes)> total;
};

// Copies the store as it is at one moment between the call and the first byte that is copied, and
// returns the backup once it is published. The engine's files are in `data_dir`, where a folder of
// links holds the moment meanwhile. Files that the place has are not copied again. After an error
// or a crash there is no new backup. kUnavailable, with a sentence for people: the engine has no
// files, the disk or the place is full, another process makes a backup there. Blocks for long.
Result<Backup> MakeBackup(kv::Engine& engine, const std::string& data_dir, Place& place,
                          const Clock& clock, const MakeOptions& options);

// Removes what a killed MakeBackup has left in the data directory of a store that is open.
void RemoveCheckpoint(const std::string& data_dir);

// Returns the ids of the backups that are there, the oldest first. Their manifests may be damaged.
Result<std::vector<std::string>> BackupIds(Place& place);
// Visits the backups that are there, the oldest first, the newest `most` only; one at a time is in
// memory. A manifest that cannot be read is named in *damaged, which may be null: then it is an
// error.
Status VisitBackups(Place& place, size_t most, std::vector<std::string>* damaged,
                    const std::function<void(Backup backup)>& visit);
// Returns the newest sound backup; kResourceNotFound if there is none.
Result<Backup> NewestBackup(Place& place);
// Reads one by its id.
Result<Backup> ReadBackup(Place& place, const std::string& id);

struct Removed {
  uint64_t backups = 0;
  uint64_t objects = 0;
  uint64_t bytes = 0;
};
// Removes all but the newest `keep` backups (0: none of them), and each object that no backup
// needs. Removes nothing if a manifest cannot be read, for it may need any object. An error in
// between leaves objects that the next call removes. Not while a backup is written to the place.
Result<Removed> RemoveOld(Place& place, uint64_t keep);

}  // namespace stator::store_backup
