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

// kValidation for what is no ARN of a backup, kAccessDenied for another account's than the
// caller's. The backup need not exist, and the Region may be another one.
Result<BackupArn> ParseBackupArn(const Context& ctx, std::string_view arn);
// `table` is its name in the store.
std::string BackupArnOf(const Environment& env, std::string_view table, std::string_view id);
// Returns the seconds since the epoch in a backup's id.
double BackupTime(std::string_view id);
// The answers for a backup that is not there, or in use.
Error BackupNotFound(std::string_view arn);
Error BackupInUse(std::string message);
// The answer of every operation on backups where the engine has none.
Error NoBackups(const Context& ctx);

}  // namespace stator::ops
