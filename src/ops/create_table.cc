#include "ops/checks.h"
#include "ops/new_table.h"
#include "ops/operations.h"
#include "ops/resource_policies.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
#include "ops/table_settings.h"
#include "ops/table_status.h"

namespace stator::ops {

void CreateTable(Context& ctx, CreateTableRequest request, Callback<CreateTableResponse> done) {
  const std::string account(AccountOf(ctx, request.table_name));
  if (const Result<StoreTableName> name = StoreNameOf(ctx, request.table_name); name.ok()) {
    // An account's tables are made by its own keys, whatever policies say.
    if (account != ctx.account) return done(Error(ErrorCode::kAccessDenied, "Access is denied"));
    request.table_name = table::ShownName(name->view());
  } else {
    done(name.error());
    return;
  }
  Result<table::TableDescriptor> descriptor = DefineTable(ctx.env, request);
  if (!descriptor.ok()) {
    done(std::move(descriptor).error());
    return;
  }
  descriptor->name = table::StoreName(account, descriptor->name);
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
    CreateInAccount(env, std::move(descriptor), std::move(answer));
  };
  const NeededFeatures needed{HasShownSettings(request), !account.empty()};
  auto begin = [&env, &loop, table_id, policy = std::move(request.resource_policy),
                create = std::move(create)](Status known) mutable {
    if (!known.ok() || !policy) return create(std::move(known));
    // First the policy: the table is never there without it.
    Context own{env, loop};
    AttachBeforeCreation(own, table_id, *std::move(policy), std::move(create));
  };
  RequireFeatures(env, loop, needed, std::move(begin));
}

}  // namespace stator::ops
