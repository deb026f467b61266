#include "api/registry.h"
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

  registry->Register("CreateTable", Access::kWrite, ops::CreateTable);
  registry->Register("DeleteTable", Access::kWrite, ops::DeleteTable);
  registry->Register("DescribeContinuousBackups", Access::kRead, ops::DescribeContinuousBackups);
  registry->Register("DescribeContributorInsights", Access::kRead,
                     ops::DescribeContributorInsights);
  registry->Register("ListContributorInsights", Access::kRead, ops::ListContributorInsights);
  registry->Register("UpdateContributorInsights", Access::kWrite, ops::UpdateContributorInsights);
  registry->Register("DescribeEndpoints", Access::kRead, ops::DescribeEndpoints);
  registry->Register("DescribeLimits", Access::kRead, ops::DescribeLimits);
  registry->Register("DescribeTable", Access::kRead, ops::DescribeTable);
  registry->Register("UpdateTimeToLive", Access::kWrite, ops::UpdateTimeToLive);
  registry->Register("DescribeTimeToLive", Access::kRead, ops::DescribeTimeToLive);
  registry->Register("ListTables", Access::kRead, ops::ListTables);
  registry->Register("ListTagsOfResource", Access::kRead, ops::ListTagsOfResource);
  registry->Register("TagResource", Access::kWrite, ops::TagResource);
  registry->Register("UntagResource", Access::kWrite, ops::UntagResource);
  registry->Register("UpdateTable", Access::kWrite, ops::UpdateTable);

  registry->Register("DescribeStream", Access::kRead, ops::DescribeStream, Api::kStreams);
  registry->Register("GetRecords", Access::kRead, ops::GetRecords, Api::kStreams);
  registry->Register("GetShardIterator", Access::kRead, ops::GetShardIterator, Api::kStreams);
  registry->Register("ListStreams", Access::kRead, ops::ListStreams, Api::kStreams);
}

}  // namespace stator::api
