// Renders the answers of the API of streams.
#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_enums.h"

namespace stator::api {

namespace {

void AppendShard(std::string* out, const ops::ShardDescription& shard) {
  ObjectWriter object(out);
  object.Text("ShardId", shard.shard_id);
  ObjectWriter range(object.Member("SequenceNumberRange"));
  range.Text("StartingSequenceNumber", shard.starting_sequence_number);
  if (shard.ending_sequence_number)
    range.Text("EndingSequenceNumber", *shard.ending_sequence_number);
  range.Close();
  if (shard.parent_shard_id) object.Text("ParentShardId", *shard.parent_shard_id);
  object.Close();
}

void AppendRecord(std::string* out, const ops::GetRecordsResponse& response,
                  const ops::StreamRecord& record) {
  ObjectWriter object(out);
  object.Text("eventID", record.event_id);
  object.Enum("eventName", kStreamEventName, record.event_name);
  object.Text("eventVersion", "1.1");
  object.Text("eventSource", "aws:dynamodb");
  object.Text("awsRegion", response.aws_region);
  ObjectWriter change(object.Member("dynamodb"));
  change.Integer("ApproximateCreationDateTime", record.approximate_creation_seconds);
  AppendItemJson(change.Member("Keys"), model::ItemView(record.keys));
  if (record.new_image)
    AppendItemJson(change.Member("NewImage"), model::ItemView(*record.new_image));
  if (record.old_image)
    AppendItemJson(change.Member("OldImage"), model::ItemView(*record.old_image));
  change.Text("SequenceNumber", record.sequence_number);
  change.Integer("SizeBytes", record.size_bytes);
  change.Enum("StreamViewType", kStreamViewType, response.stream_view_type);
  change.Close();
  if (record.by_service) {
    ObjectWriter identity(object.Member("userIdentity"));
    identity.Text("PrincipalId", "dynamodb.amazonaws.com");
    identity.Text("Type", "Service");
    identity.Close();
  }
  object.Close();
}

}  // namespace

void RenderResponse(const ops::ListStreamsResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.last_evaluated_stream_arn)
    object.Text("LastEvaluatedStreamArn", *response.last_evaluated_stream_arn);
  AppendList(object.Member("Streams"), response.streams,
             [&](const ops::ListStreamsResponse::Stream& stream) {
               ObjectWriter one(out);
               one.Text("StreamArn", stream.stream_arn);
               one.Text("TableName", stream.table_name);
               one.Text("StreamLabel", stream.stream_label);
               one.Close();
             });
  object.Close();
}

void RenderResponse(const ops::DescribeStreamResponse& response, std::string* out) {
  ObjectWriter object(out);
  ObjectWriter description(object.Member("StreamDescription"));
  description.Text("StreamArn", response.stream_arn);
  description.Text("StreamLabel", response.stream_label);
  description.Enum("StreamStatus", kStreamStatus, response.stream_status);
  description.Enum("StreamViewType", kStreamViewType, response.stream_view_type);
  AppendTime(description.Member("CreationRequestDateTime"), response.creation_request_date_time);
  description.Text("TableName", response.table_name);
  AppendKeySchema(description.Member("KeySchema"), response.key_schema);
  AppendList(description.Member("Shards"), response.shards,
             [&](const ops::ShardDescription& shard) { AppendShard(out, shard); });
  if (response.last_evaluated_shard_id)
    description.Text("LastEvaluatedShardId", *response.last_evaluated_shard_id);
  description.Close();
  object.Close();
}

void RenderResponse(const ops::GetShardIteratorResponse& response, std::string* out) {
  ObjectWriter object(out);
  object.Text("ShardIterator", response.shard_iterator);
  object.Close();
}

void RenderResponse(const ops::GetRecordsResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.next_shard_iterator) object.Text("NextShardIterator", *response.next_shard_iterator);
  AppendList(object.Member("Records"), response.records,
             [&](const ops::StreamRecord& record) { AppendRecord(out, response, record); });
  object.Close();
}

}  // namespace stator::api
