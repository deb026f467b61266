// The operation RestoreTableFromBackup.
#include <memory>
#include <utility>

#include "ops/backup_arn.h"
#include "ops/backups.h"
#include "ops/restore_definition.h"
#include "transfer/backups.h"
#include "transfer/restores.h"

namespace stator::ops {
namespace {

using Request = RestoreTableFromBackupRequest;
using transfer::BackupPtr;

// Does all that comes before the creation of the table and returns the table's definition. Then the
// backup is marked as in use, and a place among the running restores is reserved.
Result<table::TableDescriptor> Prepare(Context& ctx, const Request& request,
                                       const std::string& target) {
  Environment& env = ctx.env;
  if (env.backups == nullptr) return NoBackups(ctx);
  ASSIGN_OR_RETURN(const BackupArn arn, ParseBackupArn(ctx, request.backup_arn));
  const BackupPtr backup = env.backups->Find(arn.id);
  if (backup == nullptr || backup->manifest.table.name != arn.table ||
      arn.region != env.settings.region)
    return BackupNotFound(request.backup_arn);
  const table::TableDescriptor& source = backup->manifest.table;
  ASSIGN_OR_RETURN(table::TableDescriptor descriptor, DefineRestored(env, target, request, source));
  descriptor.restore.emplace();
  descriptor.restore->backup_id = backup->manifest.id;
  descriptor.restore->table_name = source.name;
  if (env.store.Find(target) != nullptr) return RestoreTargetTaken(env, target);
  TRY(env.restores->Reserve());
  const Result<BackupPtr> used = env.backups->Use(arn.id);
  if (used.ok()) return descriptor;
  env.restores->GiveUp();
  if (used.error().code() == ErrorCode::kResourceNotFound)
    return BackupNotFound(request.backup_arn);
  return BackupInUse(used.error().message() + request.backup_arn);
}

}  // namespace

void RestoreTableFromBackup(Context& ctx, RestoreTableFromBackupRequest request,
                            Callback<RestoreTableFromBackupResponse> done) {
  std::string target = table::StoreName(ctx.account, request.target_table_name);
  Result<table::TableDescriptor> descriptor = Prepare(ctx, request, target);
  if (!descriptor.ok()) return done(std::move(descriptor).error());
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  const std::string id = descriptor->restore->backup_id;
  auto answer = [&env, &loop, id, name = std::move(target),
                 done = std::move(done)](Result<table::TablePtr> table) mutable {
    if (table.ok()) {
      env.restores->Begin(*table);
    } else {
      env.restores->GiveUp();
      env.backups->Release(id);
    }
    RunOn(loop, [&env, name = std::move(name), table = std::move(table),
                 done = std::move(done)]() mutable {
      Result<TableDescription> description = RestoredDescription(env, name, table);
      if (!description.ok()) return done(std::move(description).error());
      done(RestoreTableFromBackupResponse{*std::move(description)});
    });
  };
  CreateRestored(env, loop, *std::move(descriptor), std::move(answer));
}

}  // namespace stator::ops
