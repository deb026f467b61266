#include "ops/streams.h"

#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

constexpr std::string_view kStreamPart = "/stream/";

StreamStatus StatusOf(const stream::StreamDescriptor& stream, const Environment& env) {
  const bool delayed = env.settings.delay_transient_statuses;
  const int64_t now = env.clock.NowMicros();
  if (!stream.enabled()) {
    return delayed && now < stream.disabled_micros + kTransientStatusMicros
               ? StreamStatus::kDisabling
               : StreamStatus::kDisabled;
  }
  return delayed && now < stream.created_micros + kTransientStatusMicros ? StreamStatus::kEnabling
                                                                         : StreamStatus::kEnabled;
}

ShardDescription Describe(const stream::Shard& shard) {
  ShardDescription out;
  out.shard_id = stream::ShardIdOf(shard);
  out.starting_sequence_number = stream::SequenceNumberOf(shard.first());
  if (!shard.open()) out.ending_sequence_number = stream::SequenceNumberOf(shard.end());
  if (!shard.parent_id.empty()) out.parent_shard_id = shard.parent_id;
  return out;
}

// Returns the number of the first shard to list: the one behind ExclusiveStartShardId, which need
// not exist any more.
Result<uint32_t> FirstShard(const std::optional<std::string>& exclusive_start) {
  if (!exclusive_start) return 0u;
  const std::optional<uint32_t> number = stream::NumberInShardId(*exclusive_start);
  if (!number) return ShardNotFound();
  return *number + 1;
}

// The place of a stream in the order of the list. The stream need not be there any more.
Result<std::pair<std::string, std::string>> PlaceOf(const Context& ctx, std::string_view arn) {
  const size_t part = arn.find(kStreamPart);
  const Result<StoreTableName> name = arn.starts_with("arn:") && part != std::string_view::npos
                                          ? StoreNameOf(ctx, arn.substr(0, part))
                                          : Result<StoreTableName>(ValidationError(""));
  const std::string_view label =
      name.ok() ? arn.substr(part + kStreamPart.size()) : std::string_view();
  if (!name.ok() && name.error().code() == ErrorCode::kAccessDenied) return name.error();
  if (label.empty())
    return ValidationError("Invalid StreamArn: Invalid ResourceArn provided as input " +
                           std::string(arn));
  return std::pair(name->str(), std::string(label));
}

}  // namespace

Status CheckStreamSpecification(const StreamSpecification& specification) {
  // Texts of DynamoDB Local.
  if (specification.stream_enabled && !specification.stream_view_type) {
    return ValidationError(
        "Invalid StreamViewType: Stream ViewType must not be null or empty when enabling streams.");
  }
  if (!specification.stream_enabled && specification.stream_view_type) {
    return ValidationError(
        "Invalid StreamViewType: Stream StreamEnabled was false but a StreamViewType was present.");
  }
  return OkStatus();
}

std::string StreamArn(const Environment& env, const stream::StreamDescriptor& stream) {
  return TableArn(env, stream.table_name).append(kStreamPart).append(stream.label);
}

Result<stream::StreamPtr> FindStream(const Context& ctx, std::string_view arn) {
  ASSIGN_OR_RETURN(const auto place, PlaceOf(ctx, arn));
  stream::StreamPtr stream = ctx.env.store.FindStream(place.first, place.second);
  if (stream != nullptr && !stream->hidden()) return stream;
  return Error(ErrorCode::kResourceNotFound,
               "Requested resource not found: Stream: " + std::string(arn) + " not found");
}

Result<stream::StreamPtr> FindDefaultStream(const Environment& env, std::string_view arn) {
  const size_t part = arn.find(kStreamPart);
  ASSIGN_OR_RETURN(const std::string_view name, TableNameOf(arn.substr(0, part)));
  stream::StreamPtr stream =
      part == std::string_view::npos || table::IsOfOtherAccount(name)
          ? nullptr
          : env.store.FindStream(name, arn.substr(part + kStreamPart.size()));
  if (stream != nullptr && !stream->hidden()) return stream;
  return Error(ErrorCode::kResourceNotFound,
               "Requested resource not found: Stream: " + std::string(arn) + " not found");
}

