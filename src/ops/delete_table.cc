#include "ops/delete_table.h"

#include "base/log.h"
#include "base/pump.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

Status CheckDeletable(const table::TableDescriptor& descriptor, const Environment& env) {
  if (StatusOf(descriptor, env) == TableStatus::kCreating) {
    return Error(ErrorCode::kResourceInUse,
                 "Attempt to change a resource which is still in use: Table is being created: " +
                     descriptor.name);
  }
  if (descriptor.deletion_protection) {
    return ValidationError(
        "Resource cannot be deleted as it is currently protected against deletion. Disable "
        "deletion protection first.");
  }
  return OkStatus();
}

}  // namespace

void DeleteTable(Context& ctx, DeleteTableRequest request, Callback<DeleteTableResponse> done) {
  const Result<std::string_view> name = TableNameOf(request.table_name);
  if (!name.ok()) {
    done(name.error());
    return;
  }
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  // Described before its items go, so that the answer still counts them.
  auto description = std::make_shared<TableDescription>();
  if (const table::TablePtr table = env.store.Find(*name))
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
  if (env.settings.delay_transient_statuses) {
    env.store.Alter(
        std::string(*name),
        [&env](table::TableDescriptor* descriptor) -> Status {
          TRY(CheckDeletable(*descriptor, env));
          if (descriptor->deleting_micros == 0) descriptor->deleting_micros = env.clock.NowMicros();
          return OkStatus();
        },
        answer);
    return;
  }
  env.store.Drop(
      std::string(*name),
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
    ++running;
    env.store.Drop(
        table->descriptor.name, [](const table::TableDescriptor&) { return OkStatus(); },
        [&pump, &running, name = table->descriptor.name](Result<table::TablePtr> dropped) {
          // Another process may have been faster.
          if (!dropped.ok() && dropped.error().code() != ErrorCode::kResourceNotFound)
            LogWarn("table not dropped", {{"table", name}, {"error", dropped.error().message()}});
          pump.Post([&running] { --running; });
        });
  }
  pump.RunUntil([&running] { return running == 0; });
}

}  // namespace stator::ops
