#include "api/schema.h"

#include "api/backups.h"
#include "api/bulk_operations.h"
#include "api/exchange.h"
#include "api/global_tables.h"
#include "api/kinesis_destinations.h"
#include "api/resource_policies.h"

namespace stator::api {

std::span<const OperationSchema* const> AllSchemas() {
  static const OperationSchema* const kAll[] = {
      &SchemaOf<ops::CreateTableRequest>(),
      &SchemaOf<ops::DescribeTableRequest>(),
      &SchemaOf<ops::UpdateTableRequest>(),
      &SchemaOf<ops::DeleteTableRequest>(),
      &SchemaOf<ops::ListTablesRequest>(),
      &SchemaOf<ops::DescribeLimitsRequest>(),
      &SchemaOf<ops::DescribeEndpointsRequest>(),
      &SchemaOf<ops::TagResourceRequest>(),
      &SchemaOf<ops::UntagResourceRequest>(),
      &SchemaOf<ops::ListTagsOfResourceRequest>(),
      &SchemaOf<ops::PutResourcePolicyRequest>(),
      &SchemaOf<ops::GetResourcePolicyRequest>(),
      &SchemaOf<ops::DeleteResourcePolicyRequest>(),
      &SchemaOf<ops::CreateBackupRequest>(),
      &SchemaOf<ops::DescribeBackupRequest>(),
      &SchemaOf<ops::DeleteBackupRequest>(),
      &SchemaOf<ops::ListBackupsRequest>(),
      &SchemaOf<ops::RestoreTableFromBackupRequest>(),
      &SchemaOf<ops::RestoreTableToPointInTimeRequest>(),
      &SchemaOf<ops::UpdateContinuousBackupsRequest>(),
      &SchemaOf<ops::ExportTableToPointInTimeRequest>(),
      &SchemaOf<ops::DescribeExportRequest>(),
      &SchemaOf<ops::ListExportsRequest>(),
      &SchemaOf<ops::ImportTableRequest>(),
      &SchemaOf<ops::DescribeImportRequest>(),
      &SchemaOf<ops::ListImportsRequest>(),
      &SchemaOf<ops::StartBulkPutItemsRequest>(),
      &SchemaOf<ops::DescribeBulkOperationRequest>(),
      &SchemaOf<ops::ListBulkOperationsRequest>(),
      &SchemaOf<ops::CancelBulkOperationRequest>(),
      &SchemaOf<ops::UpdateTimeToLiveRequest>(),
      &SchemaOf<ops::DescribeTimeToLiveRequest>(),
      &SchemaOf<ops::DescribeContinuousBackupsRequest>(),
      &SchemaOf<ops::UpdateContributorInsightsRequest>(),
      &SchemaOf<ops::DescribeContributorInsightsRequest>(),
      &SchemaOf<ops::ListContributorInsightsRequest>(),
      &SchemaOf<ops::DescribeKinesisStreamingDestinationRequest>(),
      &SchemaOf<ops::EnableKinesisStreamingDestinationRequest>(),
      &SchemaOf<ops::DisableKinesisStreamingDestinationRequest>(),
      &SchemaOf<ops::UpdateKinesisStreamingDestinationRequest>(),
      &SchemaOf<ops::ListGlobalTablesRequest>(),
      &SchemaOf<ops::DescribeTableReplicaAutoScalingRequest>(),
      &SchemaOf<ops::PutItemRequest>(),
      &SchemaOf<ops::GetItemRequest>(),
      &SchemaOf<ops::UpdateItemRequest>(),
      &SchemaOf<ops::DeleteItemRequest>(),
      &SchemaOf<ops::BatchGetItemRequest>(),
      &SchemaOf<ops::BatchWriteItemRequest>(),
      &SchemaOf<ops::TransactGetItemsRequest>(),
      &SchemaOf<ops::TransactWriteItemsRequest>(),
      &SchemaOf<ops::QueryRequest>(),
      &SchemaOf<ops::ScanRequest>(),
      &SchemaOf<ops::ExecuteStatementRequest>(),
      &SchemaOf<ops::BatchExecuteStatementRequest>(),
      &SchemaOf<ops::ExecuteTransactionRequest>(),
      &SchemaOf<ops::ListStreamsRequest>(),
      &SchemaOf<ops::DescribeStreamRequest>(),
      &SchemaOf<ops::GetShardIteratorRequest>(),
      &SchemaOf<ops::GetRecordsRequest>(),
  };
  return kAll;
}

}  // namespace stator::api
