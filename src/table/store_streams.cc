// The store's part in streams: their place in the catalog and how they follow their tables.
#include <mutex>

#include "table/catalog_entry.h"
#include "table/store.h"

namespace stator::table {

void Store::PublishStream(stream::StreamDescriptor stream, uint64_t stamp) {
  stream.Settle(stamp);
  std::pair<std::string, std::string> name(stream.table_name, stream.label);
  auto published = std::make_shared<const stream::StreamDescriptor>(std::move(stream));
  std::unique_lock lock(catalog_mutex_);
  streams_[std::move(name)] = std::move(published);
}

stream::StreamPtr Store::FindStream(std::string_view table_name, std::string_view label) const {
  std::shared_lock lock(catalog_mutex_);
  const auto it = streams_.find({std::string(table_name), std::string(label)});
  return it == streams_.end() ? nullptr : it->second;
}

std::vector<stream::StreamPtr> Store::ListStreams() const {
  std::shared_lock lock(catalog_mutex_);
  std::vector<stream::StreamPtr> streams;
  streams.reserve(streams_.size());
  for (const auto& [name, stream] : streams_) streams.push_back(stream);
  return streams;
}

std::vector<stream::StreamPtr> Store::ListStreamsOf(std::string_view account) const {
  std::shared_lock lock(catalog_mutex_);
  std::vector<stream::StreamPtr> streams;
  for (auto it = streams_.lower_bound({StoreName(account, ""), ""});
       it != streams_.end() && AccountIn(it->first.first) == account; ++it)
    streams.push_back(it->second);
  return streams;
}

stream::StreamDescriptor Store::NewStream(TableDescriptor* table) {
  const int64_t now = clock_.NowMicros();
  stream::StreamDescriptor stream;
  stream.table_name = table->name;
  stream.table_id = table->table_id;
  stream.created_micros = now;
  stream.view_type = *table->stream_view_type;
  stream.key_schema = table->key_schema;
  // Streams that follow each other within a millisecond still have names of their own.
  int64_t named = now;
  do {
    stream.label = stream::LabelOf(named);
    named += 1000;
  } while (FindStream(table->name, stream.label) != nullptr);
  table->stream_label = stream.label;
  stream.Open(table->partitions.starts(), now);
  return stream;
}

std::optional<stream::StreamDescriptor> Store::NextStream(const TableDescriptor& current,
                                                          TableDescriptor* next,
                                                          ChangeStream& change_stream) {
  if (!current.stream_view_type) {
    if (!next->stream_view_type) return std::nullopt;
    return NewStream(next);
  }
  const stream::StreamPtr enabled = FindStream(current.name, current.stream_label);
  stream::StreamDescriptor stream = *enabled;
  if (!next->stream_view_type) {
    stream.Close(clock_.NowMicros());
    return stream;
  }
  const uint32_t next_shard = stream.next_shard;
  if (next->partitions != current.partitions)
    stream.Repartition(next->partitions.starts(), clock_.NowMicros());
  if (change_stream) change_stream(&stream);
  if (stream.next_shard == next_shard) return std::nullopt;
  return stream;
}

void Store::RotateShards(std::string name, int64_t opened_before, CatalogDone done) {
  auto alteration = std::make_shared<Alteration>();
  alteration->change = [](TableDescriptor*) { return OkStatus(); };
  alteration->change_stream = [this, opened_before](stream::StreamDescriptor* stream) {
    stream->Rotate(opened_before, clock_.NowMicros());
  };
  alteration->done = std::move(done);
  StartAlteration(std::move(name), std::move(alteration));
}

void Store::AlterStream(stream::StreamPtr stream, ChangeStream change,
                        std::vector<kv::DeleteRange> ranges, WriteDone done) {
  if (shared_)
    return AlterStreamShared(std::move(stream), std::move(change), std::move(ranges),
                             std::move(done));
  BeginCatalogChange([this, stream = std::move(stream), change = std::move(change),
                      ranges = std::move(ranges), done = std::move(done)]() mutable {
    const stream::StreamPtr current = FindStream(stream->table_name, stream->label);
    if (current == nullptr) {
      EndCatalogChange();
      done(OkStatus());
      return;
    }
    stream::StreamDescriptor next = *current;
    change(&next);
    kv::Batch batch;
    batch.range_deletes = std::move(ranges);
    batch.puts.push_back(CatalogPut(StreamKey(next), next.Encode()));
    engine_.Apply(std::move(batch), [this, next = std::move(next),
                                     done = std::move(done)](Result<uint64_t> applied) mutable {
      if (applied.ok()) PublishStream(std::move(next), *applied);
      EndCatalogChange();
      done(applied.ok() ? OkStatus() : Status(std::move(applied).error()));
    });
  });
}

void Store::RemoveStream(stream::StreamPtr stream, WriteDone done) {
  if (shared_) return RemoveStreamShared(std::move(stream), std::move(done));
  BeginCatalogChange([this, stream = std::move(stream), done = std::move(done)]() mutable {
    const stream::StreamPtr current = FindStream(stream->table_name, stream->label);
    if (current == nullptr || current->enabled()) {
      EndCatalogChange();
      done(current == nullptr ? OkStatus()
                              : Status(Error(ErrorCode::kResourceInUse, "The stream is enabled")));
      return;
    }
    kv::Batch batch;
    batch.deletes.push_back({kCatalogTablet, StreamKey(*current)});
    batch.range_deletes.push_back({current->tablet(), "", ""});
    std::vector<kv::Tablet> dropped = MarkDropped(&batch);
    engine_.Apply(std::move(batch), [this, current, dropped = std::move(dropped),
                                     done = std::move(done)](Result<uint64_t> applied) mutable {
      if (applied.ok()) {
        std::unique_lock lock(catalog_mutex_);
        streams_.erase({current->table_name, current->label});
      }
      if (applied.ok()) GiveBack(std::move(dropped));
      EndCatalogChange();
      done(applied.ok() ? OkStatus() : Status(std::move(applied).error()));
    });
  });
}

}  // namespace stator::table
