#include "table/shared_catalog.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "stream/reader.h"
#include "table/catalog_entry.h"
#include "table/catalog_snapshot.h"
#include "table/index_builder.h"

namespace stator::table {
namespace {

constexpr std::string_view kMessage = "catalog";
// For how long a change is tried again because others were faster.
constexpr int64_t kPatienceMicros = 10'000'000;
constexpr auto kFirstPause = std::chrono::milliseconds(1);
constexpr auto kLongestPause = std::chrono::milliseconds(100);
// After this a tablet that is given up and not empty yet is everybody's business.
constexpr int64_t kLeftoverMicros = 60'000'000;
// For how long the answer to a change waits until what it has dropped is empty.
constexpr auto kDropPatience = std::chrono::seconds(2);
// How many changes the version names: one whose outcome is unknown is looked for among them.
constexpr size_t kNamedChanges = 32;
constexpr size_t kNameBytes = 8;

bool IsWhole(const kv::DeleteRange& range) { return range.begin.empty() && range.end.empty(); }

// The names of the latest changes, and the version's stamp.
Result<std::pair<uint64_t, std::string>> ReadChanges(kv::Engine& engine) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   engine.Get(kCatalogTablet, kVersionKey, kv::Tier::kAny, &value));
  if (!found) return std::pair(uint64_t{0}, std::string());
  ASSIGN_OR_RETURN(const std::string_view names, DecodeItemValue(value));
  return std::pair(kv::StampOf(value), std::string(names));
}

bool Names(std::string_view changes, std::string_view name) {
  for (size_t at = 0; at + kNameBytes <= changes.size(); at += kNameBytes) {
    if (changes.substr(at, kNameBytes) == name) return true;
  }
  return false;
}

std::string NameOf(uint64_t number) {
  return std::string(reinterpret_cast<const char*>(&number), kNameBytes);
}

}  // namespace

// --- What others have done -----------------------------------------------------------------------

Status SharedCatalog::Refresh() {
  ASSIGN_OR_RETURN(const uint64_t version, ReadCatalogVersion(engine_));
  {
    std::shared_lock lock(mutex_);
    if (version == catalog_version_) return OkStatus();
  }
  ASSIGN_OR_RETURN(CatalogSnapshot catalog, ReadCatalog(engine_));
  Install(std::move(catalog));
  FindWork();
  return OkStatus();
}

void SharedCatalog::Install(CatalogSnapshot catalog) {
  std::unique_lock lock(mutex_);
  // Several threads may read it; what one of them read may be older than what is shown.
  if (catalog.version <= catalog_version_) return;
  catalog_version_ = catalog.version;

  std::map<uint32_t, uint64_t> stream_stamps;
  StreamIndex streams;
  for (auto& [stamp, descriptor] : catalog.streams) {
    stream_stamps[descriptor.tablet_id] = stamp;
    const auto known = stream_stamps_.find(descriptor.tablet_id);
    if (known != stream_stamps_.end() && known->second == stamp) {
      streams.Put(streams_.Find(descriptor.table_name, descriptor.label));
    } else {
      streams.Put(std::make_shared<const stream::StreamDescriptor>(std::move(descriptor)));
    }
  }
  streams_ = std::move(streams);
  stream_stamps_ = std::move(stream_stamps);

  std::map<std::string, uint64_t, std::less<>> table_stamps;
  TableIndex tables;
  for (auto& [stamp, descriptor] : catalog.tables) {
    const std::string name = descriptor.name;
    table_stamps[name] = stamp;
    const TablePtr shown = tables_.Find(name);
    // A table that has taken the name of another one is no version of it.
    const bool known = shown != nullptr && shown->descriptor.tablet_id == descriptor.tablet_id;
    if (known && table_stamps_[name] == stamp) {
      tables.Put(shown);
      continue;
    }
    auto table = std::make_shared<Table>(std::move(descriptor),
                                         known ? shown->gate : std::make_shared<Gate>());
    if (known) {
      const Table& before = *shown;
      const auto& expiry = table->descriptor.expiry;
      if (expiry && before.descriptor.expiry &&
          expiry->tablet_id == before.descriptor.expiry->tablet_id)
        table->expiry_mark = before.expiry_mark;
    }
    std::vector<stream::StreamPtr> enabled;
    if (table->descriptor.stream_view_type)
      enabled.push_back(streams_.Find(name, table->descriptor.stream_label));
    if (table->descriptor.captures())
      enabled.push_back(streams_.Find(name, table->descriptor.capture_label));
    SetAppenders(enabled, table.get());
    if (observer_ != nullptr) observer_->OnVersion(known ? shown.get() : nullptr, table.get());
    tables.Put(std::move(table));
  }
  tables_ = std::move(tables);
  table_stamps_ = std::move(table_stamps);

  std::map<std::string, Leftover> leftovers;
  for (auto& [key, tablets] : catalog.dropped) {
    const auto known = leftovers_.find(key);
    const int64_t since =
        known != leftovers_.end() ? known->second.since_ticks : clock_.TicksMicros();
    leftovers[key] = {since, std::move(tablets)};
  }
  leftovers_ = std::move(leftovers);
}

