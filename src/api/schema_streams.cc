// The parameters of the API of streams.
#include "api/schema_parts.h"

namespace stator::api {

namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the tables name little else

constexpr Type kStreamArn = Text(37, 1024);
constexpr Type kShardId = Text(28, 65);

constexpr Type kPlainTableName = Text(3, 255, Pattern::kName);
constexpr Field kListStreamsFields[] = {
    Optional<&ListStreamsRequest::table_name>("TableName", &kPlainTableName),
    Optional<&ListStreamsRequest::limit>("Limit", &kPositiveInteger),
    Optional<&ListStreamsRequest::exclusive_start_stream_arn>("ExclusiveStartStreamArn",
                                                              &kStreamArn),
};
constexpr Shape kListStreamsShape = MakeShape("ListStreamsInput", kListStreamsFields);
constexpr OperationSchema kListStreams{"ListStreams", &kListStreamsShape};

constexpr Type kShardFilterTypeType = EnumOf(&kShardFilterType);
constexpr Field kShardFilterFields[] = {
    Optional<&ShardFilter::type>("Type", &kShardFilterTypeType),
    Optional<&ShardFilter::shard_id>("ShardId", &kShardId),
};
constexpr Shape kShardFilterShape = MakeShape("ShardFilter", kShardFilterFields);
constexpr Type kShardFilter = StructOf(&kShardFilterShape);

constexpr Field kDescribeStreamFields[] = {
    Required<&DescribeStreamRequest::stream_arn>("StreamArn", &kStreamArn),
    Optional<&DescribeStreamRequest::limit>("Limit", &kPositiveInteger),
    Optional<&DescribeStreamRequest::exclusive_start_shard_id>("ExclusiveStartShardId", &kShardId),
    Optional<&DescribeStreamRequest::shard_filter>("ShardFilter", &kShardFilter),
};
constexpr Shape kDescribeStreamShape = MakeShape("DescribeStreamInput", kDescribeStreamFields);
constexpr OperationSchema kDescribeStream{"DescribeStream", &kDescribeStreamShape};

constexpr Type kShardIteratorTypeType = EnumOf(&kShardIteratorType);
constexpr Type kSequenceNumber = Text(21, 40);
constexpr Field kGetShardIteratorFields[] = {
    Required<&GetShardIteratorRequest::stream_arn>("StreamArn", &kStreamArn),
    Required<&GetShardIteratorRequest::shard_id>("ShardId", &kShardId),
    Required<&GetShardIteratorRequest::shard_iterator_type>("ShardIteratorType",
                                                            &kShardIteratorTypeType),
    Optional<&GetShardIteratorRequest::sequence_number>("SequenceNumber", &kSequenceNumber),
};
constexpr Shape kGetShardIteratorShape =
    MakeShape("GetShardIteratorInput", kGetShardIteratorFields);
constexpr OperationSchema kGetShardIterator{"GetShardIterator", &kGetShardIteratorShape};

constexpr Type kShardIteratorText = Text(1, 2048);
constexpr Field kGetRecordsFields[] = {
    Required<&GetRecordsRequest::shard_iterator>("ShardIterator", &kShardIteratorText),
    Optional<&GetRecordsRequest::limit>("Limit", &kPositiveInteger),
};
constexpr Shape kGetRecordsShape = MakeShape("GetRecordsInput", kGetRecordsFields);
constexpr OperationSchema kGetRecords{"GetRecords", &kGetRecordsShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<ops::ListStreamsRequest>() {
  return kListStreams;
}
template <>
const OperationSchema& SchemaOf<ops::DescribeStreamRequest>() {
  return kDescribeStream;
}
template <>
const OperationSchema& SchemaOf<ops::GetShardIteratorRequest>() {
  return kGetShardIterator;
}
template <>
const OperationSchema& SchemaOf<ops::GetRecordsRequest>() {
  return kGetRecords;
}

}  // namespace stator::api
