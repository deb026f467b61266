// The list of all operations.
#include "api/backups.h"
#include "api/exchange.h"
#include "api/global_tables.h"
#include "api/kinesis_destinations.h"
#include "api/registry.h"
#include "api/resource_policies.h"
#include "ops/operations.h"

namespace stator::api {

void RegisterAll(Registry* registry) {
  registry->Register("BatchExecuteStatement", Access::kWrite, ops::BatchExecuteStatement);
  registry->Register("BatchGetItem", Access::kRead, ops::BatchGetItem);
  registry->Register("BatchWriteItem", Access::kWrite, ops::BatchWriteItem);
  registry->Register("DeleteItem", Access::kWrite, ops::DeleteItem);
  registry->Register("ExecuteStatement", Access::kWrite, ops::ExecuteStatement);
  registry->Register("ExecuteTransaction", Access::kWrite, ops::ExecuteTransaction);
  registry->Register("GetItem", Access::kRead, ops::GetItem);
  registry->Register("PutItem", Access::kWrite, ops::PutItem);
  registry->Register("Query", Access::kRead, ops::Query);
  registry->Register("Scan", Access::kRead, ops::Scan);
  registry->Register("TransactGetItems", Access::kRead, ops::TransactGetItems);
  registry->Register("TransactWriteItems", Access::kWrite, ops::TransactWriteItems);
  registry->Register("UpdateItem", Access::kWrite, ops::UpdateItem);

  const auto definitions = [registry](std::string_view name, Access access, auto* handler) {
    registry->Register(name, access, handler, Api::kDynamoDb, Subject::kDefinitions);
  };
  definitions("CreateBackup", Access::kWrite, ops::CreateBackup);
  definitions("DescribeBackup", Access::kRead, ops::DescribeBackup);
  definitions("DeleteBackup", Access::kWrite, ops::DeleteBackup);
  definitions("ListBackups", Access::kRead, ops::ListBackups);
  definitions("RestoreTableFromBackup", Access::kWrite, ops::RestoreTableFromBackup);
  definitions("RestoreTableToPointInTime", Access::kWrite, ops::RestoreTableToPointInTime);
  definitions("UpdateContinuousBackups", Access::kWrite, ops::UpdateContinuousBackups);
  definitions("ExportTableToPointInTime", Access::kWrite, ops::ExportTableToPointInTime);
  definitions("DescribeExport", Access::kRead, ops::DescribeExport);
  definitions("ListExports", Access::kRead, ops::ListExports);
  definitions("ImportTable", Access::kWrite, ops::ImportTable);
  definitions("DescribeImport", Access::kRead, ops::DescribeImport);
  definitions("ListImports", Access::kRead, ops::ListImports);
  definitions("StartBulkPutItems", Access::kWrite, ops::StartBulkPutItems);
  definitions("DescribeBulkOperation", Access::kRead, ops::DescribeBulkOperation);
  definitions("ListBulkOperations", Access::kRead, ops::ListBulkOperations);
  definitions("CancelBulkOperation", Access::kWrite, ops::CancelBulkOperation);
  definitions("CreateTable", Access::kWrite, ops::CreateTable);
  definitions("DeleteTable", Access::kWrite, ops::DeleteTable);
  definitions("DescribeContinuousBackups", Access::kRead, ops::DescribeContinuousBackups);
  definitions("DescribeContributorInsights", Access::kRead, ops::DescribeContributorInsights);
  definitions("ListContributorInsights", Access::kRead, ops::ListContributorInsights);
  definitions("UpdateContributorInsights", Access::kWrite, ops::UpdateContributorInsights);
  definitions("DescribeEndpoints", Access::kRead, ops::DescribeEndpoints);
  definitions("DescribeLimits", Access::kRead, ops::DescribeLimits);
  definitions("DescribeTable", Access::kRead, ops::DescribeTable);
  definitions("UpdateTimeToLive", Access::kWrite, ops::UpdateTimeToLive);
  definitions("DescribeTimeToLive", Access::kRead, ops::DescribeTimeToLive);
  definitions("ListTables", Access::kRead, ops::ListTables);
  definitions("ListTagsOfResource", Access::kRead, ops::ListTagsOfResource);
  definitions("TagResource", Access::kWrite, ops::TagResource);
  definitions("PutResourcePolicy", Access::kWrite, ops::PutResourcePolicy);
  definitions("GetResourcePolicy", Access::kRead, ops::GetResourcePolicy);
  definitions("DeleteResourcePolicy", Access::kWrite, ops::DeleteResourcePolicy);
  definitions("UntagResource", Access::kWrite, ops::UntagResource);
  definitions("UpdateTable", Access::kWrite, ops::UpdateTable);
  definitions("DescribeKinesisStreamingDestination", Access::kRead,
              ops::DescribeKinesisStreamingDestination);
  definitions("DisableKinesisStreamingDestination", Access::kWrite,
              ops::DisableKinesisStreamingDestination);
  definitions("EnableKinesisStreamingDestination", Access::kWrite,
              ops::EnableKinesisStreamingDestination);
  definitions("UpdateKinesisStreamingDestination", Access::kWrite,
              ops::UpdateKinesisStreamingDestination);
  definitions("ListGlobalTables", Access::kRead, ops::ListGlobalTables);
  definitions("DescribeTableReplicaAutoScaling", Access::kRead,
              ops::DescribeTableReplicaAutoScaling);

  registry->Register("DescribeStream", Access::kRead, ops::DescribeStream, Api::kStreams,
                     Subject::kDefinitions);
  registry->Register("GetRecords", Access::kRead, ops::GetRecords, Api::kStreams);
  registry->Register("GetShardIterator", Access::kRead, ops::GetShardIterator, Api::kStreams);
  registry->Register("ListStreams", Access::kRead, ops::ListStreams, Api::kStreams,
                     Subject::kDefinitions);
}

}  // namespace stator::api
