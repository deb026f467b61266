#include "table/store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "history/change_log.h"
#include "table/catalog_entry.h"
#include "table/catalog_snapshot.h"
#include "table/index_builder.h"
#include "table/index_entries.h"
#include "table/item_value.h"
#include "table/key_encoding.h"

namespace stator::table {
namespace {

// The latch that serialises catalog changes; no item's latch key begins like this.
constexpr std::string_view kCatalogLatch = "catalog";

Result<int64_t> ReadCounter(kv::Engine& engine, kv::Tablet tablet, std::string_view key,
                            kv::Tier tier = kv::Tier::kAny) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(tablet, key, tier, &value));
  if (!found) return int64_t{0};
  return kv::CounterOf(value);
}

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

Store::Store(kv::Engine& engine, const Clock& clock, WorkerPool& workers)
    : engine_(engine),
      clock_(clock),
      workers_(workers),
      shared_(!engine.capabilities().exclusive),
      tasks_(workers),
      tokens_(engine, clock),
      history_(clock),
      change_names_(shared_ ? SystemSeed() : 0),
      space_(engine),
      builder_(std::make_unique<IndexBuilder>(*this)) {}

Store::~Store() { Stop(); }

void Store::Stop() {
  if (std::exchange(stopped_, true)) return;
  if (shared_ && engine_.bulletin() != nullptr) engine_.bulletin()->Listen(nullptr);
  // The builder waits for its writes, and where others write these may wait in tasks_: for other
  // processes, or for a worker when there are none any more. There they end now.
  builder_->BeginStop();
  tasks_.Stop();
  builder_->Stop();
  space_.Stop();
}

Result<std::unique_ptr<Store>> Store::Open(kv::Engine& engine, const Clock& clock,
                                           WorkerPool& workers) {
  std::unique_ptr<Store> store(new Store(engine, clock, workers));
  // A damaged entry stops a repetition of its own request and nothing else.
  if (const Status read = store->tokens_.GoOn(); !read.ok()) {
    if (read.error().code() != ErrorCode::kCorruption) return read.error();
    LogError("token_ledger_damaged", {{"error", read.error().message()}});
  }
  if (store->shared_) {
    store->Listen();
    TRY(store->Refresh());
    return store;
  }
  ASSIGN_OR_RETURN(CatalogSnapshot catalog, ReadCatalog(engine));
  store->LoadCatalog(std::move(catalog));
  for (const TablePtr& table : store->List()) {
    if (const auto& log = table->descriptor.change_log) {
      // Changes are in the order of their times though the clock was set back meanwhile.
      const Result<int64_t> mark = history::ReadMark(engine, *log);
      if (!mark.ok() && mark.error().code() != ErrorCode::kCorruption) return mark.error();
      if (!mark.ok()) {
        LogError("change_log_damaged",
                 {{"table", table->descriptor.name}, {"error", mark.error().message()}});
      } else {
        store->change_clock_.At(std::max(*mark, log->since_micros));
      }
    }
    if (table->descriptor.HasIndexWork()) store->builder_->Add(table->descriptor.name);
  }
  return store;
}

void Store::LoadCatalog(CatalogSnapshot catalog) {
  for (auto& [stamp, stream] : catalog.streams) PublishStream(std::move(stream), stamp);
  for (auto& [stamp, descriptor] : catalog.tables) {
    auto table = std::make_shared<Table>(std::move(descriptor), std::make_shared<Gate>());
    if (table->descriptor.stream_view_type)
      table->stream = std::make_shared<stream::Appender>(
          *FindStream(table->descriptor.name, table->descriptor.stream_label));
    const std::string name = table->descriptor.name;
    catalog_[name] = std::move(table);
  }
  next_tablet_id_ = catalog.next_tablet_id;
  for (auto& [key, tablets] : catalog.dropped) space_.Add(std::move(key), std::move(tablets));
}

