#include "table/catalog.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/pump.h"
#include "history/change_log.h"

namespace stator::table {
namespace {

// The latch that serialises changes; no item's latch key begins like this.
constexpr std::string_view kCatalogLatch = "catalog";

}  // namespace

Catalog::Catalog(Parts parts)
    : engine_(parts.engine),
      clock_(parts.clock),
      tasks_(parts.tasks),
      builder_(parts.builder),
      latches_(parts.latches) {}

Error Catalog::NotFound(const std::string& table) {
  return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Table: " +
                                                 std::string(ShownName(table)) + " not found");
}

Error Catalog::AlreadyExists(const std::string& table) {
  return Error(ErrorCode::kResourceInUse, "Table already exists: " + std::string(ShownName(table)));
}

Catalog::Lock::Lock(Catalog& catalog) : catalog_(catalog) {
  Pump pump;
  bool granted = false;
  catalog_.BeginChange([&pump, &granted] { pump.Post([&granted] { granted = true; }); });
  pump.RunUntil([&granted] { return granted; });
}

TablePtr Catalog::Find(std::string_view name) const {
  std::shared_lock lock(mutex_);
  return tables_.Find(name);
}

std::vector<TablePtr> Catalog::List() const {
  std::shared_lock lock(mutex_);
  return tables_.All();
}

std::vector<TablePtr> Catalog::ListOf(std::string_view account, std::string_view after,
                                      size_t most) const {
  std::shared_lock lock(mutex_);
  return tables_.Page(account, after, most);
}

std::vector<TablePtr> Catalog::ListWithInsights(std::string_view account, std::string_view from,
                                                size_t most) const {
  std::shared_lock lock(mutex_);
  return tables_.PageWithInsights(account, from, most);
}

void Catalog::Observe(CatalogObserver* observer) {
  std::unique_lock lock(mutex_);
  observer_ = observer;
  if (observer == nullptr) return;
  for (const TablePtr& table : tables_.All()) {
    auto next = std::make_shared<Table>(*table);
    next->meters = {};
    observer->OnVersion(nullptr, next.get());
    tables_.Put(std::move(next));
  }
}

void Catalog::Publish(std::shared_ptr<Table> table) {
  std::unique_lock lock(mutex_);
  if (observer_ != nullptr) {
    const TablePtr before = tables_.Find(table->descriptor.name);
    // A change that began before the observer came has made a version without meters.
    if (before != nullptr) table->meters = before->meters;
    observer_->OnVersion(before.get(), table.get());
  }
  tables_.Put(std::move(table));
}

void Catalog::Show(const Swap& swap) {
  std::unique_lock lock(mutex_);
  for (const TablePtr& table : swap.gone) tables_.Erase(table->descriptor.name);
  for (const Swap::Version& version : swap.tables) {
    if (version.before != nullptr) version.next->meters = version.before->meters;
    if (observer_ != nullptr) observer_->OnVersion(version.before.get(), version.next.get());
    tables_.Put(version.next);
  }
  for (const stream::StreamPtr& stream : swap.gone_streams) streams_.Erase(*stream);
  for (const stream::StreamPtr& stream : swap.streams) streams_.Put(stream);
}

void Catalog::BeginChange(UniqueFunction<void()> task) {
  // The continuation is shared, because the latch takes it only if somebody else holds the latch.
  auto shared = std::make_shared<UniqueFunction<void()>>(std::move(task));
  UniqueFunction<void()> granted = [shared] { (*shared)(); };
  if (latches_.Acquire(kCatalogLatch, &granted)) (*shared)();
}

void Catalog::EndChange() { latches_.Release(kCatalogLatch); }

void Catalog::WhileQuiet(std::string name, QuietTask task, UniqueFunction<void(Status)> done) {
  BeginChange(
      [this, name = std::move(name), task = std::move(task), done = std::move(done)]() mutable {
        const TablePtr table = Find(name);
        if (table == nullptr) {
          EndChange();
          done(NotFound(name));
          return;
        }
        table->gate->Hold([this, table, task = std::move(task), done = std::move(done)]() mutable {
          Status outcome = task(table);
          table->gate->Open();
          EndChange();
          done(std::move(outcome));
        });
      });
}

void Catalog::TrimChangeLog(std::string name, uint32_t log_tablet_id, int64_t day,
                            int64_t since_micros, Done done) {
  Alteration alteration;
  alteration.change = [log_tablet_id, day, since_micros](TableDescriptor* descriptor) -> Status {
    std::optional<history::ChangeLog>& log = descriptor->change_log;
    if (!log || log->tablet_id != log_tablet_id)
      return Error(ErrorCode::kResourceNotFound, "The change log is gone");
    log->first_day = std::max(log->first_day, day);
    log->since_micros = std::max(log->since_micros, since_micros);
    return OkStatus();
  };
  alteration.ranges.push_back(
      {{kv::Space::kLog, log_tablet_id}, history::FirstKeyOfDay(0), history::FirstKeyOfDay(day)});
  alteration.done = std::move(done);
  Alter(std::move(name), std::move(alteration));
}

