#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/resource_policies.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
#include "ops/table_settings.h"
#include "ops/table_status.h"

namespace stator::ops {

void CreateTable(Context& ctx, CreateTableRequest request, Callback<CreateTableResponse> done) {
  if (const Result<std::string_view> name = TableNameOf(request.table_name); name.ok()) {
    request.table_name = std::string(*name);
  } else {
    done(name.error());
    return;
  }
  Result<table::TableDescriptor> descriptor = DefineTable(ctx.env, request);
  if (!descriptor.ok()) {
    done(std::move(descriptor).error());
    return;
  }
  const std::string table_id = descriptor->table_id;
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  auto answer = [&env, &loop, done = std::move(done)](Result<table::TablePtr> table) mutable {
    RunOn(loop, [&env, table = std::move(table), done = std::move(done)]() mutable {
      if (!table.ok()) {
        done(std::move(table).error());
      } else {
        // As in the cloud the answer is always CREATING; DescribeTable says ACTIVE at once unless
        // statuses are delayed.
        WarnOfSettings((*table)->descriptor);
        done(CreateTableResponse{Describe(env, **table, TableStatus::kCreating)});
      }
    });
  };
  auto create = [&env, descriptor = std::move(*descriptor),
                 answer = std::move(answer)](Status attached) mutable {
    if (!attached.ok()) return answer(std::move(attached).error());
    env.store.Create(std::move(descriptor), std::move(answer),
                     [&env](const table::TableDescriptor& d) { return CheckAccountQuota(env, d); });
  };
  const bool shown = HasShownSettings(request);
  auto begin = [&env, &loop, table_id, policy = std::move(request.resource_policy),
                create = std::move(create)](Status known) mutable {
    if (!known.ok() || !policy) return create(std::move(known));
    // First the policy: the table is never there without it.
    Context own{env, loop};
    AttachBeforeCreation(own, table_id, *std::move(policy), std::move(create));
  };
  RequireTableSettings(env, loop, shown, std::move(begin));
}

}  // namespace stator::ops
