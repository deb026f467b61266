// The operations of the API. Each answers its callback exactly once, on the thread of ctx.loop.
#pragma once

#include "ops/context.h"
#include "ops/requests.h"
#include "ops/responses.h"

namespace stator::ops {

void CreateTable(Context& ctx, CreateTableRequest request, Callback<CreateTableResponse> done);
void DescribeTable(Context& ctx, DescribeTableRequest request,
                   Callback<DescribeTableResponse> done);
void UpdateTable(Context& ctx, UpdateTableRequest request, Callback<UpdateTableResponse> done);
void DeleteTable(Context& ctx, DeleteTableRequest request, Callback<DeleteTableResponse> done);
void ListTables(Context& ctx, ListTablesRequest request, Callback<ListTablesResponse> done);
void DescribeLimits(Context& ctx, DescribeLimitsRequest request,
                    Callback<DescribeLimitsResponse> done);
void DescribeEndpoints(Context& ctx, DescribeEndpointsRequest request,
                       Callback<DescribeEndpointsResponse> done);
void TagResource(Context& ctx, TagResourceRequest request, Callback<TagResourceResponse> done);
void UntagResource(Context& ctx, UntagResourceRequest request,
                   Callback<UntagResourceResponse> done);
void ListTagsOfResource(Context& ctx, ListTagsOfResourceRequest request,
                        Callback<ListTagsOfResourceResponse> done);
void UpdateTimeToLive(Context& ctx, UpdateTimeToLiveRequest request,
                      Callback<UpdateTimeToLiveResponse> done);
void DescribeTimeToLive(Context& ctx, DescribeTimeToLiveRequest request,
                        Callback<DescribeTimeToLiveResponse> done);
void UpdateContributorInsights(Context& ctx, UpdateContributorInsightsRequest request,
                               Callback<UpdateContributorInsightsResponse> done);
void DescribeContributorInsights(Context& ctx, DescribeContributorInsightsRequest request,
                                 Callback<DescribeContributorInsightsResponse> done);
void ListContributorInsights(Context& ctx, ListContributorInsightsRequest request,
                             Callback<ListContributorInsightsResponse> done);

void GetItem(Context& ctx, GetItemRequest request, Callback<GetItemResponse> done);
void PutItem(Context& ctx, PutItemRequest request, Callback<PutItemResponse> done);
void UpdateItem(Context& ctx, UpdateItemRequest request, Callback<UpdateItemResponse> done);
void DeleteItem(Context& ctx, DeleteItemRequest request, Callback<DeleteItemResponse> done);
void BatchGetItem(Context& ctx, BatchGetItemRequest request, Callback<BatchGetItemResponse> done);
void BatchWriteItem(Context& ctx, BatchWriteItemRequest request,
                    Callback<BatchWriteItemResponse> done);
void TransactGetItems(Context& ctx, TransactGetItemsRequest request,
                      Callback<TransactGetItemsResponse> done);
void TransactWriteItems(Context& ctx, TransactWriteItemsRequest request,
                        Callback<TransactWriteItemsResponse> done);
void Query(Context& ctx, QueryRequest request, Callback<QueryResponse> done);
void Scan(Context& ctx, ScanRequest request, Callback<ScanResponse> done);
void ExecuteStatement(Context& ctx, ExecuteStatementRequest request,
                      Callback<ExecuteStatementResponse> done);
void BatchExecuteStatement(Context& ctx, BatchExecuteStatementRequest request,
                           Callback<BatchExecuteStatementResponse> done);
void ExecuteTransaction(Context& ctx, ExecuteTransactionRequest request,
                        Callback<ExecuteTransactionResponse> done);

void ListStreams(Context& ctx, ListStreamsRequest request, Callback<ListStreamsResponse> done);
void DescribeStream(Context& ctx, DescribeStreamRequest request,
                    Callback<DescribeStreamResponse> done);
void GetShardIterator(Context& ctx, GetShardIteratorRequest request,
                      Callback<GetShardIteratorResponse> done);
void GetRecords(Context& ctx, GetRecordsRequest request, Callback<GetRecordsResponse> done);

}  // namespace stator::ops
