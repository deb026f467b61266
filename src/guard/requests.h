// The authorizations that each operation needs: which actions on which resources, with which
// condition keys.
#pragma once

#include <string>
#include <string_view>

#include "guard/check.h"
#include "ops/bulk_operations.h"
#include "ops/requests.h"
#include "ops/resource_policies.h"

namespace stator::guard {

// Each returns OK, kAccessDenied, or the error of a request that no operation will serve.
Status AuthorizeRequest(Check& check, const ops::GetItemRequest& request);
Status AuthorizeRequest(Check& check, const ops::PutItemRequest& request);
Status AuthorizeRequest(Check& check, const ops::UpdateItemRequest& request);
Status AuthorizeRequest(Check& check, const ops::DeleteItemRequest& request);
Status AuthorizeRequest(Check& check, const ops::QueryRequest& request);
Status AuthorizeRequest(Check& check, const ops::ScanRequest& request);
Status AuthorizeRequest(Check& check, const ops::BatchGetItemRequest& request);
Status AuthorizeRequest(Check& check, const ops::BatchWriteItemRequest& request);
Status AuthorizeRequest(Check& check, const ops::TransactGetItemsRequest& request);
Status AuthorizeRequest(Check& check, const ops::TransactWriteItemsRequest& request);
Status AuthorizeRequest(Check& check, const ops::ExecuteStatementRequest& request);
Status AuthorizeRequest(Check& check, const ops::BatchExecuteStatementRequest& request);
Status AuthorizeRequest(Check& check, const ops::ExecuteTransactionRequest& request);
Status AuthorizeRequest(Check& check, const ops::CreateTableRequest& request);
Status AuthorizeRequest(Check& check, const ops::PutResourcePolicyRequest& request);
Status AuthorizeRequest(Check& check, const ops::TagResourceRequest& request);
Status AuthorizeRequest(Check& check, const ops::UntagResourceRequest& request);
Status AuthorizeRequest(Check& check, const ops::DescribeContributorInsightsRequest& request);
Status AuthorizeRequest(Check& check, const ops::UpdateContributorInsightsRequest& request);
Status AuthorizeRequest(Check& check, const ops::GetRecordsRequest& request);
Status AuthorizeRequest(Check& check, const ops::StartBulkPutItemsRequest& request);

// Requires the action on a table for the item with this key (an encoded item). Null: for all
// possible items, as for a Scan.
Status RequireOfItems(Check& check, access::ActionId action, std::string_view table_name,
                      const std::string* key);
// Requires the action on a table for all items. The keys and attributes are not known, so a caller
// whose policy has conditions on them is refused.
Status RequireOfAllItems(Check& check, access::ActionId action, std::string_view table_name);

// Requires the action named like the operation on the resource of that name or ARN; "*" where the
// action has no resources. An operation that is not in the catalogue is for the root user alone.
Status AuthorizeNamed(Check& check, std::string_view name_or_arn);
// Requires the rights on the target table of a restore, whose items it writes. (The right on the
// backup is required separately.)
Status AuthorizeRestoreTarget(Check& check, std::string_view table_name);

// Returns the member of a request that names its subject (a table name or an ARN); empty if there
// is none.
template <typename Request>
std::string_view SubjectOf(const Request& request) {
  if constexpr (requires { std::string_view(request.table_name); }) {
    return request.table_name;
  } else if constexpr (requires { std::string_view(request.resource_arn); }) {
    return request.resource_arn;
  } else if constexpr (requires { std::string_view(request.stream_arn); }) {
    return request.stream_arn;
  } else if constexpr (requires { std::string_view(request.table_arn); }) {
    return request.table_arn;
  } else if constexpr (requires { std::string_view(*request.table_arn); }) {
    return request.table_arn ? std::string_view(*request.table_arn) : std::string_view();
  } else if constexpr (requires {
                         std::string_view(request.table_creation_parameters.table_name);
                       }) {
    return request.table_creation_parameters.table_name;
  } else if constexpr (requires { std::string_view(request.backup_arn); }) {
    return request.backup_arn;
  } else if constexpr (requires { std::string_view(request.export_arn); }) {
    return request.export_arn;
  } else if constexpr (requires { std::string_view(request.import_arn); }) {
    return request.import_arn;
  } else if constexpr (requires { std::string_view(request.bulk_operation_arn); }) {
    return request.bulk_operation_arn;
  } else if constexpr (requires { std::string_view(*request.source_table_arn); }) {
    // The operation refuses a request with both names.
    if (request.source_table_arn) return *request.source_table_arn;
    return request.source_table_name ? std::string_view(*request.source_table_name)
                                     : std::string_view();
  } else {
    return {};
  }
}

// Authorizes any typed request: by its own function above, else by the operation's name.
template <typename Request>
Status Authorize(Check& check, const Request& request) {
  if (check.caller() == nullptr) return OkStatus();
  if constexpr (requires { AuthorizeRequest(check, request); }) {
    return AuthorizeRequest(check, request);
  } else {
    const Status named = AuthorizeNamed(check, SubjectOf(request));
    if (!named.ok()) return named;
    if constexpr (requires { std::string_view(request.target_table_name); })
      return AuthorizeRestoreTarget(check, request.target_table_name);
    return OkStatus();
  }
}

}  // namespace stator::guard
