// Makes a data directory of a whole-store backup.
#pragma once

#include <string>

#include "base/result.h"
#include "store_backup/flow.h"
#include "store_backup/manifest.h"
#include "store_backup/place.h"

namespace stator::store_backup {

// Returns the backup that `at` names: an id, or a moment, for the newest that is not younger.
// Empty: the newest. kValidation if it is neither, kResourceNotFound if there is none.
Result<Backup> FindBackup(Place& place, const std::string& at);

// Reads every object of a backup. Errors of ReadChecked.
Status VerifyBackup(Place& place, const Backup& backup, const FlowOptions& options);

// Fills `directory`, which is missing, empty, or left by an earlier call that was killed. The
// directory is no store before it is whole. kValidation for another one; errors of ReadChecked;
// kUnavailable for a full disk. Leaves what it wrote, which the next call removes. Blocks for long.
Status RestoreBackup(Place& place, const Backup& backup, const std::string& directory,
                     const FlowOptions& options);

}  // namespace stator::store_backup