void SharedCatalog::FindWork() {
  for (const TablePtr& table : List()) {
    if (table->descriptor.HasIndexWork() && MayWork(*table))
      builder_.AddIfAbsent(table->descriptor.name);
  }
}

Status SharedCatalog::CatchUp() {
  TRY(Refresh());
  FindWork();
  std::map<std::string, Leftover> due;
  {
    std::shared_lock lock(mutex_);
    for (const auto& [key, leftover] : leftovers_) {
      if (clock_.TicksMicros() - leftover.since_ticks >= kLeftoverMicros)
        due.emplace(key, leftover);
    }
  }
  for (const auto& [key, leftover] : due) {
    std::string ignored;
    ASSIGN_OR_RETURN(const bool found, engine_.Get(kCatalogTablet, key, kv::Tier::kAny, &ignored));
    if (found) {
      TRY(FinishDrop(key, leftover.tablets));
    }
    std::unique_lock lock(mutex_);
    leftovers_.erase(key);
  }
  return OkStatus();
}

Status SharedCatalog::Load() {
  Listen();
  return Refresh();
}

void SharedCatalog::StopListening() {
  if (engine_.bulletin() != nullptr) engine_.bulletin()->Listen(nullptr);
}

void SharedCatalog::Listen() {
  kv::Bulletin* bulletin = engine_.bulletin();
  if (bulletin == nullptr) return;
  bulletin->Listen([this](std::string_view message, UniqueFunction<void()> acknowledge) {
    if (message == kMessage) {
      if (const Status refreshed = Refresh(); !refreshed.ok())
        LogWarn("catalog not read", {{"error", refreshed.error().message()}});
      return acknowledge();
    }
    kv::Bulletin::Listener listener;
    {
      std::shared_lock lock(mutex_);
      listener = listener_;
    }
    if (!listener) return acknowledge();
    listener(message, std::move(acknowledge));
  });
}

void SharedCatalog::ListenTo(kv::Bulletin::Listener listener) {
  std::unique_lock lock(mutex_);
  listener_ = std::move(listener);
}

void SharedCatalog::Announce() {
  kv::Bulletin* bulletin = engine_.bulletin();
  if (bulletin == nullptr) return;
  // Whoever did not hear it finds out by itself.
  if (const Status announced = bulletin->Announce(kMessage); !announced.ok())
    LogInfo("catalog change not heard by all", {{"error", announced.error().message()}});
}

void SharedCatalog::SetWorkPredicate(WorkPredicate may_work) {
  {
    std::unique_lock lock(mutex_);
    may_work_ = std::move(may_work);
  }
  FindWork();
}

bool SharedCatalog::MayWork(const Table& table) const {
  WorkPredicate may_work;
  {
    std::shared_lock lock(mutex_);
    may_work = may_work_;
  }
  return !may_work || may_work(table);
}

// --- Changes -------------------------------------------------------------------------------------

void SharedCatalog::ChangeOnWorker(UniqueFunction<void()> change) {
  BeginChange([this, change = std::move(change)]() mutable { tasks_.Post(std::move(change)); });
}

