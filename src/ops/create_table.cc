#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
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
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  auto answer = [&env, &loop, done = std::move(done)](Result<table::TablePtr> table) mutable {
    RunOn(loop, [&env, table = std::move(table), done = std::move(done)]() mutable {
      if (!table.ok()) {
        done(std::move(table).error());
      } else {
        // As in the cloud the answer is always CREATING; DescribeTable says ACTIVE at once unless
        // statuses are delayed.
        done(CreateTableResponse{Describe(env, **table, TableStatus::kCreating)});
      }
    });
  };
  env.store.Create(std::move(*descriptor), std::move(answer),
                   [&env](const table::TableDescriptor& d) { return CheckAccountQuota(env, d); });
}

}  // namespace stator::ops