std::vector<kv::Tablet> Store::MarkDropped(kv::Batch* batch) const {
  std::vector<kv::Tablet> tablets;
  if (!space_.needed()) return tablets;
  for (const kv::DeleteRange& range : batch->range_deletes) {
    if (range.begin.empty() && range.end.empty()) tablets.push_back(range.tablet);
  }
  if (!tablets.empty())
    batch->puts.push_back(CatalogPut(DroppedKey(tablets[0]), EncodeDropped(tablets)));
  return tablets;
}

void Store::GiveBack(std::vector<kv::Tablet> dropped) {
  if (dropped.empty()) return;
  std::string key = DroppedKey(dropped[0]);
  space_.Add(std::move(key), std::move(dropped));
}

TablePtr Store::Find(std::string_view name) const {
  std::shared_lock lock(catalog_mutex_);
  const auto it = catalog_.find(name);
  return it == catalog_.end() ? nullptr : it->second;
}

std::vector<TablePtr> Store::List() const {
  std::shared_lock lock(catalog_mutex_);
  std::vector<TablePtr> tables;
  tables.reserve(catalog_.size());
  for (const auto& [name, table] : catalog_) tables.push_back(table);
  return tables;
}

std::vector<TablePtr> Store::ListOf(std::string_view account, std::string_view after,
                                    size_t most) const {
  const std::string start = StoreName(account, after);
  std::shared_lock lock(catalog_mutex_);
  std::vector<TablePtr> tables;
  for (auto it = after.empty() && !account.empty() ? catalog_.lower_bound(start)
                                                   : catalog_.upper_bound(start);
       it != catalog_.end() && AccountIn(it->first) == account && tables.size() < most; ++it)
    tables.push_back(it->second);
  return tables;
}

void Store::Observe(CatalogObserver* observer) {
  std::unique_lock lock(catalog_mutex_);
  observer_ = observer;
  if (observer == nullptr) return;
  for (auto& [name, table] : catalog_) {
    auto next = std::make_shared<Table>(*table);
    next->meters = {};
    observer->OnVersion(nullptr, next.get());
    table = std::move(next);
  }
}

void Store::Publish(std::shared_ptr<Table> table) {
  std::unique_lock lock(catalog_mutex_);
  TablePtr& place = catalog_[table->descriptor.name];
  if (observer_ != nullptr) {
    // A change that began before the observer came has made a version without meters.
    if (place != nullptr) table->meters = place->meters;
    observer_->OnVersion(place.get(), table.get());
  }
  place = std::move(table);
}

void Store::Unpublish(const std::string& name) {
  std::unique_lock lock(catalog_mutex_);
  catalog_.erase(name);
}

void Store::BeginCatalogChange(UniqueFunction<void()> task) {
  // The continuation is shared, because the latch takes it only if somebody else holds the latch.
  auto shared = std::make_shared<UniqueFunction<void()>>(std::move(task));
  UniqueFunction<void()> granted = [shared] { (*shared)(); };
  if (latches_.Acquire(kCatalogLatch, &granted)) (*shared)();
}

void Store::EndCatalogChange() { latches_.Release(kCatalogLatch); }

void Store::Create(TableDescriptor descriptor, CatalogDone done, CheckDescriptor check) {
  if (shared_) return CreateShared(std::move(descriptor), std::move(done), std::move(check));
  BeginCatalogChange([this, descriptor = std::move(descriptor), done = std::move(done),
                      check = std::move(check)]() mutable {
    if (Find(descriptor.name) != nullptr) {
      EndCatalogChange();
      done(Error(ErrorCode::kResourceInUse,
                 "Table already exists: " + std::string(ShownName(descriptor.name))));
      return;
    }
    if (Status checked = check ? check(descriptor) : OkStatus(); !checked.ok()) {
      EndCatalogChange();
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
      stream = NewStream(&table->descriptor);
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
      EndCatalogChange();
      if (applied.ok()) {
        done(TablePtr(table));
      } else {
        done(applied.error());
      }
    });
  });
}

void Store::Alter(std::string name, ChangeDescriptor change, CatalogDone done) {
  AlterAndDelete(std::move(name), std::move(change), {}, std::move(done));
}

