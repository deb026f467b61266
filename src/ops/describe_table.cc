#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_status.h"

namespace stator::ops {

void DescribeTable(Context& ctx, DescribeTableRequest request,
                   Callback<DescribeTableResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) {
    done(table.error());
    return;
  }
  done(DescribeTableResponse{Describe(ctx.env, **table, StatusOf((*table)->descriptor, ctx.env))});
}

void ListTables(Context& ctx, ListTablesRequest request, Callback<ListTablesResponse> done) {
  const size_t limit = static_cast<size_t>(request.limit.value_or(100));
  ListTablesResponse response;
  const std::string after = request.exclusive_start_table_name.value_or("");
  for (const table::TablePtr& table : ctx.env.store.ListOf(ctx.account, after, limit + 1)) {
    if (response.table_names.size() == limit) {
      response.last_evaluated_table_name = response.table_names.back();
      break;
    }
    response.table_names.emplace_back(table::ShownName(table->descriptor.name));
  }
  done(std::move(response));
}

void DescribeLimits(Context& ctx, DescribeLimitsRequest, Callback<DescribeLimitsResponse> done) {
  const throughput::ModelSettings& quotas = ctx.env.settings.throughput;
  done(DescribeLimitsResponse{static_cast<int64_t>(quotas.account_quota_read_units),
                              static_cast<int64_t>(quotas.account_quota_write_units),
                              static_cast<int64_t>(quotas.table_quota_read_units),
                              static_cast<int64_t>(quotas.table_quota_write_units)});
}

void DescribeEndpoints(Context& ctx, DescribeEndpointsRequest,
                       Callback<DescribeEndpointsResponse> done) {
  DescribeEndpointsResponse response;
  response.endpoints.push_back({ctx.env.settings.endpoint, 1440});
  done(std::move(response));
}

}  // namespace stator::ops
