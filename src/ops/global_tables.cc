#include "ops/global_tables.h"

#include "ops/checks.h"

namespace stator::ops {

void ListGlobalTables(Context&, ListGlobalTablesRequest, Callback<ListGlobalTablesResponse> done) {
  done(ListGlobalTablesResponse{});
}

void DescribeTableReplicaAutoScaling(Context&, DescribeTableReplicaAutoScalingRequest request,
                                     Callback<DescribeTableReplicaAutoScalingResponse> done) {
  const Result<std::string_view> name = TableNameOf(request.table_name);
  if (!name.ok()) return done(name.error());
  done(Error(ErrorCode::kResourceNotFound,
             "Global table with name: '" + std::string(*name) + "' does not exist."));
}

}  // namespace stator::ops