Status SharedCatalog::EditCatalog(PrepareEdit prepare) {
  const int64_t deadline = clock_.TicksMicros() + kPatienceMicros;
  auto pause = std::chrono::microseconds(kFirstPause);
  std::vector<Attempt> unknown;  // attempts of which nobody has said whether they were applied
  for (int round = 0;; ++round) {
    if (tasks_.stopped()) return Error(ErrorCode::kUnavailable, "The store is closing.");
    if (round > 0) {
      if (clock_.TicksMicros() > deadline)
        return Error(unknown.empty() ? ErrorCode::kUnavailable : ErrorCode::kOutcomeUnknown,
                     "The catalog is being changed by others all the time.");
      std::this_thread::sleep_for(pause * static_cast<int64_t>(50 + change_names_.Below(51)) / 100);
      pause = std::min<std::chrono::microseconds>(2 * pause, kLongestPause);
    }
    TRY(Refresh());
    ASSIGN_OR_RETURN(const auto before, ReadChanges(engine_));
    const auto applied = std::find_if(unknown.begin(), unknown.end(), [&](const Attempt& attempt) {
      return Names(before.second, attempt.name);
    });
    if (applied != unknown.end()) return FinishEdit(*applied);
    {
      std::shared_lock lock(mutex_);
      if (before.first != catalog_version_) continue;
    }
    Result<std::optional<CatalogEdit>> prepared = prepare();
    if (!prepared.ok()) {
      if (prepared.error().code() == ErrorCode::kGuardFailed) continue;
      return std::move(prepared).error();
    }
    if (!*prepared) return OkStatus();
    CatalogEdit& edit = **prepared;

    Attempt attempt;
    attempt.name = NameOf(change_names_.Next());
    kv::Batch batch;
    // First, which makes the catalog the place where a batch that goes to several is decided.
    batch.guards.push_back({kCatalogTablet, std::string(kVersionKey), before.first});
    batch.range_deletes = std::move(edit.ranges);
    batch.puts = std::move(edit.puts);
    batch.deletes = std::move(edit.deletes);
    batch.puts.push_back(
        CatalogPut(std::string(kVersionKey),
                   (attempt.name + before.second).substr(0, kNamedChanges * kNameBytes)));
    if (!edit.dropped.empty()) {
      attempt.dropped = std::move(edit.dropped);
      attempt.dropped_key = DroppedKey(attempt.dropped.front());
      batch.puts.push_back(CatalogPut(attempt.dropped_key, EncodeDropped(attempt.dropped)));
    }
    const Result<uint64_t> stamp = ApplyAndWait(engine_, std::move(batch));
    if (stamp.ok()) return FinishEdit(attempt);
    if (stamp.error().code() == ErrorCode::kOutcomeUnknown) {
      // If it is still on its way, the next attempt takes its guard away.
      unknown.push_back(std::move(attempt));
    } else if (stamp.error().code() != ErrorCode::kGuardFailed) {
      return stamp.error();
    }
  }
}

Status SharedCatalog::FinishEdit(const Attempt& attempt) {
  // It is done, whatever becomes of the rest.
  Status refreshed = Refresh();
  Announce();
  if (!attempt.dropped.empty()) EmptyDropped(attempt);
  return refreshed;
}

void SharedCatalog::EmptyDropped(const Attempt& attempt) {
  struct Waiting {
    Mutex mutex;
    std::condition_variable_any wake;
    bool done GUARDED_BY(mutex) = false;
  };
  const auto waiting = std::make_shared<Waiting>();
  tasks_.Post([this, attempt, waiting] {
    if (const Status finished = FinishDrop(attempt.dropped_key, attempt.dropped); !finished.ok())
      LogWarn("dropped tablets will be emptied later", {{"error", finished.error().message()}});
    MutexLock lock(waiting->mutex);
    waiting->done = true;
    waiting->wake.notify_all();
  });
  // A large tablet takes its time. Those who have not heard of the change read what is left of it
  // as long.
  const auto until = std::chrono::steady_clock::now() + kDropPatience;
  MutexLock lock(waiting->mutex);
  while (!waiting->done &&
         waiting->wake.wait_until(waiting->mutex, until) == std::cv_status::no_timeout) {
  }
}

