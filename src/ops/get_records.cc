// GetShardIterator and GetRecords.
#include <algorithm>

#include "ops/event_id.h"
#include "ops/item_read.h"
#include "ops/operations.h"
#include "ops/streams.h"
#include "stream/iterator.h"
#include "stream/reader.h"

namespace stator::ops {
namespace {

// What a loop's thread reads at once; more is for a worker. A record costs a digest, of some
// microseconds, however small it is.
constexpr size_t kInlineBytes = 64 << 10;
constexpr size_t kInlineRecords = 128;

Error InvalidIterator() { return ValidationError("Invalid ShardIterator"); }

bool NamesNumber(ShardIteratorType type) {
  return type == ShardIteratorType::kAtSequenceNumber ||
         type == ShardIteratorType::kAfterSequenceNumber;
}

Error Trimmed() {
  return Error(ErrorCode::kTrimmedDataAccess,
               "The operation attempted to read past the oldest stream record in a shard.");
}

// Where the iterator begins.
Result<stream::Position> StartOf(kv::Engine& engine, const stream::StreamDescriptor& stream,
                                 const stream::Shard& shard, const GetShardIteratorRequest& request,
                                 kv::Tier tier) {
  if (request.shard_iterator_type == ShardIteratorType::kTrimHorizon)
    return stream::TrimHorizon(shard);
  ASSIGN_OR_RETURN(const stream::Position latest,
                   stream::LatestPosition(engine, shard, stream.tablet(), tier));
  if (!NamesNumber(request.shard_iterator_type)) return latest;
  const std::optional<stream::Position> named =
      stream::ParseSequenceNumber(*request.sequence_number);
  if (!named)
    return ValidationError("One or more parameter values were invalid: Invalid SequenceNumber");
  const bool at_bounds = *named == shard.first() || (!shard.open() && *named == shard.end());
  if (!at_bounds && (*named < shard.first() || *named >= latest)) {
    return ValidationError("Invalid SequenceNumber for the shard");
  }
  const bool after = request.shard_iterator_type == ShardIteratorType::kAfterSequenceNumber;
  const stream::Position start = after ? named->Next() : *named;
  if (start < shard.trimmed_to) return Trimmed();
  return start;
}

StreamRecord ToApi(const stream::StreamDescriptor& stream, stream::Record record) {
  StreamRecord out;
  out.sequence_number = stream::SequenceNumberOf(record.position);
  out.event_id = EventIdOf(stream, out.sequence_number);
  out.event_name = record.event == stream::Event::kInsert   ? StreamEventName::kInsert
                   : record.event == stream::Event::kModify ? StreamEventName::kModify
                                                            : StreamEventName::kRemove;
  out.by_service = record.cause == stream::Cause::kService;
  out.approximate_creation_seconds = record.created_micros / 1'000'000;
  out.size_bytes = static_cast<int64_t>(record.size_bytes());
  out.keys = std::move(record.keys);
  out.new_image = std::move(record.new_image);
  out.old_image = std::move(record.old_image);
  return out;
}

struct RecordsPlan {
  stream::StreamPtr stream;
  const stream::Shard* shard = nullptr;  // of `stream`
  stream::Position from;
  stream::ReadLimits limits;
};

struct ReadRecords {
  GetRecordsResponse response;           // but for its iterator
  std::optional<stream::Position> next;  // empty: the shard has ended
};

Result<RecordsPlan> PrepareRecords(const Context& ctx, const GetRecordsRequest& request) {
  const Environment& env = ctx.env;
  RecordsPlan plan;
  plan.limits.records = static_cast<size_t>(request.limit.value_or(kMaxRecordsPerPage));
  if (plan.limits.records > static_cast<size_t>(kMaxRecordsPerPage)) {
    return ValidationError(
        "One or more parameter values were invalid: Limit should be less than or equal to 1000");
  }
  const std::string_view text = request.shard_iterator;
  const size_t arn_end = text.find('|');
  const size_t bar = text.rfind('|');
  if (arn_end == std::string_view::npos || !text.starts_with("arn:")) return InvalidIterator();
  Result<stream::StreamPtr> found = FindStream(ctx, text.substr(0, arn_end));
  if (!found.ok()) {
    return found.error().code() == ErrorCode::kValidation ? InvalidIterator()
                                                          : std::move(found).error();
  }
  plan.stream = *std::move(found);
  const std::string_view payload = text.substr(bar + 1);
  if (ShardIteratorText(env, *plan.stream, payload) != text) return InvalidIterator();
  ASSIGN_OR_RETURN(
      const stream::Iterator iterator,
      stream::DecodeIterator(env.seal, *plan.stream, payload, env.store.ages().NowMicros()));
  plan.shard = plan.stream->Find(iterator.shard);
  // Iterators are made only for existing shards. So this shard was removed since, after its last
  // record was trimmed.
  if (plan.shard == nullptr) return Trimmed();
  plan.from = iterator.position;
  return plan;
}

}  // namespace

void GetShardIterator(Context& ctx, GetShardIteratorRequest request,
                      Callback<GetShardIteratorResponse> done) {
  if (NamesNumber(request.shard_iterator_type) != request.sequence_number.has_value()) {
    done(ValidationError(
        request.sequence_number
            ? "One or more parameter values were invalid: SequenceNumber should not be "
              "passed for this iterator type"
            : "One or more parameter values were invalid: Invalid SequenceNumber"));
    return;
  }
  Result<stream::StreamPtr> found = FindStream(ctx, request.stream_arn);
  if (!found.ok()) {
    done(std::move(found).error());
    return;
  }
  const stream::StreamPtr stream = std::move(*found);
  const stream::Shard* shard = stream::FindShard(*stream, request.shard_id);
  if (shard == nullptr) {
    done(ShardNotFound());
    return;
  }
  Environment& env = ctx.env;
  const auto read = [&env, stream, shard, request = std::move(request)](kv::Tier tier) {
    return StartOf(env.store.engine(), *stream, *shard, request, tier);
  };
  ReadThenFinish(
      ctx, read,
      [&env, stream, shard, done = std::move(done)](Result<stream::Position> start) mutable {
        if (!start.ok()) {
          done(std::move(start).error());
          return;
        }
        const std::string payload = stream::EncodeIterator(
            env.seal, *stream, {shard->number, *start, env.store.ages().NowMicros()});
        done(GetShardIteratorResponse{ShardIteratorText(env, *stream, payload)});
      });
}

void GetRecords(Context& ctx, GetRecordsRequest request, Callback<GetRecordsResponse> done) {
  Result<RecordsPlan> prepared = PrepareRecords(ctx, request);
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  auto plan = std::make_shared<RecordsPlan>(std::move(*prepared));
  Environment& env = ctx.env;
  // Makes the records of the answer where it reads them.
  const auto read = [&env, plan](kv::Tier tier) -> Result<ReadRecords> {
    stream::ReadLimits limits = plan->limits;
    if (tier == kv::Tier::kMemory) {
      limits.bytes = std::min(limits.bytes, kInlineBytes);
      limits.records = std::min(limits.records, kInlineRecords);
    }
    ASSIGN_OR_RETURN(stream::Page page, stream::ReadShard(env.store.engine(), *plan->stream,
                                                          *plan->shard, plan->from, limits, tier));
    if (tier == kv::Tier::kMemory && page.more && page.records.size() < plan->limits.records) {
      return Error(ErrorCode::kWouldBlock, "a long page is read on a worker");
    }
    ReadRecords out;
    out.response.aws_region = env.settings.region;
    out.response.stream_view_type = ToApi(plan->stream->view_type);
    out.response.records.reserve(page.records.size());
    for (stream::Record& record : page.records)
      out.response.records.push_back(ToApi(*plan->stream, std::move(record)));
    if (!page.ended) out.next = page.next;
    return out;
  };
  ReadThenFinish(ctx, read, [&env, plan, done = std::move(done)](Result<ReadRecords> of) mutable {
    if (!of.ok()) {
      done(std::move(of).error());
      return;
    }
    if (of->next) {
      const std::string payload = stream::EncodeIterator(
          env.seal, *plan->stream, {plan->shard->number, *of->next, env.store.ages().NowMicros()});
      of->response.next_shard_iterator = ShardIteratorText(env, *plan->stream, payload);
    }
    done(std::move(of->response));
  });
}

}  // namespace stator::ops
