// Questions of tools about global tables. There are none here, and the answers say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/context.h"

namespace stator::ops {

struct ListGlobalTablesRequest {
  std::optional<std::string> exclusive_start_global_table_name;
  std::optional<int64_t> limit;
  std::optional<std::string> region_name;
};
struct ListGlobalTablesResponse {};

struct DescribeTableReplicaAutoScalingRequest {
  std::string table_name;
};
struct DescribeTableReplicaAutoScalingResponse {};  // never answered

void ListGlobalTables(Context& ctx, ListGlobalTablesRequest request,
                      Callback<ListGlobalTablesResponse> done);
void DescribeTableReplicaAutoScaling(Context& ctx, DescribeTableReplicaAutoScalingRequest request,
                                     Callback<DescribeTableReplicaAutoScalingResponse> done);

}  // namespace stator::ops