void Store::AlterAndDelete(std::string name, ChangeDescriptor change,
                           std::vector<kv::DeleteRange> ranges, CatalogDone done) {
  auto alteration = std::make_shared<Alteration>();
  alteration->change = std::move(change);
  alteration->ranges = std::move(ranges);
  alteration->done = std::move(done);
  StartAlteration(std::move(name), std::move(alteration));
}

void Store::StartAlteration(std::string name, std::shared_ptr<Alteration> alteration) {
  if (shared_) return AlterShared(std::move(name), std::move(alteration));
  BeginCatalogChange([this, name = std::move(name), alteration = std::move(alteration)] {
    Alteration& a = *alteration;
    a.current = Find(name);
    Status changed;
    if (a.current == nullptr) {
      changed = Error(
          ErrorCode::kResourceNotFound,
          "Requested resource not found: Table: " + std::string(ShownName(name)) + " not found");
    } else {
      a.next = std::make_shared<Table>(*a.current);
      changed = a.change(&a.next->descriptor);
    }
    if (!changed.ok()) {
      EndCatalogChange();
      a.done(std::move(changed).error());
      return;
    }
    a.stream = NextStream(a.current->descriptor, &a.next->descriptor, a.change_stream);
    // A write that does not know a new index must not run beside one that does: it would leave the
    // other's entries behind. And the records of a shard end before those of its children begin.
    // The same goes for a change log.
    const bool hold =
        a.stream ||
        a.next->descriptor.change_log.has_value() != a.current->descriptor.change_log.has_value() ||
        a.next->descriptor.MaintainedIndexes() != a.current->descriptor.MaintainedIndexes();
    if (!hold) return CommitAlteration(alteration, false);
    a.current->gate->Hold([this, alteration] { CommitAlteration(alteration, true); });
  });
}

void Store::CommitAlteration(std::shared_ptr<Alteration> alteration, bool held) {
  TableDescriptor& descriptor = alteration->next->descriptor;
  const uint32_t first_new_tablet = next_tablet_id_;
  for (IndexDescriptor& index : descriptor.indexes) {
    if (index.is_global() && index.tablet_id == 0) index.tablet_id = next_tablet_id_++;
  }
  if (auto& expiry = descriptor.expiry; expiry && expiry->tablet_id == 0) {
    expiry->tablet_id = next_tablet_id_++;
    alteration->next->expiry_mark = std::make_shared<ExpiryMark>();
  }
  if (alteration->stream && alteration->stream->tablet_id == 0)
    alteration->stream->tablet_id = next_tablet_id_++;
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
  if (alteration->stream)
    batch.puts.push_back(CatalogPut(StreamKey(*alteration->stream), alteration->stream->Encode()));
  if (next_tablet_id_ != first_new_tablet) {
    batch.puts.push_back(CatalogPut(std::string(kNextTabletKey), std::to_string(next_tablet_id_)));
  }
  std::vector<kv::Tablet> dropped = MarkDropped(&batch);
  engine_.Apply(std::move(batch), [this, alteration, held,
                                   dropped = std::move(dropped)](Result<uint64_t> outcome) mutable {
    Alteration& a = *alteration;
    const Result<uint64_t> applied =
        a.stream ? FindOut(engine_, std::move(outcome), StreamKey(*a.stream), a.stream->Encode())
                 : FindOut(engine_, std::move(outcome), TableKey(a.next->descriptor.name),
                           a.next->descriptor.Encode());
    if (!applied.ok()) {
      if (held) a.current->gate->Open();
      EndCatalogChange();
      a.done(applied.error());
      return;
    }
    if (a.stream) {
      a.next->stream =
          a.stream->enabled() ? std::make_shared<stream::Appender>(*a.stream) : nullptr;
      PublishStream(std::move(*a.stream), *applied);
    }
    if (held) a.next->gate = std::make_shared<Gate>();
    Publish(a.next);
    GiveBack(std::move(dropped));
    if (held) a.current->gate->Retire();
    EndCatalogChange();
    if (a.next->descriptor.HasIndexWork() && a.next->gate != a.current->gate)
      builder_->Add(a.next->descriptor.name);
    a.done(TablePtr(a.next));
  });
}

