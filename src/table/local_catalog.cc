#include "table/local_catalog.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "history/change_log.h"
#include "table/catalog_entry.h"
#include "table/catalog_snapshot.h"
#include "table/index_builder.h"
#include "table/item_value.h"

namespace stator::table {
namespace {

// Where nobody else writes: if the outcome of a change of the catalog is unknown, the entry that it
// has put tells; without `bytes`, one that it has deleted.
Result<uint64_t> FindOut(kv::Engine& engine, Result<uint64_t> outcome, const std::string& key,
                         const std::optional<std::string>& bytes) {
  if (outcome.ok() || outcome.error().code() != ErrorCode::kOutcomeUnknown) return outcome;
  std::string value;
  const Result<bool> found = engine.Get(kCatalogTablet, key, kv::Tier::kAny, &value);
  if (!found.ok() || *found != bytes.has_value()) return outcome;
  if (!bytes) return uint64_t{1};  // nobody asks
  const Result<std::string_view> stored = DecodeItemValue(value);
  if (!stored.ok() || *stored != *bytes) return outcome;
  return kv::StampOf(value);
}

}  // namespace

Status LocalCatalog::Load() {
  ASSIGN_OR_RETURN(CatalogSnapshot catalog, ReadCatalog(engine_));
  for (auto& [stamp, stream] : catalog.streams) PublishStream(std::move(stream), stamp);
  for (auto& [stamp, descriptor] : catalog.tables) {
    auto table = std::make_shared<Table>(std::move(descriptor), std::make_shared<Gate>());
    SetAppenders(EnabledStreams(table->descriptor), table.get());
    Publish(std::move(table));
  }
  next_tablet_id_ = catalog.next_tablet_id;
  for (auto& [key, tablets] : catalog.dropped) space_.Add(std::move(key), std::move(tablets));
  for (const TablePtr& table : List()) {
    if (const auto& log = table->descriptor.change_log) {
      // Changes are in the order of their times though the clock was set back meanwhile.
      const Result<int64_t> mark = history::ReadMark(engine_, *log);
      if (!mark.ok() && mark.error().code() != ErrorCode::kCorruption) return mark.error();
      if (!mark.ok()) {
        LogError("change_log_damaged",
                 {{"table", table->descriptor.name}, {"error", mark.error().message()}});
      } else {
        change_clock_.At(std::max(*mark, log->since_micros));
      }
    }
    if (table->descriptor.HasIndexWork()) builder_.Add(table->descriptor.name);
  }
  return OkStatus();
}

std::vector<kv::Tablet> LocalCatalog::MarkDropped(kv::Batch* batch) const {
  std::vector<kv::Tablet> tablets;
  if (!space_.needed()) return tablets;
  for (const kv::DeleteRange& range : batch->range_deletes) {
    if (range.begin.empty() && range.end.empty()) tablets.push_back(range.tablet);
  }
  if (!tablets.empty())
    batch->puts.push_back(CatalogPut(DroppedKey(tablets[0]), EncodeDropped(tablets)));
  return tablets;
}

void LocalCatalog::GiveBack(std::vector<kv::Tablet> dropped) {
  if (dropped.empty()) return;
  std::string key = DroppedKey(dropped[0]);
  space_.Add(std::move(key), std::move(dropped));
}

void LocalCatalog::Unpublish(const std::string& name) {
  std::unique_lock lock(mutex_);
  tables_.Erase(name);
}

void LocalCatalog::Create(TableDescriptor descriptor, Done done, Check check) {
  BeginChange([this, descriptor = std::move(descriptor), done = std::move(done),
               check = std::move(check)]() mutable {
    if (Find(descriptor.name) != nullptr) {
      EndChange();
      done(AlreadyExists(descriptor.name));
      return;
    }
    Status checked = check ? check(descriptor) : OkStatus();
    if (checked.ok()) checked = bound_.Check(Held(), nullptr, descriptor);
    if (!checked.ok()) {
      EndChange();
      done(std::move(checked).error());
      return;
    }
    auto table = std::make_shared<Table>(std::move(descriptor), std::make_shared<Gate>());
    table->descriptor.tablet_id = next_tablet_id_++;
    for (IndexDescriptor& index : table->descriptor.indexes) {
      if (index.is_global()) index.tablet_id = next_tablet_id_++;
    }
    std::optional<stream::StreamDescriptor> stream;
    if (table->descriptor.stream_view_type) {
      stream = NewStream(&table->descriptor, StreamKind::kShown);
      stream->tablet_id = next_tablet_id_++;
    }
    kv::Batch batch;
    batch.puts.push_back(CatalogPut(TableKey(table->descriptor.name), table->descriptor.Encode()));
    batch.puts.push_back(CatalogPut(std::string(kNextTabletKey), std::to_string(next_tablet_id_)));
    if (stream) batch.puts.push_back(CatalogPut(StreamKey(*stream), stream->Encode()));
    engine_.Apply(std::move(batch), [this, table, stream = std::move(stream),
                                     done = std::move(done)](Result<uint64_t> outcome) mutable {
      const Result<uint64_t> applied =
          FindOut(engine_, std::move(outcome), TableKey(table->descriptor.name),
                  table->descriptor.Encode());
      if (applied.ok()) {
        if (stream) {
          table->stream = std::make_shared<stream::Appender>(*stream);
          PublishStream(std::move(*stream), *applied);
        }
        Publish(table);
      }
      EndChange();
      if (applied.ok()) {
        done(TablePtr(table));
      } else {
        done(applied.error());
      }
    });
  });
}

void LocalCatalog::Alter(std::string name, Alteration asked) {
  auto alteration = std::make_shared<Running>();
  static_cast<Alteration&>(*alteration) = std::move(asked);
  BeginChange([this, name = std::move(name), alteration = std::move(alteration)] {
    Running& a = *alteration;
    a.current = Find(name);
    Status changed;
    if (a.current == nullptr) {
      changed = NotFound(name);
    } else {
      a.next = std::make_shared<Table>(*a.current);
      changed = a.change(&a.next->descriptor);
      if (changed.ok()) changed = bound_.Check(Held(), &a.current->descriptor, a.next->descriptor);
    }
    if (!changed.ok()) {
      EndChange();
      a.done(std::move(changed).error());
      return;
    }
    a.streams = NextStreams(a.current->descriptor, &a.next->descriptor, a.change_stream);
    // A write that does not know a new index must not run beside one that does: it would leave the
    // other's entries behind. And the records of a shard end before those of its children begin.
    // The same goes for a change log.
    const bool hold =
        !a.streams.empty() ||
        a.next->descriptor.change_log.has_value() != a.current->descriptor.change_log.has_value() ||
        a.next->descriptor.MaintainedIndexes() != a.current->descriptor.MaintainedIndexes();
    if (!hold) return Commit(alteration, false);
    a.current->gate->Hold([this, alteration] { Commit(alteration, true); });
  });
}

void LocalCatalog::Commit(std::shared_ptr<Running> alteration, bool held) {
  TableDescriptor& descriptor = alteration->next->descriptor;
  const uint32_t first_new_tablet = next_tablet_id_;
  for (IndexDescriptor& index : descriptor.indexes) {
    if (index.is_global() && index.tablet_id == 0) index.tablet_id = next_tablet_id_++;
  }
  if (auto& expiry = descriptor.expiry; expiry && expiry->tablet_id == 0) {
    expiry->tablet_id = next_tablet_id_++;
    alteration->next->expiry_mark = std::make_shared<ExpiryMark>();
  }
  for (stream::StreamDescriptor& stream : alteration->streams) {
    if (stream.tablet_id == 0) stream.tablet_id = next_tablet_id_++;
  }
  kv::Batch batch;
  batch.range_deletes = std::move(alteration->ranges);
  if (auto& log = descriptor.change_log; log && log->tablet_id == 0) {
    log->tablet_id = next_tablet_id_++;
    // All earlier writes are durable and later ones wait, so later times are later changes.
    log->since_micros = change_clock_.At(clock_.NowMicros());
    log->first_day = history::DayOf(log->since_micros);
    change_clock_.At(log->since_micros + 1);
  }
  if (const auto& log = alteration->current->descriptor.change_log; log && !descriptor.change_log)
    batch.range_deletes.push_back({log->tablet(), "", ""});
  batch.puts.push_back(CatalogPut(TableKey(descriptor.name), descriptor.Encode()));
  for (const stream::StreamDescriptor& stream : alteration->streams)
    batch.puts.push_back(CatalogPut(StreamKey(stream), stream.Encode()));
  if (next_tablet_id_ != first_new_tablet) {
    batch.puts.push_back(CatalogPut(std::string(kNextTabletKey), std::to_string(next_tablet_id_)));
  }
  std::vector<kv::Tablet> dropped = MarkDropped(&batch);
  engine_.Apply(std::move(batch), [this, alteration, held,
                                   dropped = std::move(dropped)](Result<uint64_t> outcome) mutable {
    Running& a = *alteration;
    const Result<uint64_t> applied =
        a.streams.empty() ? FindOut(engine_, std::move(outcome), TableKey(a.next->descriptor.name),
                                    a.next->descriptor.Encode())
                          : FindOut(engine_, std::move(outcome), StreamKey(a.streams.front()),
                                    a.streams.front().Encode());
    if (!applied.ok()) {
      if (held) a.current->gate->Open();
      EndChange();
      a.done(applied.error());
      return;
    }
    for (stream::StreamDescriptor& stream : a.streams) {
      const std::string label = stream.label;
      PublishStream(std::move(stream), *applied);
      const stream::StreamPtr published[] = {FindStream(a.next->descriptor.name, label)};
      SetAppenders(published, a.next.get());
    }
    if (held) a.next->gate = std::make_shared<Gate>();
    Publish(a.next);
    GiveBack(std::move(dropped));
    if (held) a.current->gate->Retire();
    EndChange();
    if (a.next->descriptor.HasIndexWork() && a.next->gate != a.current->gate)
      builder_.Add(a.next->descriptor.name);
    a.done(TablePtr(a.next));
  });
}

void LocalCatalog::Drop(std::string name, Check check, Done done) {
  BeginChange([this, name = std::move(name), check = std::move(check),
               done = std::move(done)]() mutable {
    const TablePtr table = Find(name);
    if (table == nullptr) {
      EndChange();
      done(NotFound(name));
      return;
    }
    if (Status checked = check(table->descriptor); !checked.ok()) {
      EndChange();
      done(std::move(checked).error());
      return;
    }
    // Writes that found the table before are let through first, so that none of them writes into a
    // dropped tablet; later ones wait. The table is there until it is surely gone: who does not
    // find it any more shall not find it again after a crash.
    table->gate->Hold([this, table, done = std::move(done)]() mutable {
      kv::Batch batch;
      batch.deletes.push_back({kCatalogTablet, TableKey(table->descriptor.name)});
      batch.range_deletes.push_back({table->descriptor.tablet(), "", ""});
      for (const IndexDescriptor& index : table->descriptor.indexes) {
        if (index.is_global())
          batch.range_deletes.push_back({table->descriptor.TabletOf(index), "", ""});
      }
      if (const auto& expiry = table->descriptor.expiry)
        batch.range_deletes.push_back({expiry->tablet(), "", ""});
      if (const auto& log = table->descriptor.change_log)
        batch.range_deletes.push_back({log->tablet(), "", ""});
      std::vector<stream::StreamDescriptor> streams;
      for (const stream::StreamPtr& enabled : EnabledStreams(table->descriptor)) {
        streams.push_back(*enabled);
        streams.back().Close(clock_.NowMicros());
        batch.puts.push_back(CatalogPut(StreamKey(streams.back()), streams.back().Encode()));
      }
      std::vector<kv::Tablet> dropped = MarkDropped(&batch);
      engine_.Apply(std::move(batch), [this, table, streams = std::move(streams),
                                       dropped = std::move(dropped),
                                       done = std::move(done)](Result<uint64_t> outcome) mutable {
        const Result<uint64_t> applied =
            streams.empty() ? FindOut(engine_, std::move(outcome), TableKey(table->descriptor.name),
                                      std::nullopt)
                            : FindOut(engine_, std::move(outcome), StreamKey(streams.front()),
                                      streams.front().Encode());
        if (applied.ok()) {
          Unpublish(table->descriptor.name);
          for (stream::StreamDescriptor& stream : streams)
            PublishStream(std::move(stream), *applied);
          GiveBack(std::move(dropped));
          table->gate->Retire();
        } else {
          table->gate->Open();
        }
        EndChange();
        if (applied.ok()) {
          done(TablePtr(table));
        } else {
          done(applied.error());
        }
      });
    });
  });
}

void LocalCatalog::AlterStream(stream::StreamPtr stream, ChangeStream change,
                               std::vector<kv::DeleteRange> ranges, StreamDone done) {
  BeginChange([this, stream = std::move(stream), change = std::move(change),
               ranges = std::move(ranges), done = std::move(done)]() mutable {
    const stream::StreamPtr current = FindStream(stream->table_name, stream->label);
    if (current == nullptr) {
      EndChange();
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
      EndChange();
      done(applied.ok() ? OkStatus() : Status(std::move(applied).error()));
    });
  });
}

void LocalCatalog::RemoveStream(stream::StreamPtr stream, StreamDone done) {
  BeginChange([this, stream = std::move(stream), done = std::move(done)]() mutable {
    const stream::StreamPtr current = FindStream(stream->table_name, stream->label);
    if (current == nullptr || current->enabled()) {
      EndChange();
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
        std::unique_lock lock(mutex_);
        streams_.Erase(*current);
      }
      if (applied.ok()) GiveBack(std::move(dropped));
      EndChange();
      done(applied.ok() ? OkStatus() : Status(std::move(applied).error()));
    });
  });
}

}  // namespace stator::table