Status SharedCatalog::FinishDrop(const std::string& key, const std::vector<kv::Tablet>& tablets) {
  for (const kv::Tablet& tablet : tablets) TRY(engine_.RaiseFence(tablet, kv::kDroppedFence));
  kv::Batch batch;
  batch.deletes.push_back({kCatalogTablet, key});
  Result<uint64_t> applied = ApplyAndWait(engine_, std::move(batch));
  return applied.ok() ? OkStatus() : Status(std::move(applied).error());
}

Result<uint32_t> SharedCatalog::ReserveTablets(uint32_t count) {
  // Before the change that uses them, which may be refused: an id is never given to two.
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   engine_.Get(kCatalogTablet, kNextTabletKey, kv::Tier::kAny, &value));
  uint32_t first = 1;
  if (found) {
    ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(value));
    first = static_cast<uint32_t>(std::strtoul(std::string(bytes).c_str(), nullptr, 10));
  }
  kv::Batch batch;
  batch.guards.push_back(
      {kCatalogTablet, std::string(kNextTabletKey), found ? kv::StampOf(value) : 0});
  batch.puts.push_back(CatalogPut(std::string(kNextTabletKey), std::to_string(first + count)));
  const Result<uint64_t> applied = ApplyAndWait(engine_, std::move(batch));
  if (applied.ok()) return first;
  // Whoever got them if the outcome is unknown: nobody needs them.
  if (applied.error().code() == ErrorCode::kOutcomeUnknown)
    return Error(ErrorCode::kGuardFailed, "Nobody knows whose ids they are.");
  return applied.error();
}

Status SharedCatalog::RaiseFence(const TableDescriptor& table) {
  Status raised = engine_.RaiseFence(table.tablet(), table.fence + 1);
  if (!raised.ok() && raised.error().code() == ErrorCode::kOutcomeUnknown)
    raised = engine_.RaiseFence(table.tablet(), table.fence + 1);
  return raised;
}

Status SharedCatalog::AcceptFence(const TableDescriptor& table) {
  return EditCatalog([&]() -> Result<std::optional<CatalogEdit>> {
    const TablePtr current = Find(table.name);
    if (current == nullptr || current->descriptor.tablet_id != table.tablet_id ||
        current->descriptor.fence != table.fence)
      return std::optional<CatalogEdit>();
    TableDescriptor next = current->descriptor;
    ++next.fence;
    CatalogEdit edit;
    edit.puts.push_back(CatalogPut(TableKey(next.name), next.Encode()));
    return std::optional(std::move(edit));
  });
}

Status SharedCatalog::SettleShards(stream::StreamDescriptor* stream, uint64_t fence) {
  const bool closes =
      std::any_of(stream->shards.begin(), stream->shards.end(),
                  [](const stream::Shard& shard) { return !shard.open() && shard.end_stamp == 0; });
  // The table's fence lets nobody commit any more. But what was prepared and has not heard of that
  // yet still hides what was committed behind it, from readers and from us: to raise the stream's
  // own fence brings all of that in order. Whoever prepares later in a closing shard does it behind
  // everything that was committed.
  if (closes) {
    TRY(engine_.RaiseFence(stream->tablet(), fence));
  }
  for (stream::Shard& shard : stream->shards) {
    if (shard.start_stamp == 0) {
      // Stamps rise in each place of a tablet by themselves: this one was taken where the records
      // will be.
      kv::Batch batch;
      batch.deletes.push_back({stream->tablet(), stream::RecordKey(shard.number, {}).substr(0, 4)});
      ASSIGN_OR_RETURN(shard.start_stamp, ApplyAndWait(engine_, std::move(batch)));
    }
    if (!shard.open() && shard.end_stamp == 0) {
      ASSIGN_OR_RETURN(const stream::Position latest,
                       stream::LatestPosition(engine_, shard, stream->tablet(), kv::Tier::kAny));
      shard.end_stamp = latest.stamp + 1;
    }
  }
  return OkStatus();
}

// --- Tables --------------------------------------------------------------------------------------

