// The typed responses of ops/responses.h as JSON. Each function appends one whole body; members
// stand in the order in which the service writes them where that is known, in model order
// elsewhere.
#pragma once

#include <string>

#include "ops/backups.h"
#include "ops/bulk_operations.h"
#include "ops/continuous_backups.h"
#include "ops/exports.h"
#include "ops/global_tables.h"
#include "ops/imports.h"
#include "ops/kinesis_destinations.h"
#include "ops/resource_policies.h"
#include "ops/responses.h"

namespace stator::api {

void RenderResponse(const ops::PutItemResponse& response, std::string* out);
void RenderResponse(const ops::GetItemResponse& response, std::string* out);
void RenderResponse(const ops::UpdateItemResponse& response, std::string* out);
void RenderResponse(const ops::DeleteItemResponse& response, std::string* out);
void RenderResponse(const ops::BatchGetItemResponse& response, std::string* out);
void RenderResponse(const ops::BatchWriteItemResponse& response, std::string* out);
void RenderResponse(const ops::TransactGetItemsResponse& response, std::string* out);
void RenderResponse(const ops::TransactWriteItemsResponse& response, std::string* out);
void RenderResponse(const ops::QueryResponse& response, std::string* out);
void RenderResponse(const ops::ScanResponse& response, std::string* out);
void RenderResponse(const ops::ExecuteStatementResponse& response, std::string* out);
void RenderResponse(const ops::BatchExecuteStatementResponse& response, std::string* out);
void RenderResponse(const ops::ExecuteTransactionResponse& response, std::string* out);

void RenderResponse(const ops::CreateTableResponse& response, std::string* out);
void RenderResponse(const ops::DescribeTableResponse& response, std::string* out);
void RenderResponse(const ops::UpdateTableResponse& response, std::string* out);
void RenderResponse(const ops::DeleteTableResponse& response, std::string* out);
void RenderResponse(const ops::ListTablesResponse& response, std::string* out);
void RenderResponse(const ops::DescribeLimitsResponse& response, std::string* out);
void RenderResponse(const ops::DescribeEndpointsResponse& response, std::string* out);
void RenderResponse(const ops::ListTagsOfResourceResponse& response, std::string* out);
void RenderResponse(const ops::UpdateTimeToLiveResponse& response, std::string* out);
void RenderResponse(const ops::DescribeTimeToLiveResponse& response, std::string* out);
void RenderResponse(const ops::UpdateContributorInsightsResponse& response, std::string* out);
void RenderResponse(const ops::DescribeContributorInsightsResponse& response, std::string* out);
void RenderResponse(const ops::ListContributorInsightsResponse& response, std::string* out);
void RenderResponse(const ops::DescribeContinuousBackupsResponse& response, std::string* out);
void RenderResponse(const ops::DescribeKinesisStreamingDestinationResponse& response,
                    std::string* out);
void RenderResponse(const ops::EnableKinesisStreamingDestinationResponse& response,
                    std::string* out);
void RenderResponse(const ops::DisableKinesisStreamingDestinationResponse& response,
                    std::string* out);
void RenderResponse(const ops::UpdateKinesisStreamingDestinationResponse& response,
                    std::string* out);
void RenderResponse(const ops::ListGlobalTablesResponse& response, std::string* out);
void RenderResponse(const ops::DescribeTableReplicaAutoScalingResponse& response, std::string* out);

void RenderResponse(const ops::ExportTableToPointInTimeResponse& response, std::string* out);
void RenderResponse(const ops::DescribeExportResponse& response, std::string* out);
void RenderResponse(const ops::ListExportsResponse& response, std::string* out);
void RenderResponse(const ops::ImportTableResponse& response, std::string* out);
void RenderResponse(const ops::DescribeImportResponse& response, std::string* out);
void RenderResponse(const ops::ListImportsResponse& response, std::string* out);
void RenderResponse(const ops::StartBulkPutItemsResponse& response, std::string* out);
void RenderResponse(const ops::DescribeBulkOperationResponse& response, std::string* out);
void RenderResponse(const ops::ListBulkOperationsResponse& response, std::string* out);
void RenderResponse(const ops::CancelBulkOperationResponse& response, std::string* out);
void RenderResponse(const ops::CreateBackupResponse& response, std::string* out);
void RenderResponse(const ops::DescribeBackupResponse& response, std::string* out);
void RenderResponse(const ops::DeleteBackupResponse& response, std::string* out);
void RenderResponse(const ops::ListBackupsResponse& response, std::string* out);
void RenderResponse(const ops::RestoreTableFromBackupResponse& response, std::string* out);
void RenderResponse(const ops::RestoreTableToPointInTimeResponse& response, std::string* out);

void RenderResponse(const ops::ListStreamsResponse& response, std::string* out);
void RenderResponse(const ops::DescribeStreamResponse& response, std::string* out);
void RenderResponse(const ops::GetShardIteratorResponse& response, std::string* out);
void RenderResponse(const ops::GetRecordsResponse& response, std::string* out);

void RenderResponse(const ops::PutResourcePolicyResponse& response, std::string* out);
void RenderResponse(const ops::GetResourcePolicyResponse& response, std::string* out);
void RenderResponse(const ops::DeleteResourcePolicyResponse& response, std::string* out);

// These two answer an empty body, not an empty object.
void RenderResponse(const ops::TagResourceResponse& response, std::string* out);
void RenderResponse(const ops::UntagResourceResponse& response, std::string* out);

}  // namespace stator::api