void Store::WhileQuiet(std::string name, QuietTask task, UniqueFunction<void(Status)> done) {
  BeginCatalogChange([this, name = std::move(name), task = std::move(task),
                      done = std::move(done)]() mutable {
    const TablePtr table = Find(name);
    if (table == nullptr) {
      EndCatalogChange();
      done(Error(ErrorCode::kResourceNotFound, "Requested resource not found: Table: " +
                                                   std::string(ShownName(name)) + " not found"));
      return;
    }
    table->gate->Hold([this, table, task = std::move(task), done = std::move(done)]() mutable {
      Status outcome = task(table);
      table->gate->Open();
      EndCatalogChange();
      done(std::move(outcome));
    });
  });
}

void Store::TrimChangeLog(std::string name, uint32_t log_tablet_id, int64_t day,
                          int64_t since_micros, CatalogDone done) {
  std::vector<kv::DeleteRange> ranges;
  ranges.push_back(
      {{kv::Space::kLog, log_tablet_id}, history::FirstKeyOfDay(0), history::FirstKeyOfDay(day)});
  AlterAndDelete(
      std::move(name),
      [log_tablet_id, day, since_micros](TableDescriptor* descriptor) -> Status {
        std::optional<history::ChangeLog>& log = descriptor->change_log;
        if (!log || log->tablet_id != log_tablet_id)
          return Error(ErrorCode::kResourceNotFound, "The change log is gone");
        log->first_day = std::max(log->first_day, day);
        log->since_micros = std::max(log->since_micros, since_micros);
        return OkStatus();
      },
      std::move(ranges), std::move(done));
}

void Store::Drop(std::string name, CheckDescriptor check, CatalogDone done) {
  if (shared_) return DropShared(std::move(name), std::move(check), std::move(done));
  BeginCatalogChange([this, name = std::move(name), check = std::move(check),
                      done = std::move(done)]() mutable {
    const TablePtr table = Find(name);
    if (table == nullptr) {
      EndCatalogChange();
      done(Error(ErrorCode::kResourceNotFound, "Requested resource not found: Table: " +
                                                   std::string(ShownName(name)) + " not found"));
      return;
    }
    if (Status checked = check(table->descriptor); !checked.ok()) {
      EndCatalogChange();
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
      std::optional<stream::StreamDescriptor> stream;
      if (table->stream != nullptr) {
        stream = *FindStream(table->descriptor.name, table->descriptor.stream_label);
        stream->Close(clock_.NowMicros());
        batch.puts.push_back(CatalogPut(StreamKey(*stream), stream->Encode()));
      }
      std::vector<kv::Tablet> dropped = MarkDropped(&batch);
      engine_.Apply(
          std::move(batch), [this, table, stream = std::move(stream), dropped = std::move(dropped),
                             done = std::move(done)](Result<uint64_t> outcome) mutable {
            const Result<uint64_t> applied =
                stream ? FindOut(engine_, std::move(outcome), StreamKey(*stream), stream->Encode())
                       : FindOut(engine_, std::move(outcome), TableKey(table->descriptor.name),
                                 std::nullopt);
            if (applied.ok()) {
              Unpublish(table->descriptor.name);
              if (stream) PublishStream(std::move(*stream), *applied);
              GiveBack(std::move(dropped));
              table->gate->Retire();
            } else {
              table->gate->Open();
            }
            EndCatalogChange();
            if (applied.ok()) {
              done(TablePtr(table));
            } else {
              done(applied.error());
            }
          });
    });
  });
}

Result<bool> Store::Get(const Table& table, std::string_view key, kv::Tier tier, std::string* item,
                        const Past* past) {
  if (past != nullptr) return past->Get(engine_, table.descriptor.tablet(), key, tier, item);
  ASSIGN_OR_RETURN(const bool found, engine_.Get(table.descriptor.tablet(), key, tier, item));
  if (!found) return false;
  ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(*item));
  item->erase(0, item->size() - bytes.size());
  return true;
}