Result<SharedCatalog::CatalogEdit> SharedCatalog::EditOfCreate(TableDescriptor* descriptor,
                                                               Check& check) {
  if (Find(descriptor->name) != nullptr) return AlreadyExists(descriptor->name);
  if (check) {
    TRY(check(*descriptor));
  }
  TRY(bound_.Check(Held(), nullptr, *descriptor));
  const auto global = std::count_if(descriptor->indexes.begin(), descriptor->indexes.end(),
                                    [](const IndexDescriptor& index) { return index.is_global(); });
  ASSIGN_OR_RETURN(uint32_t id, ReserveTablets(2 + static_cast<uint32_t>(global)));
  descriptor->tablet_id = id++;
  for (IndexDescriptor& index : descriptor->indexes) {
    if (index.is_global()) index.tablet_id = id++;
  }
  CatalogEdit edit;
  if (descriptor->stream_view_type) {
    stream::StreamDescriptor stream = NewStream(descriptor, StreamKind::kShown);
    stream.tablet_id = id;
    TRY(SettleShards(&stream, 0));
    edit.puts.push_back(CatalogPut(StreamKey(stream), stream.Encode()));
  }
  edit.puts.push_back(CatalogPut(TableKey(descriptor->name), descriptor->Encode()));
  return edit;
}

void SharedCatalog::Create(TableDescriptor descriptor, Done done, Check check) {
  ChangeOnWorker([this, descriptor = std::move(descriptor), done = std::move(done),
                  check = std::move(check)]() mutable {
    TableDescriptor made;
    Status changed = EditCatalog([&]() -> Result<std::optional<CatalogEdit>> {
      made = descriptor;
      ASSIGN_OR_RETURN(CatalogEdit edit, EditOfCreate(&made, check));
      return std::optional(std::move(edit));
    });
    EndChange();
    if (!changed.ok()) return done(std::move(changed).error());
    TablePtr table = Find(made.name);
    // Somebody may have dropped it already.
    if (table == nullptr || table->descriptor.tablet_id != made.tablet_id)
      table = std::make_shared<Table>(std::move(made), std::make_shared<Gate>());
    done(std::move(table));
  });
}

Result<std::optional<SharedCatalog::CatalogEdit>> SharedCatalog::EditOfAlteration(
    const std::string& name, Alteration& alteration, TableDescriptor* altered) {
  const TablePtr current = Find(name);
  if (current == nullptr) return NotFound(name);
  TableDescriptor next = current->descriptor;
  TRY(alteration.change(&next));
  TRY(bound_.Check(Held(), &current->descriptor, next));
  std::vector<stream::StreamDescriptor> streams =
      NextStreams(current->descriptor, &next, alteration.change_stream);
  // Whoever was faster may have done the same.
  if (streams.empty() && alteration.ranges.empty() &&
      next.Encode() == current->descriptor.Encode()) {
    *altered = std::move(next);
    return std::optional<CatalogEdit>();
  }
  const bool fences =
      !streams.empty() || next.MaintainedIndexes() != current->descriptor.MaintainedIndexes();

  std::vector<uint32_t*> wanted;  // ids
  for (IndexDescriptor& index : next.indexes) {
    if (index.is_global() && index.tablet_id == 0) wanted.push_back(&index.tablet_id);
  }
  if (next.expiry && next.expiry->tablet_id == 0) wanted.push_back(&next.expiry->tablet_id);
  for (stream::StreamDescriptor& stream : streams) {
    if (stream.tablet_id == 0) wanted.push_back(&stream.tablet_id);
  }
  if (!wanted.empty()) {
    ASSIGN_OR_RETURN(uint32_t id, ReserveTablets(static_cast<uint32_t>(wanted.size())));
    for (uint32_t* place : wanted) *place = id++;
  }
  if (fences) {
    TRY(RaiseFence(current->descriptor));
    next.fence = current->descriptor.fence + 1;
  }
  CatalogEdit edit;
  for (stream::StreamDescriptor& stream : streams) {
    TRY(SettleShards(&stream, next.fence));
    edit.puts.push_back(CatalogPut(StreamKey(stream), stream.Encode()));
  }
  edit.puts.push_back(CatalogPut(TableKey(name), next.Encode()));
  for (const kv::DeleteRange& range : alteration.ranges) {
    if (IsWhole(range)) {
      edit.dropped.push_back(range.tablet);
    } else {
      edit.ranges.push_back(range);
    }
  }
  *altered = std::move(next);
  return std::optional(std::move(edit));
}