std::string ShardIteratorText(const Environment& env, const stream::StreamDescriptor& stream,
                              std::string_view payload) {
  return StreamArn(env, stream).append("|1|").append(payload);
}

void ListStreams(Context& ctx, ListStreamsRequest request, Callback<ListStreamsResponse> done) {
  const int64_t limit = request.limit.value_or(kMaxStreamsPerPage);
  if (limit > kMaxStreamsPerPage) {
    done(
        ValidationError("One or more parameter values were invalid: Limit cannot be greater than "
                        "the maximum allowed size: 100"));
    return;
  }
  std::optional<std::pair<std::string, std::string>> after;
  if (request.exclusive_start_stream_arn) {
    Result<std::pair<std::string, std::string>> place =
        PlaceOf(ctx, *request.exclusive_start_stream_arn);
    if (!place.ok()) return done(std::move(place).error());
    after = *std::move(place);
  }
  std::optional<std::string> wanted;
  if (request.table_name) wanted = table::StoreName(ctx.account, *request.table_name);
  ListStreamsResponse response;
  for (const stream::StreamPtr& stream :
       ctx.env.store.StreamPage(ctx.account, wanted, after, static_cast<size_t>(limit) + 1)) {
    if (response.streams.size() == static_cast<size_t>(limit)) {
      response.last_evaluated_stream_arn = response.streams.back().stream_arn;
      break;
    }
    response.streams.push_back({StreamArn(ctx.env, *stream),
                                std::string(table::ShownName(stream->table_name)), stream->label});
  }
  done(std::move(response));
}

void DescribeStream(Context& ctx, DescribeStreamRequest request,
                    Callback<DescribeStreamResponse> done) {
  const int64_t limit = request.limit.value_or(kMaxShardsPerPage);
  if (limit > kMaxShardsPerPage) {
    done(
        ValidationError("One or more parameter values were invalid: Limit cannot be greater than "
                        "the maximum: 100"));
    return;
  }
  const std::optional<ShardFilter>& filter = request.shard_filter;
  if (filter && (!filter->type || !filter->shard_id)) {
    done(ValidationError(
        "One or more parameter values were invalid: ShardFilter needs both Type and ShardId"));
    return;
  }
  const Result<stream::StreamPtr> found = FindStream(ctx, request.stream_arn);
  const Result<uint32_t> first = FirstShard(request.exclusive_start_shard_id);
  if (!found.ok() || !first.ok()) {
    done(found.ok() ? first.error() : found.error());
    return;
  }
  const stream::StreamDescriptor& stream = **found;
  DescribeStreamResponse response;
  response.stream_arn = StreamArn(ctx.env, stream);
  response.stream_label = stream.label;
  response.stream_status = StatusOf(stream, ctx.env);
  response.stream_view_type = ToApi(stream.view_type);
  response.creation_request_date_time = static_cast<double>(stream.created_micros / 1000) / 1000.0;
  response.table_name = table::ShownName(stream.table_name);
  response.key_schema.push_back({stream.key_schema.partition.name, KeyType::kHash});
  if (stream.key_schema.sort)
    response.key_schema.push_back({stream.key_schema.sort->name, KeyType::kRange});
  for (const stream::Shard& shard : stream.shards) {
    if (shard.number < *first) continue;
    if (filter && shard.parent_id != *filter->shard_id) continue;
    if (response.shards.size() == static_cast<size_t>(limit)) {
      response.last_evaluated_shard_id = response.shards.back().shard_id;
      break;
    }
    response.shards.push_back(Describe(shard));
  }
  done(std::move(response));
}

}  // namespace stator::ops
