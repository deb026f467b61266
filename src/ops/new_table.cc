#include "ops/new_table.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "ops/resource_policies.h"
#include "ops/table_capacity.h"
#include "table/table_name.h"

namespace stator::ops {

void CreateInAccount(Environment& env, table::TableDescriptor descriptor,
                     UniqueFunction<void(Result<table::TablePtr>)> done) {
  auto made = [&env, done = std::move(done)](Result<table::TablePtr> table) mutable {
    if (!table.ok()) return done(std::move(table));
    const std::string name = (*table)->descriptor.name;
    if (!table::IsOfOtherAccount(name) || env.resource_policies == nullptr)
      return done(std::move(table));
    // A store that others change calls this on a thread that may wait.
    Status known = env.resource_policies->CheckAccount(table::AccountIn(name));
    if (known.ok()) return done(std::move(table));
    env.store.Drop(
        name,
        [id = (*table)->descriptor.table_id](const table::TableDescriptor& d) -> Status {
          if (d.table_id == id) return OkStatus();
          return Error(ErrorCode::kResourceNotFound, "The table is gone");
        },
        [name, known = std::move(known),
         done = std::move(done)](const Result<table::TablePtr>& dropped) mutable {
          if (!dropped.ok() && dropped.error().code() != ErrorCode::kResourceNotFound)
            LogWarn("table not dropped", {{"table", name}, {"error", dropped.error().message()}});
          done(std::move(known).error());
        });
  };
  env.store.Create(std::move(descriptor), std::move(made),
                   [&env](const table::TableDescriptor& d) { return CheckAccountQuota(env, d); });
}

Status DropAndWait(table::Store& store, const table::Table& table) {
  auto outcome = std::make_shared<std::promise<Status>>();
  store.Drop(
      table.descriptor.name,
      [id = table.descriptor.table_id](const table::TableDescriptor& d) -> Status {
        if (d.table_id == id) return OkStatus();
        return Error(ErrorCode::kResourceNotFound, "The table is gone.");
      },
      [outcome](const Result<table::TablePtr>& dropped) {
        outcome->set_value(dropped.ok() ? OkStatus() : Status(dropped.error()));
      });
  Status dropped = outcome->get_future().get();
  // The one that made it was faster.
  if (!dropped.ok() && dropped.error().code() == ErrorCode::kResourceNotFound) return OkStatus();
  return dropped;
}

void DropTablesOfAccounts(table::Store& store, FunctionRef<bool(std::string_view account)> gone) {
  for (const table::TablePtr& table : store.List()) {
    const std::string& name = table->descriptor.name;
    if (!table::IsOfOtherAccount(name) || !gone(table::AccountIn(name))) continue;
    const Status dropped = DropAndWait(store, *table);
    LogWarn("table_of_deleted_account",
            {{"table", name}, {"error", dropped.ok() ? "" : dropped.error().message()}});
  }
}

}  // namespace stator::ops