void SharedCatalog::Alter(std::string name, Alteration asked) {
  auto alteration = std::make_shared<Alteration>(std::move(asked));
  ChangeOnWorker([this, name = std::move(name), alteration = std::move(alteration)] {
    TableDescriptor altered;
    Status changed = EditCatalog([&] { return EditOfAlteration(name, *alteration, &altered); });
    EndChange();
    if (!changed.ok()) return alteration->done(std::move(changed).error());
    TablePtr table = Find(name);
    if (table == nullptr || table->descriptor.tablet_id != altered.tablet_id)
      table = std::make_shared<Table>(std::move(altered), std::make_shared<Gate>());
    alteration->done(std::move(table));
  });
}

Result<SharedCatalog::CatalogEdit> SharedCatalog::EditOfDrop(const std::string& name, Check& check,
                                                             TablePtr* last) {
  *last = Find(name);
  if (*last == nullptr) return NotFound(name);
  const TableDescriptor& table = (*last)->descriptor;
  TRY(check(table));
  TRY(RaiseFence(table));
  CatalogEdit edit;
  edit.deletes.push_back({kCatalogTablet, TableKey(name)});
  edit.dropped.push_back(table.tablet());
  for (const IndexDescriptor& index : table.indexes) {
    if (index.is_global()) edit.dropped.push_back(table.TabletOf(index));
  }
  if (table.expiry) edit.dropped.push_back(table.expiry->tablet());
  for (const stream::StreamPtr& enabled : EnabledStreams(table)) {
    stream::StreamDescriptor stream = *enabled;
    stream.Close(clock_.NowMicros());
    TRY(SettleShards(&stream, table.fence + 1));
    edit.puts.push_back(CatalogPut(StreamKey(stream), stream.Encode()));
  }
  return edit;
}

void SharedCatalog::Drop(std::string name, Check check, Done done) {
  ChangeOnWorker(
      [this, name = std::move(name), check = std::move(check), done = std::move(done)]() mutable {
        TablePtr last;
        Status changed = EditCatalog([&]() -> Result<std::optional<CatalogEdit>> {
          ASSIGN_OR_RETURN(CatalogEdit edit, EditOfDrop(name, check, &last));
          return std::optional(std::move(edit));
        });
        EndChange();
        if (!changed.ok()) return done(std::move(changed).error());
        done(std::move(last));
      });
}

// --- Streams -------------------------------------------------------------------------------------

void SharedCatalog::AlterStream(stream::StreamPtr stream, ChangeStream change,
                                std::vector<kv::DeleteRange> ranges, StreamDone done) {
  ChangeOnWorker([this, stream = std::move(stream), change = std::move(change),
                  ranges = std::move(ranges), done = std::move(done)]() mutable {
    Status changed = EditCatalog([&]() -> Result<std::optional<CatalogEdit>> {
      const stream::StreamPtr current = FindStream(stream->table_name, stream->label);
      if (current == nullptr || current->tablet_id != stream->tablet_id)
        return std::optional<CatalogEdit>();
      stream::StreamDescriptor next = *current;
      change(&next);
      CatalogEdit edit;
      edit.ranges = ranges;
      edit.puts.push_back(CatalogPut(StreamKey(next), next.Encode()));
      return std::optional(std::move(edit));
    });
    EndChange();
    done(std::move(changed));
  });
}

void SharedCatalog::RemoveStream(stream::StreamPtr stream, StreamDone done) {
  ChangeOnWorker([this, stream = std::move(stream), done = std::move(done)]() mutable {
    Status changed = EditCatalog([&]() -> Result<std::optional<CatalogEdit>> {
      const stream::StreamPtr current = FindStream(stream->table_name, stream->label);
      if (current == nullptr || current->tablet_id != stream->tablet_id)
        return std::optional<CatalogEdit>();
      if (current->enabled()) return Error(ErrorCode::kResourceInUse, "The stream is enabled");
      CatalogEdit edit;
      edit.deletes.push_back({kCatalogTablet, StreamKey(*current)});
      edit.dropped.push_back(current->tablet());
      return std::optional(std::move(edit));
    });
    EndChange();
    done(std::move(changed));
  });
}

}  // namespace stator::table
