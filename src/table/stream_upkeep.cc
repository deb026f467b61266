#include "table/stream_upkeep.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/pump.h"
#include "stream/reader.h"
#include "table/store.h"

namespace stator::table {
namespace {

// Runs start(done), where done takes a Status on any thread, and waits for it.
template <typename Start>
Status Await(Start start) {
  Pump pump;
  std::optional<Status> outcome;
  start([&](Status status) {
    pump.Post([&outcome, status = std::move(status)]() mutable { outcome = std::move(status); });
  });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return std::move(*outcome);
}

void Note(Status status, Status* first_error) {
  if (first_error->ok() && !status.ok()) *first_error = std::move(status);
}

bool HasOldShard(const stream::StreamDescriptor& stream, int64_t opened_before) {
  return std::any_of(stream.shards.begin(), stream.shards.end(),
                     [opened_before](const stream::Shard& shard) {
                       return shard.open() && shard.opened_micros <= opened_before;
                     });
}

Status Rotate(Store& store, const std::string& table_name, int64_t opened_before) {
  return Await([&](auto done) {
    store.RotateShards(table_name, opened_before, [done](Result<TablePtr> table) {
      // A table that was dropped meanwhile needs no shards.
      const bool gone = !table.ok() && table.error().code() == ErrorCode::kResourceNotFound;
      done(table.ok() || gone ? OkStatus() : Status(table.error()));
    });
  });
}

Status Trim(Store& store, const stream::StreamPtr& stream, int64_t now, int64_t step) {
  std::vector<uint32_t> gone;  // shards without a record that may still be read
  std::map<uint32_t, stream::Position> trimmed;
  std::vector<kv::DeleteRange> ranges;
  for (const stream::Shard& shard : stream->shards) {
    if (!shard.open() && shard.closed_micros <= now - stream::kRetentionMicros) {
      gone.push_back(shard.number);
      ranges.push_back(stream::RestOf(shard, stream->tablet()));
      continue;
    }
    // Records are not older than their shard.
    if (shard.opened_micros > now - stream::kRetentionMicros) continue;
    ASSIGN_OR_RETURN(const std::optional<stream::Position> due,
                     stream::ExpiredUpTo(store.engine(), shard, stream->tablet(),
                                         now - stream::kRetentionMicros - step));
    if (!due) continue;
    ASSIGN_OR_RETURN(const std::optional<stream::Position> to,
                     stream::ExpiredUpTo(store.engine(), shard, stream->tablet(),
                                         now - stream::kRetentionMicros));
    if (!to) continue;
    trimmed[shard.number] = *to;
    ranges.push_back(stream::RangeOf(shard, stream->tablet(), shard.trimmed_to, *to));
  }
  if (ranges.empty()) return OkStatus();
  return Await([&](auto done) {
    store.AlterStream(
        stream,
        [&](stream::StreamDescriptor* next) {
          std::erase_if(next->shards, [&](const stream::Shard& shard) {
            return std::find(gone.begin(), gone.end(), shard.number) != gone.end();
          });
          for (stream::Shard& shard : next->shards) {
            if (const auto found = trimmed.find(shard.number); found != trimmed.end())
              shard.trimmed_to = std::max(shard.trimmed_to,
                                          found->second);  // another process may have been faster
          }
        },
        std::move(ranges), done);
  });
}

// Streams of tables that are gone are everybody's.
bool MayWork(const Store& store, const stream::StreamDescriptor& stream) {
  const TablePtr table = store.Find(stream.table_name);
  return table == nullptr || store.MayWork(*table);
}

Status Remove(Store& store, const stream::StreamPtr& stream) {
  return Await([&](auto done) { store.RemoveStream(stream, done); });
}

}  // namespace

Status MaintainStreams(Store& store, int64_t trim_step_micros) {
  Status outcome;
  const int64_t now = store.clock().NowMicros();
  for (const stream::StreamPtr& stream : store.ListStreams()) {
    if (!stream->enabled() || !MayWork(store, *stream)) continue;
    const int64_t opened_before = now - stream::kShardLifeMicros;
    if (HasOldShard(*stream, opened_before))
      Note(Rotate(store, stream->table_name, opened_before), &outcome);
  }
  for (const stream::StreamPtr& stream : store.ListStreams()) {
    if (!MayWork(store, *stream)) continue;
    const bool over =
        !stream->enabled() && stream->disabled_micros <= now - stream::kRetentionMicros;
    Note(over ? Remove(store, stream) : Trim(store, stream, now, trim_step_micros), &outcome);
  }
  return outcome;
}

Status RemoveDisabledStreams(Store& store) {
  for (const stream::StreamPtr& stream : store.ListStreams()) {
    if (!stream->enabled()) TRY(Remove(store, stream));
  }
  return OkStatus();
}

}  // namespace stator::table
