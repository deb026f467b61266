#include "ops/delete_table.h"

#include "base/log.h"
#include "base/pump.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_status.h"
#include "transfer/backups.h"

namespace stator::ops {
namespace {

Status CheckDeletable(const table::TableDescriptor& descriptor, const Environment& env) {
  if (StatusOf(descriptor, env) == TableStatus::kCreating) {
    return Error(ErrorCode::kResourceInUse,
                 "Attempt to change a resource which is still in use: Table is being created: " +
                     std::string(table::ShownName(descriptor.name)));
  }
  if (descriptor.deletion_protection) {
    return ValidationError(
        "Resource cannot be deleted as it is currently protected against deletion. Disable "
        "deletion protection first.");
  }
  return OkStatus();
}

// Returns true if the system makes a backup of the table before the table is dropped.
bool NeedsSystemBackup(const Environment& env, const table::TableDescriptor& descriptor) {
  return env.backups != nullptr && descriptor.change_log.has_value();
}

void LogDropped(const std::string& name, const Result<table::TablePtr>& dropped) {
  // Another process may have been faster.
  if (!dropped.ok() && dropped.error().code() != ErrorCode::kResourceNotFound)
    LogWarn("table not dropped", {{"table", name}, {"error", dropped.error().message()}});
}

// Begins the backup of a table that is DELETING, and drops the table when it is made. Where that
// fails, FinishDeletes tries again.
void BackUpAndDrop(Environment& env, const table::TableDescriptor& descriptor) {
  const std::string name = descriptor.name;
  const std::string id = descriptor.table_id;
  auto drop = [&env, name, id](bool made) {
    if (!made) return;
    env.store.Drop(
        name,
        [id](const table::TableDescriptor& d) -> Status {
          if (d.table_id == id && d.deleting_micros != 0) return OkStatus();
          return Error(ErrorCode::kResourceNotFound, "The table is gone");
        },
        [name](Result<table::TablePtr> dropped) { LogDropped(name, dropped); });
  };
  env.store.WhileQuiet(
      name,
      [&env, id, drop](const table::TablePtr& table) -> Status {
        const table::TableDescriptor& d = table->descriptor;
        if (d.table_id != id || d.deleting_micros == 0 ||
            env.backups->FindSystem(d.name, id) != nullptr)
          return OkStatus();
        const Result<transfer::BackupPtr> begun = env.backups->CreateSystem(table, drop);
        return begun.ok() ? OkStatus() : Status(begun.error());
      },
      [name](const Status& begun) {
        if (!begun.ok() && begun.error().code() != ErrorCode::kResourceNotFound)
          LogWarn("system_backup_failed", {{"table", name}, {"error", begun.error().message()}});
      });
}

}  // namespace

void DeleteTable(Context& ctx, DeleteTableRequest request, Callback<DeleteTableResponse> done) {
  const Result<StoreTableName> name = StoreNameOf(ctx, request.table_name);
  if (!name.ok()) {
    done(name.error());
    return;
  }
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  // Described before its items go, so that the answer still counts them.
  auto description = std::make_shared<TableDescription>();
  if (const table::TablePtr table = env.store.Find(name->view()))
    *description = Describe(env, *table, TableStatus::kDeleting);
  const auto answer = [&env, &loop, description,
                       done = std::make_shared<Callback<DeleteTableResponse>>(std::move(done))](
                          Result<table::TablePtr> table) {
    RunOn(loop, [&env, description, done, table = std::move(table)]() mutable {
      if (!table.ok()) return (*done)(std::move(table).error());
      // It may be one that another process made and this one had not heard of.
      if (description->table_id != (*table)->descriptor.table_id)
        *description = Describe(env, **table, TableStatus::kDeleting);
      (*done)(DeleteTableResponse{std::move(*description)});
    });
  };
  const table::TablePtr found = env.store.Find(name->view());
  const bool backs_up = found != nullptr && NeedsSystemBackup(env, found->descriptor);
  if (env.settings.delay_transient_statuses || backs_up) {
    env.store.Alter(
        name->str(),
        [&env](table::TableDescriptor* descriptor) -> Status {
          TRY(CheckDeletable(*descriptor, env));
          if (descriptor->deleting_micros == 0) descriptor->deleting_micros = env.clock.NowMicros();
          return OkStatus();
        },
        [&env, answer](Result<table::TablePtr> table) {
          const bool now = table.ok() && !env.settings.delay_transient_statuses &&
                           NeedsSystemBackup(env, (*table)->descriptor);
          if (now) BackUpAndDrop(env, (*table)->descriptor);
          answer(std::move(table));
        });
    return;
  }
  env.store.Drop(
      name->str(),
      [&env](const table::TableDescriptor& descriptor) { return CheckDeletable(descriptor, env); },
      answer);
}

void FinishDeletes(Environment& env) {
  const int64_t now = env.clock.NowMicros();
  Pump pump;
  int running = 0;
  for (const table::TablePtr& table : env.store.List()) {
    const int64_t since = table->descriptor.deleting_micros;
    // A date in the future is from before the machine's date was set back.
    const bool waits = now >= since && now < since + kTransientStatusMicros;
    if (since == 0 || waits || !env.store.MayWork(*table)) continue;
    if (NeedsSystemBackup(env, table->descriptor)) {
      const transfer::BackupPtr backup =
          env.backups->FindSystem(table->descriptor.name, table->descriptor.table_id);
      if (backup == nullptr) BackUpAndDrop(env, table->descriptor);
      if (backup == nullptr || backup->state == transfer::Backup::State::kCreating) continue;
    }
    ++running;
    env.store.Drop(
        table->descriptor.name, [](const table::TableDescriptor&) { return OkStatus(); },
        [&pump, &running, name = table->descriptor.name](Result<table::TablePtr> dropped) {
          LogDropped(name, dropped);
          pump.Post([&running] { --running; });
        });
  }
  pump.RunUntil([&running] { return running == 0; });
}

}  // namespace stator::ops