void Store::GetLater(const Table& table, std::string_view key, bool recent,
                     kv::Engine::GetDone done) {
  kv::Engine::GetDone take =
      [done = std::move(done)](Result<std::optional<std::string>> value) mutable {
        if (!value.ok() || !*value) return done(std::move(value));
        const Result<std::string_view> bytes = DecodeItemValue(**value);
        if (!bytes.ok()) return done(bytes.error());
        (*value)->erase(0, (*value)->size() - bytes->size());
        done(std::move(value));
      };
  const kv::Tablet tablet = table.descriptor.tablet();
  if (recent) {
    engine_.GetRecent(tablet, key, std::move(take));
  } else {
    engine_.GetLater(tablet, key, std::move(take));
  }
}

Result<size_t> Store::GetTogether(std::span<const WriteTarget> items, kv::Tier tier,
                                  size_t most_bytes, FunctionRef<Status(size_t bytes)> keep,
                                  std::vector<std::optional<std::string>>* images) {
  std::vector<kv::Point> points;
  points.reserve(items.size());
  for (const WriteTarget& item : items)
    points.push_back({item.table->descriptor.tablet(), item.key});
  images->assign(items.size(), std::nullopt);
  size_t sum = 0;
  Status bad;
  TRY(engine_.VisitTogether(points, tier, [&](size_t i, std::optional<std::string_view> value) {
    if (!value) return true;
    Result<std::string_view> bytes = DecodeItemValue(*value);
    if (!bytes.ok()) {
      bad = std::move(bytes).error();
      return false;
    }
    sum += model::ItemView(*bytes).size_bytes();
    if (sum > most_bytes) {
      images->clear();
      return true;
    }
    bad = keep(bytes->size());
    if (bad.ok()) images->at(i).emplace(*bytes);
    return bad.ok();
  }));
  TRY(std::move(bad));
  return sum;
}

Status Store::Scan(const Table& table, std::string_view begin, std::string_view end, bool reverse,
                   kv::Tier tier,
                   FunctionRef<bool(std::string_view key, model::ItemView item)> visit) {
  return ScanTablet({table.descriptor.tablet(), begin, end, reverse}, tier, visit);
}

Status Store::ScanTablet(const kv::Range& range, kv::Tier tier,
                         FunctionRef<bool(std::string_view key, model::ItemView item)> visit,
                         const Past* past) {
  if (past != nullptr) return past->Scan(engine_, range, tier, visit);
  Status bad;
  TRY(engine_.Scan(range, tier, [&](std::string_view key, std::string_view value) {
    Result<std::string_view> bytes = DecodeItemValue(value);
    if (!bytes.ok()) {
      bad = std::move(bytes).error();
      return false;
    }
    return visit(key, model::ItemView(*bytes));
  }));
  return bad;
}

Result<TableCounts> Store::Counts(const Table& table) {
  TableCounts counts;
  ASSIGN_OR_RETURN(counts.items,
                   ReadCounter(engine_, table.descriptor.tablet(), EncodeCounterKey("count")));
  ASSIGN_OR_RETURN(counts.bytes,
                   ReadCounter(engine_, table.descriptor.tablet(), EncodeCounterKey("bytes")));
  return counts;
}

Result<TableCounts> Store::IndexCounts(const Table& table, const IndexDescriptor& index) {
  const kv::Tablet tablet = table.descriptor.TabletOf(index);
  TableCounts counts;
  ASSIGN_OR_RETURN(counts.items,
                   ReadCounter(engine_, tablet, EncodeIndexCounterKey(index, "count")));
  ASSIGN_OR_RETURN(counts.bytes,
                   ReadCounter(engine_, tablet, EncodeIndexCounterKey(index, "bytes")));
  return counts;
}

Result<int64_t> Store::CollectionBytes(const Table& table, std::string_view item_key,
                                       kv::Tier tier) {
  return ReadCounter(engine_, table.descriptor.tablet(),
                     EncodeCollectionKey(table.key_schema(), item_key), tier);
}

bool Store::BuildsIndexes() const { return builder_->busy(); }
std::map<std::string, std::string> Store::DamagedTables() const { return builder_->damaged(); }

}  // namespace stator::table
