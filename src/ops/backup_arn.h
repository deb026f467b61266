// ARNs of backups: arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/backup/ID.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/context.h"

namespace stator::ops {

struct BackupArn {
  std::string region;
  std::string table;  // its name in the store
  std::string id;
};

// Parses the ARN of a backup. kValidation if `arn` is none; kAccessDenied if it belongs to another
// account than the caller's. The backup need not exist, and any Region is accepted.
Result<BackupArn> ParseBackupArn(const Context& ctx, std::string_view arn);
// Returns the ARN of a backup. `table` is the table's name in the store.
std::string BackupArnOf(const Environment& env, std::string_view table, std::string_view id);
// Returns the seconds since the epoch in a backup's id.
double BackupTime(std::string_view id);
// Return the errors for a backup that does not exist, or is in use.
Error BackupNotFound(std::string_view arn);
Error BackupInUse(std::string message);
// The answer of every operation on backups where the engine has none.
Error NoBackups(const Context& ctx);

}  // namespace stator::ops
