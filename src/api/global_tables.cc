#include "api/global_tables.h"

#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_parts.h"

namespace stator::api {
namespace {

using ops::DescribeTableReplicaAutoScalingRequest;
using ops::ListGlobalTablesRequest;

constexpr Type kName = Text(3, 255, Pattern::kName);
constexpr Type kLimit{.kind = Kind::kInteger, .min = 1};
constexpr Field kListFields[] = {
    Optional<&ListGlobalTablesRequest::exclusive_start_global_table_name>(
        "ExclusiveStartGlobalTableName", &kName),
    Optional<&ListGlobalTablesRequest::limit>("Limit", &kLimit),
    Optional<&ListGlobalTablesRequest::region_name>("RegionName", &kPlainText),
};
constexpr Shape kListShape = MakeShape("ListGlobalTablesInput", kListFields);
constexpr OperationSchema kList{"ListGlobalTables", &kListShape};

constexpr Field kDescribeFields[] = {
    Required<&DescribeTableReplicaAutoScalingRequest::table_name>("TableName", &kTableName)};
constexpr Shape kDescribeShape = MakeShape("DescribeTableReplicaAutoScalingInput", kDescribeFields);
constexpr OperationSchema kDescribe{"DescribeTableReplicaAutoScaling", &kDescribeShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<ListGlobalTablesRequest>() {
  return kList;
}
template <>
const OperationSchema& SchemaOf<DescribeTableReplicaAutoScalingRequest>() {
  return kDescribe;
}

void RenderResponse(const ops::ListGlobalTablesResponse&, std::string* out) {
  ObjectWriter object(out);
  object.Member("GlobalTables")->append("[]");
  object.Close();
}
void RenderResponse(const ops::DescribeTableReplicaAutoScalingResponse&, std::string*) {}

}  // namespace stator::api