void Catalog::PublishStream(stream::StreamDescriptor stream, uint64_t stamp) {
  stream.Settle(stamp);
  auto published = std::make_shared<const stream::StreamDescriptor>(std::move(stream));
  std::unique_lock lock(mutex_);
  streams_.Put(std::move(published));
}

stream::StreamPtr Catalog::FindStream(std::string_view table_name, std::string_view label) const {
  std::shared_lock lock(mutex_);
  return streams_.Find(table_name, label);
}

std::vector<stream::StreamPtr> Catalog::ListStreams() const {
  std::shared_lock lock(mutex_);
  return streams_.All();
}

std::vector<stream::StreamPtr> Catalog::ListStreamsOf(std::string_view account) const {
  std::shared_lock lock(mutex_);
  return streams_.Of(account);
}

std::vector<stream::StreamPtr> Catalog::StreamPage(std::string_view account,
                                                   const std::optional<std::string>& table,
                                                   const std::optional<StreamPlace>& after,
                                                   size_t most) const {
  std::shared_lock lock(mutex_);
  return streams_.Page(account, table, after, most);
}

DefinitionBound::Held Catalog::Held() const {
  std::shared_lock lock(mutex_);
  return {[this] { return List(); },
          [this] {
            std::shared_lock lock(mutex_);
            return streams_.disabled();
          },
          streams_.disabled().bytes};
}

stream::StreamDescriptor Catalog::NewStream(TableDescriptor* table, StreamKind kind) {
  const bool hidden = kind == StreamKind::kHidden;
  const int64_t now = clock_.NowMicros();
  stream::StreamDescriptor stream;
  stream.table_name = table->name;
  stream.table_id = table->table_id;
  stream.created_micros = now;
  stream.view_type = hidden ? stream::ViewType::kNewAndOldImages : *table->stream_view_type;
  stream.key_schema = table->key_schema;
  // Streams that follow each other within a millisecond still have names of their own.
  int64_t named = now;
  do {
    stream.label = stream::LabelOf(named);
    if (hidden) stream.label += stream::kHiddenSuffix;
    named += 1000;
  } while (FindStream(table->name, stream.label) != nullptr);
  (hidden ? table->capture_label : table->stream_label) = stream.label;
  stream.Open(table->partitions.starts(), now);
  return stream;
}

std::optional<stream::StreamDescriptor> Catalog::NextStream(const TableDescriptor& current,
                                                            TableDescriptor* next, StreamKind kind,
                                                            ChangeStream& change_stream) {
  const bool hidden = kind == StreamKind::kHidden;
  const auto wants = [hidden](const TableDescriptor& table) {
    return hidden ? table.captures() : table.stream_view_type.has_value();
  };
  if (!wants(current)) {
    if (!wants(*next)) return std::nullopt;
    return NewStream(next, kind);
  }
  stream::StreamDescriptor stream =
      *FindStream(current.name, hidden ? current.capture_label : current.stream_label);
  if (!wants(*next)) {
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

std::vector<stream::StreamDescriptor> Catalog::NextStreams(const TableDescriptor& current,
                                                           TableDescriptor* next,
                                                           ChangeStream& change_stream) {
  std::vector<stream::StreamDescriptor> streams;
  for (const StreamKind kind : {StreamKind::kShown, StreamKind::kHidden}) {
    if (auto stream = NextStream(current, next, kind, change_stream))
      streams.push_back(*std::move(stream));
  }
  return streams;
}

std::vector<stream::StreamPtr> Catalog::EnabledStreams(const TableDescriptor& table) const {
  std::vector<stream::StreamPtr> streams;
  if (table.stream_view_type) streams.push_back(FindStream(table.name, table.stream_label));
  if (table.captures()) streams.push_back(FindStream(table.name, table.capture_label));
  return streams;
}

void Catalog::SetAppenders(std::span<const stream::StreamPtr> streams, Table* table) {
  for (const stream::StreamPtr& stream : streams) {
    auto appender = stream->enabled() ? std::make_shared<const stream::Appender>(*stream) : nullptr;
    (stream->hidden() ? table->capture : table->stream) = std::move(appender);
  }
}

void Catalog::RotateShards(std::string name, int64_t opened_before, Done done) {
  Alteration alteration;
  alteration.change = [](TableDescriptor*) { return OkStatus(); };
  alteration.change_stream = [this, opened_before](stream::StreamDescriptor* stream) {
    stream->Rotate(opened_before, clock_.NowMicros());
  };
  alteration.done = std::move(done);
  Alter(std::move(name), std::move(alteration));
}

}  // namespace stator::table
